"""The sources of one owner: what each is, when it was read, and where reading goes on."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from storage import tables
from storage.database import Database
from storage.errors import NotFound
from storage.source_records import SourceRecord, SourceState
from storage.source_tables import SourceItem, SourceRow
from storage.tables import Document


class SourceStore:
    """What one owner may see and change; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def create(
        self, kind: str, name: str, settings: Mapping[str, Any], every: int | None = None
    ) -> SourceRecord:
        """Keep a source that has not been read yet; ``every`` is in minutes."""
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            row = SourceRow(id=secrets.token_hex(8), owner=self._owner, kind=kind, created=_now())
            row.name, row.settings, row.every = name, dict(settings), every
            row.round, row.state = 0, "idle"
            session.add(row)
            session.flush()
            return _record(row)

    def list(self) -> list[SourceRecord]:
        """Every source, oldest first."""
        with self._database.reading() as session:
            return [
                _record(row)
                for row in session.scalars(self._mine().order_by(SourceRow.created, SourceRow.id))
            ]

    def get(self, source_id: str) -> SourceRecord:
        """One source; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return _record(self._row(session, source_id))

    def change(self, source_id: str, name: str, settings: Mapping[str, Any], every: int | None) -> None:
        """Have a source be read otherwise; with other settings it is read from the start."""
        with self._database.writing() as session:
            row = self._row(session, source_id)
            if row.settings != dict(settings):
                row.settings, row.cursor = dict(settings), None
            row.name, row.every = name, every

    def begin(self, source_id: str) -> SourceRecord:
        """Note that a source is being read; a reading that did not reach its end is gone on with."""
        with self._database.writing() as session:
            row = self._row(session, source_id)
            row.round += row.state == "idle"
            row.state, row.reason, row.began = "running", None, _now()
            return _record(row)

    def mark(self, source_id: str, cursor: str) -> None:
        """Keep where the next reading begins."""
        with self._database.writing() as session:
            self._row(session, source_id).cursor = cursor

    def end(self, source_id: str, state: SourceState, reason: str | None = None) -> None:
        """Note how a reading ended; one that failed tells why."""
        with self._database.writing() as session:
            row = self._row(session, source_id)
            row.state, row.reason, row.ended = state, reason, _now()

    def delete(self, source_id: str, *, keep_documents: bool) -> None:
        """Forget a source. Its documents stay, as if added by hand, or belong to no source any more."""
        with self._database.writing() as session:
            row = self._row(session, source_id)
            if keep_documents:
                held = select(SourceItem.document_id).where(SourceItem.source_id == row.id)
                session.execute(update(Document).where(Document.id.in_(held)).values(uploaded=True))
            session.delete(row)

    def _mine(self) -> Select[SourceRow]:
        return select(SourceRow).where(SourceRow.owner == self._owner)

    def _row(self, session: Session, source_id: str) -> SourceRow:
        row = session.scalar(self._mine().where(SourceRow.id == source_id))
        if row is None:
            raise NotFound(f"There is no source {source_id!r}.")
        return row


def _now() -> datetime:
    return datetime.now(UTC)


def _record(row: SourceRow) -> SourceRecord:
    return SourceRecord(
        id=row.id,
        kind=row.kind,
        name=row.name,
        settings=row.settings,
        every=row.every,
        cursor=row.cursor,
        round=row.round,
        state=cast(SourceState, row.state),
        reason=row.reason,
        began=row.began,
        ended=row.ended,
        created=row.created,
    )
