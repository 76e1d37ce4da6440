"""Messages as rows and as records, with their evidence. The caller has asked whose they are."""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import cast

from sqlalchemy import bindparam, delete, insert, inspect, select, update
from sqlalchemy.orm import Session

from storage import branches
from storage.errors import NotFound
from storage.records import (
    AnswerState,
    CitationFeedback,
    CitationRecord,
    CitationStatus,
    LeftOut,
    Message,
    PassageRecord,
    Rating,
    Role,
    Turn,
)
from storage.tables import Citation, Conversation, MessagePassage, storable
from storage.tables import Message as MessageRow
from storage.tables import Trace as TraceRow

MOST_LEFT_OUT, LONGEST_REASON = 8, 500  # parts of the search, and characters on each

_ROW = inspect(MessageRow).local_table.c
_WRITING = (
    update(_ROW.id.table)
    .where(_ROW.id == bindparam("answer"), _ROW.role == "assistant", _ROW.state == "pending")
    .where(_ROW.conversation_id.in_(select(Conversation.id).where(Conversation.owner == bindparam("of"))))
    .values(content=bindparam("text"))
)


def read(session: Session, rows: Sequence[MessageRow]) -> list[Message]:
    """Make records of rows, in their order, with a query for each kind of evidence and one for versions."""
    if not rows:
        return []
    ids = [row.id for row in rows]
    passages = session.scalars(
        select(MessagePassage)
        .where(MessagePassage.message_id.in_(ids))
        .order_by(MessagePassage.message_id, MessagePassage.number)
    )
    citations = session.scalars(
        select(Citation).where(Citation.message_id.in_(ids)).order_by(Citation.message_id, Citation.position)
    )
    evidence = {
        id_: tuple(map(_passage, part)) for id_, part in groupby(passages, lambda row: row.message_id)
    }
    quotes = {
        id_: tuple(map(_citation, part)) for id_, part in groupby(citations, lambda row: row.message_id)
    }
    beside = branches.versions(session, rows)
    return [
        _message(row, evidence.get(row.id, ()), quotes.get(row.id, ()), beside.get(row.id, ()))
        for row in rows
    ]


def owned(session: Session, owner: str, message_id: str, role: Role | None = None) -> MessageRow:
    """Find a message of this owner, of this role if one is given; raises NotFound."""
    mine = (
        select(MessageRow)
        .join(Conversation, Conversation.id == MessageRow.conversation_id)
        .where(Conversation.owner == owner, MessageRow.id == message_id)
    )
    row = session.scalar(mine)
    if row is None or role not in (None, row.role):
        raise NotFound(f"There is no message {message_id!r}.")
    return row


def write_on(session: Session, owner: str, answer_id: str, content: str) -> bool:
    """Keep the text of a pending answer of this owner, several times a second; False where there is none."""
    given = {"answer": answer_id, "of": owner, "text": content}
    return session.connection().execute(_WRITING, given).rowcount == 1


def forget_outcome(session: Session, message_id: str) -> None:
    """Drop what an answer's sentences rest on and how it was made, before it is written on or anew."""
    for table in (Citation, TraceRow):
        session.execute(delete(table).where(table.message_id == message_id))


def forget_passages(session: Session, message_id: str) -> None:
    """Drop the passages an answer was given."""
    session.execute(delete(MessagePassage).where(MessagePassage.message_id == message_id))


def keep_passages(session: Session, message_id: str, passages: Sequence[PassageRecord]) -> None:
    """Freeze the passages an answer was given, in place of any it had."""
    forget_passages(session, message_id)
    if passages:
        values = [{"message_id": message_id, **asdict(passage)} for passage in passages]
        session.execute(insert(MessagePassage), values)


def keep_citations(session: Session, message_id: str, citations: Sequence[CitationRecord]) -> None:
    """Keep the citations of an answer, in place of any it had."""
    session.execute(delete(Citation).where(Citation.message_id == message_id))
    if citations:
        values = [
            {"message_id": message_id, "position": position, **asdict(citation)}
            for position, citation in enumerate(citations)
        ]
        session.execute(insert(Citation), values)


def keep_left_out(answer: MessageRow, left_out: Sequence[LeftOut]) -> None:
    """Keep which parts of the search an answer was made without: the first few, in few words."""
    answer.left_out = [
        {name: storable(words)[:LONGEST_REASON] for name, words in asdict(part).items()}
        for part in left_out[:MOST_LEFT_OUT]
    ]


def _message(
    row: MessageRow,
    passages: tuple[PassageRecord, ...],
    citations: tuple[CitationRecord, ...],
    versions: tuple[str, ...],
) -> Message:
    return Message(
        id=row.id,
        role=cast(Role, row.role),
        content=row.content,
        state=cast(AnswerState, row.state),
        question_id=row.question_id,
        standalone_question=row.standalone_question,
        model=row.model,
        error=row.error,
        timings_ms=row.timings_ms,
        created=row.created,
        passages=passages,
        citations=citations,
        rating=cast(Rating | None, row.rating),
        left_out=tuple(LeftOut(**part) for part in row.left_out),
        versions=versions,
        searched_in=row.searched_in,
    )


def _passage(row: MessagePassage) -> PassageRecord:
    return PassageRecord(
        number=row.number,
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        document=row.document,
        sha256=row.sha256,
        page=row.page,
        heading=row.heading,
        start=row.start,
        end=row.end,
        text=row.text,
        score=row.score,
        found_by=row.found_by,
    )


def _citation(row: Citation) -> CitationRecord:
    return CitationRecord(
        marker=row.marker,
        answer_start=row.answer_start,
        answer_end=row.answer_end,
        status=cast(CitationStatus, row.status),
        quote_start=row.quote_start,
        quote_end=row.quote_end,
        quote=row.quote,
        feedback=cast(CitationFeedback | None, row.feedback),
    )


def asked(
    turn: Turn, position: int, question: str, *, follows: str | None, searched: str | None
) -> MessageRow:
    """Make the row of a question that was just asked."""
    return MessageRow(
        id=turn.question_id,
        conversation_id=turn.conversation_id,
        position=position,
        role="user",
        content=question,
        folded=fold(question),
        state="complete",
        standalone_question=searched,
        parent_id=follows,
        timings_ms={},
        created=now(),
    )


def unanswered(turn: Turn, position: int) -> MessageRow:
    """Make the row of its answer, empty and pending."""
    return MessageRow(
        id=turn.answer_id,
        conversation_id=turn.conversation_id,
        position=position,
        role="assistant",
        content="",
        folded="",
        state="pending",
        question_id=turn.question_id,
        parent_id=turn.question_id,
        timings_ms={},
        created=now(),
    )


def now() -> datetime:
    """Return the time as the ledger keeps it."""
    return datetime.now(UTC)


def fold(text: str) -> str:
    """Text as search compares it: case, width and composition do not matter: ``"ＡBc ｶﾞ" -> "abc ガ"``."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
