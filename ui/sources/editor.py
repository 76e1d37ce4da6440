"""Dialogs to add, edit and delete a source, with a connection test."""

import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rag.connectors.registry import KINDS, checked
from rag.errors import FootnoteError
from rag.workspace import Workspace
from storage.records import SourceRecord
from ui.components.markdown import escape_text, label
from ui.components.messages import flash, flash_errors


def settings_form(settings: type[BaseModel], current: Mapping[str, Any], *, key: str) -> dict[str, Any]:
    """Show an input for each field of a settings model and return the values, initially `current`."""
    return {
        name: _input(field, current.get(name, _default(field)), f"{key}-{name}")
        for name, field in settings.model_fields.items()
    }


def _default(field: FieldInfo) -> Any:
    return None if field.is_required() else field.get_default(call_default_factory=True)


def _input(field: FieldInfo, value: Any, key: str) -> Any:
    """Show the input for one field, by its type."""
    wanted = _plain(field.annotation)
    title, text = field.title or key.rpartition("-")[2], field.description
    if wanted is bool:
        return st.checkbox(title, value=bool(value), help=text, key=key)
    if get_origin(wanted) is Literal:
        options = get_args(wanted)
        return st.selectbox(
            title, options, index=options.index(value) if value in options else 0, help=text, key=key
        )
    if wanted in (int, float):
        return st.number_input(title, value=value, help=text, key=key)
    if get_origin(wanted) in (tuple, list, frozenset, set):
        value_lines = st.text_area(title, "\n".join(value or ()), help=text, key=key, height=100)
        return [line.strip() for line in value_lines.splitlines() if line.strip()]
    return st.text_input(title, value or "", help=text, key=key).strip()


def _plain(annotation: Any) -> Any:
    """Return the type of an optional field: ``str | None`` -> ``str``."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


INTERVALS: Mapping[int, str] = {
    0: "Manually",
    5: "Every 5 minutes",
    60: "Every hour",
    1440: "Every day",
    10080: "Every week",
}


def add(here: Workspace) -> None:
    """Open the dialog for a new source, which is synced at once."""
    st.dialog("Add a source", width="medium", icon=":material/add:")(_add)(here)


def change(here: Workspace, record: SourceRecord) -> None:
    """Open the dialog for a source's settings."""
    st.dialog("Edit source", width="medium", icon=":material/edit:")(_change)(here, record)


def delete(here: Workspace, record: SourceRecord) -> None:
    """Open the dialog that deletes a source, with or without its documents."""
    st.dialog("Delete this source?", width="small", icon=":material/delete:")(_delete)(here, record)


def _add(here: Workspace) -> None:
    kind = st.segmented_control(
        "Kind",
        list(KINDS),
        format_func=lambda kind: KINDS[kind].title,
        default=next(iter(KINDS)),
        required=True,
        key="source-kind",
    )
    st.caption(KINDS[kind].brings)
    form = _SourceForm.show(kind, "", {}, None, key=f"source-new-{kind}")

    def save(settings: dict[str, Any]) -> None:
        record = here.syncing.sources.create(kind, form.name or KINDS[kind].title, settings, form.every)
        here.syncing.start(record.id)

    _finish(here, form, "Add and sync", save)


def _change(here: Workspace, record: SourceRecord) -> None:
    form = _SourceForm.show(
        record.kind, record.name, record.settings, record.every, key=f"source-change-{record.id}"
    )

    def save(settings: dict[str, Any]) -> None:
        here.syncing.change(record.id, form.name or record.name, settings, form.every)

    _finish(here, form, "Save", save)


class _SourceForm:
    """Values in the inputs of a dialog."""

    def __init__(self, kind: str, name: str, settings: dict[str, Any], every: int | None, key: str):
        self.kind, self.name, self.settings, self.every, self.key = kind, name, settings, every, key

    @classmethod
    def show(
        cls, kind: str, name: str, settings: Mapping[str, Any], every: int | None, *, key: str
    ) -> "_SourceForm":
        """Show the inputs for a kind of source, with the current values."""
        named = st.text_input("Name", name, placeholder=KINDS[kind].title, key=f"{key}-name")
        wanted = settings_form(KINDS[kind].settings, settings, key=key)
        minutes = every or 0
        options = [*INTERVALS, *([] if minutes in INTERVALS else [minutes])]
        often = st.selectbox(
            "Sync",
            options,
            index=options.index(minutes),
            format_func=lambda minutes: INTERVALS.get(minutes, f"Every {minutes} minutes"),
            key=f"{key}-every",
        )
        return cls(kind, named.strip(), wanted, often or None, key)


def _finish(here: Workspace, form: _SourceForm, verb: str, save: Callable[[dict[str, Any]], None]) -> None:
    """Show the buttons to save the source and to test its connection."""
    with st.container(horizontal=True):
        kept = st.button(verb, type="primary", key=f"{form.key}-keep")
        tested = st.button("Test connection", icon=":material/cable:", key=f"{form.key}-test")
    if not (kept or tested):
        return
    try:
        settings = checked(form.kind, form.settings)
        if tested:
            with st.spinner("Connecting…"):
                st.success(escape_text(_reached(here, form.kind, settings)), icon=":material/check_circle:")
            return
        save(settings)
    except FootnoteError as error:
        st.error(escape_text(str(error)), icon=":material/error:")
        return
    st.rerun()


def _reached(here: Workspace, kind: str, settings: Mapping[str, Any]) -> str:
    return here.source(kind, settings).test()


def _delete(here: Workspace, record: SourceRecord) -> None:
    st.markdown(
        f"**{label(record.name)}** will no longer be synced. Keep documents, or delete them too. Existing "
        "answers keep their quotes."
    )
    with st.container(horizontal=True):
        if st.button("Keep documents", type="primary", key=f"source-leave-{record.id}"):
            _remove(here, record, keep_documents=True)
            st.rerun()
        if st.button("Delete documents too", icon=":material/delete:", key=f"source-delete-{record.id}"):
            _remove(here, record, keep_documents=False)
            st.rerun()


@flash_errors
def _remove(here: Workspace, record: SourceRecord, *, keep_documents: bool) -> None:
    here.syncing.delete(record.id, keep_documents=keep_documents)
    flash(f"{label(record.name, 60)} was deleted.", ":material/delete:")
