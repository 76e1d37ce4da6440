"""Everyone who has an account, for administrators: who they are, how much they hold, and their removal."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import Session

from storage import tables
from storage.account_records import Holdings, PersonRecord, Used
from storage.accounts import day_of
from storage.database import Database
from storage.errors import NotFound
from storage.tables import ConversationRow, Departure, Document, UserRow
from storage.usage_tables import Usage


class People:
    """All accounts of a ledger. It tells how much there is of what, and never what is in it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, owner: str) -> PersonRecord:
        """One person; NotFound where there is no such one."""
        with self._database.reading() as session:
            return _records(session, [_row(session, owner)])[0]

    def set_limits(self, owner: str, limits: Mapping[str, int]) -> None:
        """Set what this person may have in place of what everyone may."""
        with self._database.writing() as session:
            _row(session, owner).limits = dict(limits)

    def mark(self, owner: str, *, now: datetime | None = None) -> None:
        """Order a person's removal: from this commit on they are let in nowhere, and keep nothing more."""
        with self._database.writing() as session:
            row = _row(session, owner)
            row.removing = row.removing or now or datetime.now(UTC)

    def marked(self) -> list[str]:
        """Those whose removal was ordered and is not done, oldest order first."""
        with self._database.reading() as session:
            return list(
                session.scalars(
                    select(UserRow.id).where(UserRow.removing.is_not(None)).order_by(UserRow.removing)
                )
            )

    def forget(self, owner: str, *, now: datetime | None = None) -> None:
        """Remove every row of a marked person, in one commit, and remember that they went, not who they were.

        NotFound where this person is not marked: their files are there still.
        """
        with self._database.writing() as session:
            row = _row(session, owner)
            if row.removing is None:
                raise NotFound(f"The removal of {owner!r} was not ordered.")
            session.execute(delete(UserRow).where(UserRow.id == row.id))
            session.merge(Departure(id=tables.departed(owner), at=now or datetime.now(UTC)))

    def list(self) -> list[PersonRecord]:
        """Everyone, last seen first."""
        with self._database.reading() as session:
            rows = session.scalars(
                select(UserRow).order_by(UserRow.seen.desc().nulls_last(), UserRow.id)
            ).all()
            return _records(session, rows)


def _row(session: Session, owner: str) -> UserRow:
    row = session.get(UserRow, tables.storable(owner))
    if row is None:
        raise NotFound(f"There is no person {owner!r}.")
    return row


def _records(session: Session, rows: Any) -> list[PersonRecord]:
    held = _by_owner(session, _counted(Document.owner, func.count(), func.sum(Document.size)))
    chats = _by_owner(session, _counted(ConversationRow.owner, func.count()))
    used = _counted(Usage.owner, func.sum(Usage.answers), func.sum(Usage.tokens))
    all_days = _by_owner(session, used)
    today = _by_owner(session, used.where(Usage.day == day_of()))
    return [
        PersonRecord(
            id=row.id,
            name=row.name or "",
            email=row.email or "",
            created=row.created,
            seen=row.seen,
            removing=row.removing,
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
