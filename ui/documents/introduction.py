"""Introduction of a document on the page: progress, some of its sentences, questions to ask by one click."""

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, takewhile, zip_longest

import streamlit as st

from rag.chat.introduction import MOST_QUESTIONS, Introduction
from rag.i18n import N_, _, ngettext, translated
from rag.workspace import Workspace
from storage.documents import SEARCHABLE
from storage.errors import NotFound
from storage.records import DocumentRecord
from ui import pages
from ui.components.job_progress import share, step_name
from ui.components.markdown import escape_text, label, plain_line
from ui.components.messages import action, show_errors, show_refusal

SUMMARISE = N_("Summarise this document.")
Open = Callable[[str], None]
TICK = 0.5  # seconds between updates
NEW = timedelta(days=1)  # in which the chat page introduces what was added
REFUSED_NEW = timedelta(minutes=10)  # in which it says why the newest file could not be read
CONSIDERED = 6  # documents
TOGETHER = timedelta(minutes=1)  # between files that were added at once
MOST_SHOWN = 3  # of them, a line for each
MOST_SENTENCE = 220  # characters of such a line
MAX_NAME = 80  # characters of a document's name in the title of its summary


def show_newest(
    records: Sequence[DocumentRecord], here: Workspace, open_document: Open, told: Collection[str] = ()
) -> None:
    """Introduce the newest document of which there is something to say, if it was added a short time ago.

    Up to three that were added at once have a line each, and a last line counts all other documents. Where
    there is none, the newest of all says why it could not be read, for some minutes, unless it is one of
    those `told` of elsewhere on the page.
    """
    new = [record for record in records if record.replaces is None and _age(record) < NEW][:CONSIDERED]
    readable = (one for one in new if _can_introduce(one, here))
    refused = (one for one in new[:1] if _was_just_refused(one) and one.id not in told)
    if (chosen := next(chain(readable, refused), None)) is None:
        return
    earlier = new[new.index(chosen) + 1 :]
    at_once = takewhile(lambda one: chosen.created - one.created < TOGETHER, earlier)
    others = (one for one in at_once if _can_introduce(one, here))
    shown = [chosen, *islice(others, MOST_SHOWN - 1)]
    with st.container(border=True, key="introduction", gap="small"):
        if len(shown) > 1:
            _show_together(shown, here, open_document)
        else:
            show(chosen, here, open_document)
        _show_rest(records, shown)


def _show_rest(records: Sequence[DocumentRecord], shown: Sequence[DocumentRecord]) -> None:
    """Show the way to the documents that are not introduced, with their number."""
    rest = sum(one.state != "refused" and one not in shown for one in records)
    if rest:
        named = ngettext("and {count} more document", "and {count} more documents", rest)
        st.page_link(pages.LIBRARY, label=named, icon=":material/library_books:")


def show_only(records: Sequence[DocumentRecord], here: Workspace, open_document: Open) -> None:
    """Introduce the document that the next chat searches, if it is only one."""
    if len(records) == 1 and _can_introduce(records[0], here):
        with st.container(border=True, key="introduction", gap="small"):
            show(records[0], here, open_document)


def _age(record: DocumentRecord) -> timedelta:
    return datetime.now(UTC) - record.created


def _was_just_refused(record: DocumentRecord) -> bool:
    return record.state == "refused" and _age(record) < REFUSED_NEW


def _can_introduce(record: DocumentRecord, here: Workspace) -> bool:
    """Return True unless a document could not be read, or nothing was found to say of it."""
    if record.state not in SEARCHABLE:
        return record.state != "refused"
    job = here.introduction(record.id)
    made = job.latest or Introduction()
    return not job.done or bool(made.summary or made.questions)


def show(record: DocumentRecord, here: Workspace, open_document: Open | None = None) -> None:
    """Show the introduction of a document, and its progress until it is there."""
    live = not _has_ended(record, here)
    st.fragment(_show, run_every=TICK if live else None)(record.id, here, open_document, live=live)


def _has_ended(record: DocumentRecord, here: Workspace) -> bool:
    return record.state == "refused" or (record.state in SEARCHABLE and here.introduction(record.id).done)


