"""Sources page: connected sources with their sync state, schedule and items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import streamlit as st

from rag.connectors.registry import KINDS
from rag.connectors.sync import SyncProgress
from rag.jobs import Job
from rag.workspace import Workspace
from storage.records import ItemRecord, SourceRecord, Tally
from ui.components.job_progress import STATES
from ui.components.markdown import escape_text, label
from ui.components.messages import confirm_deletion, flash_errors, show_errors
from ui.server.services import services, workspace
from ui.sources import editor

PAGE = 25
ALL, FAILED = "All", "Failed"


def show_items(record: SourceRecord, tally: Tally, here: Workspace) -> None:
    """Show the items of a source a page at a time, failed ones first."""
    with st.expander(f"Items ({tally.items:,})", key=f"source-items-{record.id}"):
        failed_only = False
        if 0 < tally.failed < tally.items:
            chosen = st.segmented_control(
                "Show", [ALL, FAILED], default=ALL, required=True, key=f"source-filter-{record.id}"
            )
            failed_only = chosen == FAILED
        last = max(1, -(-(tally.failed if failed_only else tally.items) // PAGE))
        number = min(st.session_state.get(f"source-page-{record.id}", 1), last)
        shown = here.syncing.items.page(record.id, (number - 1) * PAGE, PAGE, failed_only=failed_only)
        with st.container(gap="xsmall", key=f"source-list-{record.id}"):
            for item in shown:
                _show_item(item)
        if last > 1:
            st.pagination(last, key=f"source-page-{record.id}")


def _show_item(item: ItemRecord) -> None:
    st.markdown(f"{icon(item)} {label(item.name, 100)} · {state(item)}")
    if item.reason:
        st.caption(escape_text(item.reason))
        if item.tries:
            st.caption(next_try(item, datetime.now(UTC)))


def state(item: ItemRecord) -> str:
    """Return the state of an item in words."""
    if item.state is not None and item.state != "refused":
        return STATES[item.state] + (", an older version" if item.reason else "")
    if item.reason is not None:
        return "failed"
    return "deleted here; returns when it changes at the source"


def next_try(item: ItemRecord, now: datetime) -> str:
    """Return the time of the next retry of a failed item, in words."""
    if item.due is None:
        return "Retried when it changes, or with Sync now."
    if item.due <= now:
        return "Retried at the next sync."
    hours = -(-(item.due - now) // timedelta(hours=1))
    wait = f"{hours} hour{'' if hours == 1 else 's'}" if hours <= 24 else f"{-(-hours // 24)} days"
    return f"Retried in {wait} at the earliest, or with Sync now."


def icon(item: ItemRecord) -> str:
    """Return the icon of an item."""
    if item.reason is not None:
        return ":material/error:"
    return ":material/check_circle:" if item.state == "ready" else ":material/schedule:"


TICK = 1.0  # seconds between updates
Color = Literal["gray", "blue", "green", "red", "orange"]
_ENDS: Mapping[str, tuple[str, str, Color]] = {
    "failed": ("could not be read", ":material/error:", "red"),
    "stopped": ("stopped", ":material/stop_circle:", "orange"),
    "emptied": ("empty now", ":material/help:", "orange"),
}


def show() -> None:
    """Show the sources page."""
    here = workspace()
    st.title("Sources")
    if not services().administers():  # sources use the server's folders and secrets
        st.info("Only administrators can add sources.")
        return
    st.markdown(
        "Connect a folder, wiki, drive or site. Footnote keeps it in sync: new, changed and deleted files."
    )
    if st.button("Add a source", type="primary", icon=":material/add:", key="source-add"):
        editor.add(here)
    records = here.syncing.sources.list()
    if not records:
        st.markdown("No sources yet. To add single files, go to Documents.")
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


def source_statuses(here: Workspace) -> list[SourceStatus]:
    """Return the status of all sources."""
    tallies, running = here.syncing.items.tallies(), here.ingest.all_running()
    found = ((record, tallies.get(record.id, Tally())) for record in here.syncing.sources.list())
    return [
        SourceStatus(record, tally, here.syncing.job(record.id), len(tally.unfinished & running))
        for record, tally in found
    ]


@show_errors()
def _show_sources(here: Workspace, busy: bool) -> None:
    """Show every source; when nothing runs any more, run the page again without polling."""
    found = source_statuses(here)
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
        st.button("Stop", icon=":material/stop_circle:", on_click=job.cancel, key=f"source-stop-{record.id}")
    else:
        _show_sync_buttons(status, here)
    if status.tally.items:
        show_items(record, status.tally, here)


def _show_sync_buttons(status: SourceStatus, here: Workspace) -> None:
    """Show the buttons to sync a source, and to confirm that it is empty."""
    record, held = status.record, status.tally.documents
    with st.container(horizontal=True, gap="small"):
        if st.button("Sync now", icon=":material/sync:", key=f"source-sync-{record.id}"):
            _sync(record, here)
            st.rerun()
        if record.state == "emptied" and st.button(
            "Confirm that it is empty", icon=":material/delete_sweep:", key=f"source-emptied-{record.id}"
        ):
            confirm_deletion(
                "This source is empty now. Delete its documents?",
                f"**{label(record.name)}** will be checked once more. If it is still empty, "
                f"{'the document' if held == 1 else f'all {held:,} documents'} that came only from it "
                f"{'is' if held == 1 else 'are'} deleted. Existing answers keep their quotes.",
                key=f"source-emptied-yes-{record.id}",
                act=lambda: _sync(record, here, may_be_empty=True),
            )


def _show_state(status: SourceStatus) -> None:
    name, icon, color = badge(status)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(name, icon=icon, color=color)
        st.caption(facts(status.record, status.tally, datetime.now(UTC)), width="content")
    if status.record.reason and status.job is None:
        st.markdown(escape_text(status.record.reason))


def badge(status: SourceStatus) -> tuple[str, str, Color]:
    """Return the label, icon and colour of a source's state."""
    if status.job is not None:
        return "syncing", ":material/sync:", "blue"
    if status.reading:
        documents = f"{status.reading:,} document{'' if status.reading == 1 else 's'}"
        return f"reading {documents}", ":material/menu_book:", "blue"
    if status.record.state in _ENDS:
        return _ENDS[status.record.state]
    if status.record.ended is None:
        return "not synced yet", ":material/schedule:", "gray"
    if not status.tally.items:
        return "empty", ":material/inbox:", "gray"
    if status.tally.failed:
        return "synced with errors", ":material/warning:", "orange"
    return "up to date", ":material/check_circle:", "green"


