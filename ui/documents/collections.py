"""Collections in the library: filters of the table, create, rename, delete, fill, and passage sizes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import get_args

import streamlit as st

from rag.i18n import N_, _, ngettext, translated
from rag.ingest.queue import Resplit
from rag.text.chunking import Splitter, Splitting
from rag.workspace import Workspace
from storage.collections import LONGEST_INSTRUCTIONS, LONGEST_NAME, LONGEST_TAG, CollectionRecord
from storage.documents import UNFINISHED
from storage.errors import FootnoteError
from storage.records import DocumentRecord, State
from ui import pages
from ui.chat import scope
from ui.components.job_progress import follow_job, share, step_name
from ui.components.markdown import label, plain_line
from ui.components.messages import confirm_deletion, dialog, flash, flash_errors, rename_action

SMALLEST, LARGEST = 100, 8000  # letters of a passage
_METHODS = {
    "sections": N_("Sections and sentences"),
    "recursive": "RecursiveCharacterTextSplitter",
    "markdown": "MarkdownHeaderTextSplitter",
}
_OF_METHODS = N_(
    "The last two are LangChain's. They count every character alike and have no shortest section. The "
    "Markdown one starts a passage at each heading."
)
_LETTERS = N_("In Latin letters. A Hangul, Kana or Han character counts as 2.7.")


def _show_passage_sizes(here: Workspace, chosen: CollectionRecord) -> None:
    now = Splitting(**chosen.splitting) if chosen.splitting else Splitting()
    with (
        st.popover(
            _("Passages"), icon=":material/format_line_spacing:", type="tertiary", key="collection-passages"
        ),
        st.form(f"splitting-{chosen.id}", border=False),
    ):
        repeats = _("The most text that a passage repeats from the one before it.")
        joined = _("Shorter sections are joined with their neighbours.")
        size = st.number_input(
            _("Longest passage"), SMALLEST, LARGEST, now.size, 50, help=translated(_LETTERS)
        )
        overlap = st.number_input(_("Overlap"), 0, LARGEST, now.overlap, 10, help=repeats)
        minimum = st.number_input(_("Shortest section"), 0, LARGEST, now.minimum, 50, help=joined)
        splitter = st.selectbox(
            _("Method"),
            get_args(Splitter),
            index=get_args(Splitter).index(now.splitter),
            format_func=lambda method: translated(_METHODS[method]),
            help=translated(_OF_METHODS),
        )
        st.caption(_consequence(chosen.documents))
        with st.container(horizontal=True, gap="small"):
            change = st.form_submit_button(_("Change"), type="primary")
            usual = st.form_submit_button(_("Reset to default"), disabled=chosen.splitting is None)
    if change or usual:
        _change(
            here,
            chosen,
            Splitting if usual else lambda: Splitting(int(size), int(overlap), int(minimum), splitter),
        )
        st.rerun()


def _show_instructions(here: Workspace, chosen: CollectionRecord) -> None:
    name = _("Instructions")
    with (
        st.popover(name, icon=":material/edit_note:", type="tertiary", key="collection-instructions"),
        st.form(f"instructions-{chosen.id}", border=False),
    ):
        text = st.text_area(
            _("How answers are written"),
            chosen.instructions,
            max_chars=LONGEST_INSTRUCTIONS,
            placeholder=_("Answer in Korean. Call the tenant “the lessee”. Use short lists."),
            help=_("Tone, language, terms and format, for answers from this collection's documents."),
        )
        st.caption(
            _("A language model reads them. What it writes is checked against the documents as before.")
        )
        if st.form_submit_button(_("Save"), type="primary"):
            here.library.collections.instruct(chosen.id, text)
            flash(_("Instructions saved."), ":material/edit_note:")
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
                ngettext(
                    "{count} document is still indexed with the old sizes.",
                    "{count} documents are still indexed with the old sizes.",
                    due,
                ),
                width="content",
            )
            st.button(
                _("Re-index"),
                key="split-anew",
                type="tertiary",
                on_click=flash_errors(here.ingest.split_if_due),
            )


def _resplit_progress(step: Resplit | None) -> tuple[float, str]:
    if step is None:
        return 0.0, _("Re-indexing documents")
    part = (step.done + share(step.step)) / max(1, step.total)
    return part, _(
        "Re-indexing, {at} of {total}: {name}, {step}",
        at=f"{step.done + 1:,}",
        total=f"{step.total:,}",
        name=label(step.document, 60),
        step=step_name(step.step),
    )


def _consequence(documents: int) -> str:
    if not documents:
        return _("Applies to documents you add from now on.")
    return ngettext(
        "{count} document will be re-indexed. Search keeps working meanwhile, and answers keep their quotes.",
        "{count} documents will be re-indexed. Search keeps working meanwhile, and answers keep "
        "their quotes.",
        documents,
    )


@flash_errors
def _change(here: Workspace, chosen: CollectionRecord, wanted: Callable[[], Splitting]) -> None:
    splitting = wanted()
    kept = None if splitting == Splitting() else asdict(splitting)
    if kept is not None and splitting.splitter == Splitting().splitter:
        del kept["splitter"]  # as it was stored before there was a choice
    here.library.collections.set_splitting(chosen.id, kept)
    here.ingest.split_if_due()
    flash(_("Saved."), ":material/check:")


EVERY, NONE = "every", "none"  # filter values beside collection ids
SHOWN, SEARCH, ADD_TO, NEW = "documents-shown", "documents-search", "documents-add-to", "documents-new"
_NEW_OPEN = "collection-new"
TAG, STATUS = "documents-tag", "documents-status"
_STATUSES: dict[str, tuple[State, ...]] = {
    N_("Ready"): ("ready",),
    N_("In progress"): UNFINISHED,
    N_("Could not be read"): ("refused",),
}
UNSORTED = N_("Unsorted")


def choose_shown(
    here: Workspace,
    records: Sequence[DocumentRecord],
    selected: Callable[[], Collection[str]],
    deselect: Callable[[], object],
) -> None:
    """Show the filters of the table: words, collection, tag and status.

    A new collection takes the `selected` documents, which are deselected then.
    """
    collections = {one.id: one for one in here.library.collections.list()}
    with st.container(key="documents-filter", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            _("Find documents"),
            key=SEARCH,
            icon=":material/search:",
            placeholder=_("Search by name or tag"),
            persist_state="page",
            live="300ms",
        )
        # No counts in the names: a selectbox loses its value when its options change.
        names = {EVERY: translated(scope.ALL), **_names(collections.values()), NONE: translated(UNSORTED)}
        if not collections or st.session_state.get(SHOWN) not in names:
            st.session_state[SHOWN] = EVERY
        if collections:
            st.selectbox(
                _("Collection"),
                list(names),
                format_func=lambda id_: names.get(id_, id_),
                key=SHOWN,
                persist_state="session",  # a run that ends after an upload does not reach it
            )
        _choose_more(here, records)
        _show_new(here, selected, deselect)
    chosen = collections.get(st.session_state.get(SHOWN, EVERY))
    if chosen is not None:
        _show_actions(here, chosen)


def _choose_more(here: Workspace, records: Sequence[DocumentRecord]) -> None:
    """Show the filters that only some libraries need: tags, and states other than ready."""
    tags = [plain_line(one.name, LONGEST_TAG) for one in here.tags.list()]
    if st.session_state.get(TAG) not in tags:
        st.session_state[TAG] = None
    if tags:
        st.selectbox(_("Tag"), tags, index=None, placeholder=_("Any"), key=TAG)
    if any(record.state != "ready" for record in records):
        st.selectbox(
            _("Status"),
            [str.__str__(one) for one in _STATUSES],
            index=None,
            format_func=translated,
            placeholder=_("Any"),
            key=STATUS,
        )
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
        st.caption(_("No matching documents."))
        return
    st.markdown(
        _(
            "**{name}** is empty. Drop files above, or add documents you have already.",
            name=label(chosen.name, 60),
        )
    )
    if st.button(_("Add documents"), icon=":material/add:", key="collection-fill"):
        _fill_dialog(chosen, here)


@dialog(N_("Add documents"), ":material/add:")
def _fill_dialog(chosen: CollectionRecord, here: Workspace) -> None:
    names = scope.distinct(
        {one.id: plain_line(one.name, 80) for one in here.documents() if one.replaces is None}
    )
    st.markdown(_("To **{name}**", name=label(chosen.name, 60)))
    picked = st.multiselect(
        _("Documents"),
        list(names),
        format_func=lambda id_: names.get(id_, id_),
        placeholder=_("Type part of a name"),
        key=f"fill-{chosen.id}",
    )
    add = st.button(
        _("Add"),
        type="primary",
        key=f"fill-now-{chosen.id}",
        disabled=not picked,
        on_click=flash_errors(_fill),
        args=(chosen, here),
    )
    if add:
        st.rerun()


def _fill(chosen: CollectionRecord, here: Workspace) -> None:
    _put(here, st.session_state[f"fill-{chosen.id}"], chosen)


def _put(here: Workspace, document_ids: Sequence[str], chosen: CollectionRecord) -> None:
    """Put documents in a collection, and say how many."""
    moved = here.library.collections.put(document_ids, chosen.id)
    here.ingest.split_if_due()
    flash(
        ngettext(
            "{count} document added to {name}.",
            "{count} documents added to {name}.",
            moved,
            name=label(chosen.name, 60),
        ),
        ":material/folder:",
    )


def choose_target(here: Workspace) -> str | None:
    """Show the collection for new files and return its id, or None."""
    names = _names(here.library.collections.list())
    if not names:
        return None
    looked_at = st.session_state.get(SHOWN)
    if st.session_state.get(ADD_TO) not in names:
        st.session_state[ADD_TO] = None
    return st.selectbox(
        _("Add to collection"),
        list(names),
        index=None,
        format_func=lambda id_: names.get(id_, id_),
        placeholder=_("{name} (shown below)", name=names[looked_at])
        if looked_at in names
        else translated(UNSORTED),
        key=ADD_TO,
    ) or (looked_at if looked_at in names else None)


def _names(collections: Iterable[CollectionRecord]) -> dict[str, str]:
    return {one.id: plain_line(one.name, LONGEST_NAME) for one in collections}


def _show_new(
    here: Workspace, selected: Callable[[], Collection[str]], deselect: Callable[[], object]
) -> None:
    # A press on it runs the page, which counts what was selected in the table since.
    with st.popover(
        _("New collection"), icon=":material/create_new_folder:", key=_NEW_OPEN, on_change="rerun"
    ):
        st.text_input(
            _("New collection name"),
            max_chars=LONGEST_NAME,
            key=NEW,
            on_change=_create,
            args=(here, selected, deselect),
            help=(
                _(
                    "Group documents by project, type or year. A document is in one collection; a chat can "
                    "search several."
                )
            ),
        )
        if number := len(_present(here, selected())):
            st.caption(
                ngettext(
                    "{count} selected document will be put in it.",
                    "{count} selected documents will be put in it.",
                    number,
                )
            )


def _present(here: Workspace, document_ids: Collection[str]) -> list[str]:
    """Return those of some documents that are in the library."""
    return [record.id for record in here.documents() if record.id in document_ids]


def _show_actions(here: Workspace, chosen: CollectionRecord) -> None:
    with st.container(key="collection-actions", horizontal=True, gap="small"):
        if st.button(
            _("Chat with collection"), icon=":material/forum:", type="tertiary", key="collection-chat"
        ):
            scope.choose_next([chosen.id])
            st.switch_page(pages.CHAT)
        key = f"collection-name-{chosen.id}"
        rename = partial(_rename, here, chosen.id, key)
        rename_action(_("Collection name"), chosen.name, LONGEST_NAME, key, rename, at="collection-rename")
        _show_passage_sizes(here, chosen)
        _show_instructions(here, chosen)
        if st.button(_("Delete"), icon=":material/delete:", type="tertiary", key="collection-delete"):
            name = label(chosen.name)
            after = _(
                "Chats that search only this collection will find nothing until you change what they search."
            )
            said = (
                ngettext(
                    "**{name}** will be deleted. Its document stays, unsorted. {reason}",
                    "**{name}** will be deleted. Its {count} documents stay, unsorted. {reason}",
                    chosen.documents,
                    name=name,
                    reason=after,
                )
                if chosen.documents
                else _("**{name}** will be deleted. {reason}", name=name, reason=after)
            )
            confirm_deletion(
                _("Delete this collection?"),
                said,
                key=f"collection-remove-{chosen.id}",
                act=lambda: _delete(here, chosen),
            )


@flash_errors
def _create(here: Workspace, selected: Callable[[], Collection[str]], deselect: Callable[[], object]) -> None:
    """Create a collection of the selected documents, or an empty one, and show it."""
    created = here.library.collections.create(str(st.session_state[NEW]))
    st.session_state[NEW], st.session_state[_NEW_OPEN] = "", False
    st.session_state[SHOWN] = created.id
    marked = _present(here, selected())
    if not marked:
        flash(_("Collection “{name}” created.", name=label(created.name, 60)), ":material/folder:")
        return
    _put(here, marked, created)
    deselect()


def _rename(here: Workspace, collection_id: str, key: str) -> None:
    try:
        here.library.collections.rename(collection_id, str(st.session_state[key]))
    except FootnoteError:
        st.session_state.pop(key, None)  # shows the old name again
        raise


def _delete(here: Workspace, chosen: CollectionRecord) -> None:
    here.library.collections.delete(chosen.id)
    here.ingest.split_if_due()
    flash(_("{name} was deleted. Its documents stay.", name=label(chosen.name, 60)), ":material/delete:")
