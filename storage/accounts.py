"""The account of one owner: whether they are let in, what they hold and used, what was set for them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from storage import tables
from storage.account_records import Holdings, Used
from storage.database import Database
from storage.errors import AccountClosed
from storage.lookups import Lookup, parsed
from storage.tables import Departure, Document, UserRow
from storage.usage_tables import Usage

_LIMITS = Lookup(select(UserRow.id, UserRow.limits).where(UserRow.id == bindparam("owner")), UserRow.id)
SEEN_EVERY = timedelta(minutes=5)  # between two notes that someone is here: a page is drawn more often


class Account:
    """What is known of one owner, apart from what is theirs."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def enter(self, since: datetime, name: str = "", email: str = "", *, now: datetime | None = None) -> None:
        """Note that someone is here who signed in at ``since``, and what they are called.

        Raises AccountClosed where they signed out after that, were removed after that, or are being removed.
        """
        now = now or datetime.now(UTC)
        with self._database.reading() as session:
            row = self._let_in(session, since)
            if row is not None and _is_noted(row, name, email, now):
                return
        with self._database.writing() as session:
            self._let_in(session, since)
            departure = session.get(Departure, tables.departed(self._owner))
            if departure is not None:
                session.delete(departure)
                session.flush()
            tables.ensure_user(session, self._owner)
            row = session.get_one(UserRow, tables.storable(self._owner))
            row.name, row.email, row.seen = name, email, now

    def leave(self, since: datetime) -> None:
        """End what was signed in until ``since``, in every browser; who signs in anew is let in."""
        with self._database.writing() as session:
            row = session.get(UserRow, tables.storable(self._owner))
            if row is not None:
                row.not_before = max(since, row.not_before or since)

    def confirm(self) -> None:
        """Raise AccountClosed where this person is being removed, or was."""
        with self._database.reading() as session:
            tables.confirm_open(session, self._owner)

    def limits(self) -> Mapping[str, int]:
        """Return what was set for this person alone; empty where that is nothing."""
        found = self._database.look_up(_LIMITS, [self._owner], self._owner)
        return next((parsed(limits) for _, limits in found if limits is not None), {})

    def holds(self) -> Holdings:
        """Count the documents and add up the sizes of their originals."""
        counting = select(func.count(), func.coalesce(func.sum(Document.size), 0))
        with self._database.reading() as session:
            found = session.execute(counting.where(Document.owner == self._owner)).one()
            return Holdings(*map(int, found))

    def has(self, sha256: str) -> bool:
        """Whether a document of this content is among them."""
        mine = select(Document.id).where(Document.owner == self._owner, Document.sha256 == sha256)
        with self._database.reading() as session:
            return session.scalar(mine) is not None

    def count(self, *, answers: int = 0, tokens: int = 0, now: datetime | None = None) -> None:
        """Add to what was used today."""
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            row = session.get(Usage, (tables.storable(self._owner), day_of(now)))
            if row is None:
                row = Usage(owner=self._owner, day=day_of(now), answers=0, tokens=0)
                session.add(row)
            row.answers, row.tokens = row.answers + answers, row.tokens + tokens

    def used(self, now: datetime | None = None) -> Used:
        """Return what was used today."""
        with self._database.reading() as session:
            row = session.get(Usage, (tables.storable(self._owner), day_of(now)))
            return Used(0, 0) if row is None else Used(row.answers, row.tokens)

    def _let_in(self, session: Session, since: datetime) -> UserRow | None:
        row = session.get(UserRow, tables.storable(self._owner))
        if row is not None and row.not_before is not None and since <= row.not_before:
            raise AccountClosed("You signed out. Sign in again to go on.")
        tables.confirm_open(session, self._owner, since)
        return row


def day_of(now: datetime | None = None) -> str:
    """Return the day of a moment, in UTC: ``"2026-11-30"``."""
    return (now or datetime.now(UTC)).astimezone(UTC).date().isoformat()


def _is_noted(row: UserRow, name: str, email: str, now: datetime) -> bool:
    return (row.name, row.email) == (name, email) and row.seen is not None and now - row.seen < SEEN_EVERY
