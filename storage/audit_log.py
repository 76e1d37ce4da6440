"""Audit log: sign-ins, keys, removals, exports and changes of settings, in the order they happened.

The log only grows. Triggers of the database refuse to change an entry, and to delete one that is younger than
`SHORTEST`; older ones go after the days that the settings say. An entry holds no text and no name: whose it
is stands there as a hash, and details are ids, numbers and names of settings. So the entries of a removed
person stay, and name nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, get_args

from sqlalchemy import Select, delete, select

from storage.database import Database, OwnerStore
from storage.events import Detail, Kind, add_audit_entry
from storage.tables import AuditRow, UserRow, now, owner_hash, storable

KINDS: tuple[Kind, ...] = get_args(Kind)
SHORTEST = timedelta(days=30)  # as in the triggers of migration 0014
SERVER = "server"  # who did what no person did, and what was done on the command line
PAGE = 50


@dataclass(frozen=True)
class AuditEntry:
    """One entry: who did what, when. `who` is None for a person who was removed; `person` stays the same."""

    id: int
    at: datetime
    who: str | None
    person: str
    kind: Kind
    detail: Mapping[str, Detail]


def pseudonym(owner: str) -> str:
    """Return the short name that a detail gives a person: ``"ann" -> "6f16b3bd9f04"``."""
    return owner_hash(owner)[:12]


class AuditLog(OwnerStore):
    """The entries of one owner, from the account's beginning: not those of an earlier, removed account."""

    def record(self, kind: Kind, **detail: Detail) -> None:
        """Add an entry about what no transaction of the ledger does, as an export."""
        with self._database.writing(self._owner) as session:
            add_audit_entry(session, self._owner, kind, **detail)

    def list(self, *, before: int | None = None, limit: int = PAGE) -> list[AuditEntry]:
        """List the newest entries, newest first; with `before`, those older than that one."""
        with self._database.reading() as session:
            began = session.scalar(select(UserRow.created).where(UserRow.id == storable(self._owner)))
            mine = _page(before, limit).where(AuditRow.owner == owner_hash(self._owner))
            if began is not None:
                mine = mine.where(AuditRow.at >= began)
            return [_entry(row, {row.owner: self._owner}) for row in session.scalars(mine)]


class AuditTrail:
    """The entries of everyone, for administrators."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, *, before: int | None = None, limit: int = PAGE) -> list[AuditEntry]:
        """List the newest entries, newest first; with `before`, those older than that one."""
        with self._database.reading() as session:
            rows = session.scalars(_page(before, limit)).all()
            names = {owner_hash(id_): id_ for id_ in (SERVER, *session.scalars(select(UserRow.id)))}
            return [_entry(row, names) for row in rows]

    def expire(self, days: int) -> int:
        """Delete the entries older than so many days, at least `SHORTEST`; return their number."""
        oldest = now() - max(timedelta(days=days), SHORTEST + timedelta(hours=1))
        with self._database.reading() as session:
            if session.scalar(select(AuditRow.id).where(AuditRow.at < oldest).limit(1)) is None:
                return 0
        with self._database.writing() as session:
            gone = session.scalars(delete(AuditRow).where(AuditRow.at < oldest).returning(AuditRow.id))
            return len(gone.all())


def _page(before: int | None, limit: int) -> Select[AuditRow]:
    newest = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit)
    return newest if before is None else newest.where(AuditRow.id < before)


def _entry(row: Any, names: Mapping[str, str]) -> AuditEntry:
    return AuditEntry(row.id, row.at, names.get(row.owner), row.owner[:12], row.kind, row.detail)
