"""The sources of one owner: what each is, when it was read, and where reading goes on."""

import secrets
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import ColumnElement, Select, case, delete, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from storage import documents as document_rows
from storage import tables
from storage.database import Database
from storage.documents import UNFINISHED
from storage.errors import NotFound
from storage.records import (
    DocumentRecord,
    ItemRecord,
    Listing,
    Outcome,
    SourceRecord,
    SourceState,
    State,
    Tally,
)
from storage.tables import Document, SourceItem, SourceRow, storable


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


# What is at one owner's sources, and which document each thing became: both change in one commit.
_BATCH = 400  # ids in one statement
_ITEMS = select(SourceItem, Document.state, Document.reason).outerjoin(
    Document, Document.id == SourceItem.document_id
)
_FAILED = SourceItem.reason.is_not(None) | Document.reason.is_not(None)


class SourceItems:
    """The items of one owner's sources; anyone else's source is one that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def keep(self, source_id: str, item: Listing, sha256: str, size: int) -> tuple[DocumentRecord, Outcome]:
        """Keep an item's content, which is ``size`` bytes on disk already, as a document to be read.

        Content that this owner has is "unchanged", wherever it came from. Else the item's document before is
        replaced once the new one can be searched, unless someone else holds it, too.
        """
        with self._database.writing() as session:
            source = self._source(session, source_id)
            row = _row(session, source, item)
            known = document_rows.with_content(session, self._owner, sha256)
            if known is not None and known.state != "refused":
                row.document_id = known.id
                _rename(session, row, item)
                session.flush()
                return document_rows.record(known), "unchanged"
            standing = _standing(session, row, known)
            document = known or document_rows.new(self._owner, sha256)
            document.uploaded = document.uploaded if known else False
            document.url = item.url
            document_rows.queue(document, _name(item), size, standing)
            session.add(document)
            session.flush()
            row.document_id = document.id
            return document_rows.record(document), "new" if standing is None else "replaces"

    def seen(self, source_id: str, items: Iterable[Listing]) -> None:
        """Note that items are there still, by the names and addresses they have now."""
        with self._database.writing() as session:
            source = self._source(session, source_id)
            for item in items:
                row = session.get(SourceItem, (source.id, storable(item.id)))
                if row is not None:
                    row.round = source.round
                    if (row.name, row.url) != (_name(item), item.url):
                        _rename(session, row, item)

    def fail(
        self, source_id: str, item: Listing, reason: str, tries: int = 1, due: datetime | None = None
    ) -> None:
        """Note why an item could not be had, and when it is to be tried again; what it was before stays."""
        with self._database.writing() as session:
            source = self._source(session, source_id)
            row = _row(session, source, item)
            row.version, row.reason = None, reason
            row.wanted, row.tries, row.due = item.version, tries, due

    def retry(self, source_id: str, now: datetime) -> None:
        """Have all be tried again that could not be had."""
        with self._database.writing() as session:
            source = self._source(session, source_id)
            failed = update(SourceItem).where(
                SourceItem.source_id == source.id, SourceItem.reason.is_not(None)
            )
            session.execute(failed.values(due=now))

    def drop(self, source_id: str, item_ids: Sequence[str]) -> None:
        """Forget items that are gone; see `orphans`."""
        with self._database.writing() as session:
            source = self._source(session, source_id)
            mine = delete(SourceItem).where(SourceItem.source_id == source.id)
            for start in range(0, len(item_ids), _BATCH):
                session.execute(mine.where(SourceItem.id.in_(item_ids[start : start + _BATCH])))

    def unseen(self, source_id: str) -> list[str]:
        """Items that the present reading of the source has not named."""
        with self._database.reading() as session:
            source = self._source(session, source_id)
            mine = select(SourceItem.id).where(SourceItem.source_id == source.id)
            return [*session.scalars(mine.where(SourceItem.round < source.round).order_by(SourceItem.id))]

    def orphans(self) -> list[str]:
        """Documents that nobody added by hand, no source has any more, and nothing waits to replace."""
        waiting = aliased(Document)
        orphaned = select(Document.id).where(
            Document.owner == self._owner,
            Document.uploaded.is_(False),
            ~exists().where(SourceItem.document_id == Document.id),
            ~exists().where(waiting.replaces == Document.id),
        )
        with self._database.reading() as session:
            return [*session.scalars(orphaned.order_by(Document.created, Document.id))]

    def list(self, source_id: str) -> list[ItemRecord]:
        """Every item of a source by name, with how far its document is."""
        asked = _ITEMS.order_by(SourceItem.name, SourceItem.id)
        with self._database.reading() as session:
            source = self._source(session, source_id)
            rows = session.execute(asked.where(SourceItem.source_id == source.id))
            return [_item_record(*row) for row in rows]

    def page(
        self, source_id: str, offset: int, limit: int, *, failed_only: bool = False
    ) -> Sequence[ItemRecord]:
        """Return some of the items of a source, those first that could not be had, then by name."""
        asked = _ITEMS.where(_FAILED) if failed_only else _ITEMS
        asked = asked.order_by(case((_FAILED, 0), else_=1), SourceItem.name, SourceItem.id)
        with self._database.reading() as session:
            source = self._source(session, source_id)
            some = asked.where(SourceItem.source_id == source.id).offset(offset).limit(limit)
            return [_item_record(*row) for row in session.execute(some)]

    def tallies(self) -> dict[str, Tally]:
        """Count what each source has, in one look; a source without items is absent."""
        mine = SourceRow.owner == self._owner
        counts = (
            select(
                SourceItem.source_id,
                func.count(),
                func.count(SourceItem.document_id),
                func.count(case((_FAILED, 1))),
            )
            .join(SourceRow, SourceRow.id == SourceItem.source_id)
            .outerjoin(Document, Document.id == SourceItem.document_id)
            .where(mine)
            .group_by(SourceItem.source_id)
        )
        with self._database.reading() as session:
            unfinished = _unfinished(session, mine)
            return {
                source_id: Tally(items, documents, failed, frozenset(unfinished.get(source_id, ())))
                for source_id, items, documents, failed in session.execute(counts)
            }

    def origins(self, document_ids: Sequence[str]) -> dict[str, Sequence[str]]:
        """Tell which sources documents came from, by name; those that came from none are absent."""
        asked = (
            select(SourceItem.document_id, SourceRow.name)
            .join(SourceRow, SourceRow.id == SourceItem.source_id)
            .where(SourceRow.owner == self._owner)
            .distinct()
            .order_by(SourceRow.name)
        )
        found: dict[str, Sequence[str]] = {}
        with self._database.reading() as session:
            for start in range(0, len(document_ids), _BATCH):
                some = asked.where(SourceItem.document_id.in_(document_ids[start : start + _BATCH]))
                for document_id, name in session.execute(some):
                    known = document_id or ""
                    found[known] = (*found.get(known, ()), name)
        return found

    def _source(self, session: Session, source_id: str) -> SourceRow:
        mine: Select[SourceRow] = select(SourceRow).where(SourceRow.owner == self._owner)
        row = session.scalar(mine.where(SourceRow.id == source_id))
        if row is None:
            raise NotFound(f"There is no source {source_id!r}.")
        return row


def _name(item: Listing) -> str:
    return storable(unicodedata.normalize("NFC", item.name))


def _row(session: Session, source: SourceRow, item: Listing) -> SourceItem:
    """Find or begin an item's row, as its source tells it now."""
    row = session.get(SourceItem, (source.id, storable(item.id)))
    if row is None:
        row = SourceItem(source_id=source.id, id=item.id)
        session.add(row)
    row.name, row.url, row.version, row.reason = _name(item), item.url, item.version, None
    row.round, row.updated = source.round, document_rows.now()
    row.wanted, row.tries, row.due = None, 0, None
    return row


