"""Conversations of one owner: questions saved before they are answered, answers with their messages."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, bindparam, delete, exists, func, literal_column, or_, select
from sqlalchemy.orm import Session

from storage import jobs, messages
from storage.answers import SentRecord, Trace, extend_trace, trace_row
from storage.database import Database, OwnerStore
from storage.errors import AnswerPending, LeaseLost, NotFound, NotUnfinished
from storage.events import add_audit_entry, queue_event
from storage.i18n import N_
from storage.records import (
    AnswerState,
    AttachedRecord,
    CitationRecord,
    ConversationRecord,
    DiscardedRecord,
    LeftOutRecord,
    Message,
    PassageRecord,
    Rating,
    TurnRecord,
)
from storage.tables import (
    ConversationRow,
    MessageRow,
    ensure_user,
    fold,
    new_id,
    now,
    require_open_account,
    storable,
    to_record,
)

UNFINISHED = ("stopped", "interrupted", "failed")
KEPT = timedelta(days=7)  # since a conversation was discarded, until it is deleted
ANSWER = "answer"  # kind of the jobs that are pending answers
_IN_CONVERSATION = MessageRow.conversation_id == bindparam("conversation")
_IS_PENDING = MessageRow.state == literal_column("'pending'")  # as in the index of the pending ones
_PENDING = select(MessageRow.id).where(_IN_CONVERSATION, MessageRow.state == "pending")
_IS_DISCARDED = ConversationRow.deleted.is_not(None)
_LAST = select(func.max(MessageRow.position)).where(_IN_CONVERSATION)


class Conversations(OwnerStore):
    """The conversations of one owner."""

    @property
    def shared(self) -> bool:
        """True where other processes may read them while an answer is written."""
        return self._database.together

    def create(self, title: str = "") -> ConversationRecord:
        """Create a conversation."""
        at = now()
        created = ConversationRecord(new_id(), storable(title), created=at, updated=at)
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            session.add(ConversationRow(owner=self._owner, folded=fold(title), **asdict(created)))
        return created

    def open(self, conversation_id: str) -> ConversationRecord:
        """Return one conversation; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return to_record(ConversationRecord, self._row(session, conversation_id))

    def rename(self, conversation_id: str, title: str) -> None:
        """Rename a conversation."""
        with self._database.writing(self._owner) as session:
            _name(self._row(session, conversation_id), title)

    def delete(self, conversation_id: str, *, begun: bool = True) -> None:
        """Delete a conversation with its messages; one that was not `begun` is not noted in the audit log.

        A discarded one is deleted, too.
        """
        with self._database.writing(self._owner) as session:
            row = self._own(session, ConversationRow, conversation_id)
            pending = session.scalars(_PENDING, {"conversation": row.id}).all()
            jobs.end_all(session, self._owner, pending)
            session.delete(row)
            if begun:
                add_audit_entry(session, self._owner, "chat_removed", chat=conversation_id)

    def discard(self, conversation_id: str) -> None:
        """Hide a conversation with its messages, to be deleted after the time of `KEPT`.

        Until then it can be restored, and nothing else finds it. Its pending answer is interrupted.
        """
        with self._database.writing(self._owner) as session:
            row = self._row(session, conversation_id)
            for pending in session.scalars(_PENDING, {"conversation": row.id}).all():
                _interrupt(session, self._answer(session, pending), self._owner)
            row.deleted = now()
            add_audit_entry(session, self._owner, "chat_discarded", chat=conversation_id)

    def restore(self, conversation_id: str) -> None:
        """Bring a discarded conversation back as it was; NotFound where it was deleted meanwhile."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, ConversationRow, conversation_id)
            if row.deleted is not None:
                row.deleted = None
                add_audit_entry(session, self._owner, "chat_restored", chat=conversation_id)

    def discarded(self) -> Sequence[DiscardedRecord]:
        """List the conversations that can be restored, discarded last first."""
        asked = select(ConversationRow).where(ConversationRow.owner == self._owner, _IS_DISCARDED)
        ordered = asked.order_by(ConversationRow.deleted.desc(), ConversationRow.id)
        with self._database.reading() as session:
            return [
                to_record(DiscardedRecord, row, until=row.deleted + KEPT)
                for row in session.scalars(ordered)
                if row.deleted is not None
            ]

    def message(self, message_id: str) -> Message:
        """Return one message with its evidence; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return messages.to_messages(session, [self._message(session, message_id)])[0]

    def turn(self, answer_id: str) -> TurnRecord:
        """Return an answer with its question; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return _turn_record(session, self._answer(session, answer_id))

    def messages(self, conversation_id: str, *, before: str | None = None, limit: int = 50) -> list[Message]:
        """Return the last ``limit`` messages shown, oldest first; with ``before``, those that precede it."""
        with self._database.reading() as session:
            last = self._row(session, conversation_id).tip_id
            if before is not None:
                last = self._message(session, before).parent_id
            return messages.to_messages(session, messages.path_to(session, last, limit))

    def opening(self, message_id: str) -> Message:
        """Return the first question on the path to this message."""
        with self._database.reading() as session:
            first = messages.opening_of(session, self._message(session, message_id))
            return messages.to_messages(session, [first])[0]

    def pending(self, conversation_id: str) -> str | None:
        """Return the id of the pending answer, None where there is none."""
        with self._database.reading() as session:
            return session.scalar(_PENDING, {"conversation": self._row(session, conversation_id).id})

    def being_answered(self) -> frozenset[str]:
        """Return the ids of the conversations with a pending answer."""
        asked = select(MessageRow.conversation_id).join(
            ConversationRow, ConversationRow.id == MessageRow.conversation_id
        )
        asked = asked.where(_IS_PENDING, ConversationRow.owner == self._owner)
        with self._database.reading() as session:
            return frozenset(session.scalars(asked))

    def begin_turn(
        self, conversation_id: str, question: str, *, title: str = "", attached: Sequence[AttachedRecord] = ()
    ) -> TurnRecord:
        """Save a question and its empty pending answer in one commit, after the messages shown.

        ``attached`` are documents that came with it; every later version of the question keeps them.
        ``title`` names a conversation that has none yet. Raises AnswerPending while another answer of the
        conversation is pending, AccountClosed for an owner who is being removed.
        """
        with self._open_account() as session:
            row = self._row(session, conversation_id)
            if not row.title:
                _name(row, title)
            turn = _begin_turn(session, row, question, follows=row.tip_id, attached=attached)
            self._begin_job(session, turn.answer_id)
            return turn

    def begin_version(
        self, question_id: str, question: str, *, searched: str | None = None, widened: bool = False
    ) -> TurnRecord:
        """Save a new version of a question, which is shown in its place from now on.

        Messages after the earlier version stay with it. ``searched`` is the search to make, word for word;
        a ``widened`` one is not narrowed to what the question names. Raises as ``begin_turn`` does.
        """
        with self._open_account() as session:
            beside = messages.own_message(session, self._owner, question_id, "user")
            row = self._row(session, beside.conversation_id)
            attached = messages.to_messages(session, [beside])[0].attached
            turn = _begin_turn(
                session,
                row,
                question,
                follows=beside.parent_id,
                searched=searched,
                widened=widened,
                attached=attached,
            )
            self._begin_job(session, turn.answer_id)
            return _turn_record(session, self._answer(session, turn.answer_id))

    def show_version(self, question_id: str, last_read: str | None = None) -> None:
        """Show a question in place of its other versions, with the newest messages after it.

        Where ``last_read`` is a message that follows from it, these are the newest after that one.
        Raises AnswerPending while an answer of the conversation is pending.
        """
        with self._database.writing(self._owner) as session:
            question = messages.own_message(session, self._owner, question_id, "user")
            _refuse_pending(session, question.conversation_id)
            row = self._row(session, question.conversation_id)
            goes_on = messages.later_message(session, question, last_read)
            row.tip_id, row.updated = messages.newest_after(session, goes_on), now()

    def version_that_goes_on(self, question_id: str) -> str | None:
        """Return the newest other version of a question that has later questions; None without one."""
        with self._database.reading() as session:
            question = messages.own_message(session, self._owner, question_id, "user")
            return messages.version_that_goes_on(session, question)

    def begin_retry(self, answer_id: str) -> TurnRecord:
        """Empty an answer and make it pending again, in one commit.

        Raises as ``begin_turn`` does.
        """
        with self._open_account() as session:
            answer = self._answer(session, answer_id)
            _reopen(session, self._row(session, answer.conversation_id), answer)
            answer.content = answer.folded = ""
            answer.standalone_question = answer.searched_in = answer.narrowed_to = None
            answer.coverage = answer.reading_offer = None
            answer.left_out = []
            messages.save_passages(session, answer.id, ())
            self._begin_job(session, answer.id)
            return _turn_record(session, answer)

    def begin_continuation(self, answer_id: str) -> TurnRecord:
        """Make an answer that ended early pending again, with its text and passages, in one commit.

        Raises NotUnfinished for a complete or an empty one, or as ``begin_turn`` does.
        """
        with self._open_account() as session:
            answer = self._answer(session, answer_id)
            if answer.state not in UNFINISHED or not answer.content:
                raise NotUnfinished(N_("That answer is not one that ended early. Ask it anew instead."))
            _reopen(session, self._row(session, answer.conversation_id), answer)
            self._begin_job(session, answer.id)
            return _turn_record(session, answer)

    @contextmanager
    def answering(self, answer_id: str) -> Iterator[jobs.Held]:
        """Hold the lease of a pending answer while it is written, and check this thread's commits by it.

        Raises LeaseLost where another process writes it, or it has ended; NotFound where there is none.
        """
        queue = self._database.queue
        try:
            lease = queue.resume(self._owner, ANSWER, answer_id)
        except LeaseLost:
            self.message(answer_id)  # NotFound
            raise
        with queue.holding(lease) as held:
            yield held

    def stop_answer(self, answer_id: str) -> None:
        """Ask the process that writes an answer to stop, wherever it runs."""
        with self._database.writing(self._owner) as session:
            answer = self._answer(session, answer_id)
            if self._database.queue.is_worked_on(session, self._owner, ANSWER, answer.id):
                jobs.ask_to_stop(session, self._owner, ANSWER, answer.id)

    def interrupt(self, answer_id: str) -> bool:
        """Mark a pending answer that no process writes as interrupted; return whether it was one."""
        with self._database.writing(self._owner) as session:
            answer = self._answer(session, answer_id)
            queue = self._database.queue
            if answer.state != "pending" or queue.is_worked_on(session, self._owner, ANSWER, answer.id):
                return False
            _interrupt(session, answer, self._owner)
            return True

    def is_written_elsewhere(self, answer_id: str) -> bool:
        """Return whether another process writes an answer now."""
        with self._database.reading() as session:
            self._answer(session, answer_id)
        return self._database.queue.is_running_elsewhere(self._owner, ANSWER, answer_id)

    def answers_elsewhere(self) -> int:
        """Count the answers that other processes write for this owner."""
        return self._database.queue.running_elsewhere(self._owner, ANSWER)

    def checkpoint(
        self,
        answer_id: str,
        content: str,
        *,
        standalone_question: str | None = None,
        passages: Sequence[PassageRecord] | None = None,
        left_out: Sequence[LeftOutRecord] | None = None,
        searched_in: str | None = None,
        narrowed_to: str | None = None,
        coverage: str | None = None,
        reading_offer: Mapping[str, int] | None = None,
    ) -> None:
        """Save the parts of a pending answer; None changes nothing. A finished one stays as it is."""
        with self._database.writing(self._owner) as session:
            answer = self._answer(session, answer_id)
            if answer.state != "pending":
                return
            answer.content = content
            notes = {
                "standalone_question": standalone_question,
                "searched_in": searched_in,
                "narrowed_to": narrowed_to,
                "coverage": coverage,
                "reading_offer": reading_offer and dict(reading_offer),
            }
            for name, note in notes.items():
                if note is not None:
                    setattr(answer, name, note)
            if passages is not None:
                messages.save_passages(session, answer.id, passages)
            if left_out is not None:
                answer.left_out = messages.kept_left_out(left_out)

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
        trace: Trace | None = None,
    ) -> None:
        """End a pending answer; one that has ended stays as it is.

        Raises NotFound when its conversation was deleted meanwhile.
        """
        with self._database.writing(self._owner) as session:
            answer = self._answer(session, answer_id)
            if answer.state != "pending":
                return
            messages.save_citations(session, answer.id, citations)
            answer.state, answer.content, answer.folded = state, content, fold(content)
            answer.model, answer.error, answer.timings_ms = model, error, dict(timings_ms or {})
            if trace is not None:
                session.merge(trace_row(answer.id, trace))
            self._row(session, answer.conversation_id).updated = now()
            jobs.end(session, self._owner, ANSWER, answer.id)
            _tell(session, answer)

    def revise(
        self,
        answer_id: str,
        before: str,
        content: str,
        citations: Sequence[CitationRecord],
        *,
        sent: Sequence[SentRecord] = (),
        notes: Mapping[str, str] | None = None,
        timings_ms: Mapping[str, float] | None = None,
    ) -> bool:
        """Replace citations and markers of a complete answer, add to its trace and timings, in one commit.

        False where the answer is not complete, or no longer has the text ``before``. The reader's feedback on
        a citation that stays is kept.
        """
        with self._database.writing(self._owner) as session:
            answer = self._answer(session, answer_id)
            if answer.state != "complete" or answer.content != before:
                return False
            messages.save_citations(session, answer.id, messages.with_feedback(session, answer.id, citations))
            answer.content, answer.folded = content, fold(content)
            answer.timings_ms = {**answer.timings_ms, **(timings_ms or {})}
            extend_trace(session, answer.id, sent, notes or {})
            self._row(session, answer.conversation_id).updated = now()
            return True

    def rate(self, message_id: str, rating: Rating | None) -> None:
        """Rate an answer; None removes the rating. A reason given before goes with the rating before.

        NotFound when this owner has no such answer.
        """
        with self._database.writing(self._owner) as session:
            answer = self._answer(session, message_id)
            answer.rating, answer.rating_reason, answer.rating_note = rating, None, None

    def rated(self, rating: Rating, limit: int = 500) -> Sequence[Message]:
        """List the newest complete answers of all conversations with this rating, newest first."""
        with self._database.reading() as session:
            return messages.newest_answers(session, self._owner, limit, MessageRow.rating == rating)

    def list(self, search: str = "") -> list[ConversationRecord]:
        """List conversations, last used first; with ``search``, those whose title or messages have its words.

        A word is any run of characters, so parts of Korean and Japanese words are found.
        """
        words = [_has_word(word) for word in fold(search).split()]
        with self._database.reading() as session:
            mine = select(ConversationRow).where(ConversationRow.owner == self._owner, ~_IS_DISCARDED, *words)
            newest = mine.order_by(ConversationRow.updated.desc(), ConversationRow.id)
            return [to_record(ConversationRecord, row) for row in session.scalars(newest)]

    def _begin_job(self, session: Session, answer_id: str) -> None:
        self._database.queue.begin(session, self._owner, ANSWER, answer_id)

    @contextmanager
    def _open_account(self) -> Iterator[Session]:
        with self._database.writing(self._owner) as session:
            require_open_account(session, self._owner)
            yield session

    def _row(self, session: Session, conversation_id: str) -> ConversationRow:
        row = self._own(session, ConversationRow, conversation_id)
        if row.deleted is not None:
            raise NotFound(N_("There is no {noun} {id}.", noun=row.noun, id=repr(conversation_id)))
        return row

    def _message(self, session: Session, message_id: str) -> MessageRow:
        return messages.own_message(session, self._owner, message_id)

    def _answer(self, session: Session, answer_id: str) -> MessageRow:
        return messages.own_message(session, self._owner, answer_id, "assistant")


def _begin_turn(
    session: Session,
    conversation: ConversationRow,
    question: str,
    *,
    follows: str | None,
    searched: str | None = None,
    widened: bool = False,
    attached: Sequence[AttachedRecord] = (),
) -> TurnRecord:
    """Insert a question after a message, and its pending answer; the conversation shows them."""
    _refuse_pending(session, conversation.id)
    at = now()
    asked = Message(new_id(), "user", storable(question), "complete", None, searched, None, None, {}, at)
    asked = replace(asked, narrowed_to="" if widened else None, attached=tuple(attached))
    answer = Message(new_id(), "assistant", "", "pending", asked.id, None, None, None, {}, at)
    last = session.scalar(_LAST, {"conversation": conversation.id}) or 0
    for position, message, before in ((last + 1, asked, follows), (last + 2, answer, asked.id)):
        session.add(messages.message_row(conversation.id, message, position, follows=before))
        session.flush()
    conversation.tip_id, conversation.updated = answer.id, at
    return TurnRecord(conversation.id, asked, answer, follows)


def _reopen(session: Session, conversation: ConversationRow, answer: MessageRow) -> None:
    _refuse_pending(session, conversation.id)
    messages.delete_outcome(session, answer.id)
    answer.state, answer.timings_ms = "pending", {}
    answer.model = answer.error = answer.rating = None
    answer.rating_reason = answer.rating_note = None
    conversation.updated = now()


def _turn_record(session: Session, answer: MessageRow) -> TurnRecord:
    question = session.get_one(MessageRow, answer.question_id)
    asked, answered = messages.to_messages(session, [question, answer])
    return TurnRecord(answer.conversation_id, asked, answered, question.parent_id)


def _refuse_pending(session: Session, conversation_id: str) -> None:
    if session.scalar(_PENDING, {"conversation": conversation_id}) is not None:
        raise AnswerPending(N_("Still answering. Wait for the answer to end, or stop it first."))


def delete_discarded(database: Database, *, moment: datetime | None = None) -> int:
    """Delete the conversations of all owners that were discarded `KEPT` ago; return their number."""
    over = ConversationRow.deleted < (moment or now()) - KEPT
    with database.reading() as session:
        if session.scalar(select(ConversationRow.id).where(over).limit(1)) is None:
            return 0
    with database.writing() as session:
        return len(session.scalars(delete(ConversationRow).where(over).returning(ConversationRow.id)).all())


def interrupt_left(database: Database, *, besides: Collection[str]) -> int:
    """Mark the answers as interrupted that a killed process was writing; return their number.

    Those with an id in ``besides`` are left as they are: this process writes them.
    """
    with database.reading() as session:
        left = [(owner, id_) for owner, id_ in jobs.left(session, ANSWER) if id_ not in besides]
    ended = 0
    for owner, answer_id in left:
        with suppress(NotFound):  # deleted meanwhile
            ended += Conversations(database, owner).interrupt(answer_id)
    return ended


def interrupt_pending(database: Database) -> int:
    """Mark the pending answers that no process writes as interrupted; return their number."""
    asked = select(MessageRow.id, ConversationRow.owner).where(MessageRow.state == "pending")
    asked = asked.join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
    with database.reading() as session:
        pending = session.execute(asked).all()
    return sum(Conversations(database, owner).interrupt(answer_id) for answer_id, owner in pending)


def _interrupt(session: Session, answer: MessageRow, owner: str) -> None:
    answer.state, answer.folded = "interrupted", fold(answer.content)
    jobs.end(session, owner, ANSWER, answer.id)
    _tell(session, answer)


def _tell(session: Session, answer: MessageRow) -> None:
    """Queue the event of an answer that has ended, for the webhooks of the conversation's owner."""
    chat = session.get_one(ConversationRow, answer.conversation_id)
    ids = {"conversation_id": chat.id, "answer_id": answer.id}
    queue_event(session, chat.owner, "answer.stored", **ids, state=answer.state)


def _has_word(word: str) -> ColumnElement[bool]:
    """Match conversations whose title or one of whose messages contains a folded word, taken literally."""
    said = exists().where(
        MessageRow.conversation_id == ConversationRow.id, MessageRow.folded.contains(word, autoescape=True)
    )
    return or_(ConversationRow.folded.contains(word, autoescape=True), said)


def _name(row: ConversationRow, title: str) -> None:
    row.title, row.folded = title, fold(title)
