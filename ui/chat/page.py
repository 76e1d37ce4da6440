"""Chat page: the open conversation or the welcome screen, the answer stream, the input."""

from collections.abc import Iterator, Sequence

import streamlit as st

from rag.chat.scope import in_words
from rag.citations.support import open_count
from rag.i18n import _, language, ngettext, translated
from rag.sample import sample_in
from rag.workspace import EVERY, Workspace
from storage.documents import SEARCHABLE
from storage.errors import NotFound
from storage.records import ConversationRecord, Message
from ui import pages
from ui.chat import citations, composer, evidence_panel, scope, sidebar, trace_panel
from ui.chat.evidence_panel import draw_ahead
from ui.chat.input import show_box, show_refused_question, show_turn
from ui.chat.message import (
    keep_read,
    show_answer,
    show_found,
    show_later,
    show_question,
    show_version_that_goes_on,
    shown_messages,
    shows_newest,
)
from ui.components import side_panel
from ui.components.job_progress import show_ingest, unread_line
from ui.components.messages import action, show_errors
from ui.documents import introduction
from ui.documents import panel as document_panel
from ui.documents.upload import report, show_report, uploader
from ui.server.services import services, workspace
from ui.settings.models import show_first_model, show_search_only

LOOK_CHECKS = 0.5  # seconds between looks for the end of a check
_FOUND = "chat-found"
LOOK = 3.0  # seconds between checks for changes by another tab


def show() -> None:
    """Show the chat page."""
    here = workspace()
    try:
        _show(here)
    except NotFound:
        chat = st.query_params.get(sidebar.PARAMETER)
        if chat and sidebar.find(chat, here) is None:
            st.rerun()  # deleted in another tab while it was drawn: now the page says so
        raise


def _show(here: Workspace) -> None:
    limit = services().settings.max_upload_mb
    citations.listen(evidence_panel.choose, st.query_params.get(evidence_panel.PARAMETER, ""))
    conversation = _opened(here)
    composer.mount()
    with st.bottom:
        with st.container(key="above-box", horizontal=True, vertical_alignment="center"):
            scope.show(conversation, here)
            if conversation is not None and services().llm is None:
                show_search_only(services())
        show_box(here, limit)  # outside st.bottom the page would scroll with the answer
    # The same places in every run, so that one replaces the other on the screen at once.
    around, alone, turn, beside = st.container(), st.container(key="alone"), st.container(), st.container()
    if conversation is not None:
        pages.name_tab(conversation.title or translated(sidebar.UNTITLED))
    sidebar.show_list(here, conversation)
    follow_ingest = show_ingest(here)
    with beside:
        _show_panel(here)
    with around:
        left_out = _show_around(conversation, here, limit)
    if conversation is None or shows_newest(conversation.id):
        show_turn(here, alone, turn, left_out=left_out, meanwhile=follow_ingest)


def _show_around(conversation: ConversationRecord | None, here: Workspace, limit_mb: int) -> bool:
    """Show all but the pending turn; return True if there is one."""
    welcome, left_out = st.empty(), False  # so that it goes at once when a chat takes its place
    if conversation is not None:
        left_out = _show_conversation(conversation, here)
    else:
        with welcome.container(key="welcome"):
            _welcome(here, limit_mb)
    if conversation is not None:
        show_report(conversation.id, here)
    show_refused_question(here)
    return left_out


def _show_panel(here: Workspace) -> None:
    if evidence_panel.PARAMETER in st.query_params:
        st.query_params.pop(trace_panel.PARAMETER, None)
        evidence_panel.show_chosen(here)
    elif side_panel.DOCUMENT in st.query_params:
        document_panel.show_chosen(here)
    else:
        trace_panel.show_chosen(here)


def _opened(here: Workspace) -> ConversationRecord | None:
    chat = st.query_params.get(sidebar.PARAMETER)
    left = None if chat else pages.chat_left()
    conversation = sidebar.find(chat or left, here)
    if chat:
        st.session_state[pages.MISSING_CHAT] = chat if conversation is None else None
    if chat and conversation is None:
        sidebar.go_to(None)
    elif left and conversation is not None:
        st.query_params[sidebar.PARAMETER] = left
    pages.keep_chat(conversation.id if conversation else None)
    return conversation


def _welcome(here: Workspace, limit_mb: int) -> None:
    documents = here.documents()
    if missing := st.session_state.get(pages.MISSING_CHAT):
        _show_missing(missing, here)
    if documents:
        st.title(_("Ask your documents"))
        ready = sum(record.state in SEARCHABLE for record in documents)
        ask = _("Ask anything. Click a number in the answer to see its source.")
        st.markdown(
            ngettext(
                "{count} document ready. {reason}", "{count} documents ready. {reason}", ready, reason=ask
            )
            if ready
            else ask
        )
        reported = {line.document_id for line in report().lines}
        if unread := unread_line([record for record in documents if record.id not in reported]):
            st.caption(unread)
    else:
        st.title(_("Ask your own documents"))
        st.markdown(
            _("Drop a file, ask in any language, and click a number in the answer to see its source.")
        )
    if documents:
        uploader(here, limit_mb)
        show_report("", here)
    else:
        with st.container(key="first-files"):
            uploader(here, limit_mb)
        show_report("", here)
        offer_sample(here)
    if services().llm is None:
        show_first_model(services(), brief=bool(documents))
    told = {line.document_id for line in report().lines if line.document_id}
    chosen = scope.next_choice()
    if chosen == scope.NO_CHOICE:
        introduction.show_newest(documents, here, side_panel.open_document, told)
    else:
        inside = [one for one in documents if one.id in chosen[1]]
        introduction.show_only(inside, here, side_panel.open_document)


