"""Messages as rows and as records, with their evidence. The caller has asked whose they are."""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import cast

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.orm import Session

from storage import branches, evidence
from storage.columns import SafeText, storable, table_of
from storage.errors import NotFound
from storage.records import AnswerState, CitationRecord, LeftOutRecord, Message, PassageRecord, Rating, Role
from storage.tables import ConversationRow, MessageRow

MOST_LEFT_OUT, LONGEST_REASON = 8, 500  # parts of the search, and characters on each

_TABLE = table_of(MessageRow)
_OWNED = (
    select(MessageRow)
    .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
    .where(ConversationRow.owner == bindparam("owner"), MessageRow.id == bindparam("id"))
)
_WRITING = (
    update(_TABLE)
    .where(_TABLE.c.id == bindparam("answer"), _TABLE.c.role == "assistant", _TABLE.c.state == "pending")
    .where(
        _TABLE.c.conversation_id.in_(
            select(ConversationRow.id).where(ConversationRow.owner == bindparam("of"))
        )
    )
    .values(
        content=bindparam("text"),
        standalone_question=func.coalesce(
            bindparam("understood", type_=SafeText), _TABLE.c.standalone_question
        ),
        searched_in=func.coalesce(bindparam("in", type_=SafeText), _TABLE.c.searched_in),
    )
)
_LEAVING_OUT = update(_TABLE).where(_TABLE.c.id == bindparam("answer")).values(left_out=bindparam("parts"))
_ADDING = insert(_TABLE)


def read(session: Session, rows: Sequence[MessageRow]) -> list[Message]:
    """Make records of rows, in their order, with a query for each kind of evidence and one for versions."""
    if not rows:
        return []
    ids = [row.id for row in rows]
    passages, citations = evidence.passages(session, ids), evidence.citations(session, ids)
    beside = branches.versions(session, rows)
    return [
        _message(row, passages.get(row.id, ()), citations.get(row.id, ()), beside.get(row.id, ()))
        for row in rows
    ]


def owned(session: Session, owner: str, message_id: str, role: Role | None = None) -> MessageRow:
    """Find a message of this owner, of this role if one is given; raises NotFound."""
    row = session.scalar(_OWNED, {"owner": owner, "id": message_id})
    if row is None or role not in (None, row.role):
        raise NotFound(f"There is no message {message_id!r}.")
    return row


def write_on(
    session: Session,
    owner: str,
    answer_id: str,
    content: str,
    *,
    standalone_question: str | None = None,
    searched_in: str | None = None,
) -> bool:
    """Keep what a pending answer of this owner has so far; False where there is none. None keeps what is."""
    given = {
        "answer": answer_id,
        "of": owner,
        "text": content,
        "understood": standalone_question,
        "in": searched_in,
    }
    return session.connection().execute(_WRITING, given).rowcount == 1


def keep_left_out(session: Session, answer_id: str, left_out: Sequence[LeftOutRecord]) -> None:
    """Keep which parts of the search an answer was made without: the first few, in few words."""
    parts = [
        {name: storable(words)[:LONGEST_REASON] for name, words in asdict(part).items()}
        for part in left_out[:MOST_LEFT_OUT]
    ]
    session.connection().execute(_LEAVING_OUT, {"answer": answer_id, "parts": parts})


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
        left_out=tuple(LeftOutRecord(**part) for part in row.left_out),
        versions=versions,
        searched_in=row.searched_in,
    )


def add(
    session: Session, conversation_id: str, message: Message, position: int, *, follows: str | None
) -> None:
    """Add a message that has no evidence yet."""
    row = {
        "id": message.id,
        "conversation_id": conversation_id,
        "position": position,
        "role": message.role,
        "content": message.content,
        "folded": fold(message.content),
        "state": message.state,
        "question_id": message.question_id,
        "parent_id": follows,
        "standalone_question": message.standalone_question,
        "timings_ms": message.timings_ms,
        "created": message.created,
    }
    session.connection().execute(_ADDING, row)


def now() -> datetime:
    """Return the time as the ledger keeps it."""
    return datetime.now(UTC)


def fold(text: str) -> str:
    """Text as search compares it: case, width and composition do not matter: ``"ＡBc ｶﾞ" -> "abc ガ"``."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
