"""The chat page: a conversation, its stream, and the way to ask the next question."""

from collections.abc import Sequence

import streamlit as st

from rag.workspace import Workspace
from storage.documents import SEARCHABLE
from storage.errors import NotFound
from storage.records import ConversationRecord, Message
from ui import pages
from ui.chat import citations as markers
from ui.chat import (
    evidence_panel as evidence,
)
from ui.chat import (
    input as asking,
)
from ui.chat import message as paging
from ui.chat import scope
from ui.chat import (
    sidebar as conversations,
)
from ui.chat import (
    trace_panel as tracing,
)
from ui.chat.message import show_answer, show_question
from ui.components.job_progress import show_ingest
from ui.components.messages import told
from ui.documents.upload import show_report, uploader
from ui.pages import name_tab
from ui.server.services import services, workspace

LOOK = 3.0  # seconds between looks for what another tab has done in this conversation


def show() -> None:
    """Show the chat page."""
    here = workspace()
    try:
        _show(here)
    except NotFound:
        chat = st.query_params.get(conversations.PARAMETER)
        if chat and conversations.find(chat, here) is None:
            st.rerun()  # deleted in another tab while it was drawn: now the page says so
        raise


def _show(here: Workspace) -> None:
    limit = services().settings.max_upload_mb
    markers.listen(evidence.choose)
    conversation = _opened(here)
    with st.bottom:
        scope.show(conversation, here)
    # Outside of it, where Streamlit puts it there by itself: only then does the page follow its newest words.
    asking.show_box(here, limit)
    # Each at its place in every run, so that one takes the other's on the screen at once.
    around, alone, turn = st.container(), st.container(key="alone"), st.container()
    if conversation is not None:
        name_tab(conversation.title or conversations.UNTITLED)
    conversations.show_list(here, conversation)
    show_ingest(here)
    _show_panel(here)
    with around:
        left_out = _show_around(conversation, here, limit)
    if conversation is None or paging.shows_newest(conversation.id):
        asking.show_turn(here, alone, turn, left_out=left_out)


def _show_around(conversation: ConversationRecord | None, here: Workspace, limit_mb: int) -> bool:
    """Show all but the turn that is on its way; returns whether there is one."""
    welcome, left_out = st.empty(), False  # so that it goes at once when a chat takes its place
    if conversation is not None:
        left_out = _show_conversation(conversation, here)
    else:
        with welcome.container(key="welcome"):
            _welcome(here, limit_mb)
    # What became of what was sent is said where it was sent: at the end of a long chat.
    show_report(conversation.id if conversation is not None else "")
    asking.show_refusal(here)
    return left_out


def _show_panel(here: Workspace) -> None:
    """Open the one panel that the address names: a page has room for one."""
    if evidence.PARAMETER in st.query_params:
        st.query_params.pop(tracing.PARAMETER, None)
        evidence.show_chosen(here)
    else:
        tracing.show_chosen(here)


def _opened(here: Workspace) -> ConversationRecord | None:
    chat = st.query_params.get(conversations.PARAMETER)
    conversation = conversations.find(chat, here)
    if chat and conversation is None:
        conversations.go_to(None)
        st.toast("Chat not found. It may have been deleted.")
    return conversation


def _welcome(here: Workspace, limit_mb: int) -> None:
    documents = here.library.documents.list()
    if documents:
        st.title("Ask your documents")
        ready = sum(record.state in SEARCHABLE for record in documents)
        count = f"{ready:,} document{'' if ready == 1 else 's'} ready. " if ready else ""
        st.markdown(f"{count}Ask anything. Click a number in the answer to see its source.")
    else:
        st.title("Ask your own documents")
        st.markdown(
            "1. **Add** PDFs, Word files, tables, web pages or text.\n"
            "2. **Ask** a question in any language.\n"
            "3. **Check**: click a number in the answer to see its source."
        )
    uploader(here, limit_mb)
    _note_no_model()


def _note_no_model() -> None:
    if services().llm is not None:
        return
    with st.container(border=True):
        st.markdown(
            "**Search only.** Footnote shows matching passages. Connect a model to get written answers."
        )
        st.page_link(pages.SETTINGS, label="Connect a model", icon=":material/cable:")


def _show_conversation(conversation: ConversationRecord, here: Workspace) -> bool:
    """Show a conversation but for the turn that is on its way; returns whether there is one."""
    conversations.show_header(here, conversation)
    shown = paging.page_of(
        conversation.id,
        lambda before, limit: here.conversations.messages(conversation.id, before=before, limit=limit),
    )
    if services().llm is None:
        _note_own_sentences()
    left_out = _show_messages(shown, here, settled=here.conversations.pending(conversation.id) is None)
    _watch(conversation, here)
    paging.show_ways_forward(conversation.id)
    return left_out


def _show_messages(messages: Sequence[Message], here: Workspace, *, settled: bool) -> bool:
    """Show messages, oldest first, but for the turn that is on its way; returns whether there is one."""
    coming = {message.question_id for message in messages if message.state == "pending"}
    questions = {message.id: message for message in messages if message.role == "user"}
    standings = here.standings.of(passage for message in messages for passage in message.passages)
    model = services().llm is not None
    narrowed = any(message.searched_in for message in messages)
    for message in messages:
        if message.role == "user":
            if message.id not in coming:
                show_question(message, here, settled=settled)
        elif message.state != "pending":
            question = questions.get(message.question_id or "")
            said = scope.of_answer(message, narrowed=narrowed)
            show_answer(message, question, here, standings, settled=settled, model=model, searched=said)
    return bool(coming)


def _note_own_sentences() -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Search only. No language model is connected.", width="content")
        st.page_link(pages.SETTINGS, label="Connect a model", icon=":material/cable:")


@st.fragment(run_every=LOOK)
@told()
def _watch(conversation: ConversationRecord, here: Workspace) -> None:
    """Run the page again when another tab has asked, stopped, renamed or deleted here."""
    try:
        now = here.conversations.open(conversation.id)
    except NotFound:
        st.rerun()
    if now.updated != conversation.updated or now.title != conversation.title:
        st.rerun()
