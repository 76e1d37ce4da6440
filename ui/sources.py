"""The sources page: where documents come from by themselves, when each was read, and what came of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import streamlit as st

from rag.errors import FootnoteError
from rag.jobs import Job
from rag.sources.kinds import KINDS
from rag.sources.sync import Synced
from storage.documents import UNFINISHED
from storage.source_records import ItemRecord, SourceRecord
from ui import notices, source_editing
from ui.markdown import label, verbatim
from ui.services import services, workspace
from ui.source_items import show_items
from ui.workspace import Workspace

TICK = 1.0  # seconds between looks
Color = Literal["gray", "blue", "green", "red", "orange"]


def show() -> None:
    """Show the sources page."""
    here = workspace()
    st.title("Sources")
    if not services().administers():  # they are read with the server's own folders and secrets
        st.info("Sources are read with what the server may read: only administrators add them.")
        return
    st.markdown(
        "Documents that come by themselves: from a folder, a wiki, a drive or the web. What is new there is "
        "added, what changed is read again, what is gone goes here, too."
    )
    if st.button("Add a source", type="primary", icon=":material/add:", key="source-add"):
        source_editing.add(here)
    records = here.syncing.sources.list()
    if not records:
        st.markdown("There is none yet. Files can be added one by one, too, on the Documents page.")
        return
    busy = any(_is_busy(here, record) for record in records)
    st.fragment(_show_sources, run_every=TICK if busy else None)(here, busy)


def _is_busy(here: Workspace, record: SourceRecord) -> bool:
    """Return whether a source, or a document of it, is being read."""
    return here.syncing.job(record.id) is not None or _reading(here, here.syncing.items.list(record.id)) > 0


def _reading(here: Workspace, items: Sequence[ItemRecord]) -> int:
    unfinished = (item.document_id for item in items if item.state in UNFINISHED)
    return sum(id_ is not None and here.ingest.running(id_) for id_ in unfinished)


def _show_sources(here: Workspace, busy: bool) -> None:
    """Show every source; once nothing runs any more, have the page drawn without looking again."""
    records = here.syncing.sources.list()
    for record in records:
        with st.container(border=True, key=f"source-{record.id}"):
            _show_source(record, here)
    if busy and not any(_is_busy(here, record) for record in records):
        st.rerun()


def _show_source(record: SourceRecord, here: Workspace) -> None:
    items = here.syncing.items.list(record.id)
    job = here.syncing.job(record.id)
    reading = _reading(here, items)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.markdown(f"**{label(record.name, 80)}**", width="stretch")
        _actions(record, here)
    _show_state(record, items, job, reading)
    if job is not None:
        share, text = said(len(items), job.latest)
        st.progress(share, text=text)
        st.button("Stop", icon=":material/stop_circle:", on_click=job.cancel, key=f"source-stop-{record.id}")
    elif st.button("Sync now", icon=":material/sync:", key=f"source-sync-{record.id}"):
        _sync(record, here)
        st.rerun()
    if items:
        show_items(record, items)


def _show_state(record: SourceRecord, items: list[ItemRecord], job: Job[Synced] | None, reading: int) -> None:
    name, icon, color = _badge(record, items, job, reading)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(name, icon=icon, color=color)
        st.caption(facts(record, items, datetime.now(UTC)), width="content")
    if record.reason and job is None:
        st.markdown(verbatim(record.reason))


def _badge(
    record: SourceRecord, items: list[ItemRecord], job: Job[Synced] | None, reading: int
) -> tuple[str, str, Color]:
    if job is not None:
        return "syncing", ":material/sync:", "blue"
    if reading:
        return f"reading {reading:,} document{'' if reading == 1 else 's'}", ":material/menu_book:", "blue"
    if record.state == "failed":
        return "could not be read", ":material/error:", "red"
    if record.state == "stopped":
        return "stopped", ":material/stop_circle:", "orange"
    if record.ended is None:
        return "not read yet", ":material/schedule:", "gray"
    if any(item.reason for item in items):
        return "read, but for some", ":material/warning:", "orange"
    return "up to date", ":material/check_circle:", "green"


def facts(record: SourceRecord, items: list[ItemRecord], now: datetime) -> str:
    """Return a source in a line: its kind, how much of it is here, when it was read and will be again."""
    kind = KINDS[record.kind].title if record.kind in KINDS else record.kind
    held = sum(item.document_id is not None for item in items)
    failed = sum(item.reason is not None for item in items)
    return " · ".join(
        fact
        for fact in (
            kind,
            f"{held:,} document{'' if held == 1 else 's'}",
            f"{failed:,} could not be had" if failed else "",
            f"read {ago(now - record.ended)}" if record.ended else "",
            source_editing.EVERY.get(record.every or 0, f"every {record.every} minutes").lower(),
        )
        if fact
    )


def ago(past: timedelta) -> str:
    """Return how long ago something was, as people say it."""
    seconds = max(0.0, past.total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def said(known: int, synced: Synced | None) -> tuple[float, str]:
    """Return how far a sync is, beside the `known` items of the time before: only its end tells the sum."""
    if synced is None:
        return 0.0, "Reaching the source"
    counts = [
        (synced.new, "new"),
        (synced.changed, "changed"),
        (synced.unchanged, "as before"),
        (synced.removed, "gone"),
        (synced.failed, "could not be had"),
    ]
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return synced.items / max(known, synced.items + 1), " · ".join(
        part for part in (label(synced.name, 50), told) if part
    )


def _sync(record: SourceRecord, here: Workspace) -> None:
    try:
        here.syncing.start(record.id)
    except FootnoteError as error:
        notices.leave(label(str(error), 300), ":material/error:")


def _actions(record: SourceRecord, here: Workspace) -> None:
    with st.popover("More", type="tertiary", key=f"source-actions-{record.id}"):
        if st.button("Change", icon=":material/edit:", key=f"source-edit-{record.id}", width="stretch"):
            source_editing.change(here, record)
        if st.button("Delete", icon=":material/delete:", key=f"source-ask-{record.id}", width="stretch"):
            source_editing.delete(here, record)