def facts(record: SourceRecord, tally: Tally, now: datetime) -> str:
    """Return a source's facts on one line: kind, documents, failures, last sync and schedule."""
    kind = KINDS[record.kind].title if record.kind in KINDS else record.kind
    return " · ".join(
        fact
        for fact in (
            kind,
            f"{tally.documents:,} document{'' if tally.documents == 1 else 's'}",
            f"{tally.failed:,} failed" if tally.failed else "",
            f"synced {ago(now - record.ended)}" if record.ended else "",
            editor.INTERVALS.get(record.every or 0, f"every {record.every} minutes").lower(),
        )
        if fact
    )


def ago(past: timedelta) -> str:
    """Return a time span in words: "2 hours ago"."""
    seconds = max(0.0, past.total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def sync_progress(known: int, synced: SyncProgress | None) -> tuple[float, str]:
    """Return a sync's progress, estimated by the `known` items of the last sync, and a sentence."""
    if synced is None:
        return 0.0, "Connecting"
    counts = [
        (synced.new, "new"),
        (synced.changed, "changed"),
        (synced.unchanged, "unchanged"),
        (synced.removed, "deleted"),
        (synced.failed, "failed"),
    ]
    show_errors = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return synced.items / max(known, synced.items + 1), " · ".join(
        part for part in (label(synced.name, 50), show_errors) if part
    )


@flash_errors
def _sync(record: SourceRecord, here: Workspace, *, may_be_empty: bool = False) -> None:
    here.syncing.start(record.id, by_hand=True, may_be_empty=may_be_empty)


def _actions(record: SourceRecord, here: Workspace) -> None:
    with st.popover("More", type="tertiary", key=f"source-actions-{record.id}"):
        if st.button("Change", icon=":material/edit:", key=f"source-edit-{record.id}", width="stretch"):
            editor.change(here, record)
        if st.button("Delete", icon=":material/delete:", key=f"source-ask-{record.id}", width="stretch"):
            editor.delete(here, record)
