"""The conversations of one owner: questions kept before they are answered, answers with their evidence."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from sqlalchemy import ColumnElement, bindparam, exists, func, insert, or_, select, update
from sqlalchemy.orm import Session

from storage import answers as traces
from storage import messages, tables
from storage import messages as branches
from storage import messages as evidence
from storage.answers import Trace
from storage.database import Database
from storage.errors import AnswerPending, NotFound, NotUnfinished
from storage.records import (
    AnswerState,
    CitationRecord,
    CitationStatus,
    ConversationRecord,
    LeftOutRecord,
    Message,
    PassageRecord,
    Rating,
    Role,
    TurnRecord,
)
from storage.tables import ConversationRow, storable, table_of
from storage.tables import MessageRow as Row

# Turns as they begin: asked, asked otherwise, tried again, gone on with. The caller asked whose they are.
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
        raise AnswerPending("Still answering. Wait for the answer to end, or stop it first.")


def new_id() -> str:
    """Return an id that nobody guesses."""
    return secrets.token_hex(8)


__all__ = [
    "AnswerState",
    "CitationRecord",
    "CitationStatus",
    "ConversationRecord",
    "Conversations",
    "LeftOutRecord",
    "Message",
    "PassageRecord",
    "Rating",
    "Role",
    "TurnRecord",
    "interrupt_pending",
]
_MINE = select(tables.ConversationRow).where(tables.ConversationRow.owner == bindparam("owner"))
_ONE = _MINE.where(tables.ConversationRow.id == bindparam("id"))
_TABLE = table_of(tables.ConversationRow)
_ADDING = insert(_TABLE)
_NAMING = (
    update(_TABLE)
    .where(_TABLE.c.id == bindparam("conversation"))
    .values(title=bindparam("called"), folded=bindparam("compared"))
)


class Conversations:
    """What one owner may see and change; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def create(self, title: str = "") -> ConversationRecord:
        """Begin a conversation."""
        now = messages.now()
        begun = ConversationRecord(new_id(), tables.storable(title), created=now, updated=now)
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            row = {"owner": self._owner, "folded": messages.fold(title), "tip_id": None, **asdict(begun)}
            session.connection().execute(_ADDING, row)
        return begun

    def open(self, conversation_id: str) -> ConversationRecord:
        """Read one conversation; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return _conversation(self._row(session, conversation_id))

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title."""
        with self._database.writing() as session:
            _name(session, self._row(session, conversation_id), title)

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with all that was said in it."""
        with self._database.writing() as session:
            session.delete(self._row(session, conversation_id))

    def message(self, message_id: str) -> Message:
        """Read one message with its evidence; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return messages.read(session, [self._message(session, message_id)])[0]

    def turn(self, answer_id: str) -> TurnRecord:
        """Read an answer with its question; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return read(session, self._answer(session, answer_id))

    def messages(self, conversation_id: str, *, before: str | None = None, limit: int = 50) -> list[Message]:
        """Read the last ``limit`` messages shown, oldest first; with ``before``, those this one follows."""
        with self._database.reading() as session:
            last = self._row(session, conversation_id).tip_id
            if before is not None:
                last = self._message(session, before).parent_id
            return messages.read(session, branches.path_to(session, last, limit))

    def opening(self, message_id: str) -> Message:
        """Read the question that the conversation begins with, on the way to this message."""
        with self._database.reading() as session:
            first = branches.opening_of(session, self._message(session, message_id))
            return messages.read(session, [first])[0]

    def pending(self, conversation_id: str) -> str | None:
        """Return the id of the answer that is on its way, if one is."""
        with self._database.reading() as session:
            return pending(session, self._row(session, conversation_id).id)

    def begin_turn(self, conversation_id: str, question: str, *, title: str = "") -> TurnRecord:
        """Keep a question and its empty pending answer in one commit, after what is shown.

        ``title`` names a conversation that has none yet. Raises AnswerPending while another answer of the
        conversation is on its way, AccountClosed for one who is being removed.
        """
        with self._beginning() as session:
            row = self._row(session, conversation_id)
            if not row.title:
                _name(session, row, title)
            return begin(session, row, question, follows=row.tip_id)

    def begin_version(self, question_id: str, question: str, *, searched: str | None = None) -> TurnRecord:
        """Keep a question that stands beside an earlier one, and is shown in its place from now on.

        What followed the earlier one stays with it. ``searched`` is what shall be searched, word for word.
        Raises as ``begin_turn`` does.
        """
        with self._beginning() as session:
            beside = messages.owned(session, self._owner, question_id, "user")
            row = self._row(session, beside.conversation_id)
            turn = begin(session, row, question, follows=beside.parent_id, searched=searched)
            return read(session, self._answer(session, turn.answer_id))

    def show_version(self, question_id: str) -> None:
        """Show a question in place of its other versions, with the newest of what followed it.

        Raises AnswerPending while an answer of the conversation is on its way.
        """
        with self._database.writing() as session:
            question = messages.owned(session, self._owner, question_id, "user")
            refuse_pending(session, question.conversation_id)
            row = self._row(session, question.conversation_id)
            row.tip_id, row.updated = branches.newest_after(session, question), messages.now()

    def begin_retry(self, answer_id: str) -> TurnRecord:
        """Empty an answer and make it pending again, in one commit.

        Raises as ``begin_turn`` does.
        """
        with self._beginning() as session:
            answer = self._answer(session, answer_id)
            return begin_again(session, self._row(session, answer.conversation_id), answer)

    def begin_continuation(self, answer_id: str) -> TurnRecord:
        """Make an answer that ended early pending again, with its text and passages, in one commit.

        Raises NotUnfinished for one that is whole or empty, or as ``begin_turn`` does.
        """
        with self._beginning() as session:
            answer = self._answer(session, answer_id)
            return go_on(session, self._row(session, answer.conversation_id), answer)

    def checkpoint(
        self,
        answer_id: str,
        content: str,
        *,
        standalone_question: str | None = None,
        passages: Sequence[PassageRecord] | None = None,
        left_out: Sequence[LeftOutRecord] | None = None,
        searched_in: str | None = None,
    ) -> None:
        """Keep what a pending answer has so far; None leaves what was kept before. A finished one stays."""
        with self._database.writing() as session:
            more = {"standalone_question": standalone_question, "searched_in": searched_in}
            if not messages.write_on(session, self._owner, answer_id, content, **more):
                self._answer(session, answer_id)
                return
            if passages is not None:
                evidence.keep_passages(session, answer_id, passages)
            if left_out is not None:
                messages.keep_left_out(session, answer_id, left_out)

    def finish(
        self,
        answer_id: str,
        state: AnswerState,
        content: str,
        *,
        citations: Sequence[CitationRecord] = (),
        model: str | None = None,
        error: str | None = None,
        timings_ms: Mapping[str, float] | None = None,
        left_out: Sequence[LeftOutRecord] | None = None,
        trace: Trace | None = None,
    ) -> None:
        """End a pending answer; one that has ended stays as it is. ``left_out`` None leaves what was kept.

        Raises NotFound when its conversation was deleted meanwhile.
        """
        with self._database.writing() as session:
            answer = self._answer(session, answer_id)
            if answer.state != "pending":
                return
            evidence.keep_citations(session, answer.id, citations)
            answer.state, answer.content, answer.folded = state, content, messages.fold(content)
            answer.model, answer.error, answer.timings_ms = model, error, dict(timings_ms or {})
            if left_out is not None:
                messages.keep_left_out(session, answer.id, left_out)
            if trace is not None:
                session.merge(traces.to_row(answer.id, trace))
            self._row(session, answer.conversation_id).updated = messages.now()

    def rate(self, message_id: str, rating: Rating | None) -> None:
        """Note how an answer served; None takes the rating back. NotFound when it is no answer of theirs."""
        with self._database.writing() as session:
            self._answer(session, message_id).rating = rating

    def rated(self, rating: Rating, limit: int = 500) -> Sequence[Message]:
        """Read the newest complete answers of all conversations with this rating, newest first."""
        message = tables.MessageRow
        mine = (
            select(message)
            .join(tables.ConversationRow, tables.ConversationRow.id == message.conversation_id)
            .where(tables.ConversationRow.owner == self._owner, message.rating == rating)
            .where(message.state == "complete")
        )
        with self._database.reading() as session:
            newest = mine.order_by(message.created.desc(), message.id).limit(limit)
            return messages.read(session, session.scalars(newest).all())

    def list(self, search: str = "") -> list[ConversationRecord]:
        """List conversations, last used first; with ``search``, those whose title or messages have its words.

        A word is any run of characters, so parts of Korean and Japanese words are found.
        """
        words = [_has_word(word) for word in messages.fold(search).split()]
        with self._database.reading() as session:
            mine = _MINE.where(*words)
            newest = mine.order_by(tables.ConversationRow.updated.desc(), tables.ConversationRow.id)
            return [_conversation(row) for row in session.scalars(newest, {"owner": self._owner})]

    @contextmanager
    def _beginning(self) -> Iterator[Session]:
        """One write transaction of someone who is let in: of others nothing more is kept."""
        with self._database.writing() as session:
            tables.confirm_open(session, self._owner)
            yield session

    def _row(self, session: Session, conversation_id: str) -> tables.ConversationRow:
        row = session.scalar(_ONE, {"owner": self._owner, "id": conversation_id})
        if row is None:
            raise NotFound(f"There is no conversation {conversation_id!r}.")
        return row

    def _message(self, session: Session, message_id: str) -> tables.MessageRow:
        return messages.owned(session, self._owner, message_id)

    def _answer(self, session: Session, answer_id: str) -> tables.MessageRow:
        return messages.owned(session, self._owner, answer_id, "assistant")


def interrupt_pending(database: Database) -> int:
    """At the start, mark every answer that was on its way as interrupted; returns how many."""
    message = tables.MessageRow
    with database.writing() as session:
        pending = session.scalars(select(message).where(message.state == "pending")).all()
        for answer in pending:
            answer.state, answer.folded = "interrupted", messages.fold(answer.content)
        return len(pending)


def _has_word(word: str) -> ColumnElement[bool]:
    """Whether a conversation's title or one of its messages contains a folded word, taken literally."""
    said = exists().where(
        tables.MessageRow.conversation_id == tables.ConversationRow.id,
        tables.MessageRow.folded.contains(word, autoescape=True),
    )
    return or_(tables.ConversationRow.folded.contains(word, autoescape=True), said)


def _name(session: Session, row: tables.ConversationRow, title: str) -> None:
    given = {"conversation": row.id, "called": title, "compared": messages.fold(title)}
    session.connection().execute(_NAMING, given)


def _conversation(row: tables.ConversationRow) -> ConversationRecord:
    return ConversationRecord(id=row.id, title=row.title, created=row.created, updated=row.updated)
