"""Documents as rows: how one is put at the start of its way, and how it is handed out."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from storage.records import DocumentRecord, State
from storage.tables import Document


def now() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)


def with_content(session: Session, owner: str, sha256: str) -> Document | None:
    """Find the owner's document of this content."""
    return session.scalar(select(Document).where(Document.owner == owner, Document.sha256 == sha256))


def new(owner: str, sha256: str) -> Document:
    """Make a row for content that is not there yet; `queue` tells the rest of it."""
    return Document(id=secrets.token_hex(8), owner=owner, sha256=sha256)


def queue(row: Document, name: str, size: int, standing: Document | None) -> None:
    """Put a row at the start of its way: in the place of the `standing` one, once searchable."""
    row.name, row.size, row.state, row.reason = name, size, "queued", None
    row.page_count, row.chunk_count, row.note = None, 0, None
    row.updated = now()
    row.created = row.created or row.updated
    row.replaces = None if standing is None else standing.id
    row.collection_id = row.collection_id or (standing.collection_id if standing else None)


def drop(session: Session, rows: Sequence[Document]) -> None:
    """Delete documents at once, so that what follows does not see them."""
    for row in rows:
        session.delete(row)
    session.flush()


def record(row: Document) -> DocumentRecord:
    """Hand a row out."""
    return DocumentRecord(
        id=row.id,
        name=row.name,
        sha256=row.sha256,
        size=row.size,
        state=cast(State, row.state),
        reason=row.reason,
        pages=row.page_count,
        chunks=row.chunk_count,
        replaces=row.replaces,
        created=row.created,
        updated=row.updated,
        url=row.url,
        uploaded=row.uploaded,
        collection_id=row.collection_id,
        note=row.note,
    )
