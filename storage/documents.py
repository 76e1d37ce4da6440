"""Documents of one owner: their state, text, pages and chunks, and the state of their indexes."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, select, update
from sqlalchemy.orm import Session

from storage import jobs
from storage.database import Database, Lookup, OwnerStore, parsed
from storage.errors import NotFound, StorageError
from storage.events import WebhookEvent, add_audit_entry, queue_event
from storage.i18n import N_
from storage.records import (
    FIGURE,
    ChunkRecord,
    ChunkSpan,
    DocumentFact,
    DocumentRecord,
    FigureSpan,
    Outcome,
    PageSpan,
    State,
    is_figure_id,
)
from storage.tables import (
    ChoiceRow,
    Chunk,
    CollectionRow,
    Document,
    DocumentFactsRow,
    DocumentTag,
    DocumentText,
    FigureRow,
    GridCell,
    GridChoice,
    IndexStateRow,
    PageRow,
    TreeBranch,
    UserRow,
    ensure_user,
    insert_rows,
    new_id,
    now,
    raise_index_version,
    storable,
    to_record,
)

SEARCHABLE: tuple[State, ...] = ("searchable_by_words", "searchable_by_meaning", "ready")
_EVENTS: Mapping[State, WebhookEvent] = {"ready": "document.ready", "refused": "document.failed"}
UNFINISHED: tuple[State, ...] = ("queued", "reading", "searchable_by_words", "searchable_by_meaning")
READ, EMBED = "read", "embed"  # kinds of the jobs on a document
JOB_IN: Mapping[str, str] = {
    "queued": READ,
    "reading": READ,
    "searchable_by_words": EMBED,
    "searchable_by_meaning": EMBED,
}
"""The job that a document in a state waits for; in others there is none."""

# Rows of documents, also written by storage/sources.py


def find_by_content(session: Session, owner: str, sha256: str) -> Document | None:
    """Find the owner's document with this content."""
    return session.scalar(select(Document).where(Document.owner == owner, Document.sha256 == sha256))


def new_document(owner: str, sha256: str) -> Document:
    """Make the row of new content; `queue_document` fills it."""
    return Document(id=new_id(), owner=owner, sha256=sha256)


def queue_document(row: Document, name: str, size: int, replaced: Document | None) -> None:
    """Queue a document for indexing; it takes the place of the `replaced` one once it is searchable."""
    row.name, row.size, row.state, row.reason = name, size, "queued", None
    row.page_count, row.chunk_count, row.note = None, 0, None
    row.updated = now()
    row.created = row.created or row.updated
    row.replaces = None if replaced is None else replaced.id
    row.collection_id = row.collection_id or (replaced.collection_id if replaced else None)


def put_job(session: Session, row: Document) -> None:
    """Put the job that a document waits for in its state, if any."""
    if row.state in JOB_IN:
        jobs.put(session, row.owner, JOB_IN[row.state], row.id)


def delete_documents(session: Session, rows: Sequence[Document]) -> None:
    """Delete documents at once, so that later queries of the transaction do not see them."""
    for row in rows:
        jobs.end_all(session, row.owner, [row.id])
        session.delete(row)
    session.flush()
    if rows:
        raise_index_version(session, rows[0].owner)


def document_record(row: Document) -> DocumentRecord:
    """Make the record of a row."""
    return to_record(DocumentRecord, row, pages=row.page_count, chunks=row.chunk_count)


_COLUMNS = {"pages": "page_count", "chunks": "chunk_count"}  # of fields that are called otherwise
_LISTED: Select[*tuple[Any, ...]] = select(
    *(getattr(Document, _COLUMNS.get(field.name, field.name)) for field in fields(DocumentRecord))
)  # in the order of a DocumentRecord's fields: of thousands, rows cost a third of what objects do

# Chunks
CHUNKS_AT_ONCE = 1000  # of a document, which are in memory together
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
).join(Document, Document.id == Chunk.document_id)  # in the order of a ChunkRecord's fields