def _show_missing(chat: str, here: Workspace) -> None:
    """Tell that a chat was not found, with a button where it can be restored."""
    if any(one.id == chat for one in here.conversations.discarded()):
        st.info(_("This chat was deleted. You can restore it."), icon=":material/delete:")
        action(_("Restore"), "undo", "restore-missing", _restore, chat, here, kind="secondary")
    else:
        st.info(
            _("This chat was not found. It may have been deleted. Here you can begin a new one."),
            icon=":material/search_off:",
        )


def _restore(chat: str, here: Workspace) -> None:
    here.restore_conversation(chat)
    sidebar.go_to(chat)


def _show_conversation(conversation: ConversationRecord, here: Workspace) -> bool:
    sidebar.show_header(here, conversation)
    _turn_to_found(conversation, here)
    shown = shown_messages(
        conversation.id,
        lambda before, limit: here.conversations.messages(conversation.id, before=before, limit=limit),
    )
    if shows_newest(conversation.id):
        keep_read(shown)
    settled = here.conversations.pending(conversation.id) is None
    left_out = _show_messages(shown, here, in_words(here.choices.of(conversation.id)), settled=settled)
    questions = [message for message in shown if message.role == "user"]
    if settled and questions and shows_newest(conversation.id):
        show_version_that_goes_on(questions[-1], here)
    _watch(conversation, here)
    _watch_checks(shown, here)
    show_later(conversation.id)
    return left_out


def _turn_to_found(conversation: ConversationRecord, here: Workspace) -> None:
    """Turn to the words that the chat was found by, once; the browser scrolls to them."""
    words = st.query_params.get(sidebar.FIND)
    found = (conversation.id, words)
    if words and st.session_state.get(_FOUND) != found:
        st.session_state[_FOUND] = found
        show_found(conversation.id, here.conversations.messages(conversation.id, limit=EVERY), words)


def _show_messages(messages: Sequence[Message], here: Workspace, searched: str, *, settled: bool) -> bool:
    """Show messages, oldest first, without the pending turn; return True if there is one.

    `searched` is the scope that the chat has now.
    """
    coming = {message.question_id for message in messages if message.state == "pending"}
    questions = {message.id: message for message in messages if message.role == "user"}
    standings = here.standings.of(passage for message in messages for passage in message.passages)
    model = services().llm is not None
    checked = here.checking()
    unread: set[str] = set()
    before: Message | None = None
    for turn in _turns(messages):
        with st.container(key=f"asked-{turn[0].id}"):
            for message in turn:
                if message.role == "user":
                    if message.id not in coming:
                        show_question(message, here, settled=settled)
                elif message.state != "pending":
                    question = questions.get(message.question_id or "")
                    said = scope.answer_scope(message, searched)
                    checking = message.id in checked and open_count(message) > 0
                    show_answer(
                        message,
                        question,
                        here,
                        standings,
                        settled=settled,
                        model=model,
                        checking=checking,
                        searched=said,
                        unread_told=unread,
                        before=before,
                    )
                    before = message
    if settled and messages and messages[-1].role == "assistant":
        draw_ahead(messages[-1], here)
    return bool(coming)


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the messages by turn: each begins with a question, but for the first where it is cut off."""
    turn: list[Message] = []
    for message in messages:
        if turn and message.role == "user":
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


@st.fragment(run_every=LOOK)
@show_errors()
def _watch(conversation: ConversationRecord, here: Workspace) -> None:
    try:
        now = here.conversations.open(conversation.id)
    except NotFound:
        st.rerun()
    if now.updated != conversation.updated or now.title != conversation.title:
        st.rerun()


def _watch_checks(messages: Sequence[Message], here: Workspace) -> None:
    """Draw the page again when the model has read for the open statements of one of its answers."""
    checked = here.checking() & {message.id for message in messages}
    if checked:
        _await_checks(checked, here)


@st.fragment(run_every=LOOK_CHECKS)
@show_errors()
def _await_checks(checked: frozenset[str], here: Workspace) -> None:
    if not checked <= here.checking():
        st.rerun()


def offer_sample(here: Workspace) -> None:
    """Show a button that adds the sample document, in the language of the page."""
    action(_("Try a sample document"), "draft", "add-sample", _add_sample, here, kind="secondary")


def _add_sample(here: Workspace) -> None:
    sample = sample_in(language())
    here.add(sample.name, [sample.content], None)
