"""Messages of conversations: their evidence, the tree of their versions, and records of them.

Functions without an owner rely on the caller's check that the message is theirs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Integer,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    literal,
    or_,
    select,
)
from sqlalchemy.orm import Session, aliased

from storage.errors import NotFound
from storage.i18n import N_
from storage.records import AttachedRecord, CitationRecord, LeftOutRecord, Message, PassageRecord, Role
from storage.tables import (
    CitationRow,
    ConversationRow,
    MessagePassage,
    MessageRow,
    TraceRow,
    fold,
    insert_rows,
    storable,
    table_of,
    to_record,
)

# Evidence: the passages that an answer was given and the citations of its sentences
R = TypeVar("R", PassageRecord, CitationRecord)


def _reading(table: Table, record: type[R], order: str) -> Select[Any]:
    wanted = [table.c.message_id, *(table.c[field.name] for field in fields(record))]
    chosen = table.c.message_id.in_(bindparam("ids", expanding=True))
    return select(*wanted).where(chosen).order_by(table.c.message_id, table.c[order])


_PASSAGES_OF = _reading(table_of(MessagePassage), PassageRecord, "number")
_CITATIONS_OF = _reading(table_of(CitationRow), CitationRecord, "position")


def save_passages(session: Session, message_id: str, given: Sequence[PassageRecord]) -> None:
    """Replace the passages that an answer was given."""
    session.execute(delete(MessagePassage).where(MessagePassage.message_id == message_id))
    values = [{"message_id": message_id, **asdict(passage)} for passage in given]
    insert_rows(session, MessagePassage, values)


def save_citations(session: Session, message_id: str, found: Sequence[CitationRecord]) -> None:
    """Replace the citations of an answer."""
    session.execute(delete(CitationRow).where(CitationRow.message_id == message_id))
    values = [
        {"message_id": message_id, "position": position, **asdict(citation)}
        for position, citation in enumerate(found)
    ]
    insert_rows(session, CitationRow, values)


def with_feedback(session: Session, message_id: str, found: Sequence[CitationRecord]) -> list[CitationRecord]:
    """Return new citations with the reader's feedback on the stored ones of the same words."""
    stored = _by_message(session, _CITATIONS_OF, CitationRecord, [message_id]).get(message_id, ())
    marked = {(one.marker, one.quote_start, one.quote): one.feedback for one in stored if one.feedback}
    return [
        replace(one, feedback=marked.get((one.marker, one.quote_start, one.quote), one.feedback))
        for one in found
    ]


def delete_outcome(session: Session, message_id: str) -> None:
    """Delete the citations and the trace of an answer, before it is continued or tried again."""
    for table in (CitationRow, TraceRow):
        session.execute(delete(table).where(table.message_id == message_id))


def _by_message(
    session: Session, reading: Select[Any], record: type[R], ids: Sequence[str]
) -> dict[str, tuple[R, ...]]:
    """Return the records of messages, in order, by the message's id."""
    rows = session.connection().execute(reading, {"ids": ids})
    return {
        message_id: tuple(record(*row[1:]) for row in part)
        for message_id, part in groupby(rows, key=itemgetter(0))
    }


# The tree of messages: questions that follow the same answer are versions of one turn


def _path_query() -> Select[MessageRow]:
    """Select a message and its ancestors, up to a limit, the oldest first."""
    above = (
        select(MessageRow.id, MessageRow.parent_id, literal(1).label("steps"))
        .where(MessageRow.id == bindparam("from"))
        .cte("above", recursive=True)
    )
    further = select(MessageRow.id, MessageRow.parent_id, above.c.steps + 1).where(
        MessageRow.id == above.c.parent_id, above.c.steps < bindparam("limit", type_=Integer)
    )
    above = above.union_all(further)
    return select(MessageRow).join(above, above.c.id == MessageRow.id).order_by(above.c.steps.desc())


_PATH = _path_query()
_BESIDE = (
    select(MessageRow.id, MessageRow.parent_id)
    .where(MessageRow.conversation_id == bindparam("conversation"), MessageRow.role == "user")
    .where(
        or_(
            MessageRow.parent_id.in_(bindparam("parents", expanding=True)),
            and_(MessageRow.parent_id.is_(None), bindparam("openings", type_=Boolean)),
        )
    )
    .order_by(MessageRow.position)
)


def path_to(session: Session, message_id: str | None, limit: int) -> list[MessageRow]:
    """Return the last ``limit`` messages of the path that ends at a message, oldest first."""
    return list(session.scalars(_PATH, {"from": message_id, "limit": limit}))


def opening_of(session: Session, message: MessageRow) -> MessageRow:
    """Return the question that the path of a message begins with."""
    return session.scalars(_PATH.limit(1), {"from": message.id, "limit": message.position}).one()


def later_message(session: Session, message: MessageRow, later_id: str | None) -> MessageRow:
    """Return the message of an id where it follows from this one, else this one."""
    later = None if later_id is None else session.get(MessageRow, later_id)
    if later is None or later.conversation_id != message.conversation_id:
        return message
    path = path_to(session, later.id, later.position + 1)
    return later if any(one.id == message.id for one in path) else message


