"""Feedback on an owner's citations, traces of how answers were made, and the state of cited documents."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from storage import messages, tables
from storage.database import OwnerStore
from storage.errors import NotFound
from storage.i18n import N_
from storage.records import CitationFeedback, Message, PassageRecord, RatingReason, Unsearched
from storage.tables import Document, batches, storable

LONGEST_NOTE = 500  # letters of what was not helpful about an answer


class Feedback(OwnerStore):
    """An owner's feedback on their answers and the citations in them."""

    def mark(self, answer_id: str, position: int, feedback: CitationFeedback | None) -> None:
        """Set the feedback on the citation at ``position`` of an answer, from 0; None removes it.

        Raises NotFound when there is no such citation.
        """
        with self._database.writing(self._owner) as session:
            answer = messages.own_message(session, self._owner, answer_id, "assistant")
            row = session.get(tables.CitationRow, (answer.id, position))
            if row is None:
                raise NotFound(
                    N_(
                        "There is no citation {position} in the answer {answer_id}.",
                        position=position,
                        answer_id=repr(answer_id),
                    )
                )
            row.feedback = feedback

    def explain(self, answer_id: str, reason: RatingReason | None, note: str = "") -> None:
        """Rate an answer down, for this reason; the ``note`` is cut to LONGEST_NOTE letters.

        Raises NotFound where this owner has no such answer.
        """
        with self._database.writing(self._owner) as session:
            answer = messages.own_message(session, self._owner, answer_id, "assistant")
            answer.rating, answer.rating_reason = "down", reason
            answer.rating_note = storable(note.strip()[:LONGEST_NOTE]) or None

    def answers(self, limit: int = 1000) -> Sequence[Message]:
        """List the newest complete answers with a rating or with feedback on a citation, newest first."""
        message, citation = tables.MessageRow, tables.CitationRow
        marked = exists().where(citation.message_id == message.id, citation.feedback.is_not(None))
        with self._database.reading() as session:
            return messages.newest_answers(
                session, self._owner, limit, or_(message.rating.is_not(None), marked)
            )


# Traces
MOST_SENT = 16  # requests for one answer
LONGEST_SENT = 200_000  # characters of all its requests together: about 50,000 tokens
MOST_UNSEARCHED = 20  # files that could not be searched, by name; the others are counted
LONGEST_SETTING = 300  # characters


@dataclass(frozen=True)
class SentRecord:
    """A request sent to the language model: its purpose, and its messages (role, content)."""

    purpose: str
    messages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Trace:
    """Trace of an answer: its settings and requests. ``cut`` counts the characters that are not kept.

    ``unsearched`` are the first of ``unsearched_count`` files, recorded where nothing was found.
    """

    settings: Mapping[str, Any]
    sent: tuple[SentRecord, ...] = ()
    cut: int = 0
    unsearched: tuple[Unsearched, ...] = field(default=())
    unsearched_count: int = 0


class Traces(OwnerStore):
    """Traces of one owner's answers."""

    def get(self, answer_id: str) -> Trace | None:
        """Return the trace of an answer, None where it has none. Raises NotFound."""
        with self._database.reading() as session:
            answer = messages.own_message(session, self._owner, answer_id, "assistant")
            row = session.get(tables.TraceRow, answer.id)
            return None if row is None else _trace(row)


def trace_row(answer_id: str, trace: Trace) -> tables.TraceRow:
    """Make the row of a trace, cut to the limits above."""
    sent, cut = bounded(trace.sent[:MOST_SENT], LONGEST_SENT)
    lost = sum(len(content) for request in trace.sent[MOST_SENT:] for _, content in request.messages)
    return tables.TraceRow(
        message_id=answer_id,
        settings={name: _short(value) for name, value in trace.settings.items()},
        sent=[asdict(request) for request in sent],
        cut=trace.cut + cut + lost,
        unsearched=[
            {"name": storable(one.name), "state": one.state} for one in trace.unsearched[:MOST_UNSEARCHED]
        ],
        unsearched_count=trace.unsearched_count,
    )


def extend_trace(
    session: Session, answer_id: str, sent: Sequence[SentRecord], settings: Mapping[str, Any]
) -> None:
    """Add requests and settings to the trace of an answer, if it has one."""
    row = session.get(tables.TraceRow, answer_id)
    if row is not None:
        kept = _trace(row)
        more = replace(kept, sent=(*kept.sent, *sent), settings={**kept.settings, **settings})
        session.merge(trace_row(answer_id, more))


def bounded(sent: Sequence[SentRecord], room: int) -> tuple[list[SentRecord], int]:
    """Return requests of at most ``room`` characters together, and how many characters were cut.

    >>> bounded([SentRecord("answer", (("system", "abc"), ("user", "defg")))], 5)
    ([SentRecord(purpose='answer', messages=(('system', 'abc'), ('user', 'de')))], 2)
    """
    kept, cut = [], 0
    for request in sent:
        parts = []
        for role, content in request.messages:
            short = content[: max(room, 0)]
            room -= len(content)
            cut += len(content) - len(short)
            parts.append((role, storable(short)))
        kept.append(SentRecord(request.purpose, tuple(parts)))
    return kept, cut


def _short(value: Any) -> Any:
    return storable(value)[:LONGEST_SETTING] if isinstance(value, str) else value


def _trace(row: tables.TraceRow) -> Trace:
    sent = (SentRecord(one["purpose"], tuple(map(tuple, one["messages"]))) for one in row.sent)
    unsearched = (Unsearched(**one) for one in row.unsearched)
    return tables.to_record(Trace, row, sent=tuple(sent), unsearched=tuple(unsearched))


# Cited documents
Standing = Literal["here", "changed", "removed"]


class Standings(OwnerStore):
    """State of the documents that an owner's answers cite: present, changed or removed."""

    def of(self, passages: Iterable[PassageRecord]) -> dict[str, Standing]:
        """Return the state of each passage's document, by the document's id.

        A document is "here" while the owner has its content, "changed" when other content has its name.
        """
        asked = {passage.document_id: passage for passage in passages}
        here = dict(self.present(asked.values()))
        lost = {storable(passage.document) for passage in asked.values() if passage.sha256 not in here}
        names = set(self._names(sorted(lost)))
        return {id_: _standing(passage, here, names) for id_, passage in asked.items()}

    def present(self, passages: Iterable[PassageRecord]) -> Iterator[tuple[str, str]]:
        """Yield hash and id of each document that has the content of one of these passages."""
        hashes = sorted({passage.sha256 for passage in passages})
        mine = select(Document.sha256, Document.id).where(Document.owner == self._owner)
        with self._database.reading() as session:
            for batch in batches(hashes):
                yield from session.execute(mine.where(Document.sha256.in_(batch)))

    def _names(self, names: Sequence[str]) -> Iterator[str]:
        mine = select(Document.name).where(Document.owner == self._owner)
        with self._database.reading() as session:
            for batch in batches(names):
                yield from session.scalars(mine.where(Document.name.in_(batch)))


def _standing(passage: PassageRecord, here: Container[str], names: Container[str]) -> Standing:
    if passage.sha256 in here:
        return "here"
    return "changed" if storable(passage.document) in names else "removed"
