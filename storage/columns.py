"""What every table is made of: text and moments as any database keeps them, names for constraints."""

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, ForeignKey, MetaData, Table, Text, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: str) -> str:
    r"""Replace what no database holds, one for one so that offsets stand: ``"a\x00" -> "a\ufffd"``."""
    return _UNSTORABLE.sub("\ufffd", value)


class SafeText(TypeDecorator[str]):
    """Text of any origin: NUL and lone surrogates become U+FFFD on the way in."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Make a value storable."""
        return None if value is None else storable(value)


class Moment(TypeDecorator[datetime]):
    """A point in time, always aware and in UTC; SQLite itself forgets the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Give the zone back; a server gives its own."""
        if value is None or value.tzinfo is not None:
            return value and value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Names every constraint, so that a later migration can find it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012
        str: SafeText,
        datetime: Moment,
        dict[str, Any]: JSON,
        list[Any]: JSON,
    }


def part_of(column: str) -> ForeignKey:
    """Refer to what this goes with: deleted with it."""
    return ForeignKey(column, ondelete="CASCADE")


def table_of(kind: type[Base]) -> Table:
    """Return the table behind a class: its rows cost a third of what objects of the class do."""
    return Base.metadata.tables[kind.__tablename__]
