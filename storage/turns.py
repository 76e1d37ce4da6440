"""Turns as they begin: asked, asked otherwise, tried again, gone on with. The caller asked whose they are."""

import secrets

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session

from storage import evidence, messages
from storage.columns import storable, table_of
from storage.errors import AnswerPending, NotUnfinished
from storage.records import Message, TurnRecord
from storage.tables import ConversationRow
from storage.tables import MessageRow as Row

UNFINISHED = ("stopped", "interrupted", "failed")

_IN_CONVERSATION = Row.conversation_id == bindparam("conversation")
_PENDING = select(Row.id).where(_IN_CONVERSATION, Row.state == "pending")
_LAST = select(func.max(Row.position)).where(_IN_CONVERSATION)
_CONVERSATIONS = table_of(ConversationRow)
_SHOWING = (
    update(_CONVERSATIONS)
    .where(_CONVERSATIONS.c.id == bindparam("conversation"))
    .values(tip_id=bindparam("tip"), updated=bindparam("now"))
)


def begin(
    session: Session,
    conversation: ConversationRow,
    question: str,
    *,
    follows: str | None,
    searched: str | None = None,
) -> TurnRecord:
    """Add a question that follows a message, and its pending answer; the conversation shows them."""
    refuse_pending(session, conversation.id)
    now = messages.now()
    asked = Message(new_id(), "user", storable(question), "complete", None, searched, None, None, {}, now)
    answer = Message(new_id(), "assistant", "", "pending", asked.id, None, None, None, {}, now)
    last = session.scalar(_LAST, {"conversation": conversation.id}) or 0
    messages.add(session, conversation.id, asked, last + 1, follows=follows)
    messages.add(session, conversation.id, answer, last + 2, follows=asked.id)
    session.connection().execute(_SHOWING, {"conversation": conversation.id, "tip": answer.id, "now": now})
    return TurnRecord(conversation.id, asked, answer, follows)


def begin_again(session: Session, conversation: ConversationRow, answer: Row) -> TurnRecord:
    """Empty an answer and make it pending."""
    _reopen(session, conversation, answer)
    answer.content = answer.folded = ""
    answer.standalone_question = answer.searched_in = None
    answer.left_out = []
    evidence.forget_passages(session, answer.id)
    return read(session, answer)


def go_on(session: Session, conversation: ConversationRow, answer: Row) -> TurnRecord:
    """Make an answer pending that ended early, and keep its text and its passages."""
    if answer.state not in UNFINISHED or not answer.content:
        raise NotUnfinished("That answer is not one that ended early. Ask it anew instead.")
    _reopen(session, conversation, answer)
    return read(session, answer)


def _reopen(session: Session, conversation: ConversationRow, answer: Row) -> None:
    refuse_pending(session, conversation.id)
    evidence.forget_outcome(session, answer.id)
    answer.state, answer.timings_ms = "pending", {}
    answer.model = answer.error = answer.rating = None
    conversation.updated = messages.now()


def read(session: Session, answer: Row) -> TurnRecord:
    """Read an answer with its question."""
    question = session.get_one(Row, answer.question_id)
    asked, answered = messages.read(session, [question, answer])
    return TurnRecord(answer.conversation_id, asked, answered, question.parent_id)


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