_FIGURES: Select[*tuple[Any, ...]] = select(
    FigureRow.id,
    FigureRow.document_id,
    Document.name,
    Document.sha256,
    FigureRow.number,
    FigureRow.start,
    FigureRow.end,
    FigureRow.page,
    FigureRow.label,
    FigureRow.text,
).join(Document, Document.id == FigureRow.document_id)  # in the order of a ChunkRecord's fields

# The owner and the replaced document are in expressions, which no index serves: else SQLite starts from all
# the owner's chunks.
_SEARCHED = (Document.owner.concat("") == bindparam("owner"), func.coalesce(Document.replaces, "") == "")
_PUT_TEXT = update(DocumentText).where(DocumentText.document_id == bindparam("id"))
_PUT_TEXT = _PUT_TEXT.values(text=bindparam("put")).execution_options(synchronize_session=False)
_BY_ID = Lookup(_CHUNKS.where(*_SEARCHED), Chunk.id)
_FIGURES_BY_ID = Lookup(_FIGURES.where(*_SEARCHED), FigureRow.id)
_NAMES = Lookup(select(Document.id, Document.edition, Document.name).where(*_SEARCHED), Document.id)


def _short_together(documents: Iterable[DocumentRecord]) -> Iterator[list[DocumentRecord]]:
    """Yield documents in groups that have CHUNKS_AT_ONCE chunks at most, a longer document alone."""
    group: list[DocumentRecord] = []
    size = 0
    for record in documents:
        chunks = record.chunks
        if group and (size + chunks > CHUNKS_AT_ONCE or len(group) == CHUNKS_AT_ONCE):
            yield group
            group, size = [], 0
        if chunks:
            group.append(record)
            size += chunks
    if group:
        yield group


def edition(splitting: Mapping[str, Any] | None) -> str:
    """Return the name of a chunking; the default has none.

    >>> edition({"size": 900, "overlap": 100, "minimum": 0}), edition(None)
    ('900.100.0', '')
    >>> edition({"size": 900, "overlap": 100, "minimum": 0, "splitter": "recursive"})
    '900.100.0.recursive'
    """
    named = ("size", "overlap", "minimum", "splitter")
    return ".".join(str(splitting[name]) for name in named if name in splitting) if splitting else ""


def chunk_id(document_id: str, edition: str, position: int) -> str:
    """Return a chunk's id, of its document, its edition and its position; `Documents.of_chunks` parses it.

    >>> chunk_id("5f0c", "", 3), chunk_id("5f0c", "900.100.0", 3)
    ('5f0c-00003', '5f0c.900.100.0-00003')
    """
    return f"{document_id}{edition and '.'}{edition}-{position:05d}"


def _chunk_values(
    document_id: str, edition: str, text: str, position: int, chunk: ChunkSpan
) -> dict[str, Any]:
    return {
        "id": chunk_id(document_id, edition, position),
        "document_id": document_id,
        "position": position,
        **asdict(chunk),
        "text": text[chunk.start : chunk.end],
    }


