"""One owner's documents: add, read, embed, remove, recover; ledger and indexes in step.

SQLite is the truth: a document is in the library once its row is committed. The word index and
the vector index are derived from it, chunk id by chunk id, and `recover` brings them back in step.
"""

import hashlib
import logging
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chunks import index_text, to_document, to_entry
from rag.embeddings import Embedder
from rag.errors import Cancelled, DocumentRefused, EmbeddingError, IndexMismatch, IndexUnusable
from rag.jobs import Cancel
from rag.loaders import load
from rag.retrievers.choose import choose_retriever
from rag.splitters import split
from rag.stores.chroma import ChromaVectorStore
from rag.stores.lexical import TantivyIndex
from storage.database import Database
from storage.documents import Documents
from storage.files import Files
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, Outcome, PageSpan

log = logging.getLogger(__name__)

Stage = Literal["reading", "words", "meaning"]

EMBED_BATCH = 8  # chunks: a question's own embedding waits behind one batch at most


@dataclass(frozen=True)
class Progress:
    """How far a document's ingest is: `done` of `total` chunks, or of one file while reading."""

    stage: Stage
    done: int
    total: int


def never() -> bool:
    """Cancel nothing."""
    return False


class Library:
    """The documents of `owner`, their originals, and the two indexes over their chunks.

    `open_embedder` is called when a vector is first needed, since opening takes a second.
    """

    def __init__(self, database: Database, owner: str, open_embedder: Callable[[], Embedder]):
        self.owner = owner
        self.documents = Documents(database, owner)
        self.files = Files(database.directory, owner)
        self._indexes = database.directory / "indexes" / hashlib.sha256(owner.encode()).hexdigest()[:32]
        self._open_embedder = open_embedder

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model; raises ModelUnavailable where its files cannot be had."""
        return self._open_embedder()

    @cached_property
    def words(self) -> TantivyIndex:
        """The BM25 index."""
        return TantivyIndex(self._indexes / "words")

    @cached_property
    def vectors(self) -> ChromaVectorStore:
        """The vector index; raises IndexMismatch when another embedding model made it."""
        return ChromaVectorStore(
            self.embedder,
            directory=self._indexes / self._vectors_folder(),
            collection_name="chunks",
            hydrate=self.hydrate,
        )

    def add(self, name: str, content: bytes | Iterable[bytes]) -> tuple[DocumentRecord, Outcome]:
        """Keep a file and put it in the queue: one commit, after which nothing is lost."""
        sha256, size = self.files.save(content)
        return self.documents.add(name, sha256, size)

    def index(self, document_id: str, cancelled: Cancel = never) -> Iterator[Progress]:
        """Read and embed a document in the calling thread."""
        yield from self.read(document_id, cancelled)
        if self.documents.get(document_id).state != "refused":
            yield from self.embed(document_id, cancelled)

    def read(self, document_id: str, cancelled: Cancel = never) -> Iterator[Progress]:
        """Make a document searchable by words; a file that cannot be read ends as refused."""
        record = self.documents.get(document_id)
        if record.state not in ("queued", "reading"):
            return
        self.documents.set_state(document_id, "reading")
        yield Progress("reading", 0, 1)
        try:
            self._save_text(record)
        except DocumentRefused as error:
            self.documents.set_state(document_id, "refused", str(error))
            return
        if cancelled():
            raise Cancelled(f"Reading {record.name} was stopped.")
        yield from self._index_words(record)

    def embed(self, document_id: str, cancelled: Cancel = never) -> Iterator[Progress]:
        """Make a document searchable by meaning, going on where an earlier try ended."""
        self._promote(self.documents.get(document_id))
        chunks = self.documents.chunks(document_id)
        try:
            present = self.vectors.present([chunk.id for chunk in chunks])
            missing = [chunk for chunk in chunks if chunk.id not in present]
            yield from self._add_vectors(document_id, missing, len(chunks), cancelled)
        except EmbeddingError as error:
            self.documents.set_state(document_id, "searchable_by_words", str(error))
            raise
        self.documents.set_state(document_id, "searchable_by_meaning")
        self.documents.set_state(document_id, "ready")

    def remove(self, document_id: str) -> None:
        """Delete a document, its original and all that was derived from it."""
        record = self.documents.get(document_id)
        ids = [chunk.id for chunk in self.documents.chunks(document_id)]
        self.documents.delete(document_id)
        self._forget(ids, record.sha256)

    def recover(self) -> list[str]:
        """Bring originals and indexes in step with the ledger; return the ids whose ingest goes on."""
        self.files.sweep({record.sha256 for record in self.documents.list()})
        if self.words.stale:
            self.words.clear()
        for record in self.documents.unfinished():
            if record.state not in ("queued", "reading"):
                self._promote(record)
        expected = self.documents.chunk_ids()
        self._recover_words(expected)
        self._recover_vectors(expected)
        return [record.id for record in self.documents.unfinished()]

    def rebuild_vectors(self) -> list[str]:
        """Drop the vector index, as after a change of embedding model; return the ids to embed again."""
        self._close("vectors")
        self.__dict__.pop("embedder", None)
        self.documents.set_index_state("vectors", None)
        for folder in self._indexes.glob("vectors-*"):
            shutil.rmtree(folder, ignore_errors=True)  # what stays is not used again: the next has a new name
        return self._demote(self.documents.chunk_ids())

    def close(self) -> None:
        """Give the indexes back, so that they can be opened again."""
        self._close("words")
        self._close("vectors")

    def retriever(
        self,
        name: str,
        k: int,
        *,
        document_ids: Collection[str] | None = None,
        on_failure: Callable[[str, Exception], None] | None = None,
    ) -> BaseRetriever:
        """Return the retriever called `name` over this library; see rag/retrievers/choose.py."""
        return choose_retriever(
            name,
            k=k,
            words=self.words,
            vectors=lambda: self.vectors,
            hydrate=self.hydrate,
            document_ids=document_ids,
            on_failure=on_failure,
        )

    def rarity(self, token: str) -> float:
        """Return how rare a token is among the chunks: the word index's inverse document frequency."""
        return self.words.rarity(token)

    def hydrate(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the chunks with these ids as documents; ids that are gone are absent."""
        return {id_: to_document(chunk) for id_, chunk in self.documents.chunks_by_id(ids).items()}

    def _close(self, name: Literal["words", "vectors"]) -> None:
        index = self.__dict__.pop(name, None)
        if index is not None:
            index.close()

    def _save_text(self, record: DocumentRecord) -> None:
        loaded = load(self.files.path(record.sha256), record.name)
        chunks = split(loaded)
        if not chunks:
            raise DocumentRefused(f"{record.name} holds no text to search. Add a file that has text.")
        pages = [PageSpan(*page) for page in loaded.pages]
        spans = [ChunkSpan(chunk.start, chunk.end, chunk.page, chunk.heading) for chunk in chunks]
        self.documents.save_chunks(record.id, loaded.text, pages, spans)

    def _index_words(self, record: DocumentRecord) -> Iterator[Progress]:
        chunks = self.documents.chunks(record.id)
        yield Progress("words", 0, len(chunks))
        self.words.add(to_entry(chunk) for chunk in chunks)
        self.documents.set_state(record.id, "searchable_by_words")
        self._promote(record)
        yield Progress("words", len(chunks), len(chunks))

    def _promote(self, record: DocumentRecord) -> None:
        """Let a replacement that can be searched take its place, in one commit of the ledger."""
        if record.replaces is None:
            return
        replaced = self.documents.get(record.replaces)
        leaving = [chunk.id for chunk in self.documents.chunks(replaced.id)]
        self.documents.promote(record.id)
        self._forget(leaving, replaced.sha256)

    def _add_vectors(
        self, document_id: str, chunks: Sequence[ChunkRecord], total: int, cancelled: Cancel
    ) -> Iterator[Progress]:
        done = total - len(chunks)
        yield Progress("meaning", done, total)
        texts = [index_text(chunk) for chunk in chunks]
        for positions, vectors in self.embedder.embed_batches(texts, batch=EMBED_BATCH):
            if cancelled():
                raise Cancelled("The ingest was stopped; it goes on at the next start.")
            ids = [chunks[position].id for position in positions]
            self.vectors.add_vectors(ids, vectors, [{"document_id": document_id}] * len(ids))
            done += len(ids)
            yield Progress("meaning", done, total)

    def _forget(self, chunk_ids: Sequence[str], sha256: str) -> None:
        self.words.delete(chunk_ids)
        if self.documents.index_state("vectors"):
            self.vectors.delete(list(chunk_ids))
        if all(record.sha256 != sha256 for record in self.documents.list()):
            self.files.delete(sha256)

    def _recover_words(self, expected: set[str]) -> None:
        there = self.words.ids()
        self.words.delete(there - expected)
        missing = sorted(expected - there)
        if missing:
            log.warning("Adding %d chunks to the word index", len(missing))
            self.words.add(to_entry(chunk) for chunk in self.documents.chunks_by_id(missing).values())

    def _recover_vectors(self, expected: set[str]) -> None:
        if not self.documents.index_state("vectors"):
            return
        try:
            there = self.vectors.ids()
        except EmbeddingError as error:
            log.warning("%s", error)
            return
        except IndexUnusable as error:
            log.warning("%s It is made anew.", error)
            self.rebuild_vectors()
            return
        self.vectors.delete(sorted(there - expected))
        self._demote(expected - there)

    def _demote(self, missing: Collection[str]) -> list[str]:
        """Send the documents of these chunks back to be embedded."""
        chunks = self.documents.chunks_by_id(sorted(missing))
        documents = sorted({chunk.document_id for chunk in chunks.values()})
        for document_id in documents:
            self.documents.set_state(document_id, "searchable_by_words")
        return documents

    def _vectors_folder(self) -> str:
        """Return the folder of the vector index; refuse to mix the vectors of two models."""
        embedder = self.embedder
        made_with = self.documents.index_state("vectors") or {}
        mine = {"model": embedder.name, "dimension": embedder.dimension, "fingerprint": embedder.fingerprint}
        if not made_with:
            made_with = {**mine, "folder": f"vectors-{secrets.token_hex(4)}"}
            self.documents.set_index_state("vectors", made_with)
        if any(made_with[key] != value for key, value in mine.items()):
            raise IndexMismatch(
                f"The documents were embedded with {_model(made_with)}, not with {_model(mine)}. "
                "Choose that model again, or embed everything anew: `footnote reindex`."
            )
        return str(made_with["folder"])


def _model(made_with: dict[str, Any]) -> str:
    weights = str(made_with["fingerprint"])[:8]
    return f"{made_with['model']} (dimension {made_with['dimension']}, weights {weights})"
