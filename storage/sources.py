"""Sources of one owner, such as a folder or a wiki: settings, sync state, and the items of each."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, delete, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from storage.database import OwnerStore
from storage.documents import (
    UNFINISHED,
    delete_documents,
    document_record,
    find_by_content,
    new_document,
    put_job,
    queue_document,
)
from storage.events import WebhookEvent, add_audit_entry, queue_event
from storage.records import DocumentRecord, ItemRecord, Listing, Outcome, SourceRecord, SourceState, Tally
from storage.tables import (
    Document,
    SourceItem,
    SourceRow,
    batches,
    ensure_user,
    new_id,
    now,
    storable,
    to_record,
)


class SourceStore(OwnerStore):
    """The sources of one owner."""

    def create(
        self, kind: str, name: str, settings: Mapping[str, Any], every: int | None = None
    ) -> SourceRecord:
        """Add a source that has not been synced yet; ``every`` is in minutes."""
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            row = SourceRow(id=new_id(), owner=self._owner, kind=kind, created=now())
            row.name, row.settings, row.every = name, dict(settings), every
            row.round, row.state = 0, "idle"
            session.add(row)
            session.flush()
            return to_record(SourceRecord, row)

    def list(self) -> list[SourceRecord]:
        """List the sources, oldest first."""
        mine = select(SourceRow).where(SourceRow.owner == self._owner)
        with self._database.reading() as session:
            rows = session.scalars(mine.order_by(SourceRow.created, SourceRow.id))
            return [to_record(SourceRecord, row) for row in rows]

    def get(self, source_id: str) -> SourceRecord:
        """Return one source; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return to_record(SourceRecord, self._own(session, SourceRow, source_id))

    def change(self, source_id: str, name: str, settings: Mapping[str, Any], every: int | None) -> None:
        """Change a source; with other settings the next sync begins from the start."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, SourceRow, source_id)
            if row.settings != dict(settings):
                row.settings, row.cursor = dict(settings), None
            row.name, row.every = name, every

    def begin(self, source_id: str) -> SourceRecord:
        """Record that a sync begins; one that did not reach its end is continued."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, SourceRow, source_id)
            row.round += row.state == "idle"
            row.state, row.reason, row.began = "running", None, now()
            return to_record(SourceRecord, row)

    def mark(self, source_id: str, cursor: str) -> None:
        """Save the cursor at which the next sync begins."""
        with self._database.writing(self._owner) as session:
            self._own(session, SourceRow, source_id).cursor = cursor

    def end(self, source_id: str, state: SourceState, reason: str | None = None) -> None:
        """Record the end of a sync, and the reason of one that failed."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, SourceRow, source_id)
            row.state, row.reason, row.ended = state, reason, now()
            if state != "stopped":
                event: WebhookEvent = "source.synced" if state == "idle" else "source.failed"
                queue_event(session, self._owner, event, source_id=row.id)

    def delete(self, source_id: str, *, keep_documents: bool) -> None:
        """Delete a source. Its documents count as uploaded from now on, or as `orphans`."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, SourceRow, source_id)
            if keep_documents:
                held = select(SourceItem.document_id).where(SourceItem.source_id == row.id)
                session.execute(update(Document).where(Document.id.in_(held)).values(uploaded=True))
            session.delete(row)
            add_audit_entry(session, self._owner, "source_removed", source=source_id)


_ITEMS = select(SourceItem, Document.state, Document.reason).outerjoin(
    Document, Document.id == SourceItem.document_id
)
_FAILED = SourceItem.reason.is_not(None) | Document.reason.is_not(None)


