"""Pages of a list by cursor, which names the place after which the next page begins."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Protocol, TypeVar

from fastapi import Query

from rag.errors import QuestionRefused

T = TypeVar("T")
Limit = Annotated[int, Query(ge=1, le=200, description="Entries of a page.")]
Cursor = Annotated[
    str | None, Query(max_length=400, description="`next_cursor` of the page before; the first without one.")
]


class Dated(Protocol):
    """Record with the time at which it was made."""

    @property
    def id(self) -> str:
        """Id, which orders records of the same time."""

    @property
    def created(self) -> datetime:
        """Time at which it was made."""


def oldest_first(record: Dated) -> tuple[str, str]:
    """Return the place of a record in a list whose newest one is the last."""
    return record.created.isoformat(), record.id


def newest_first(record: Dated) -> tuple[str, str]:
    """Return the place of a record in a list whose newest one is the first: the later, the smaller."""
    return f"{2**62 - int(record.created.timestamp() * 1e6):020d}", record.id


def page(
    entries: Iterable[T], place: Callable[[T], tuple[str, str]], limit: int, cursor: str | None
) -> tuple[list[T], str | None]:
    """Return a page of entries in the order of their places, and the cursor of the next one.

    >>> first, cursor = page("cab", lambda one: (one, ""), 2, None)
    >>> first, page("cab", lambda one: (one, ""), 2, cursor)
    (['a', 'b'], (['c'], None))
    """
    after = None if cursor is None else _place(cursor)
    rest = [one for one in sorted(entries, key=place) if after is None or place(one) > after]
    shown = rest[:limit]
    return shown, _cursor(place(shown[-1])) if len(rest) > limit else None


def _cursor(place: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[str, str]:
    try:
        first, second = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise QuestionRefused("This cursor is none of this list's. Begin without one.") from error
    return str(first), str(second)