@show_errors()
def _show(document_id: str, here: Workspace, open_document: Open | None, *, live: bool) -> None:
    try:
        record = here.library.documents.get(document_id)
    except NotFound:
        return
    if live and _has_ended(record, here):
        st.rerun()  # without polling
    sheets = f" · {ngettext('{count} page', '{count} pages', record.pages)}" if record.pages else ""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"**{label(record.name, 90)}**{sheets}", width="stretch")
        if record.state in SEARCHABLE:
            _show_actions(record, here, open_document)
    if record.state == "refused":
        st.error(
            escape_text(translated(record.reason) if record.reason else _("This file could not be read.")),
            icon=":material/error:",
        )
    elif record.state not in SEARCHABLE:
        progress = here.ingest.progress(record.id)
        st.progress(share(progress), text=step_name(progress).capitalize() if progress else _("Waiting"))
    else:
        job = here.introduction(record.id)
        _show_made(record, job.latest or Introduction(), here, making=not job.done)


def _show_together(records: Sequence[DocumentRecord], here: Workspace, open_document: Open) -> None:
    """Show a line for each of some documents, and questions that one of them answers."""
    live = not all(_has_ended(record, here) for record in records)
    ids = [record.id for record in records]
    st.fragment(_show_lines, run_every=TICK if live else None)(ids, here, open_document, live=live)


@show_errors()
def _show_lines(ids: Sequence[str], here: Workspace, open_document: Open, *, live: bool) -> None:
    records = [record for id_ in ids if (record := _kept(id_, here)) is not None]
    if live and all(_has_ended(record, here) for record in records):
        st.rerun()  # without polling
    offered: list[list[tuple[DocumentRecord, str]]] = []
    for record in records:
        made, said = _said_of(record, here)
        with st.container(gap=None, key=f"introduction-line-{record.id}"):
            action(
                label(record.name, 90),
                "description",
                f"introduction-open-{record.id}",
                open_document,
                record.id,
            )
            st.markdown(said)
        offered.append([(record, question) for question in made.questions])
    asked = [pair for turn in zip_longest(*offered) for pair in turn if pair is not None][:MOST_QUESTIONS]
    if asked:
        st.caption(_("Suggested questions"))
        _show_questions(asked, here)


def _kept(document_id: str, here: Workspace) -> DocumentRecord | None:
    try:
        return here.library.documents.get(document_id)
    except NotFound:
        return None


def _said_of(record: DocumentRecord, here: Workspace) -> tuple[Introduction, str]:
    """Return what is known of a document, and its line: a sentence of it, or how far its reading is."""
    if record.state == "refused":
        return Introduction(), escape_text(
            translated(record.reason or "") or _("This file could not be read.")
        )
    if record.state not in SEARCHABLE:
        progress = here.ingest.progress(record.id)
        return Introduction(), step_name(progress).capitalize() if progress else _("Waiting")
    made = here.introduction(record.id).latest or Introduction()
    return made, label(made.summary.partition("\n")[0], MOST_SENTENCE)


def _show_actions(record: DocumentRecord, here: Workspace, open_document: Open | None) -> None:
    if open_document is None:  # beside the document, whose panel has the button
        return
    if st.button(_("Summarise"), icon=":material/summarize:", type="tertiary", key="introduction-summarise"):
        summarise(record, here)
    action(_("Open document"), "menu_book", "introduction-open", open_document, record.id)


def _show_made(record: DocumentRecord, made: Introduction, here: Workspace, *, making: bool) -> None:
    if made.summary:
        st.markdown(escape_text(made.summary))
    if made.questions:
        st.caption(_("Suggested questions"))
        _show_questions([(record, question) for question in made.questions], here)
    if not (made.summary or made.questions or making):
        st.caption(_("No summary or questions for this document. You can ask about it in a chat."))
    if making:
        st.caption(_("Looking for questions that this document answers…"))


def _show_questions(questions: Sequence[tuple[DocumentRecord, str]], here: Workspace) -> None:
    with st.container(horizontal=True, gap="xsmall", key="introduction-questions"):
        for number, (record, question) in enumerate(questions):
            key = f"introduction-ask-{number}"
            if st.button(label(question, 160), key=key, icon=":material/chat:", wrap=True):
                ask_about(record, question, here)


def summarise(record: DocumentRecord, here: Workspace) -> None:
    """Ask for a summary of a document in a new chat named after it, and go there."""
    title = _("Summary: {name}", name=plain_line(record.name, MAX_NAME))
    ask_about(record, translated(SUMMARISE), here, title)


def ask_about(record: DocumentRecord, question: str, here: Workspace, title: str = "") -> None:
    """Ask a question in a new chat over a document, with a title other than the question, and go there."""
    with show_refusal():
        turn = here.ask(None, question, searching=((), [record.id]))
        if title:
            here.conversations.rename(turn.conversation_id, title)
        st.switch_page(pages.CHAT, query_params={"chat": turn.conversation_id})
