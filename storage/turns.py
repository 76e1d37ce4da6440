"""Turns as they begin: asked, asked otherwise, tried again, gone on with. The caller asked whose they are."""

import secrets
from typing import cast

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session

from storage import evidence, messages
from storage.columns import table_of
from storage.errors import AnswerPending, NotUnfinished
from storage.records import Turn
from storage.tables import Conversation, Message

UNFINISHED = ("stopped", "interrupted", "failed")

_IN_CONVERSATION = Message.conversation_id == bindparam("conversation")
_PENDING = select(Message.id).where(_IN_CONVERSATION, Message.state == "pending")
_LAST = select(func.max(Message.position)).where(_IN_CONVERSATION)
_CONVERSATIONS = table_of(Conversation)
_SHOWING = (
    update(_CONVERSATIONS)
    .where(_CONVERSATIONS.c.id == bindparam("conversation"))
    .values(tip_id=bindparam("tip"), updated=bindparam("now"))
)


def begin(
    session: Session,
    conversation: Conversation,
    question: str,
    *,
    follows: str | None,
    searched: str | None = None,
) -> Turn:
    """Add a question that follows a message, and its pending answer; the conversation shows them."""
    refuse_pending(session, conversation.id)
    turn = Turn(conversation.id, question_id=new_id(), answer_id=new_id())
    last = session.scalar(_LAST, {"conversation": conversation.id}) or 0
    messages.add_turn(session, turn, last + 1, question, follows=follows, searched=searched)
    shown = {"conversation": conversation.id, "tip": turn.answer_id, "now": messages.now()}
    session.connection().execute(_SHOWING, shown)
    return turn


def begin_again(session: Session, conversation: Conversation, answer: Message) -> Turn:
    """Empty an answer and make it pending."""
    turn = _reopened(session, conversation, answer)
    answer.content = answer.folded = ""
    answer.standalone_question = answer.searched_in = None
    answer.left_out = []
    evidence.forget_passages(session, answer.id)
    return turn


def go_on(session: Session, conversation: Conversation, answer: Message) -> Turn:
    """Make an answer pending that ended early, and keep its text and its passages."""
    if answer.state not in UNFINISHED or not answer.content:
        raise NotUnfinished("That answer is not one that ended early. Ask it anew instead.")
    return _reopened(session, conversation, answer)


def _reopened(session: Session, conversation: Conversation, answer: Message) -> Turn:
    refuse_pending(session, conversation.id)
    evidence.forget_outcome(session, answer.id)
    answer.state, answer.timings_ms = "pending", {}
    answer.model = answer.error = answer.rating = None
    conversation.updated = messages.now()
    return Turn(conversation.id, cast(str, answer.question_id), answer.id)


def pending(session: Session, conversation_id: str) -> str | None:
    """Return the answer of a conversation that is on its way, by its id."""
    return session.scalar(_PENDING, {"conversation": conversation_id})


def refuse_pending(session: Session, conversation_id: str) -> None:
    """Raise AnswerPending while an answer of the conversation is on its way."""
    if pending(session, conversation_id) is not None:
        raise AnswerPending(
            "An answer in this conversation is still on its way. Wait for it, or stop it first."
        )


def new_id() -> str:
    """Return an id that nobody guesses."""
    return secrets.token_hex(8)