class SourceItems(OwnerStore):
    """The items of one owner's sources, written in one commit with their documents."""

    def keep(self, source_id: str, item: Listing, sha256: str, size: int) -> tuple[DocumentRecord, Outcome]:
        """Queue an item's content, which is ``size`` bytes on disk already, as a document.

        Content that this owner has is "unchanged", wherever it came from. Else the item's earlier document is
        replaced once the new one is searchable, unless another item or an upload holds it, too.
        """
        with self._database.writing(self._owner) as session:
            source = self._own(session, SourceRow, source_id)
            row = _updated_row(session, source, item)
            known = find_by_content(session, self._owner, sha256)
            if known is not None and known.state != "refused":
                row.document_id = known.id
                _rename(session, row, item)
                session.flush()
                return document_record(known), "unchanged"
            replaced = _replaced(session, row, known)
            document = known or new_document(self._owner, sha256)
            document.uploaded = document.uploaded if known else False
            document.url = item.url
            queue_document(document, _name(item), size, replaced)
            session.add(document)
            session.flush()
            put_job(session, document)
            row.document_id = document.id
            return document_record(document), "new" if replaced is None else "replaces"

    def seen(self, source_id: str, items: Iterable[Listing]) -> None:
        """Record that items still exist, with their present names and addresses."""
        with self._database.writing(self._owner) as session:
            source = self._own(session, SourceRow, source_id)
            for item in items:
                row = session.get(SourceItem, (source.id, storable(item.id)))
                if row is not None:
                    row.round = source.round
                    if (row.name, row.url) != (_name(item), item.url):
                        _rename(session, row, item)

    def fail(
        self, source_id: str, item: Listing, reason: str, tries: int = 1, due: datetime | None = None
    ) -> None:
        """Record the reason of an item's failure, and the time of the next try; its document stays."""
        with self._database.writing(self._owner) as session:
            source = self._own(session, SourceRow, source_id)
            row = _updated_row(session, source, item)
            row.version, row.reason = None, reason
            row.wanted, row.tries, row.due = item.version, tries, due

    def retry(self, source_id: str, now: datetime) -> None:
        """Make every failed item due."""
        with self._database.writing(self._owner) as session:
            source = self._own(session, SourceRow, source_id)
            failed = update(SourceItem).where(
                SourceItem.source_id == source.id, SourceItem.reason.is_not(None)
            )
            session.execute(failed.values(due=now))

    def drop(self, source_id: str, item_ids: Sequence[str]) -> None:
        """Delete items that no longer exist; see `orphans`."""
        with self._database.writing(self._owner) as session:
            source = self._own(session, SourceRow, source_id)
            mine = delete(SourceItem).where(SourceItem.source_id == source.id)
            for batch in batches(item_ids):
                session.execute(mine.where(SourceItem.id.in_(batch)))

    def unseen(self, source_id: str) -> list[str]:
        """List the items that the present sync has not seen."""
        with self._database.reading() as session:
            source = self._own(session, SourceRow, source_id)
            mine = select(SourceItem.id).where(SourceItem.source_id == source.id)
            return [*session.scalars(mine.where(SourceItem.round < source.round).order_by(SourceItem.id))]

    def orphans(self) -> list[str]:
        """List the documents that were not uploaded, no source has any more, and nothing is to replace."""
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
        """List the items of a source by name, with the state of their documents."""
        asked = _ITEMS.order_by(SourceItem.name, SourceItem.id)
        with self._database.reading() as session:
            source = self._own(session, SourceRow, source_id)
            rows = session.execute(asked.where(SourceItem.source_id == source.id))
            return [_item_record(*row) for row in rows]

    def page(
        self, source_id: str, offset: int, limit: int, *, failed_only: bool = False
    ) -> Sequence[ItemRecord]:
        """Return a page of the items of a source, failed ones first, then by name."""
        asked = _ITEMS.where(_FAILED) if failed_only else _ITEMS
        asked = asked.order_by(case((_FAILED, 0), else_=1), SourceItem.name, SourceItem.id)
        with self._database.reading() as session:
            source = self._own(session, SourceRow, source_id)
            some = asked.where(SourceItem.source_id == source.id).offset(offset).limit(limit)
            return [_item_record(*row) for row in session.execute(some)]

    def tallies(self) -> dict[str, Tally]:
        """Count the items and documents of each source; a source without items is absent."""
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
        """Return the names of each document's sources; documents without a source are absent."""
        asked = (
            select(SourceItem.document_id, SourceRow.name)
            .join(SourceRow, SourceRow.id == SourceItem.source_id)
            .where(SourceRow.owner == self._owner)
            .distinct()
            .order_by(SourceRow.name)
        )
        found: dict[str, Sequence[str]] = {}
        with self._database.reading() as session:
            for batch in batches(document_ids):
                for document_id, name in session.execute(asked.where(SourceItem.document_id.in_(batch))):
                    known = document_id or ""
                    found[known] = (*found.get(known, ()), name)
        return found


def _name(item: Listing) -> str:
    return storable(unicodedata.normalize("NFC", item.name))


def _updated_row(session: Session, source: SourceRow, item: Listing) -> SourceItem:
    row = session.get(SourceItem, (source.id, storable(item.id)))
    if row is None:
        row = SourceItem(source_id=source.id, id=item.id)
        session.add(row)
    row.name, row.url, row.version, row.reason = _name(item), item.url, item.version, None
    row.round, row.updated = source.round, now()
    row.wanted, row.tries, row.due = None, 0, None
    return row


def _rename(session: Session, row: SourceItem, item: Listing) -> None:
    row.name, row.url = _name(item), item.url
    held = session.get(Document, row.document_id) if row.document_id else None
    if held is not None and not held.uploaded and not _held_elsewhere(session, row):
        held.name, held.url = row.name, row.url


def _replaced(session: Session, row: SourceItem, known: Document | None) -> Document | None:
    """Return the document that an item's new content replaces; delete one that was never searchable."""
    before = None if row.document_id is None else session.get(Document, row.document_id)
    if before is None or before is known or before.uploaded or _held_elsewhere(session, row):
        return None
    if before.replaces is None and before.state != "refused":
        return before
    replaced = None if before.replaces is None else session.get(Document, before.replaces)
    delete_documents(session, [before])
    return replaced


def _unfinished(session: Session, mine: ColumnElement[bool]) -> dict[str, list[str]]:
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
    return to_record(ItemRecord, row, state=state, reason=row.reason or refused)
