"""Accounts: sign-in, quotas and usage of one owner, and the list and removal of all of them."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, select, union
from sqlalchemy.orm import Session

from storage import audit_log, tables
from storage.database import Database, Lookup, OwnerStore, parsed
from storage.documents import UNFINISHED
from storage.errors import AccountClosed, NotFound
from storage.events import add_audit_entry
from storage.i18n import N_
from storage.records import Holdings, PersonRecord, Used
from storage.tables import (
    AccountRemoval,
    ConversationRow,
    Document,
    FigureRow,
    GridRow,
    IndexStateRow,
    SourceRow,
    Usage,
    UserRow,
    to_record,
)

_LIMITS = Lookup(select(UserRow.id, UserRow.limits).where(UserRow.id == bindparam("owner")), UserRow.id)
SEEN_EVERY = timedelta(minutes=5)  # between two updates of "last seen"; pages are drawn more often


class Account(OwnerStore):
    """The account of one owner: sign-in, quotas and usage."""

    def enter(self, since: datetime, name: str = "", email: str = "", *, now: datetime | None = None) -> None:
        """Record the visit of an owner who signed in at ``since``, with their name and address.

        Raises AccountClosed where they signed out or were removed after that, or are being removed.
        """
        now = now or tables.now()
        with self._database.reading() as session:
            row = self._admit(session, since)
            if row is not None and not _is_new(row, since) and _is_current(row, name, email, now):
                return
        with self._database.writing(self._owner) as session:
            self._admit(session, since)
            departure = session.get(AccountRemoval, tables.owner_hash(self._owner))
            if departure is not None:
                session.delete(departure)
                session.flush()
            tables.ensure_user(session, self._owner)
            row = session.get_one(UserRow, tables.storable(self._owner))
            if _is_new(row, since):
                add_audit_entry(session, self._owner, "signed_in")
            row.name, row.email, row.seen = name, email, max(now, since)

    def leave(self, since: datetime) -> None:
        """Sign out, in every browser, the sessions begun until ``since``; a new sign-in is admitted."""
        with self._database.writing(self._owner) as session:
            row = session.get(UserRow, tables.storable(self._owner))
            if row is not None:
                row.not_before = max(since, row.not_before or since)
                add_audit_entry(session, self._owner, "signed_out")

    def confirm(self) -> None:
        """Raise AccountClosed where the owner is being removed, or was."""
        with self._database.reading() as session:
            tables.require_open_account(session, self._owner)

    def email(self) -> str:
        """Return the owner's address that their sign-in service has verified; empty where there is none."""
        mine = select(UserRow.email).where(UserRow.id == tables.storable(self._owner))
        with self._database.reading() as session:
            return session.scalar(mine) or ""

    def language(self) -> str:
        """Return the code of the language that the owner chose; empty where they chose none."""
        mine = select(UserRow.language).where(UserRow.id == tables.storable(self._owner))
        with self._database.reading() as session:
            return session.scalar(mine) or ""

    def choose_language(self, code: str) -> None:
        """Keep the code of the language that the owner chose; an empty one takes the choice back."""
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            session.get_one(UserRow, tables.storable(self._owner)).language = code or None

    def limits(self) -> Mapping[str, int]:
        """Return the quotas set for this owner alone; empty where there are none."""
        found = self._database.look_up(_LIMITS, [self._owner], self._owner)
        return next((parsed(limits) for _, limits in found if limits is not None), {})

    def holds(self) -> Holdings:
        """Count the documents and add up the sizes of their originals."""
        counting = select(func.count(), func.coalesce(func.sum(Document.size), 0))
        with self._database.reading() as session:
            found = session.execute(counting.where(Document.owner == self._owner)).one()
            return Holdings(*map(int, found))

    def has(self, sha256: str) -> bool:
        """Return True where the owner has a document with this content."""
        mine = select(Document.id).where(Document.owner == self._owner, Document.sha256 == sha256)
        with self._database.reading() as session:
            return session.scalar(mine) is not None

    def passages(self, besides: Collection[str] = ()) -> int:
        """Add up the passages of the documents, leaving out those with these ids."""
        mine = Document.owner == self._owner, Document.id.not_in(list(besides))
        chunks = select(func.coalesce(func.sum(Document.chunk_count), 0)).where(*mine)
        figures = select(func.count()).select_from(FigureRow).join(Document).where(*mine)
        with self._database.reading() as session:
            return int(session.scalar(chunks) or 0) + int(session.scalar(figures) or 0)

    def count(
        self,
        *,
        answers: int = 0,
        tokens: int = 0,
        embedding_seconds: float = 0.0,
        now: datetime | None = None,
    ) -> None:
        """Add to today's usage."""
        with self._database.writing(self._owner) as session:
            tables.ensure_user(session, self._owner)
            row = session.get(Usage, (tables.storable(self._owner), day_of(now)))
            if row is None:
                row = Usage(owner=self._owner, day=day_of(now), answers=0, tokens=0, embedding_seconds=0.0)
                session.add(row)
            row.answers, row.tokens = row.answers + answers, row.tokens + tokens
            row.embedding_seconds += embedding_seconds

    def used(self, now: datetime | None = None) -> Used:
        """Return today's usage."""
        with self._database.reading() as session:
            row = session.get(Usage, (tables.storable(self._owner), day_of(now)))
            return Used(0, 0) if row is None else Used(row.answers, row.tokens, row.embedding_seconds)

    def _admit(self, session: Session, since: datetime) -> UserRow | None:
        row = session.get(UserRow, tables.storable(self._owner))
        if row is not None and row.not_before is not None and since <= row.not_before:
            raise AccountClosed(N_("You signed out. Sign in again to go on."))
        tables.require_open_account(session, self._owner, since)
        return row


