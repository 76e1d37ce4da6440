"""The documents of one owner: what was sent, how far it has come, its text, pages and chunks."""

import secrets
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Select, bindparam, delete, func, insert, select
from sqlalchemy.orm import Session

from storage import choices, tables
from storage.database import Database, Lookup, parsed
from storage.errors import NotFound, StorageError
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, Outcome, PageSpan, State
from storage.tables import (
    Chunk,
    Document,
    DocumentText,
    IndexStateRow,
    PageRow,
    TreeBranch,
    UserRow,
    storable,
)

# Documents as rows: how one is put at the start of its way, and how it is handed out.


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


# Chunks as rows and as records, read in two ways: of one document, or by id for a search.
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


# Which index of an owner answers: another one takes its place in one commit, or not at all.
_STATES = Lookup(
    select(IndexStateRow.name, IndexStateRow.state).where(IndexStateRow.owner == bindparam("owner")),
    IndexStateRow.name,
)


def made_with(database: Database, owner: str, index: str) -> dict[str, Any] | None:
    """Tell what an owner's index was made with, which every question asks; None when nothing was recorded."""
    return next((parsed(state) for _, state in database.look_up(_STATES, [index], owner)), None)


class IndexStates:
    """What one owner's indexes were made with, where more than one of them changes at once."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def replace(self, standing: str, following: str) -> None:
        """Let the index called `following` be the one called `standing`, which is forgotten.

        With an index of vectors, which has a "fingerprint", the branches of trees name its model: their nodes
        have vectors of it. NotFound where no such index follows.
        """
        with self._database.writing() as session:
            row = session.get(IndexStateRow, (self._owner, following))
            if row is None:
                raise NotFound(f"There is no index {following!r}.")
            state = row.state
            both = IndexStateRow.owner == self._owner, IndexStateRow.name.in_((standing, following))
            session.execute(delete(IndexStateRow).where(*both))
            session.expunge_all()
            session.add(IndexStateRow(owner=self._owner, name=standing, state=state))
            if "fingerprint" not in state:
                return
            for branch in session.scalars(select(TreeBranch).where(TreeBranch.owner == self._owner)):
                branch.made_with = {**branch.made_with, "model": state["fingerprint"]}


__all__ = [
    "ChunkRecord",
    "ChunkSpan",
    "DocumentRecord",
    "Documents",
    "Outcome",
    "PageSpan",
    "State",
    "owners",
]
SEARCHABLE: tuple[State, ...] = ("searchable_by_words", "searchable_by_meaning", "ready")
UNFINISHED: tuple[State, ...] = ("queued", "reading", "searchable_by_words", "searchable_by_meaning")


class Documents:
    """What one owner may see and change; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def add(self, name: str, sha256: str, size: int) -> tuple[DocumentRecord, Outcome]:
        """Queue a file of ``size`` bytes, in one commit.

        Content that is there already is "unchanged", unless it was refused: then it is tried again.
        Other content under the name of a file that was added by hand "replaces" it once promoted; until then
        the old one answers, and a replacement that was still on its way gives way to the newer one.
        """
        name = tables.storable(unicodedata.normalize("NFC", name))
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            known = with_content(session, self._owner, sha256)
            namesakes = session.scalars(self._mine().where(Document.name == name, Document.uploaded)).all()
            if known is not None and known.state != "refused":
                known.uploaded = True
                drop(session, [row for row in namesakes if row.replaces == known.id])
                return record(known), "unchanged"
            others = [row for row in namesakes if row is not known]
            standing = next((row for row in others if row.replaces is None and row.state != "refused"), None)
            drop(session, [row for row in others if row is not standing])
            row = known or new(self._owner, sha256)
            queue(row, name, size, standing)
            row.uploaded = True
            session.add(row)
            session.flush()
            return record(row), "new" if standing is None else "replaces"

    def unfinished(self) -> list[DocumentRecord]:
        """Documents neither ready nor refused, oldest first."""
        with self._database.reading() as session:
            rows = session.scalars(
                self._mine().where(Document.state.in_(UNFINISHED)).order_by(Document.created, Document.id)
            )
            return [record(row) for row in rows]

    def get(self, document_id: str) -> DocumentRecord:
        """One document; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return record(self._row(session, document_id))

    def exists(self, document_id: str) -> bool:
        """Whether this owner has such a document."""
        with self._database.reading() as session:
            return session.scalar(self._mine().where(Document.id == document_id)) is not None

    def text(self, document_id: str) -> str:
        """Read the canonical text; NotFound, also while it has not been read."""
        with self._database.reading() as session:
            row = session.get(DocumentText, self._row(session, document_id).id)
            if row is None:
                raise NotFound("This document has not been read yet.")
            return row.text

    def pages(self, document_id: str) -> Sequence[PageSpan]:
        """List the pages in order; empty where the format has none."""
        with self._database.reading() as session:
            rows = session.scalars(
                select(PageRow)
                .where(PageRow.document_id == self._row(session, document_id).id)
                .order_by(PageRow.number)
            )
            return [PageSpan(row.number, row.start, row.end) for row in rows]

    def set_state(self, document_id: str, state: State, reason: str | None = None) -> None:
        """Record how far a document has come, and of a refused one the reason."""
        with self._database.writing() as session:
            row = self._row(session, document_id)
            row.state, row.reason, row.updated = state, reason, now()

    def save_chunks(
        self,
        document_id: str,
        text: str,
        pages: Sequence[PageSpan],
        chunks: Sequence[ChunkSpan],
        *,
        splitting: Mapping[str, int] | None = None,
        note: str | None = None,
    ) -> None:
        """Keep text, pages and chunks in one commit, in place of what was there, and a note on what lacks.

        A chunk's id is its document's and its position: ``"5f0c…-00003"``; where it was split in another way
        than the usual, that too. StorageError when a span does not lie in the text; then nothing changes.
        """
        text = tables.storable(text)
        spans: Sequence[PageSpan | ChunkSpan] = [*pages, *chunks]
        for span in spans:
            if not 0 <= span.start <= span.end <= len(text):
                raise StorageError(
                    f"Span [{span.start}, {span.end}) does not lie in the {len(text)} characters "
                    f"of document {document_id!r}."
                )
        with self._database.writing() as session:
            row = self._row(session, document_id)
            for table in (DocumentText, PageRow, Chunk):
                session.execute(delete(table).where(table.document_id == row.id))
            session.add(DocumentText(document_id=row.id, text=text))
            _insert(session, PageRow, [_page_values(row.id, page) for page in pages])
            row.edition, row.note = edition(splitting), note
            split = [values(row.id, row.edition, text, *chunk) for chunk in enumerate(chunks)]
            _insert(session, Chunk, split)
            row.page_count, row.chunk_count = len(pages) or None, len(chunks)
            row.updated = now()

    def chunks(self, document_id: str) -> Sequence[ChunkRecord]:
        """List the chunks of one document in order."""
        with self._database.reading() as session:
            return of_document(session, self._owner, self._row(session, document_id).id)

    def chunks_by_id(self, ids: Iterable[str]) -> dict[str, ChunkRecord]:
        """Look chunks up, in the order of the ids; unknown ones and a waiting replacement's are absent.

        So a replacement is heard as a whole from the commit that promotes it, and not before.
        """
        return by_id(self._database, self._owner, ids)

    def of_chunks(self, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Tell the id and the name of each chunk's document, without reading chunks; see `chunks_by_id`."""
        return documents(self._database, self._owner, ids)

    def chunk_ids(self, *, searchable: bool = True) -> set[str]:
        """Every chunk that belongs in the indexes, replacements' too; or of any document in any state."""
        mine = select(Chunk.id).join(Document, Document.id == Chunk.document_id)
        mine = mine.where(Document.owner == self._owner)
        with self._database.reading() as session:
            return set(session.scalars(mine.where(Document.state.in_(SEARCHABLE)) if searchable else mine))

    def promote(self, document_id: str) -> str | None:
        """Let a replacement take its place, in one commit; returns the id of the document that goes.

        Conversations that searched that one search this one from now on.
        """
        with self._database.writing() as session:
            row = self._row(session, document_id)
            replaced = row.replaces
            if replaced is not None:
                row.replaces, row.updated = None, now()
                session.flush()
                choices.follow(session, replaced, row.id)
                session.execute(
                    delete(Document).where(Document.id == replaced, Document.owner == self._owner)
                )
            return replaced

    def delete(self, document_id: str) -> None:
        """Remove a document with its text, pages and chunks; answers keep the evidence they were given."""
        with self._database.writing() as session:
            session.delete(self._row(session, document_id))

    def index_state(self, index: str) -> dict[str, Any] | None:
        """Tell what this owner's index was made with; None when nothing was recorded."""
        return made_with(self._database, self._owner, index)

    def set_index_state(self, index: str, state: dict[str, Any] | None) -> None:
        """Record what this owner's index was made with: ``"vectors", {"model": …}``; None forgets it."""
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            session.execute(
                delete(IndexStateRow).where(IndexStateRow.owner == self._owner, IndexStateRow.name == index)
            )
            if state is not None:
                session.add(IndexStateRow(owner=self._owner, name=index, state=state))

    def count(self) -> int:
        """Count the documents; a replacement on its way is no other one."""
        mine = select(func.count()).where(Document.owner == self._owner, Document.replaces.is_(None))
        with self._database.reading() as session:
            return session.scalar(mine) or 0

    def list(self) -> list[DocumentRecord]:
        """Every document, newest first, replacements on their way among them."""
        with self._database.reading() as session:
            rows = session.scalars(self._mine().order_by(Document.created.desc(), Document.id))
            return [record(row) for row in rows]

    def _mine(self) -> Select[Document]:
        return select(Document).where(Document.owner == self._owner)

    def _row(self, session: Session, document_id: str) -> Document:
        row = session.scalar(self._mine().where(Document.id == document_id))
        if row is None:
            raise NotFound(f"There is no document {document_id!r}.")
        return row


def owners(database: Database) -> list[str]:
    """Everyone who has anything stored, in order."""
    with database.reading() as session:
        return list(session.scalars(select(UserRow.id).order_by(UserRow.id)))


def _insert(session: Session, table: type[tables.Base], values: list[dict[str, Any]]) -> None:
    if values:
        session.execute(insert(table), values)


def _page_values(document_id: str, page: PageSpan) -> dict[str, Any]:
    return {"document_id": document_id, "number": page.number, "start": page.start, "end": page.end}
