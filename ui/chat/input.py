"""A question on its way: sent, seen at once, and followed while its answer is written.

What a person waits for is the first word, so that nothing else is drawn before it: a question that is sent
draws only its own turn, and the page around it, with a row for every chat and every answer, a second later,
or when nobody else waits for a first word.
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
from ui.chat import message as paging
from ui.chat import scope
from ui.chat import sidebar as conversations
from ui.chat.message import show_question
from ui.chat.stream import follow
from ui.components import messages as faults
from ui.components.markdown import label
from ui.documents.upload import report, take
from ui.server.services import services

BOX, TURN = "question", "turn"
ALONE = 1.0  # seconds that a turn is followed before the page around it is drawn
_REFUSED, _REWORDED, _SENT = "refused-question", "reworded-question", "question-on-its-way"


@dataclass(frozen=True)
class _Sent:
    """A question as it was sent: in which chat, or searching what in a new one, and after which documents."""

    text: str
    chat: str | None
    searching: scope.Choice
    after: tuple[str, ...] = ()
    alone: bool = True


def show_box(here: Workspace, limit_mb: int) -> None:
    """Show the box to ask in, which takes files, too."""
    st.chat_input(
        "Ask your documents",
        key=BOX,
        accept_file="multiple",
        max_upload_size=limit_mb,
        on_submit=_send,
        args=(here,),
    )


def show_refusal(here: Workspace) -> None:
    """Say why a question was not taken, if it was not, and keep it here until another one is sent."""
    refused = st.session_state.get(_REFUSED)
    if refused is None:
        return
    said, sent = refused
    if sent.chat != st.query_params.get(conversations.PARAMETER):
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
    """Show the turn that is on its way in the open chat, if one is, until its answer has ended.

    `alone` and `around` are its places: without the page, and as a part of it. `left_out` tells that the page
    has left a turn to this, which may have ended since.
    """
    with alone:
        _alone(here)
    with around:
        followed = _follow(here)
    if followed or left_out:
        st.rerun()


@st.fragment(key=TURN)
def _alone(here: Workspace) -> None:
    """Show a turn that was just sent for a while; after that what is pressed in it is to be heard.

    Streamlit lets no press of a fragment's own through to it before it has ended.
    """
    place = st.empty()  # so that what is drawn here goes as soon as the page is drawn around it
    sent = st.session_state.pop(_SENT, None)
    if sent is None:
        return
    if sent.conversation_id == st.query_params.get(conversations.PARAMETER):  # else they went elsewhere
        with place.container(), faults.told(), suppress(NotFound):  # deleted in another tab: the page says so
            _show(sent, here, ALONE)
    st.rerun()


def _follow(here: Workspace) -> bool:
    """Show the turn that is on its way in the open chat until its answer has ended, if there is one."""
    chat = st.query_params.get(conversations.PARAMETER)
    pending = here.conversations.pending(chat) if chat else None
    if pending is None:
        return False
    _show(here.conversations.turn(pending), here)
    return True


def _show(turn: TurnRecord, here: Workspace, seconds: float | None = None) -> None:
    """Show a turn until its answer has ended, or for some seconds."""
    show_question(turn.question, here, settled=False)
    job = here.answering(turn.answer_id)
    if job is None:
        here.settle(turn.answer_id)
    else:
        follow(turn, job, here, seconds)


def _send(here: Workspace) -> None:
    """Put what was sent to work: files into the library, the question into the chat of the address.

    The page as it was drawn last may not know of that chat yet. Where the visitor does something else
    meanwhile, Streamlit ends this only before any of it is kept, or after all of it is: it looks up wherever
    the state of the session is read.
    """
    asked: Any = st.session_state[BOX]
    told, chosen, chat = report(), scope.next_choice(), st.query_params.get(conversations.PARAMETER)
    if asked.text.strip():
        st.session_state.pop(_REFUSED, None)
    told.put_away()
    read_first = [line.document_id for line in take(asked.files, told, here) if line.document_id]
    if asked.text.strip():
        _ask(_Sent(asked.text, chat, chosen, tuple(read_first), alone=not asked.files), here)


def _send_anew(sent: "_Sent", here: Workspace) -> None:
    """Put a question that was refused to work, as it reads now."""
    reworded = replace(sent, text=str(st.session_state[_REWORDED]), searching=scope.next_choice())
    st.session_state.pop(_REFUSED, None)
    _ask(reworded, here)


def _ask(sent: "_Sent", here: Workspace) -> None:
    try:
        question = validated_question(sent.text)
        chat = conversations.find(sent.chat, here)
        turn = here.ask(
            None if chat is None else chat.id, question, searching=sent.searching, after=sent.after
        )
    except FootnoteError as error:
        st.session_state[_REWORDED] = sent.text
        st.session_state[_REFUSED] = (str(error), sent)
        return
    services().first_words.wait(turn.conversation_id)
    if chat is None:
        scope.forget_next()
    st.query_params[conversations.PARAMETER] = turn.conversation_id
    if sent.alone and paging.shows_newest(turn.conversation_id):
        _show_alone(turn)
    paging.show_newest()


def _show_alone(turn: TurnRecord) -> None:
    """Draw a turn and nothing else, where the page has come so far as to have a place for it."""
    st.session_state[_SENT] = turn
    try:
        st.rerun(TURN)
    except StreamlitAPIException:
        st.session_state.pop(_SENT)