def newest_after(session: Session, message: MessageRow) -> str:
    """Return the id of the newest message that follows from this one, or its own where none does."""
    below = (
        select(MessageRow.id, MessageRow.position)
        .where(MessageRow.id == message.id)
        .cte("below", recursive=True)
    )
    child = aliased(MessageRow)
    below = below.union_all(select(child.id, child.position).where(child.parent_id == below.c.id))
    newest = session.scalar(select(below.c.id).order_by(below.c.position.desc()).limit(1))
    return newest or message.id


def versions(session: Session, rows: Iterable[MessageRow]) -> dict[str, tuple[str, ...]]:
    """Return the versions of each question that has several, by id, in the order they were asked."""
    questions = [row for row in rows if row.role == "user"]
    if not questions:
        return {}
    beside: dict[str | None, list[str]] = {}
    followed = {row.parent_id for row in questions}
    given = {
        "conversation": questions[0].conversation_id,
        "parents": [parent for parent in followed if parent is not None],
        "openings": None in followed,
    }
    for id_, parent in session.execute(_BESIDE, given):
        beside.setdefault(parent, []).append(id_)
    return {row.id: tuple(beside[row.parent_id]) for row in questions if len(beside[row.parent_id]) > 1}


def version_that_goes_on(session: Session, question: MessageRow) -> str | None:
    """Return the newest other version of a question whose answer another question follows."""
    beside = versions(session, [question]).get(question.id, ())
    answer, later = aliased(MessageRow), aliased(MessageRow)
    followed = (
        select(answer.parent_id)
        .join(later, later.parent_id == answer.id)
        .where(answer.parent_id.in_(beside), answer.parent_id != question.id, later.role == "user")
    )
    found = set(session.scalars(followed))
    return next((id_ for id_ in reversed(beside) if id_ in found), None)


# Messages
MOST_ATTACHED = 100  # documents of a question
MOST_LEFT_OUT, LONGEST_REASON = 8, 500  # parts of the search, and characters of each reason
_OWNED = (
    select(MessageRow)
    .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
    .where(ConversationRow.owner == bindparam("owner"), MessageRow.id == bindparam("id"))
    .where(ConversationRow.deleted.is_(None))
)


def to_messages(session: Session, rows: Sequence[MessageRow]) -> list[Message]:
    """Make the records of rows, in order, with a query for each kind of evidence and one for versions."""
    if not rows:
        return []
    ids = [row.id for row in rows]
    passages = _by_message(session, _PASSAGES_OF, PassageRecord, ids)
    citations = _by_message(session, _CITATIONS_OF, CitationRecord, ids)
    beside = versions(session, rows)
    return [
        to_record(
            Message,
            row,
            passages=passages.get(row.id, ()),
            citations=citations.get(row.id, ()),
            left_out=tuple(LeftOutRecord(**part) for part in row.left_out),
            attached=tuple(AttachedRecord(**part) for part in row.attached),
            versions=beside.get(row.id, ()),
        )
        for row in rows
    ]


def own_message(session: Session, owner: str, message_id: str, role: Role | None = None) -> MessageRow:
    """Find a message of this owner, of this role if one is given; raises NotFound."""
    row = session.scalar(_OWNED, {"owner": owner, "id": message_id})
    if row is None or role not in (None, row.role):
        raise NotFound(N_("There is no message {message_id}.", message_id=repr(message_id)))
    return row


def newest_answers(session: Session, owner: str, limit: int, where: ColumnElement[bool]) -> Sequence[Message]:
    """Return the newest complete answers of an owner that match a condition, newest first."""
    mine = (
        select(MessageRow)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(ConversationRow.owner == owner, ConversationRow.deleted.is_(None))
        .where(MessageRow.state == "complete", where)
        .order_by(MessageRow.created.desc(), MessageRow.id)
    )
    return to_messages(session, session.scalars(mine.limit(limit)).all())


def kept_left_out(left_out: Sequence[LeftOutRecord]) -> list[dict[str, str]]:
    """Return the parts of the search that an answer was made without: the first few, shortened."""
    return [
        {name: storable(words)[:LONGEST_REASON] for name, words in asdict(part).items()}
        for part in left_out[:MOST_LEFT_OUT]
    ]


def message_row(conversation_id: str, message: Message, position: int, *, follows: str | None) -> MessageRow:
    """Make the row of a message that has no evidence yet."""
    kept = {field.name: getattr(message, field.name) for field in fields(message)}
    for evidence in ("passages", "citations", "versions"):
        del kept[evidence]
    kept["attached"] = [
        {"document_id": one.document_id, "name": storable(one.name)}
        for one in message.attached[:MOST_ATTACHED]
    ]
    row = MessageRow(conversation_id=conversation_id, position=position, parent_id=follows, **kept)
    row.folded, row.left_out = fold(message.content), []
    return row
