"""Documents page: upload, list with ingest state and collection, move, download, delete."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from rag.workspace import Workspace
from storage.collections import LONGEST_NAME, CollectionRecord, Collections
from storage.documents import UNFINISHED
from storage.records import DocumentRecord
from ui import pages
from ui.components.job_progress import INGEST_TICK, STATES, share, step_name
from ui.components.labels import count
from ui.components.markdown import escape_text, label, plain_line
from ui.components.messages import action, confirm_deletion, flash, flash_errors, show_errors
from ui.components.pagination import paginated
from ui.documents import about, collections
from ui.documents.collections import UNSORTED
from ui.documents.upload import show_report, uploader
from ui.server.services import services, workspace

SELECTED = "documents-ticked"


def _show_selection(
    records: Sequence[DocumentRecord], shown: Sequence[DocumentRecord], here: Workspace
) -> None:
    marked: set[str] = st.session_state.get(SELECTED, set())
    chosen = [record for record in records if record.id in marked]
    with st.container(key="documents-ticked-bar", horizontal=True, gap="small", vertical_alignment="center"):
        if not chosen:
            ids = [record.id for record in shown]
            action(f"Select all {len(shown):,}", "select_all", "tick-all", _select, ids)
            return
        st.caption(f"{len(chosen):,} selected", width="content")
        if st.button("Move", key="move-ticked", icon=":material/drive_file_move:", type="tertiary"):
            _move_dialog(chosen, here)
        action("Clear selection", "deselect", "tick-none", _select)


@st.dialog("Move to collection", icon=":material/drive_file_move:")
def _move_dialog(records: Sequence[DocumentRecord], here: Workspace) -> None:
    key = records[0].id
    one = f"**{label(records[0].name, 90)}**"
    st.markdown(one if len(records) == 1 else f"**{len(records):,} documents**")
    names = {
        "": UNSORTED,
        **{one.id: plain_line(one.name, LONGEST_NAME) for one in here.library.collections.list()},
    }
    where = st.selectbox(
        "Collection",
        list(names),
        index=None,
        format_func=lambda id_: names.get(id_, id_),
        placeholder="Select one, or type a new name",
        accept_new_options=True,
        key=f"move-to-{key}",
    )
    st.caption("If the collection has other passage sizes, these documents will be re-indexed.")
    if st.button(
        "Move",
        type="primary",
        icon=":material/drive_file_move:",
        disabled=where is None,
        key=f"move-now-{key}",
        on_click=_move,
        args=(records, f"move-to-{key}", here),
    ):
        st.rerun()


@flash_errors
def _move(records: Sequence[DocumentRecord], key: str, here: Workspace) -> None:
    to = _target(str(st.session_state[key]), here.library.collections)
    moved = here.library.collections.put([record.id for record in records], to.id if to else None)
    here.ingest.split_if_due()
    _select()
    many = "document was" if moved == 1 else "documents were"
    name = to.name if to else UNSORTED
    flash(f"{moved:,} {many} moved to {label(name, 60)}.", ":material/drive_file_move:")


def _target(where: str, collections: Collections) -> CollectionRecord | None:
    if not where:
        return None
    known = {one.id: one for one in collections.list()}
    return known.get(where) or collections.named(where) or collections.create(where)


def _show_checkbox(record: DocumentRecord) -> None:
    key = f"tick-{record.id}"
    st.session_state[key] = record.id in st.session_state.setdefault(SELECTED, set())
    st.checkbox(
        f"Select {plain_line(record.name, 60)}",
        key=key,
        label_visibility="collapsed",
        on_change=_toggle,
        args=(record.id,),
    )


def _toggle(document_id: str) -> None:
    marked: set[str] = st.session_state.setdefault(SELECTED, set())
    (marked.add if st.session_state[f"tick-{document_id}"] else marked.discard)(document_id)


def _select(document_ids: Sequence[str] = ()) -> None:
    st.session_state[SELECTED] = set(document_ids)


PAGE = 25
Color = Literal["gray", "blue", "green", "red"]
LOOK = 5.0  # seconds between updates while documents wait for a retry
_BADGES: dict[str, tuple[str, Color]] = {
    "queued": (":material/schedule:", "gray"),
    "reading": (":material/menu_book:", "blue"),
    "searchable_by_words": (":material/search:", "blue"),
    "searchable_by_meaning": (":material/search:", "blue"),
    "ready": (":material/check_circle:", "green"),
    "refused": (":material/error:", "red"),
}


def show() -> None:
    """Show the documents page."""
    here = workspace()
    st.title("Documents")
    into = collections.choose_target(here)
    uploader(here, services().settings.max_upload_mb, into)
    show_report("documents")
    records = here.library.documents.list()
    if not records:
        st.markdown("No documents yet. Drop files above; you can ask within seconds.")
        return
    collections.choose_shown(here)
    collections.show_progress(here)
    busy = any(here.ingest.running(record.id) for record in records)
    waits = any(record.state in UNFINISHED for record in records)
    st.fragment(_rows, run_every=INGEST_TICK if busy else LOOK if waits else None)(here, busy)


@show_errors()
def _rows(here: Workspace, busy: bool) -> None:
    """Show one page of rows; when ingest has ended, run the page again without polling."""
    records = here.library.documents.list()
    listed = collections.filtered(records)
    if listed:
        sheets = sum(record.pages or 0 for record in listed)
        totals = [count(len(listed), "document"), *([count(sheets, "page")] if sheets else [])]
        st.caption(" · ".join(totals))
        _show_selection(records, listed, here)
    else:
        st.caption("No matching documents.")
    names = {one.id: one.name for one in here.library.collections.list()}
    with paginated(len(listed), PAGE, "documents-page") as part:
        origins = here.syncing.items.origins([record.id for record in listed[part]])
        for record in listed[part]:
            _row(record, names.get(record.collection_id or ""), origins.get(record.id, ()), here)
    if busy and not any(here.ingest.running(record.id) for record in records):
        st.rerun()


def _row(record: DocumentRecord, collection: str | None, sources: Sequence[str], here: Workspace) -> None:
    icon, color = _BADGES[record.state]
    with st.container(border=True, gap="xsmall", key=f"document-{record.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            _show_checkbox(record)
            st.markdown(f"**{label(record.name, 90)}**", width="stretch")
            _actions(record, here)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.badge(STATES[record.state], icon=icon, color=color)
            if collection is not None:
                st.badge(label(collection, 60), icon=":material/folder:", color="gray")
            st.caption(_facts(record), width="content")
        if sources:
            st.page_link(pages.SOURCES, label=origin(sources), icon=":material/sync:")
        progress = here.ingest.progress(record.id)
        if progress is not None:
            st.progress(share(progress), text=step_name(progress).capitalize())
        for text in filter(None, (record.reason, record.note)):
            st.markdown(escape_text(text))
        if record.chunks:
            about.show(record, here)
        if record.state in UNFINISHED and not here.ingest.running(record.id):
            again = f"try-again-{record.id}"
            if st.button("Try again", icon=":material/refresh:", type="tertiary", key=again):
                flash_errors(here.ingest.start)(record.id)
                st.rerun()


def origin(sources: Sequence[str]) -> str:
    """Return the names of a document's sources, as Markdown.

    >>> origin(["Our wiki", "보고서"])
    'From Our wiki and 보고서'
    """
    named = " and ".join(label(name, 40) for name in sources[:2])
    more = len(sources) - 2
    return f"From {named}" + (f" and {count(more, 'more source')}" if more > 0 else "")


def _actions(record: DocumentRecord, here: Workspace) -> None:
    with st.popover("More", type="tertiary", key=f"actions-{record.id}"):
        st.download_button(
            "Download original",
            data=lambda: here.original(record.id),
            file_name=record.name,
            icon=":material/download:",
            on_click="ignore",
            key=f"download-{record.id}",
            width="stretch",
        )
        if st.button("Move", icon=":material/drive_file_move:", key=f"move-{record.id}", width="stretch"):
            _move_dialog([record], here)
        if st.button("Delete", icon=":material/delete:", key=f"ask-{record.id}", width="stretch"):
            confirm_deletion(
                "Delete this document?",
                f"**{label(record.name)}** will be deleted. Existing answers keep their quotes.",
                key=f"remove-{record.id}",
                act=lambda: _remove(record, here),
            )


def _remove(record: DocumentRecord, here: Workspace) -> None:
    here.ingest.remove(record.id)
    flash(f"{label(record.name, 60)} was deleted.", ":material/delete:")


def _facts(record: DocumentRecord) -> str:
    facts = [
        count(record.pages, "page") if record.pages else "",
        count(record.chunks, "passage") if record.chunks else "",
        _size(record.size),
        f"added {record.created.day} {record.created:%b %Y}",
        "reading new version" if record.replaces and record.state != "refused" else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def _size(octets: int) -> str:
    value = float(octets)
    for unit in ("bytes", "kB", "MB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GB"
