"""Documents moved between collections: one, those that are ticked, or all that the list shows."""

from collections.abc import Sequence

import streamlit as st

from rag.workspace import Workspace
from storage.collections import LONGEST_NAME, CollectionRecord, Collections
from storage.records import DocumentRecord
from ui.components import messages as notices
from ui.components.faults import tried
from ui.components.markdown import label, plain
from ui.documents.collections import UNSORTED

TICKED = "documents-ticked"


def ticked(records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
    """Return the documents that are ticked and still there, on whatever page of the list."""
    marked: set[str] = st.session_state.get(TICKED, set())
    return [record for record in records if record.id in marked]


def show_tick(record: DocumentRecord) -> None:
    """Show a box to tick a document with."""
    key = f"tick-{record.id}"
    st.session_state[key] = record.id in st.session_state.setdefault(TICKED, set())
    st.checkbox(
        f"Choose {plain(record.name, 60)}",
        key=key,
        label_visibility="collapsed",
        on_change=_tick,
        args=(record.id,),
    )


def show_bar(records: Sequence[DocumentRecord], shown: Sequence[DocumentRecord], here: Workspace) -> None:
    """Show how many documents are ticked, and what can be done with them."""
    chosen = ticked(records)
    with st.container(key="documents-ticked-bar", horizontal=True, gap="small", vertical_alignment="center"):
        if not chosen:
            st.button(
                f"Choose all {len(shown):,} shown",
                key="tick-all",
                icon=":material/select_all:",
                type="tertiary",
                on_click=_tick_all,
                args=([record.id for record in shown],),
            )
            return
        st.caption(f"{len(chosen):,} chosen", width="content")
        if st.button("Move", key="move-ticked", icon=":material/drive_file_move:", type="tertiary"):
            ask_where(chosen, here)
        st.button(
            "Choose none", key="tick-none", icon=":material/deselect:", type="tertiary", on_click=_tick_none
        )


@st.dialog("Move to a collection", icon=":material/drive_file_move:")
def ask_where(records: Sequence[DocumentRecord], here: Workspace) -> None:
    """Ask in a dialog where documents shall go, and move them."""
    key = records[0].id
    one = f"**{label(records[0].name, 90)}**"
    st.markdown(one if len(records) == 1 else f"**{len(records):,} documents**")
    names = {
        "": UNSORTED,
        **{one.id: plain(one.name, LONGEST_NAME) for one in here.library.collections.list()},
    }
    where = st.selectbox(
        "To the collection",
        list(names),
        index=None,
        format_func=lambda id_: names.get(id_, id_),
        placeholder="Choose one, or type the name of a new one",
        accept_new_options=True,
        key=f"move-to-{key}",
    )
    st.caption(
        "Where that collection's passages have other sizes, documents are read anew. Until then they are "
        "searched as they were."
    )
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


@tried
def _move(records: Sequence[DocumentRecord], key: str, here: Workspace) -> None:
    to = _target(str(st.session_state[key]), here.library.collections)
    moved = here.library.collections.put([record.id for record in records], to.id if to else None)
    here.ingest.split_if_due()
    _tick_none()
    many = "document was" if moved == 1 else "documents were"
    name = to.name if to else UNSORTED
    notices.leave(f"{moved:,} {many} moved to {label(name, 60)}.", ":material/drive_file_move:")


def _target(where: str, collections: Collections) -> CollectionRecord | None:
    """Return the collection that an id or a typed name stands for, made where needed; None for none."""
    if not where:
        return None
    known = {one.id: one for one in collections.list()}
    return known.get(where) or collections.named(where) or collections.create(where)


def _tick(document_id: str) -> None:
    marked: set[str] = st.session_state.setdefault(TICKED, set())
    (marked.add if st.session_state[f"tick-{document_id}"] else marked.discard)(document_id)


def _tick_all(document_ids: Sequence[str]) -> None:
    st.session_state[TICKED] = set(document_ids)


def _tick_none() -> None:
    st.session_state[TICKED] = set()