def _rename(session: Session, row: SourceItem, item: Listing) -> None:
    """Have an item, and the document that is its alone, go by the name and address they have now."""
    row.name, row.url = _name(item), item.url
    held = session.get(Document, row.document_id) if row.document_id else None
    if held is not None and not held.uploaded and not _held_elsewhere(session, row):
        held.name, held.url = row.name, row.url


def _standing(session: Session, row: SourceItem, known: Document | None) -> Document | None:
    """Return the document that an item's new content replaces; one that never answered goes at once."""
    before = None if row.document_id is None else session.get(Document, row.document_id)
    if before is None or before is known or before.uploaded or _held_elsewhere(session, row):
        return None
    if before.replaces is None and before.state != "refused":
        return before
    standing = None if before.replaces is None else session.get(Document, before.replaces)
    document_rows.drop(session, [before])
    return standing


def _unfinished(session: Session, mine: ColumnElement[bool]) -> dict[str, list[str]]:
    """Return the documents that are not yet ready, by the source that they are of."""
    asked = (
        select(SourceItem.source_id, Document.id)
        .join(SourceRow, SourceRow.id == SourceItem.source_id)
        .join(Document, Document.id == SourceItem.document_id)
        .where(mine, Document.state.in_(UNFINISHED))
    )
    found: dict[str, list[str]] = {}
    for source_id, document_id in session.execute(asked):
        found.setdefault(source_id, []).append(document_id)
    return found


def _held_elsewhere(session: Session, row: SourceItem) -> bool:
    same = SourceItem.document_id == row.document_id
    other = (SourceItem.source_id != row.source_id) | (SourceItem.id != row.id)
    return bool(session.scalar(select(exists().where(same, other))))


def _item_record(row: SourceItem, state: str | None, refused: str | None) -> ItemRecord:
    return ItemRecord(
        id=row.id,
        name=row.name,
        url=row.url,
        version=row.version,
        document_id=row.document_id,
        state=cast(State | None, state),
        reason=row.reason or refused,
        updated=row.updated,
        wanted=row.wanted,
        tries=row.tries,
        due=row.due,
    )