def _chunk_rows(
    document_id: str, edition: str, text: str, chunks: Sequence[ChunkSpan]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of chunks, CHUNKS_AT_ONCE together: a long document has tens of thousands."""
    for first in range(0, len(chunks), CHUNKS_AT_ONCE):
        part = enumerate(chunks[first : first + CHUNKS_AT_ONCE], first)
        yield [_chunk_values(document_id, edition, text, position, chunk) for position, chunk in part]


def chunk_records(
    document: DocumentRecord, splitting: Mapping[str, Any] | None, text: str, chunks: Sequence[ChunkSpan]
) -> Iterator[list[ChunkRecord]]:
    """Yield the records that chunks will have once they are saved, CHUNKS_AT_ONCE together."""
    split, text = edition(splitting), storable(text)
    for rows in _chunk_rows(document.id, split, text, chunks):
        yield [ChunkRecord(document=document.name, sha256=document.sha256, **row) for row in rows]


_FIGURE_EDITION = FIGURE.strip(".-")


def _place_figures(session: Session, document_id: str, figures: Sequence[FigureSpan]) -> None:
    """Put the described figures of a document where its text has them now; delete those that it lost."""
    places = {figure.key: (number, figure) for number, figure in enumerate(figures)}
    for row in session.scalars(select(FigureRow).where(FigureRow.document_id == document_id)).all():
        found = places.get((row.page, row.label, row.occurrence))
        if found is None:
            session.delete(row)
        else:
            row.number, (row.start, row.end) = found[0], (found[1].start, found[1].end)


def _fact_values(facts: Sequence[DocumentFact]) -> list[list[Any]]:
    return [list(astuple(fact)) for fact in facts]


def _facts(values: Sequence[Sequence[Any]]) -> tuple[DocumentFact, ...]:
    return tuple(DocumentFact(*value) for value in values)


# Index states
_VERSION = Lookup(
    select(UserRow.index_version).where(UserRow.id == bindparam("owner")),
    UserRow.id,
)
_STATES = Lookup(
    select(IndexStateRow.name, IndexStateRow.state).where(IndexStateRow.owner == bindparam("owner")),
    IndexStateRow.name,
)


class IndexStates(OwnerStore):
    """Replacement of one owner's index by another in one commit."""

    def begin(
        self, index: str, state: dict[str, Any], *, after: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Record the state of an index where it is still `after`, None where it has none; return its state.

        So of two processes that begin the same index both use the one that was recorded first.
        """
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            row = session.get(IndexStateRow, (self._owner, index))
            if row is None and after is None:
                session.add(IndexStateRow(owner=self._owner, name=index, state=state))
            elif row is not None and row.state == after:
                row.state = state
            else:
                return {} if row is None else dict(row.state)
            raise_index_version(session, self._owner)
            return state

    def replace(self, current: str, staged: str) -> None:
        """Give the state of the `staged` index to the `current` one, and forget the staged one.

        With a vector index, whose state has a "fingerprint", the branches of trees get its model: their nodes
        have its vectors. NotFound where there is no such staged index.
        """
        with self._database.writing(self._owner) as session:
            row = session.get(IndexStateRow, (self._owner, staged))
            if row is None:
                raise NotFound(N_("There is no index {staged}.", staged=repr(staged)))
            state = row.state
            both = IndexStateRow.owner == self._owner, IndexStateRow.name.in_((current, staged))
            session.execute(delete(IndexStateRow).where(*both))
            session.add(IndexStateRow(owner=self._owner, name=current, state=state))
            raise_index_version(session, self._owner)
            if "fingerprint" not in state:
                return
            for branch in session.scalars(select(TreeBranch).where(TreeBranch.owner == self._owner)):
                branch.made_with = {**branch.made_with, "model": state["fingerprint"]}


class Documents(OwnerStore):
    """The documents of one owner."""

    def add(self, name: str, sha256: str, size: int) -> tuple[DocumentRecord, Outcome]:
        """Queue a file of ``size`` bytes, in one commit.

        Existing content is "unchanged", unless it was refused: then it is tried again. Other content under
        the name of an uploaded file "replaces" it once promoted; until then the old one is searched, and a
        replacement that is still pending is deleted for the newer one.
        """
        name = storable(unicodedata.normalize("NFC", name))
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            known = find_by_content(session, self._owner, sha256)
            namesakes = session.scalars(self._mine().where(Document.name == name, Document.uploaded)).all()
            if known is not None and known.state != "refused":
                known.uploaded = True
                delete_documents(session, [row for row in namesakes if row.replaces == known.id])
                return document_record(known), "unchanged"
            others = [row for row in namesakes if row is not known]
            replaced = next((row for row in others if row.replaces is None and row.state != "refused"), None)
            delete_documents(session, [row for row in others if row is not replaced])
            row = known or new_document(self._owner, sha256)
            queue_document(row, name, size, replaced)
            row.uploaded = True
            session.add(row)
            session.flush()
            put_job(session, row)
            return document_record(row), "new" if replaced is None else "replaces"

    def unfinished(self) -> list[DocumentRecord]:
        """List the documents that are neither ready nor refused, oldest first."""
        mine = self._mine().where(Document.state.in_(UNFINISHED)).order_by(Document.created, Document.id)
        with self._database.reading() as session:
            return [document_record(row) for row in session.scalars(mine)]

    def get(self, document_id: str) -> DocumentRecord:
        """Return one document; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return document_record(self._own(session, Document, document_id))

    def exists(self, document_id: str) -> bool:
        """Return True where this owner has such a document."""
        with self._database.reading() as session:
            return session.scalar(self._mine().where(Document.id == document_id)) is not None

    def has_content(self, sha256: str) -> bool:
        """Return whether a document of this owner has this content."""
        with self._database.reading() as session:
            return find_by_content(session, self._owner, sha256) is not None

    def text(self, document_id: str) -> str:
        """Return the canonical text; NotFound also before the document has been parsed."""
        with self._database.reading() as session:
            row = session.get(DocumentText, self._own(session, Document, document_id).id)
            if row is None:
                raise NotFound(N_("This document has not been read yet."))
            return row.text

    def pages(self, document_id: str) -> Sequence[PageSpan]:
        """List the pages in order; empty where the format has none."""
        with self._database.reading() as session:
            mine = PageRow.document_id == self._own(session, Document, document_id).id
            rows = session.scalars(select(PageRow).where(mine).order_by(PageRow.number))
            return [to_record(PageSpan, row) for row in rows]

    def save_facts(self, document_id: str, facts: Sequence[DocumentFact]) -> None:
        """Replace the facts of a document."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, Document, document_id)
            session.merge(DocumentFactsRow(document_id=row.id, facts=_fact_values(facts)))

    def facts(self, document_id: str) -> tuple[DocumentFact, ...] | None:
        """Return the facts of a document; None where it has not been asked yet."""
        with self._database.reading() as session:
            row = session.get(DocumentFactsRow, self._own(session, Document, document_id).id)
            return None if row is None else _facts(row.facts)

    def all_facts(self) -> dict[str, tuple[str, tuple[DocumentFact, ...]]]:
        """Return the name and the facts of every document by its id, without pending replacements."""
        rows = select(Document.id, Document.name, DocumentFactsRow.facts).outerjoin(
            DocumentFactsRow, DocumentFactsRow.document_id == Document.id
        )
        mine = rows.where(Document.owner == self._owner, Document.replaces.is_(None))
        with self._database.reading() as session:
            return {id_: (name, _facts(facts or ())) for id_, name, facts in session.execute(mine)}

    def without_facts(self) -> Sequence[str]:
        """Return the ids of documents that have a text and have not been asked for facts."""
        rows = (
            select(Document.id)
            .join(DocumentText, DocumentText.document_id == Document.id)
            .outerjoin(DocumentFactsRow, DocumentFactsRow.document_id == Document.id)
            .where(Document.owner == self._owner, DocumentFactsRow.document_id.is_(None))
        )
        with self._database.reading() as session:
            return session.scalars(rows.order_by(Document.id)).all()

    def revision(self) -> tuple[int, str]:
        """Return a value that changes whenever a document is added, changed or removed."""
        mine = select(func.count(), func.max(Document.updated)).where(Document.owner == self._owner)
        with self._database.reading() as session:
            number, newest = session.execute(mine).one()
            return number, str(newest)

    def set_state(self, document_id: str, state: State, reason: str | None = None) -> None:
        """Set the state of a document and the reason of a refused one; its job changes in the same commit."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, Document, document_id)
            if row.state != state and (event := _EVENTS.get(state)) is not None:
                queue_event(session, self._owner, event, document_id=row.id)
            before, row.state, row.reason, row.updated = row.state, state, reason, now()
            if before != state and {before, state} & {*SEARCHABLE}:
                raise_index_version(session, self._owner)
            if JOB_IN.get(before) != JOB_IN.get(state):
                if before in JOB_IN:
                    jobs.end(session, self._owner, JOB_IN[before], row.id)
                put_job(session, row)

    def save_chunks(
        self,
        document_id: str,
        text: str,
        pages: Sequence[PageSpan],
        chunks: Sequence[ChunkSpan],
        *,
        splitting: Mapping[str, Any] | None = None,
        note: str | None = None,
        facts: Sequence[DocumentFact] | None = None,
        figures: Sequence[FigureSpan] = (),
    ) -> None:
        """Replace text, pages, chunks and facts in one commit; `note` says which part could not be read.

        Descriptions of those of its `figures` that it had before are kept, and of no others.

        A chunk's id is made of its document's id and its position, ``"5f0c…-00003"``; see `chunk_id`.
        StorageError when a span is outside the text; then nothing changes.
        """
        text = storable(text)
        spans: Iterable[PageSpan | ChunkSpan | DocumentFact | FigureSpan] = chain(
            pages, chunks, facts or (), figures
        )
        for span in spans:
            if not 0 <= (span.start or 0) <= (span.end or 0) <= len(text):
                raise StorageError(
                    N_(
                        "Span [{start}, {end}) does not lie in the {number} characters of document "
                        "{document_id}.",
                        start=span.start,
                        end=span.end,
                        number=len(text),
                        document_id=repr(document_id),
                    )
                )
        with self._database.writing(self._owner) as session:
            row = self._own(session, Document, document_id)
            for table in (DocumentText, DocumentFactsRow, PageRow, Chunk):
                session.execute(delete(table).where(table.document_id == row.id))
            if facts is not None:
                session.add(DocumentFactsRow(document_id=row.id, facts=_fact_values(facts)))
            session.add(DocumentText(document_id=row.id, text=""))
            session.flush()
            for id_, put in ((row.id, text), ("", "")):  # the driver keeps the last values of a statement
                session.execute(_PUT_TEXT, {"id": id_, "put": put})
            insert_rows(session, PageRow, [{"document_id": row.id, **asdict(page)} for page in pages])
            row.edition, row.note = edition(splitting), note
            for rows in _chunk_rows(row.id, row.edition, text, chunks):
                insert_rows(session, Chunk, rows)
            _place_figures(session, row.id, figures)
            row.page_count, row.chunk_count = len(pages) or None, len(chunks)
            row.updated = now()
            if row.state in SEARCHABLE:
                raise_index_version(session, self._owner)

    def chunks(self, document_id: str) -> Sequence[ChunkRecord]:
        """List the chunks of one document in order."""
        return [chunk for part in self.chunk_batches(document_id) for chunk in part]

    def chunk_batches(self, document_id: str) -> Iterator[list[ChunkRecord]]:
        """Yield the chunks of one document in order, CHUNKS_AT_ONCE together."""
        first, more = 0, True
        while more:
            with self._database.reading() as session:
                mine = Document.id == self._own(session, Document, document_id).id, Chunk.position >= first
                rows = session.execute(_CHUNKS.where(*mine).order_by(Chunk.position).limit(CHUNKS_AT_ONCE))
                part = [ChunkRecord(*row) for row in rows]
            if part:
                first = part[-1].position + 1
                yield part
            more = len(part) == CHUNKS_AT_ONCE

    def chunks_of(self, documents: Sequence[DocumentRecord]) -> Iterator[list[ChunkRecord]]:
        """Yield the chunks of documents in their order; those of short ones come together, from one query."""
        for together in _short_together(documents):
            if together[0].chunks > CHUNKS_AT_ONCE:
                yield from self.chunk_batches(together[0].id)
                continue
            place = {record.id: number for number, record in enumerate(together)}
            # The owner as an expression, as in _SEARCHED
            mine = Document.owner.concat("") == self._owner, Document.id.in_(place)
            with self._database.reading() as session:
                rows = session.execute(_CHUNKS.where(*mine).order_by(Chunk.position))
                part = [ChunkRecord(*row) for row in rows]
            yield sorted(part, key=lambda chunk: place[chunk.document_id])

    def indexed_batches(self, document_id: str) -> Iterator[list[ChunkRecord]]:
        """Yield what the indexes have of one document: its chunks, then the descriptions of its figures."""
        yield from self.chunk_batches(document_id)
        with self._database.reading() as session:
            mine = Document.id == self._own(session, Document, document_id).id
            rows = session.execute(_FIGURES.where(mine).order_by(FigureRow.number, FigureRow.id))
            described = [ChunkRecord(*row) for row in rows]
        if described:
            yield described

    def chunk_ids_of(self, document_id: str) -> list[str]:
        """List the ids of the chunks of one document in order, then those of its figures' descriptions."""
        with self._database.reading() as session:
            own = self._own(session, Document, document_id).id
            chunks = select(Chunk.id).where(Chunk.document_id == own).order_by(Chunk.position)
            described = select(FigureRow.id).where(FigureRow.document_id == own).order_by(FigureRow.number)
            return [*session.scalars(chunks), *session.scalars(described)]

    def chunks_by_id(self, ids: Iterable[str]) -> dict[str, ChunkRecord]:
        """Return chunks by id, in the order of the ids; unknown ones and a pending replacement's are absent.

        Descriptions of figures are among them.
        So a replacement is searched as a whole from the commit that promotes it.
        """
        wanted = list(dict.fromkeys(ids))
        rows = self._database.look_up(_BY_ID, wanted, self._owner)
        if described := [id_ for id_ in wanted if is_figure_id(id_)]:
            rows += self._database.look_up(_FIGURES_BY_ID, described, self._owner)
        found = {row[0]: ChunkRecord(*row) for row in rows}
        return {id_: found[id_] for id_ in wanted if id_ in found}

    def of_chunks(self, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the id and the name of each chunk's document, without reading or checking the chunks.

        Absent are chunks of unknown documents, of a pending replacement, and of another edition. Descriptions
        of figures are of every edition.
        """
        wanted = {id_: _edition_of(id_) for id_ in ids}
        documents = list({document_id for document_id, _ in wanted.values()})
        rows = self._database.look_up(_NAMES, documents, self._owner)
        found = {(id_, of): (id_, name) for id_, edition, name in rows for of in (edition, _FIGURE_EDITION)}
        return {id_: found[document] for id_, document in wanted.items() if document in found}

    def chunk_ids(self, *, searchable: bool = True) -> set[str]:
        """Return the ids of what belongs in the indexes, chunks and descriptions, or of all in any state."""
        mine = [Document.owner == self._owner, *([Document.state.in_(SEARCHABLE)] if searchable else [])]
        with self._database.reading() as session:
            return _indexed_ids(session, *mine)

    def chunk_ids_in(self, states: Sequence[State]) -> set[str]:
        """Return the ids of what belongs in the indexes of documents in some states."""
        with self._database.reading() as session:
            return _indexed_ids(session, Document.owner == self._owner, Document.state.in_(states))

    def promote(self, document_id: str) -> str | None:
        """Promote a replacement, in one commit; return the id of the document it replaced.

        Conversations that searched the old document search this one from now on.
        """
        with self._database.writing(self._owner) as session:
            row = self._own(session, Document, document_id)
            replaced = row.replaces
            if replaced is not None:
                row.replaces, row.updated = None, now()
                _follow_replacement(session, replaced, row.id)
                _copy_tags(session, replaced, row.id)
                _move_cells(session, replaced, row.id)
                mine = Document.id == replaced, Document.owner == self._owner
                jobs.end_all(session, self._owner, [replaced])
                session.execute(delete(Document).where(*mine))
                raise_index_version(session, self._owner)
            return replaced

    def delete(self, document_id: str) -> None:
        """Delete a document with its text, pages and chunks; answers keep their evidence."""
        with self._database.writing(self._owner) as session:
            session.delete(self._own(session, Document, document_id))
            jobs.end_all(session, self._owner, [document_id])
            raise_index_version(session, self._owner)
            add_audit_entry(session, self._owner, "document_removed", document=document_id)

    def index_state(self, index: str) -> dict[str, Any] | None:
        """Return the recorded state of an index, as its model; None when nothing was recorded."""
        rows = self._database.look_up(_STATES, [index], self._owner)
        return next((parsed(state) for _, state in rows), None)

    def set_index_state(self, index: str, state: dict[str, Any] | None) -> None:
        """Record the state of an index: ``"vectors", {"model": …}``; None deletes it."""
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            mine = IndexStateRow.owner == self._owner, IndexStateRow.name == index
            session.execute(delete(IndexStateRow).where(*mine))
            if state is not None:
                session.add(IndexStateRow(owner=self._owner, name=index, state=state))
            raise_index_version(session, self._owner)

    def index_version(self) -> int:
        """Return a number that is raised by whatever changes what searches find."""
        rows = self._database.look_up(_VERSION, [self._owner], self._owner)
        return next((int(version) for (version,) in rows), 0)

    def raise_index_version(self) -> None:
        """Note that an index was changed after the commit that names the change."""
        with self._database.writing(self._owner) as session:
            raise_index_version(session, self._owner)

    def strays(self, ids: Collection[str]) -> set[str]:
        """Return those ids of index entries that no document has, in any state.

        Left out are those of documents that are due to be split anew: their new chunks are indexed first.
        """
        with self._database.reading() as session:  # all of it at one moment
            known = _indexed_ids(session, Document.owner == self._owner)
            due = set(due_to_be_split(session, self._owner))
        return {id_ for id_ in ids if id_ not in known and _edition_of(id_)[0] not in due}

    def count(self) -> int:
        """Count the documents without pending replacements."""
        mine = select(func.count()).where(Document.owner == self._owner, Document.replaces.is_(None))
        with self._database.reading() as session:
            return session.scalar(mine) or 0

    def list(self) -> list[DocumentRecord]:
        """List the documents, newest first, pending replacements included."""
        mine = _LISTED.where(Document.owner == self._owner)
        with self._database.reading() as session:
            rows = session.execute(mine.order_by(Document.created.desc(), Document.id))
            return [DocumentRecord(*row) for row in rows]

    def _mine(self) -> Select[Document]:
        return select(Document).where(Document.owner == self._owner)


def due_to_be_split(session: Session, owner: str) -> list[str]:
    """List the ready documents whose chunking is not that of their collection, oldest first."""
    ready = (
        select(Document.id, Document.edition, CollectionRow.splitting)
        .outerjoin(CollectionRow, CollectionRow.id == Document.collection_id)
        .where(Document.owner == owner, Document.state == "ready")
    )
    rows = session.execute(ready.order_by(Document.created, Document.id))
    return [id_ for id_, split, wanted in rows if split != edition(wanted)]


def _indexed_ids(session: Session, *mine: ColumnElement[bool]) -> set[str]:
    """Return the ids of the chunks, and of the described figures, of some documents."""
    chunks = select(Chunk.id).join(Document, Document.id == Chunk.document_id).where(*mine)
    figures = select(FigureRow.id).join(Document, Document.id == FigureRow.document_id).where(*mine)
    return {*session.scalars(chunks), *session.scalars(figures)}


def _edition_of(chunk_id: str) -> tuple[str, str]:
    """Return a chunk's document and edition: ``("5f0c", "900.100.0")`` of ``"5f0c.900.100.0-00003"``."""
    document_id, _, of = chunk_id.rpartition("-")[0].partition(".")
    return document_id, of


def _follow_replacement(session: Session, replaced: str, successor: str) -> None:
    """Have conversations and grids that chose a document take the one that replaces it."""
    scopes: list[tuple[type[ChoiceRow | GridChoice], Any]] = [
        (ChoiceRow, ChoiceRow.conversation_id),
        (GridChoice, GridChoice.grid_id),
    ]
    for table, scope in scopes:
        chose = select(scope).where(table.chosen_id == replaced)
        session.execute(delete(table).where(table.chosen_id == successor, scope.in_(chose)))
        session.execute(update(table).where(table.chosen_id == replaced).values(chosen_id=successor))


def _copy_tags(session: Session, replaced: str, successor: str) -> None:
    """Give a document the tags of the one that it replaces."""
    of = select(DocumentTag.tag_id).where(DocumentTag.document_id == replaced)
    for tag_id in session.scalars(of).all():
        session.merge(DocumentTag(document_id=successor, tag_id=tag_id))


def _move_cells(session: Session, replaced: str, successor: str) -> None:
    """Give a document the grid cells of the one that it replaces: corrections stay, the rest is outdated."""
    mine = GridCell.document_id == replaced
    session.execute(update(GridCell).where(mine).values(document_id=successor))


def owners(database: Database) -> list[str]:
    """List the owners who have stored anything, in order."""
    with database.reading() as session:
        return list(session.scalars(select(UserRow.id).order_by(UserRow.id)))
