"""Rows by id, read on the database's driver: SQLAlchemy's layers take four times as long as six rows do."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, SQLColumnExpression, bindparam
from sqlalchemy.engine import Dialect

from storage.columns import storable

MOST = 900  # ids at once: below the 999 parameters that every SQLite allows


@dataclass(frozen=True, eq=False)
class Lookup:
    """A `statement` with a parameter ``owner``, narrowed to the rows whose `key` is one of some ids.

    It is compiled once for each power of two of ids, the last of which is repeated to fill it up.
    """

    statement: Select[*tuple[Any, ...]]
    key: SQLColumnExpression[str]

    def over(self, ids: Sequence[str], owner: str, dialect: Dialect) -> Iterator[tuple[str, Any]]:
        """Yield SQL and parameters as the driver of a dialect takes them, one for each 900 ids."""
        for first in range(0, len(ids), MOST):
            some = ids[first : first + MOST]
            kind: Any = type(dialect)
            yield _compiled(self, kind, _size(len(some))).given(some, owner)


def parsed(value: Any) -> Any:
    """Return what a column of JSON holds: SQLite's driver gives its text, PostgreSQL's what it says."""
    return json.loads(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class _Compiled:
    sql: str
    ids: Sequence[str]  # the names of their parameters
    others: Mapping[str, Any]
    order: Sequence[str] | None  # of all names; None where the driver takes names

    def given(self, ids: Sequence[str], owner: str) -> tuple[str, Any]:
        values = {**self.others, **dict.fromkeys(self.ids, storable(ids[-1])), "owner": storable(owner)}
        values.update(zip(self.ids, map(storable, ids), strict=False))
        return self.sql, values if self.order is None else [values[name] for name in self.order]


@lru_cache(maxsize=64)
def _compiled(lookup: Lookup, dialect: Any, size: int) -> _Compiled:
    """Compile a lookup of `size` ids; to do so takes longer than to run it."""
    names = [f"id{number}" for number in range(size)]
    narrowed = lookup.statement.where(lookup.key.in_([bindparam(name) for name in names]))
    made = narrowed.compile(dialect=dialect())
    return _Compiled(str(made), names, made.params, made.positiontup)


def _size(count: int) -> int:
    """Return the power of two from `count` on: ``6 -> 8``; what is more than fits is what fits."""
    return min(MOST, 1 << (count - 1).bit_length())
