"""What is at a source, item by item: what became of each, and why some could not be had."""

from datetime import UTC, datetime, timedelta

import streamlit as st

from rag.workspace import Workspace
from storage.source_records import ItemRecord, SourceRecord, Tally
from ui.components.ingesting import STATES
from ui.components.markdown import label, verbatim

PAGE = 25
ALL, FAILED = "All", "Could not be had"


def show_items(record: SourceRecord, tally: Tally, here: Workspace) -> None:
    """Show the items of a source a page at a time, those that could not be had first."""
    with st.expander(f"What is there ({tally.items:,})", key=f"source-items-{record.id}"):
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
        st.caption(verbatim(item.reason))
        if item.tries:
            st.caption(next_try(item, datetime.now(UTC)))


def state(item: ItemRecord) -> str:
    """Return in words what became of an item."""
    if item.state is not None and item.state != "refused":
        return STATES[item.state] + (", an older version" if item.reason else "")
    if item.reason is not None:
        return "could not be had"
    return "deleted here; it comes back when it changes there"


def next_try(item: ItemRecord, now: datetime) -> str:
    """Return when an item is tried again that could not be had."""
    if item.due is None:
        return "Not tried again until it changes, or you press Sync now."
    if item.due <= now:
        return "Tried again at the next sync."
    hours = -(-(item.due - now) // timedelta(hours=1))
    wait = f"{hours} hour{'' if hours == 1 else 's'}" if hours <= 24 else f"{-(-hours // 24)} days"
    return f"Tried again at the first sync in {wait} or later, or when you press Sync now."


def icon(item: ItemRecord) -> str:
    """Return the sign beside it."""
    if item.reason is not None:
        return ":material/error:"
    return ":material/check_circle:" if item.state == "ready" else ":material/schedule:"