def day_of(now: datetime | None = None) -> str:
    """Return the day of a moment, in UTC: ``"2026-11-30"``."""
    return (now or tables.now()).astimezone(UTC).date().isoformat()


def _is_new(row: UserRow, since: datetime) -> bool:
    """Return True for a sign-in after the last visit, which was not recorded yet."""
    return row.seen is None or since > row.seen


def _is_current(row: UserRow, name: str, email: str, now: datetime) -> bool:
    return (row.name, row.email) == (name, email) and row.seen is not None and now - row.seen < SEEN_EVERY


class People:
    """All accounts of a ledger, for administrators: their sizes and removal, never their content."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, owner: str) -> PersonRecord:
        """Return one person; NotFound where there is no such one."""
        with self._database.reading() as session:
            return _records(session, [_row(session, owner)])[0]

    def set_limits(self, owner: str, limits: Mapping[str, int], *, by: str = audit_log.SERVER) -> None:
        """Set the quotas of this person, in place of everyone's."""
        with self._database.writing(owner) as session:
            _row(session, owner).limits = dict(limits)
            add_audit_entry(session, by, "limits_changed", person=audit_log.pseudonym(owner), **limits)

    def mark(self, owner: str, *, by: str = audit_log.SERVER, now: datetime | None = None) -> None:
        """Mark a person for removal: from this commit on they can neither sign in nor store anything."""
        with self._database.writing(owner) as session:
            row = _row(session, owner)
            if row.removing is None:
                row.removing = now or tables.now()
                add_audit_entry(session, by, "person_removed", person=audit_log.pseudonym(owner))

    def marked(self) -> list[str]:
        """List the people marked for removal who are not removed yet, the first marked first."""
        marked = select(UserRow.id).where(UserRow.removing.is_not(None)).order_by(UserRow.removing)
        with self._database.reading() as session:
            return list(session.scalars(marked))

    def forget(self, owner: str, *, now: datetime | None = None) -> None:
        """Delete every row of a marked person, in one commit, and record the removal under a hash.

        NotFound where this person is not marked: their files still exist.
        """
        with self._database.writing(owner) as session:
            row = _row(session, owner)
            if row.removing is None:
                raise NotFound(N_("The removal of {owner} was not ordered.", owner=repr(owner)))
            session.execute(delete(UserRow).where(UserRow.id == row.id))
            session.merge(AccountRemoval(id=tables.owner_hash(owner), at=now or tables.now()))

    def list(self) -> list[PersonRecord]:
        """List everyone, last seen first."""
        ordered = select(UserRow).order_by(UserRow.seen.desc().nulls_last(), UserRow.id)
        with self._database.reading() as session:
            return _records(session, session.scalars(ordered).all())


def _row(session: Session, owner: str) -> UserRow:
    row = session.get(UserRow, tables.storable(owner))
    if row is None:
        raise NotFound(N_("There is no person {owner}.", owner=repr(owner)))
    return row


def _records(session: Session, rows: Any) -> list[PersonRecord]:
    held = _by_owner(session, _counted(Document.owner, func.count(), func.sum(Document.size)))
    listed = _counted(ConversationRow.owner, func.count()).where(ConversationRow.deleted.is_(None))
    chats = _by_owner(session, listed)
    used = _counted(Usage.owner, func.sum(Usage.answers), func.sum(Usage.tokens))
    all_days = _by_owner(session, used)
    today = _by_owner(session, used.where(Usage.day == day_of()))
    return [
        to_record(
            PersonRecord,
            row,
            name=row.name or "",
            email=row.email or "",
            limits=row.limits or {},
            holds=Holdings(*held.get(row.id, (0, 0))),
            conversations=chats.get(row.id, (0,))[0],
            used=Used(*all_days.get(row.id, (0, 0))),
            today=Used(*today.get(row.id, (0, 0))),
        )
        for row in rows
    ]


def _counted(owner: Any, *counts: Any) -> Select[Any]:
    return select(owner, *counts).group_by(owner)


def _by_owner(session: Session, counting: Select[Any]) -> dict[str, tuple[int, ...]]:
    return {owner: tuple(int(count or 0) for count in counts) for owner, *counts in session.execute(counting)}


def documents_by_state(database: Database) -> dict[str, int]:
    """Count all owners' documents by state."""
    counting = select(Document.state, func.count()).group_by(Document.state).order_by(Document.state)
    with database.reading() as session:
        return {state: count for state, count in session.execute(counting)}  # noqa: C416 - rows, not pairs


STAGED_SUFFIX = "-next"  # of the name of an index that is built beside the one in use


def owners_with_work(database: Database) -> list[str]:
    """List the owners with unfinished work, to be resumed after a start.

    That is an unfinished document, a staged index, a sync, or a grid that is to run.
    """
    documents = select(Document.owner).where(Document.state.in_(UNFINISHED))
    indexes = select(IndexStateRow.owner).where(IndexStateRow.name.endswith(STAGED_SUFFIX, autoescape=True))
    sources = select(SourceRow.owner).where(SourceRow.state == "running")
    grids = select(GridRow.owner).where(GridRow.run_begun.is_not(None))
    with database.reading() as session:
        return sorted(session.scalars(union(documents, indexes, sources, grids)))


def owners_with_sources(database: Database) -> list[str]:
    """List the owners who have a source."""
    with database.reading() as session:
        return sorted(session.scalars(select(SourceRow.owner).distinct()))
