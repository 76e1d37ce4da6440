"""Collections in the library: filters of the table, create, rename, delete, fill, and passage sizes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import get_args

import streamlit as st

from rag.ingest.queue import Resplit
from rag.text.chunking import Splitter, Splitting
from rag.workspace import Workspace
from storage.collections import LONGEST_INSTRUCTIONS, LONGEST_NAME, CollectionRecord
from storage.documents import UNFINISHED
from storage.errors import FootnoteError
from storage.records import DocumentRecord, State
from storage.tags import LONGEST_TAG
from ui import pages
from ui.chat import scope
from ui.components.job_progress import follow_job, share, step_name
from ui.components.labels import count
from ui.components.markdown import label, plain_line
from ui.components.messages import confirm_deletion, flash, flash_errors, rename_action

SMALLEST, LARGEST = 100, 8000  # letters of a passage
_METHODS = {
    "sections": "Sections and sentences",
    "recursive": "RecursiveCharacterTextSplitter",
    "markdown": "MarkdownHeaderTextSplitter",
}
_OF_METHODS = (
    "The last two are LangChain's. They count every character alike and have no shortest section. The "
    "Markdown one starts a passage at each heading."
)
_LETTERS = "In Latin letters. A Hangul, Kana or Han character counts as 2.7."


def _show_passage_sizes(here: Workspace, chosen: CollectionRecord) -> None:
    now = Splitting(**chosen.splitting) if chosen.splitting else Splitting()
    with (
        st.popover(
            "Passages", icon=":material/format_line_spacing:", type="tertiary", key="collection-passages"
        ),
        st.form(f"splitting-{chosen.id}", border=False),
    ):
        repeats = "The most text that a passage repeats from the one before it."
        joined = "Shorter sections are joined with their neighbours."
        size = st.number_input("Longest passage", SMALLEST, LARGEST, now.size, 50, help=_LETTERS)
        overlap = st.number_input("Overlap", 0, LARGEST, now.overlap, 10, help=repeats)
        minimum = st.number_input("Shortest section", 0, LARGEST, now.minimum, 50, help=joined)
        splitter = st.selectbox(
            "Method",
            get_args(Splitter),
            index=get_args(Splitter).index(now.splitter),
            format_func=_METHODS.__getitem__,
            help=_OF_METHODS,
        )
        st.caption(_consequence(chosen.documents))
        with st.container(horizontal=True, gap="small"):
            change = st.form_submit_button("Change", type="primary")
            usual = st.form_submit_button("Reset to default", disabled=chosen.splitting is None)
    if change or usual:
        _change(
            here,
            chosen,
            Splitting if usual else lambda: Splitting(int(size), int(overlap), int(minimum), splitter),
        )
        st.rerun()


def _show_instructions(here: Workspace, chosen: CollectionRecord) -> None:
    name = "Instructions"
    with (
        st.popover(name, icon=":material/edit_note:", type="tertiary", key="collection-instructions"),
        st.form(f"instructions-{chosen.id}", border=False),
    ):
        text = st.text_area(
            "How answers are written",
            chosen.instructions,
            max_chars=LONGEST_INSTRUCTIONS,
            placeholder="Answer in Korean. Call the tenant “the lessee”. Use short lists.",
            help="Tone, language, terms and format, for answers from this collection's documents.",
        )
        st.caption("A language model reads them. What it writes is checked against the documents as before.")
        if st.form_submit_button("Save", type="primary"):
            here.library.collections.instruct(chosen.id, text)
            flash("Instructions saved.", ":material/edit_note:")
            st.rerun()


def show_progress(here: Workspace) -> None:
    """Show re-indexing progress, or a button to resume it after a stop."""
    job = here.ingest.splitting()
    if job is not None:
        follow_job(job, _resplit_progress, key="stop-splitting")
        return
    due = len(here.library.collections.due())
    if due:
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key="splitting-due"):
            st.caption(
                f"{count(due, 'document is', 'documents are')} still indexed with the old sizes.",
                width="content",
            )
            st.button(
                "Re-index", key="split-anew", type="tertiary", on_click=flash_errors(here.ingest.split_if_due)
            )


def _resplit_progress(step: Resplit | None) -> tuple[float, str]:
    if step is None:
        return 0.0, "Re-indexing documents"
    where = f"{step.done + 1:,} of {step.total:,}"
    part = (step.done + share(step.step)) / max(1, step.total)
    return part, f"Re-indexing, {where}: {label(step.document, 60)}, {step_name(step.step)}"


def _consequence(documents: int) -> str:
    if not documents:
        return "Applies to documents you add from now on."
    what = count(documents, "document")
    return f"{what} will be re-indexed. Search keeps working meanwhile, and answers keep their quotes."


@flash_errors
def _change(here: Workspace, chosen: CollectionRecord, wanted: Callable[[], Splitting]) -> None:
    splitting = wanted()
    kept = None if splitting == Splitting() else asdict(splitting)
    if kept is not None and splitting.splitter == Splitting().splitter:
        del kept["splitter"]  # as it was stored before there was a choice
    here.library.collections.set_splitting(chosen.id, kept)
    here.ingest.split_if_due()
    flash("Saved.", ":material/check:")


EVERY, NONE = "every", "none"  # filter values beside collection ids
SHOWN, SEARCH, ADD_TO, NEW = "documents-shown", "documents-search", "documents-add-to", "documents-new"
TAG, STATUS = "documents-tag", "documents-status"
_STATUSES: dict[str, tuple[State, ...]] = {
    "Ready": ("ready",),
    "In progress": UNFINISHED,
    "Could not be read": ("refused",),
}
UNSORTED = "Unsorted"


def choose_shown(here: Workspace, records: Sequence[DocumentRecord]) -> None:
    """Show the filters of the table: words, collection, tag and status."""
    collections = {one.id: one for one in here.library.collections.list()}
    with st.container(key="documents-filter", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Find documents",
            key=SEARCH,
            icon=":material/search:",
            placeholder="Part of a name or tag",
            persist_state="page",
            live="300ms",
        )
        # No counts in the names: a selectbox loses its value when its options change.
        names = {EVERY: scope.ALL, **_names(collections.values()), NONE: UNSORTED}
        if not collections or st.session_state.get(SHOWN) not in names:
            st.session_state[SHOWN] = EVERY
        if collections:
            st.selectbox(
                "Collection",
                list(names),
                format_func=lambda id_: names.get(id_, id_),
                key=SHOWN,
                persist_state="session",  # a run that ends after an upload does not reach it
            )
        _choose_more(here, records)
        _show_new(here)
    chosen = collections.get(st.session_state.get(SHOWN, EVERY))
    if chosen is not None:
        _show_actions(here, chosen)


def _choose_more(here: Workspace, records: Sequence[DocumentRecord]) -> None:
    """Show the filters that only some libraries need: tags, and states other than ready."""
    tags = [plain_line(one.name, LONGEST_TAG) for one in here.tags.list()]
    if st.session_state.get(TAG) not in tags:
        st.session_state[TAG] = None
    if tags:
        st.selectbox("Tag", tags, index=None, placeholder="Any", key=TAG)
    if any(record.state != "ready" for record in records):
        st.selectbox("Status", list(_STATUSES), index=None, placeholder="Any", key=STATUS)
    else:
        st.session_state[STATUS] = None


def filtered(records: Sequence[DocumentRecord], tags: Mapping[str, Sequence[str]]) -> list[DocumentRecord]:
    """Return the documents that pass the filters; `tags` has the tags of each."""
    where = st.session_state.get(SHOWN, EVERY)
    words = str(st.session_state.get(SEARCH, "")).casefold().split()
    states = _STATUSES.get(st.session_state.get(STATUS) or "")
    tag = st.session_state.get(TAG)
    return [
        record
        for record in records
        if where in (EVERY, record.collection_id or NONE)
        and (states is None or record.state in states)
        and (tag is None or tag in [plain_line(one, LONGEST_TAG) for one in tags.get(record.id, ())])
        and _has(words, " ".join([record.name, *tags.get(record.id, ())]).casefold())
    ]


def _has(words: Sequence[str], text: str) -> bool:
    return all(word in text for word in words)


def show_nothing_found(here: Workspace) -> None:
    """Say that no document passes the filters; offer to fill an empty collection."""
    collections = {one.id: one for one in here.library.collections.list()}
    chosen = collections.get(st.session_state.get(SHOWN, EVERY))
    if chosen is None or chosen.documents:
        st.caption("No matching documents.")
        return
    st.markdown(
        f"**{label(chosen.name, 60)}** is empty. Drop files above, or add documents you have already."
    )
    if st.button("Add documents", icon=":material/add:", key="collection-fill"):
        _fill_dialog(chosen, here)


@st.dialog("Add documents", icon=":material/add:")
def _fill_dialog(chosen: CollectionRecord, here: Workspace) -> None:
    names = scope.distinct(
        {one.id: plain_line(one.name, 80) for one in here.documents() if one.replaces is None}
    )
    st.markdown(f"To **{label(chosen.name, 60)}**")
    picked = st.multiselect(
        "Documents",
        list(names),
        format_func=lambda id_: names.get(id_, id_),
        placeholder="Type part of a name",
        key=f"fill-{chosen.id}",
    )
    add = st.button(
        "Add",
        type="primary",
        key=f"fill-now-{chosen.id}",
        disabled=not picked,
        on_click=flash_errors(_fill),
        args=(chosen, here),
    )
    if add:
        st.rerun()


def _fill(chosen: CollectionRecord, here: Workspace) -> None:
    moved = here.library.collections.put(st.session_state[f"fill-{chosen.id}"], chosen.id)
    here.ingest.split_if_due()
    flash(f"{count(moved, 'document')} added to {label(chosen.name, 60)}.", ":material/folder:")


def choose_target(here: Workspace) -> str | None:
    """Show the collection for new files and return its id, or None."""
    names = _names(here.library.collections.list())
    if not names:
        return None
    looked_at = st.session_state.get(SHOWN)
    if st.session_state.get(ADD_TO) not in names:
        st.session_state[ADD_TO] = None
    return st.selectbox(
        "Add to collection",
        list(names),
        index=None,
        format_func=lambda id_: names.get(id_, id_),
        placeholder=f"{names[looked_at]} (shown below)" if looked_at in names else UNSORTED,
        key=ADD_TO,
    ) or (looked_at if looked_at in names else None)


def _names(collections: Iterable[CollectionRecord]) -> dict[str, str]:
    return {one.id: plain_line(one.name, LONGEST_NAME) for one in collections}


def _show_new(here: Workspace) -> None:
    with st.popover("New collection", icon=":material/create_new_folder:", key="collection-new"):
        st.text_input(
            "New collection name",
            max_chars=LONGEST_NAME,
            key=NEW,
            on_change=_create,
            args=(here,),
            help=(
                "Group documents by project, type or year. A document is in one collection; a chat can "
                "search several."
            ),
        )


def _show_actions(here: Workspace, chosen: CollectionRecord) -> None:
    with st.container(key="collection-actions", horizontal=True, gap="small"):
        if st.button("Chat with collection", icon=":material/forum:", type="tertiary", key="collection-chat"):
            scope.choose_next([chosen.id])
            st.switch_page(pages.CHAT)
        key = f"collection-name-{chosen.id}"
        rename = partial(_rename, here, chosen.id, key)
        rename_action("Collection name", chosen.name, LONGEST_NAME, key, rename, at="collection-rename")
        _show_passage_sizes(here, chosen)
        _show_instructions(here, chosen)
        if st.button("Delete", icon=":material/delete:", type="tertiary", key="collection-delete"):
            held = "document stays" if chosen.documents == 1 else f"{chosen.documents:,} documents stay"
            stay = f". Its {held}, unsorted" if chosen.documents else ""
            confirm_deletion(
                "Delete this collection?",
                f"**{label(chosen.name)}** will be deleted{stay}. Chats that search "
                "only this collection will find nothing until you change what they search.",
                key=f"collection-remove-{chosen.id}",
                act=lambda: _delete(here, chosen),
            )


@flash_errors
def _create(here: Workspace) -> None:
    created = here.library.collections.create(str(st.session_state[NEW]))
    st.session_state[NEW] = ""
    st.session_state[SHOWN] = created.id
    flash(f"Collection “{label(created.name, 60)}” created.", ":material/folder:")


def _rename(here: Workspace, collection_id: str, key: str) -> None:
    try:
        here.library.collections.rename(collection_id, str(st.session_state[key]))
    except FootnoteError:
        st.session_state.pop(key, None)  # shows the old name again
        raise


def _delete(here: Workspace, chosen: CollectionRecord) -> None:
    here.library.collections.delete(chosen.id)
    here.ingest.split_if_due()
    flash(f"{label(chosen.name, 60)} was deleted. Its documents stay.", ":material/delete:")
