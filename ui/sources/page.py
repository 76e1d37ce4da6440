"""Sources in the library, with their sync state, schedule and items; dialogs to add and edit them."""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rag.connectors.registry import KINDS, checked
from rag.connectors.sync import SyncProgress
from rag.i18n import N_, _, ngettext, translated
from rag.jobs import Job
from rag.workspace import Workspace
from storage.records import ItemRecord, SourceRecord, Tally
from ui.components.job_progress import STATES
from ui.components.markdown import escape_text, label
from ui.components.messages import confirm_deletion, dialog, flash, flash_errors, show_errors, show_refusal
from ui.components.pagination import paginated
from ui.server.services import services, workspace

PAGE = 25
INTERVALS: Mapping[int, str] = {
    0: N_("Manually"),
    5: N_("Every 5 minutes"),
    60: N_("Every hour"),
    1440: N_("Every day"),
    10080: N_("Every week"),
}
USUAL_INTERVAL = 60  # minutes, of a new source
ALL, FAILED = str(N_("All")), str(N_("Failed"))


def interval(minutes: int) -> str:
    """Return how often a source is synced, in words."""
    if minutes in INTERVALS:
        return translated(INTERVALS[minutes])
    return ngettext("Every {count} minute", "Every {count} minutes", minutes)


def _show_items(record: SourceRecord, tally: Tally, here: Workspace) -> None:
    with st.expander(_("Items ({items})", items=f"{tally.items:,}"), key=f"source-items-{record.id}"):
        failed_only = False
        if 0 < tally.failed < tally.items:
            chosen = st.segmented_control(
                _("Show"),
                [ALL, FAILED],
                format_func=translated,
                default=ALL,
                required=True,
                key=f"source-filter-{record.id}",
            )
            failed_only = chosen == FAILED
        length, key = tally.failed if failed_only else tally.items, f"source-page-{record.id}"
        with paginated(length, PAGE, key) as part, st.container(gap="xsmall", key=f"source-list-{record.id}"):
            for item in here.syncing.items.page(record.id, part.start, PAGE, failed_only=failed_only):
                _show_item(item)


def _show_item(item: ItemRecord) -> None:
    st.markdown(f"{icon(item)} {label(item.name, 100)} · {state(item)}")
    if item.reason:
        st.caption(escape_text(translated(item.reason)))
        if item.tries:
            st.caption(next_try(item, datetime.now(UTC)))


def state(item: ItemRecord) -> str:
    """Return the state of an item in words."""
    if item.state is not None and item.state != "refused":
        said = translated(STATES[item.state])
        return _("{state}, an older version", state=said) if item.reason else said
    if item.reason is not None:
        return _("failed")
    return _("deleted here; returns when it changes at the source")


