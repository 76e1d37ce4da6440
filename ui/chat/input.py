"""Chat input: send a question, show its turn at once, follow its answer.

A sent question first draws only its own turn, so that the first word comes soon. The page around it, with
every chat and answer, is drawn a second later, or when nobody else waits for a first word.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from rag.chat.pipeline import validated_question
from rag.workspace import Workspace
from storage.errors import FootnoteError, NotFound
from storage.records import TurnRecord
from ui.chat import scope, sidebar
from ui.chat.message import show_newest, show_question, shows_newest
from ui.chat.stream import follow_answer
from ui.components.markdown import label
from ui.components.messages import show_errors
from ui.documents.upload import add_files, report
from ui.server.services import services

BOX, TURN = "question", "turn"
TURN_ONLY = 1.0  # seconds in which only the turn is drawn
_REFUSED, _REWORDED, _SENT = "refused-question", "reworded-question", "question-on-its-way"


@dataclass(frozen=True)
class _SentQuestion:
    """Question as sent, with its chat or scope and the documents to wait for."""

    text: str
    chat: str | None
    searching: scope.Choice
    after: tuple[str, ...] = ()
    alone: bool = True


def show_box(here: Workspace, limit_mb: int) -> None:
    """Show the chat input, which also takes files."""
    st.chat_input(
        "Ask your documents",
        key=BOX,
        accept_file="multiple",
        max_upload_size=limit_mb,
        on_submit=_send,
        args=(here,),
    )


def show_refusal(here: Workspace) -> None:
    """Show why a question was refused, with its text to edit, until another one is sent."""
    refused = st.session_state.get(_REFUSED)
    if refused is None:
        return
    said, sent = refused
    if sent.chat != st.query_params.get(sidebar.PARAMETER):
        del st.session_state[_REFUSED]
        return
    with st.container(border=True, key="refused"):
        st.error(label(said, 500), icon=":material/error:")
        st.session_state.setdefault(_REWORDED, sent.text)  # Streamlit forgets it while it is not drawn
        st.text_area("Your question", key=_REWORDED)
        st.button(
            "Ask again", icon=":material/refresh:", key="ask-again", on_click=_send_anew, args=(sent, here)
        )


def show_turn(here: Workspace, alone: Any, around: Any, *, left_out: bool) -> None:
    """Show the pending turn of the open chat until its answer has ended.

    `alone` and `around` are its places without the page and as a part of it. `left_out` is True if the page
    skipped a pending turn, which may have ended since.
    """
    with alone:
        _alone(here)
    with around:
        followed = _follow(here)
    if followed or left_out:
        st.rerun()


@st.fragment(key=TURN)
def _alone(here: Workspace) -> None:
    """Show a turn that was just sent for a short time.

    Streamlit handles clicks on a fragment's own widgets only after the fragment has ended.
    """
    place = st.empty()  # so that what is drawn here goes as soon as the page is drawn around it
    sent = st.session_state.pop(_SENT, None)
    if sent is None:
        return
    if sent.conversation_id == st.query_params.get(sidebar.PARAMETER):  # else they went elsewhere
        with place.container(), show_errors(), suppress(NotFound):  # deleted in another tab: the page says so
            _show(sent, here, TURN_ONLY)
    st.rerun()


def _follow(here: Workspace) -> bool:
    """Show the pending turn of the open chat until its answer has ended; return True if there was one."""
    chat = st.query_params.get(sidebar.PARAMETER)
    pending = here.conversations.pending(chat) if chat else None
    if pending is None:
        return False
    _show(here.conversations.turn(pending), here)
    return True


def _show(turn: TurnRecord, here: Workspace, seconds: float | None = None) -> None:
    """Show a turn until its answer has ended, or for `seconds`."""
    show_question(turn.question, here, settled=False)
    job = here.answering(turn.answer_id)
    if job is None:
        here.settle(turn.answer_id)
    else:
        follow_answer(turn, job, here, seconds)


def _send(here: Workspace) -> None:
    """Add the attached files to the library and ask the question in the chat of the address.

    Streamlit may interrupt a run wherever the session state is read, so all of it is read before anything
    is stored.
    """
    asked: Any = st.session_state[BOX]
    told, chosen, chat = report(), scope.next_choice(), st.query_params.get(sidebar.PARAMETER)
    if asked.text.strip():
        st.session_state.pop(_REFUSED, None)
    told.put_away()
    read_first = [line.document_id for line in add_files(asked.files, told, here) if line.document_id]
    if asked.text.strip():
        _ask(_SentQuestion(asked.text, chat, chosen, tuple(read_first), alone=not asked.files), here)


def _send_anew(sent: "_SentQuestion", here: Workspace) -> None:
    """Send a refused question again, with its edited text."""
    reworded = replace(sent, text=str(st.session_state[_REWORDED]), searching=scope.next_choice())
    st.session_state.pop(_REFUSED, None)
    _ask(reworded, here)


def _ask(sent: "_SentQuestion", here: Workspace) -> None:
    try:
        question = validated_question(sent.text)
        chat = sidebar.find(sent.chat, here)
        turn = here.ask(
            None if chat is None else chat.id, question, searching=sent.searching, after=sent.after
        )
    except FootnoteError as error:
        st.session_state[_REWORDED] = sent.text
        st.session_state[_REFUSED] = (str(error), sent)
        return
    services().render_priority.start(turn.conversation_id)
    if chat is None:
        scope.forget_next()
    st.query_params[sidebar.PARAMETER] = turn.conversation_id
    if sent.alone and shows_newest(turn.conversation_id):
        _show_alone(turn)
    show_newest()


def _show_alone(turn: TurnRecord) -> None:
    """Draw only a turn, if the page already has a place for it."""
    st.session_state[_SENT] = turn
    try:
        st.rerun(TURN)
    except StreamlitAPIException:
        st.session_state.pop(_SENT)
