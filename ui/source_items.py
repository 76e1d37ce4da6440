"""What is at a source, item by item: what became of each, and why some could not be had."""

from collections.abc import Sequence

import streamlit as st

from storage.source_records import ItemRecord, SourceRecord
from ui.ingesting import STATES
from ui.markdown import label, verbatim

PAGE = 25
ALL, FAILED = "All", "Could not be had"


def show_items(record: SourceRecord, items: Sequence[ItemRecord]) -> None:
    """Show the items of a source, those that could not be had first."""
    failed = [item for item in items if item.reason]
    with st.expander(f"What is there ({len(items):,})", key=f"source-items-{record.id}"):
        shown = items
        if failed and len(failed) < len(items):
            chosen = st.segmented_control(
                "Show", [ALL, FAILED], default=ALL, required=True, key=f"source-filter-{record.id}"
            )
            shown = failed if chosen == FAILED else [*failed, *(item for item in items if not item.reason)]
        last = max(1, -(-len(shown) // PAGE))
        number = min(st.session_state.get(f"source-page-{record.id}", 1), last)
        with st.container(gap="xsmall", key=f"source-list-{record.id}"):
            for item in shown[(number - 1) * PAGE : number * PAGE]:
                _show_item(item)
        if last > 1:
            st.pagination(last, key=f"source-page-{record.id}")


def _show_item(item: ItemRecord) -> None:
    st.markdown(f"{icon(item)} {label(item.name, 100)} · {state(item)}")
    if item.reason:
        st.caption(verbatim(item.reason))


def state(item: ItemRecord) -> str:
    """Return in words what became of an item."""
    if item.state is not None and item.state != "refused":
        return STATES[item.state] + (", an older version" if item.reason else "")
    if item.reason is not None:
        return "could not be had"
    return "deleted here; it comes back when it changes there"


def icon(item: ItemRecord) -> str:
    """Return the sign beside it."""
    if item.reason is not None:
        return ":material/error:"
    return ":material/check_circle:" if item.state == "ready" else ":material/schedule:"