def next_try(item: ItemRecord, now: datetime) -> str:
    """Return the time of the next retry of a failed item, in words."""
    if item.due is None:
        return _("Retried when it changes, or with Sync now.")
    if item.due <= now:
        return _("Retried at the next sync.")
    hours = -(-(item.due - now) // timedelta(hours=1))
    if hours <= 24:
        return ngettext(
            "Retried in {count} hour at the earliest, or with Sync now.",
            "Retried in {count} hours at the earliest, or with Sync now.",
            hours,
        )
    return _("Retried in {days} days at the earliest, or with Sync now.", days=-(-hours // 24))


def icon(item: ItemRecord) -> str:
    """Return the icon of an item."""
    if item.reason is not None:
        return ":material/error:"
    return ":material/check_circle:" if item.state == "ready" else ":material/schedule:"


TICK = 1.0  # seconds between updates
Color = Literal["gray", "blue", "green", "red", "orange"]
_ENDS: Mapping[str, tuple[str, str, Color]] = {
    "failed": (N_("could not be read"), ":material/error:", "red"),
    "stopped": (N_("stopped"), ":material/stop_circle:", "orange"),
    "emptied": (N_("empty now"), ":material/help:", "orange"),
}


def show() -> None:
    """Show the sources of the library."""
    here = workspace()
    if not services().administers():  # sources use the server's folders and secrets
        st.info(_("Only administrators can add sources."))
        return
    st.markdown(
        _("Connect a folder, wiki, drive or site. Footnote keeps it in sync: new, changed and deleted files.")
    )
    if st.button(_("Add a source"), type="primary", icon=":material/add:", key="source-add"):
        _add(here)
    records = here.syncing.sources.list()
    if not records:
        st.markdown(_("No sources yet. To add single files, go to Documents above."))
        return
    busy = _is_busy(here, records)
    st.fragment(_show_sources, run_every=TICK if busy else None)(here, busy)


def _is_busy(here: Workspace, records: Sequence[SourceRecord]) -> bool:
    """Return True while a source or document is being read, without a query of the ledger."""
    return bool(here.ingest.all_running()) or any(here.syncing.job(record.id) for record in records)


@dataclass(frozen=True)
class SourceStatus:
    """Source with its item counts, running sync, and number of documents being read."""

    record: SourceRecord
    tally: Tally
    job: Job[SyncProgress] | None
    reading: int


def _source_statuses(here: Workspace) -> list[SourceStatus]:
    tallies, running = here.syncing.items.tallies(), here.ingest.all_running()
    found = ((record, tallies.get(record.id, Tally())) for record in here.syncing.sources.list())
    return [
        SourceStatus(record, tally, here.syncing.job(record.id), len(tally.unfinished & running))
        for record, tally in found
    ]


@show_errors()
def _show_sources(here: Workspace, busy: bool) -> None:
    """Show every source; when nothing runs any more, run the page again without polling."""
    found = _source_statuses(here)
    for status in found:
        with st.container(border=True, key=f"source-{status.record.id}"):
            _show_source(status, here)
    if busy and not _is_busy(here, [status.record for status in found]):
        st.rerun()


def _show_source(status: SourceStatus, here: Workspace) -> None:
    record, job = status.record, status.job
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.markdown(f"**{label(record.name, 80)}**", width="stretch")
        _actions(record, here)
    _show_state(status)
    if job is not None:
        share, text = sync_progress(status.tally.items, job.latest)
        st.progress(share, text=text)
        st.button(
            _("Stop"), icon=":material/stop_circle:", on_click=job.cancel, key=f"source-stop-{record.id}"
        )
    else:
        _show_sync_buttons(status, here)
    if status.tally.items:
        _show_items(record, status.tally, here)


def _show_sync_buttons(status: SourceStatus, here: Workspace) -> None:
    record, held = status.record, status.tally.documents
    with st.container(horizontal=True, gap="small"):
        if st.button(_("Sync now"), icon=":material/sync:", key=f"source-sync-{record.id}"):
            _sync(record, here)
            st.rerun()
        if record.state == "emptied" and st.button(
            _("Confirm that it is empty"), icon=":material/delete_sweep:", key=f"source-emptied-{record.id}"
        ):
            confirm_deletion(
                _("This source is empty now. Delete its documents?"),
                ngettext(
                    "**{name}** will be checked once more. If it is still empty, the document that came only "
                    "from it is deleted. Existing answers keep their quotes.",
                    "**{name}** will be checked once more. If it is still empty, all {count} documents that "
                    "came only from it are deleted. Existing answers keep their quotes.",
                    held,
                    name=label(record.name),
                ),
                key=f"source-emptied-yes-{record.id}",
                act=lambda: _sync(record, here, may_be_empty=True),
            )


def _show_state(status: SourceStatus) -> None:
    name, icon, color = badge(status)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(name[:1].upper() + name[1:], icon=icon, color=color)
        st.caption(facts(status.record, status.tally, datetime.now(UTC)), width="content")
    if status.record.reason and status.job is None:
        st.markdown(escape_text(translated(status.record.reason)))


def badge(status: SourceStatus) -> tuple[str, str, Color]:
    """Return the label, icon and colour of a source's state."""
    if status.job is not None:
        return _("syncing"), ":material/sync:", "blue"
    if status.reading:
        return (
            ngettext("reading {count} document", "reading {count} documents", status.reading),
            ":material/menu_book:",
            "blue",
        )
    if status.record.state in _ENDS:
        name, icon, color = _ENDS[status.record.state]
        return translated(name), icon, color
    if status.record.ended is None:
        return _("not synced yet"), ":material/schedule:", "gray"
    if not status.tally.items:
        return _("empty"), ":material/inbox:", "gray"
    if status.tally.failed:
        return _("synced with errors"), ":material/warning:", "orange"
    return _("up to date"), ":material/check_circle:", "green"


def facts(record: SourceRecord, tally: Tally, now: datetime) -> str:
    """Return a source's facts on one line: kind, documents, failures, last sync and schedule."""
    parts = (
        translated(KINDS[record.kind].title) if record.kind in KINDS else record.kind,
        ngettext("{count} document", "{count} documents", tally.documents),
        _("{number} failed", number=f"{tally.failed:,}") if tally.failed else "",
        _("synced {ago}", ago=ago(now - record.ended)) if record.ended else "",
        interval(record.every or 0).lower(),
    )
    return " · ".join(filter(None, parts))


def ago(past: timedelta) -> str:
    """Return a time span in words: "2 hours ago"."""
    seconds = max(0.0, past.total_seconds())
    if seconds >= 86400:
        return ngettext("{count} day ago", "{count} days ago", int(seconds // 86400))
    if seconds >= 3600:
        return ngettext("{count} hour ago", "{count} hours ago", int(seconds // 3600))
    if seconds >= 60:
        return ngettext("{count} minute ago", "{count} minutes ago", int(seconds // 60))
    return _("just now")


def sync_progress(known: int, synced: SyncProgress | None) -> tuple[float, str]:
    """Return a sync's progress, estimated by the `known` items of the last sync, and a sentence."""
    if synced is None:
        return 0.0, _("Connecting")
    numbers = (
        (synced.new, _("{number} new")),
        (synced.changed, _("{number} changed")),
        (synced.unchanged, _("{number} unchanged")),
        (synced.removed, _("{number} deleted")),
        (synced.failed, _("{number} failed")),
    )
    said = ", ".join(words.format(number=f"{number:,}") for number, words in numbers if number)
    text = " · ".join(filter(None, (label(synced.name, 50), said)))
    return synced.items / max(known, synced.items + 1), text


@flash_errors
def _sync(record: SourceRecord, here: Workspace, *, may_be_empty: bool = False) -> None:
    here.syncing.start(record.id, by_hand=True, may_be_empty=may_be_empty)


def _actions(record: SourceRecord, here: Workspace) -> None:
    with st.popover(_("More"), type="tertiary", key=f"source-actions-{record.id}"):
        if st.button(_("Change"), icon=":material/edit:", key=f"source-edit-{record.id}", width="stretch"):
            _change(here, record)
        if st.button(_("Delete"), icon=":material/delete:", key=f"source-ask-{record.id}", width="stretch"):
            _delete(here, record)


def _settings_form(settings: type[BaseModel], current: Mapping[str, Any], *, key: str) -> dict[str, Any]:
    return {
        name: _input(field, current.get(name, _default(field)), f"{key}-{name}")
        for name, field in settings.model_fields.items()
    }


def _default(field: FieldInfo) -> Any:
    return None if field.is_required() else field.get_default(call_default_factory=True)


def _input(field: FieldInfo, value: Any, key: str) -> Any:
    wanted = _plain(field.annotation)
    title = translated(field.title or key.rpartition("-")[2])
    text = translated(field.description) if field.description else None
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
        empty = translated(field.examples[0]) if field.examples else None  # what an empty field stands for
        lines = st.text_area(title, "\n".join(value or ()), help=text, key=key, height=100, placeholder=empty)
        return [line.strip() for line in lines.splitlines() if line.strip()]
    return st.text_input(title, value or "", help=text, key=key).strip()


def _plain(annotation: Any) -> Any:
    """Return the type of an optional field: ``str | None`` -> ``str``."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


@dialog(N_("Add a source"), ":material/add:", "medium")
def _add(here: Workspace) -> None:
    kind = st.segmented_control(
        _("Kind"),
        list(KINDS),
        format_func=lambda kind: translated(KINDS[kind].title),
        default=next(iter(KINDS)),
        required=True,
        key="source-kind",
    )
    st.caption(translated(KINDS[kind].brings))

    def save(name: str, settings: dict[str, Any], every: int | None) -> None:
        record = here.syncing.sources.create(kind, name or _usual_name(kind, settings), settings, every)
        here.syncing.start(record.id)

    _show_form(here, kind, None, _("Add and sync"), save)


def _usual_name(kind: str, settings: Mapping[str, Any]) -> str:
    """Return the name of a new source that was given none: its folder's or first page's, else its kind.

    >>> _usual_name("folder", {"path": "/srv/papers/"}), _usual_name("web", {"urls": ["https://a.org/x"]})
    ('papers', 'a.org')
    """
    if kind == "folder":
        return PurePath(str(settings["path"])).name or str(settings["path"])
    first = next(iter(settings.get("urls", ())), "")
    return urlsplit(first).hostname or KINDS[kind].title


@dialog(N_("Edit source"), ":material/edit:", "medium")
def _change(here: Workspace, record: SourceRecord) -> None:
    def save(name: str, settings: dict[str, Any], every: int | None) -> None:
        here.syncing.change(record.id, name or record.name, settings, every)

    _show_form(here, record.kind, record, _("Save"), save)


def _show_form(
    here: Workspace,
    kind: str,
    record: SourceRecord | None,
    verb: str,
    save: Callable[[str, dict[str, Any], int | None], None],
) -> None:
    key = f"source-change-{record.id}" if record else f"source-new-{kind}"
    name = st.text_input(
        _("Name"), record.name if record else "", placeholder=_("Optional"), key=f"{key}-name"
    )
    wanted = _settings_form(KINDS[kind].settings, record.settings if record else {}, key=key)
    minutes = (record.every or 0) if record else USUAL_INTERVAL
    options = list(dict.fromkeys([*INTERVALS, minutes]))
    often = st.selectbox(
        _("Sync"),
        options,
        index=options.index(minutes),
        format_func=interval,
        key=f"{key}-every",
    )
    with st.container(horizontal=True):
        kept = st.button(verb, type="primary", key=f"{key}-keep")
        tested = st.button(_("Test connection"), icon=":material/cable:", key=f"{key}-test")
    if not (kept or tested):
        return
    with show_refusal():
        settings = checked(kind, wanted)
        with st.spinner(_("Connecting…")):
            found = here.source(kind, settings).test()
        if kept:
            save(name.strip(), settings, often or None)
            st.rerun()
        st.success(escape_text(translated(found)), icon=":material/check_circle:")


@dialog(N_("Delete this source?"), ":material/delete:")
def _delete(here: Workspace, record: SourceRecord) -> None:
    st.markdown(
        _(
            "**{name}** will no longer be synced. Keep documents, or delete them too. Existing "
            "answers keep their quotes.",
            name=label(record.name),
        )
    )
    with st.container(horizontal=True):
        if st.button(_("Keep documents"), type="primary", key=f"source-leave-{record.id}"):
            _remove(here, record, keep_documents=True)
            st.rerun()
        if st.button(_("Delete documents too"), icon=":material/delete:", key=f"source-delete-{record.id}"):
            _remove(here, record, keep_documents=False)
            st.rerun()


@flash_errors
def _remove(here: Workspace, record: SourceRecord, *, keep_documents: bool) -> None:
    here.syncing.delete(record.id, keep_documents=keep_documents)
    flash(_("{name} was deleted.", name=label(record.name, 60)), ":material/delete:")
