"""Chunks as rows and as records, read in two ways: of one document, or by id for a search."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.orm import Session

from storage.database import Database
from storage.lookups import Lookup
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord
from storage.tables import Chunk, Document, storable

_CHUNKS: Select[*tuple[Any, ...]] = select(
    Chunk.id,
    Chunk.document_id,
    Document.name,
    Document.sha256,
    Chunk.position,
    Chunk.start,
    Chunk.end,
    Chunk.page,
    Chunk.heading,
    Chunk.text,
).join(Document, Document.id == Chunk.document_id)  # in the shape of a ChunkRecord
# The owner and the waiting replacement stand in expressions, which no index serves: else SQLite starts from
# all the owner's chunks.
_HEARD = (Document.owner.concat("") == bindparam("owner"), func.coalesce(Document.replaces, "") == "")
_BY_ID = Lookup(_CHUNKS.where(*_HEARD), Chunk.id)
_NAMES = Lookup(select(Document.id, Document.edition, Document.name).where(*_HEARD), Document.id)


def of_document(session: Session, owner: str, document_id: str) -> list[ChunkRecord]:
    """List the chunks of one document in order."""
    mine = _CHUNKS.where(Document.id == document_id, Document.owner == owner)
    return [ChunkRecord(*row) for row in session.execute(mine.order_by(Chunk.position))]


def by_id(database: Database, owner: str, ids: Iterable[str]) -> dict[str, ChunkRecord]:
    """Look chunks up, in the order of the ids; unknown ones and a waiting replacement's are absent."""
    wanted = list(dict.fromkeys(ids))
    found = {row[0]: ChunkRecord(*row) for row in database.look_up(_BY_ID, wanted, owner)}
    return {id_: found[id_] for id_ in wanted if id_ in found}


def documents(database: Database, owner: str, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Tell the id and the name of each chunk's document: chunks themselves are not read, nor checked.

    Absent are those of unknown documents, of a waiting replacement, and of another edition of a document.
    """
    wanted = {id_: id_.rpartition("-")[0].partition(".")[::2] for id_ in ids}
    rows = database.look_up(_NAMES, list({document_id for document_id, _ in wanted.values()}), owner)
    found = {(id_, edition): (id_, name) for id_, edition, name in rows}
    return {id_: found[document] for id_, document in wanted.items() if document in found}


def edition(splitting: Mapping[str, int] | None) -> str:
    """Name a way of splitting; the usual one has no name.

    >>> edition({"size": 900, "overlap": 100, "minimum": 0}), edition(None)
    ('900.100.0', '')
    """
    return ".".join(str(splitting[name]) for name in ("size", "overlap", "minimum")) if splitting else ""


def chunk_id(document_id: str, edition: str, position: int) -> str:
    """Name a chunk by its document, the way it was split, and its position; `documents` relies on it.

    >>> chunk_id("5f0c", "", 3), chunk_id("5f0c", "900.100.0", 3)
    ('5f0c-00003', '5f0c.900.100.0-00003')
    """
    return f"{document_id}{edition and '.'}{edition}-{position:05d}"


def values(document_id: str, edition: str, text: str, position: int, chunk: ChunkSpan) -> dict[str, Any]:
    """Return a chunk as a row."""
    return {
        "id": chunk_id(document_id, edition, position),
        "document_id": document_id,
        "position": position,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "heading": chunk.heading,
        "text": text[chunk.start : chunk.end],
    }


def records(
    document: DocumentRecord, splitting: Mapping[str, int] | None, text: str, chunks: Sequence[ChunkSpan]
) -> list[ChunkRecord]:
    """Return chunks as they will be read once they are kept, for those who prepare what is made of them."""
    split, text = edition(splitting), storable(text)
    kept = [values(document.id, split, text, *chunk) for chunk in enumerate(chunks)]
    return [ChunkRecord(document=document.name, sha256=document.sha256, **row) for row in kept]
