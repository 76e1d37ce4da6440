"""The documents of one owner: what was sent, how far it has come, its text, pages and chunks."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, delete, func, insert, select
from sqlalchemy.orm import Session

from storage import choices, document_rows, index_states, tables
from storage import chunks as chunk_rows
from storage.database import Database
from storage.errors import NotFound, StorageError
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, Outcome, PageSpan, State
from storage.tables import Chunk, Document, DocumentText, IndexState, PageRow, UserRow

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
            known = document_rows.with_content(session, self._owner, sha256)
            namesakes = session.scalars(self._mine().where(Document.name == name, Document.uploaded)).all()
            if known is not None and known.state != "refused":
                known.uploaded = True
                document_rows.drop(session, [row for row in namesakes if row.replaces == known.id])
                return document_rows.record(known), "unchanged"
            others = [row for row in namesakes if row is not known]
            standing = next((row for row in others if row.replaces is None and row.state != "refused"), None)
            document_rows.drop(session, [row for row in others if row is not standing])
            row = known or document_rows.new(self._owner, sha256)
            document_rows.queue(row, name, size, standing)
            row.uploaded = True
            session.add(row)
            session.flush()
            return document_rows.record(row), "new" if standing is None else "replaces"

    def unfinished(self) -> list[DocumentRecord]:
        """Documents neither ready nor refused, oldest first."""
        with self._database.reading() as session:
            rows = session.scalars(
                self._mine().where(Document.state.in_(UNFINISHED)).order_by(Document.created, Document.id)
            )
            return [document_rows.record(row) for row in rows]

    def get(self, document_id: str) -> DocumentRecord:
        """One document; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return document_rows.record(self._row(session, document_id))

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
            row.state, row.reason, row.updated = state, reason, document_rows.now()

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
            row.edition, row.note = chunk_rows.edition(splitting), note
            split = [chunk_rows.values(row.id, row.edition, text, *chunk) for chunk in enumerate(chunks)]
            _insert(session, Chunk, split)
            row.page_count, row.chunk_count = len(pages) or None, len(chunks)
            row.updated = document_rows.now()

    def chunks(self, document_id: str) -> Sequence[ChunkRecord]:
        """List the chunks of one document in order."""
        with self._database.reading() as session:
            return chunk_rows.of_document(session, self._owner, self._row(session, document_id).id)

    def chunks_by_id(self, ids: Iterable[str]) -> dict[str, ChunkRecord]:
        """Look chunks up, in the order of the ids; unknown ones and a waiting replacement's are absent.

        So a replacement is heard as a whole from the commit that promotes it, and not before.
        """
        return chunk_rows.by_id(self._database, self._owner, ids)

    def of_chunks(self, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Tell the id and the name of each chunk's document, without reading chunks; see `chunks_by_id`."""
        return chunk_rows.documents(self._database, self._owner, ids)

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
                row.replaces, row.updated = None, document_rows.now()
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
        return index_states.made_with(self._database, self._owner, index)

    def set_index_state(self, index: str, state: dict[str, Any] | None) -> None:
        """Record what this owner's index was made with: ``"vectors", {"model": …}``; None forgets it."""
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            session.execute(
                delete(IndexState).where(IndexState.owner == self._owner, IndexState.name == index)
            )
            if state is not None:
                session.add(IndexState(owner=self._owner, name=index, state=state))

    def count(self) -> int:
        """Count the documents; a replacement on its way is no other one."""
        mine = select(func.count()).where(Document.owner == self._owner, Document.replaces.is_(None))
        with self._database.reading() as session:
            return session.scalar(mine) or 0

    def list(self) -> list[DocumentRecord]:
        """Every document, newest first, replacements on their way among them."""
        with self._database.reading() as session:
            rows = session.scalars(self._mine().order_by(Document.created.desc(), Document.id))
            return [document_rows.record(row) for row in rows]

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
