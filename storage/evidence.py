"""What an answer was given to read and what its sentences rest on. The caller has asked whose it is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import Row, Select, Table, bindparam, delete, insert, select
from sqlalchemy.orm import Session

from storage.columns import table_of
from storage.records import CitationRecord, PassageRecord
from storage.tables import CitationRow, MessagePassage, TraceRow

R = TypeVar("R", PassageRecord, CitationRecord)

_PASSAGES, _CITATIONS, _TRACES = table_of(MessagePassage), table_of(CitationRow), table_of(TraceRow)


def _reading(table: Table, record: type[R], order: str) -> Select[Any]:
    """Return what reads the fields of records, after the message that each belongs to."""
    wanted = [table.c.message_id, *(table.c[field.name] for field in fields(record))]
    chosen = table.c.message_id.in_(bindparam("ids", expanding=True))
    return select(*wanted).where(chosen).order_by(table.c.message_id, table.c[order])


_PASSAGES_OF = _reading(_PASSAGES, PassageRecord, "number")
_CITATIONS_OF = _reading(_CITATIONS, CitationRecord, "position")
_ADDING = {table: insert(table) for table in (_PASSAGES, _CITATIONS)}
_FORGETTING = {
    table: delete(table).where(table.c.message_id == bindparam("of"))
    for table in (_PASSAGES, _CITATIONS, _TRACES)
}


def passages(session: Session, message_ids: Sequence[str]) -> Mapping[str, tuple[PassageRecord, ...]]:
    """Read what messages were given, in the order of its numbers, by the message's id."""
    return _by_message(PassageRecord, session.connection().execute(_PASSAGES_OF, {"ids": message_ids}))


def citations(session: Session, message_ids: Sequence[str]) -> Mapping[str, tuple[CitationRecord, ...]]:
    """Read what sentences of messages rest on, in their order, by the message's id."""
    return _by_message(CitationRecord, session.connection().execute(_CITATIONS_OF, {"ids": message_ids}))


def keep_passages(session: Session, message_id: str, given: Sequence[PassageRecord]) -> None:
    """Freeze the passages an answer was given, in place of any it had."""
    forget_passages(session, message_id)
    if given:
        values = [{"message_id": message_id, **asdict(passage)} for passage in given]
        session.connection().execute(_ADDING[_PASSAGES], values)


def keep_citations(session: Session, message_id: str, found: Sequence[CitationRecord]) -> None:
    """Keep the citations of an answer, in place of any it had."""
    session.connection().execute(_FORGETTING[_CITATIONS], {"of": message_id})
    if found:
        values = [
            {"message_id": message_id, "position": position, **asdict(citation)}
            for position, citation in enumerate(found)
        ]
        session.connection().execute(_ADDING[_CITATIONS], values)


def forget_passages(session: Session, message_id: str) -> None:
    """Drop the passages an answer was given."""
    session.connection().execute(_FORGETTING[_PASSAGES], {"of": message_id})


def forget_outcome(session: Session, message_id: str) -> None:
    """Drop what an answer's sentences rest on and how it was made, before it is written on or anew."""
    for table in (_CITATIONS, _TRACES):
        session.connection().execute(_FORGETTING[table], {"of": message_id})


def _by_message(record: Callable[..., R], rows: Iterable[Row[Any]]) -> dict[str, tuple[R, ...]]:
    return {
        message_id: tuple(record(*row[1:]) for row in part)
        for message_id, part in groupby(rows, key=itemgetter(0))
    }
