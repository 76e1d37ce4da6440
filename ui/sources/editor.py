"""A source added, changed or deleted, each in a dialog; its connection can be tested before."""

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

# A form for the settings of a source, made from what its kind wants to be told.


def settings_form(settings: type[BaseModel], current: Mapping[str, Any], *, key: str) -> dict[str, Any]:
    """Show an input for each setting and return what is in them; `current` is what they begin with."""
    return {
        name: _input(field, current.get(name, _default(field)), f"{key}-{name}")
        for name, field in settings.model_fields.items()
    }


def _default(field: FieldInfo) -> Any:
    return None if field.is_required() else field.get_default(call_default_factory=True)


def _input(field: FieldInfo, value: Any, key: str) -> Any:
    """Show one setting: a box to tick, a choice, a number, a text, or texts a line each."""
    wanted = _plain(field.annotation)
    title, told = field.title or key.rpartition("-")[2], field.description
    if wanted is bool:
        return st.checkbox(title, value=bool(value), help=told, key=key)
    if get_origin(wanted) is Literal:
        options = get_args(wanted)
        return st.selectbox(
            title, options, index=options.index(value) if value in options else 0, help=told, key=key
        )
    if wanted in (int, float):
        return st.number_input(title, value=value, help=told, key=key)
    if get_origin(wanted) in (tuple, list, frozenset, set):
        text = st.text_area(title, "\n".join(value or ()), help=told, key=key, height=100)
        return [line.strip() for line in text.splitlines() if line.strip()]
    return st.text_input(title, value or "", help=told, key=key).strip()


def _plain(annotation: Any) -> Any:
    """Return the type of a setting that may be absent as if it were there: ``str | None`` -> ``str``."""
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
    """Ask for a new source; it is read at once."""
    st.dialog("Add a source", width="medium", icon=":material/add:")(_add)(here)


def change(here: Workspace, record: SourceRecord) -> None:
    """Ask for other settings of a source."""
    st.dialog("Edit source", width="medium", icon=":material/edit:")(_change)(here, record)


def delete(here: Workspace, record: SourceRecord) -> None:
    """Ask whether a source goes, and whether its documents go with it."""
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
    given = _Given.asked(kind, "", {}, None, key=f"source-new-{kind}")

    def keep(settings: dict[str, Any]) -> None:
        record = here.syncing.sources.create(kind, given.name or KINDS[kind].title, settings, given.every)
        here.syncing.start(record.id)

    _finish(here, given, "Add and sync", keep)


def _change(here: Workspace, record: SourceRecord) -> None:
    given = _Given.asked(
        record.kind, record.name, record.settings, record.every, key=f"source-change-{record.id}"
    )

    def keep(settings: dict[str, Any]) -> None:
        here.syncing.change(record.id, given.name or record.name, settings, given.every)

    _finish(here, given, "Save", keep)


class _Given:
    """What stands in the inputs of a dialog."""

    def __init__(self, kind: str, name: str, settings: dict[str, Any], every: int | None, key: str):
        self.kind, self.name, self.settings, self.every, self.key = kind, name, settings, every, key

    @classmethod
    def asked(
        cls, kind: str, name: str, settings: Mapping[str, Any], every: int | None, *, key: str
    ) -> "_Given":
        """Show the inputs of a kind, filled with what there is."""
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


def _finish(here: Workspace, given: _Given, verb: str, keep: Callable[[dict[str, Any]], None]) -> None:
    """Show what can be done with what was given: keep it, or see first whether it can be reached."""
    with st.container(horizontal=True):
        kept = st.button(verb, type="primary", key=f"{given.key}-keep")
        tested = st.button("Test connection", icon=":material/cable:", key=f"{given.key}-test")
    if not (kept or tested):
        return
    try:
        settings = checked(given.kind, given.settings)
        if tested:
            with st.spinner("Connecting…"):
                st.success(escape_text(_reached(here, given.kind, settings)), icon=":material/check_circle:")
            return
        keep(settings)
    except FootnoteError as error:
        st.error(escape_text(str(error)), icon=":material/error:")
        return
    st.rerun()


def _reached(here: Workspace, kind: str, settings: Mapping[str, Any]) -> str:
    with here.source(kind, settings) as source:
        return source.test()


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
