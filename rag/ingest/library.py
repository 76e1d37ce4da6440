"""One owner's documents: add, read, embed, remove, recover; ledger and indexes in step.

SQLite is the truth: a document is in the library once its row is committed. The word index and
the vector index are derived from it, chunk id by chunk id, and `recover` brings them back in step.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Literal, TypeVar

from langchain_core.retrievers import BaseRetriever

from rag.errors import Cancelled, DocumentRefused, EmbeddingError, LimitReached, RetrievalError
from rag.index.chroma import WriteBuffer
from rag.index.chunks import index_text, same_text_pairs, to_entry
from rag.index.external import StoreSpec
from rag.index.indexes import Indexes
from rag.index.staged import ReindexProgress
from rag.index.staged_vectors import VectorReindexer
from rag.index.vector_index import VectorIndex
from rag.ingest.parsers import LONGEST
from rag.ingest.pipeline import reading_edition
from rag.jobs import Cancel, never
from rag.models.embeddings import Embedder
from rag.raptor.retrievers import TREES
from rag.raptor.summarize import ExtractiveSummariser, Summariser
from rag.raptor.tree import Forest, node_text
from rag.retrieval.registry import choose_retriever
from rag.retrieval.weights import HybridCalibration
from rag.text.tokenize import Analyser
from storage.collections import Collections
from storage.database import Database
from storage.documents import Documents, IndexStates
from storage.errors import StorageError
from storage.files import Files
from storage.records import ChunkRecord, DocumentRecord, Outcome, State
from storage.trees import Trees

Stage = Literal["reading", "words", "meaning"]

R = TypeVar("R")

EMBED_BATCH = 8  # chunks: a question's own embedding waits behind one batch at most


@dataclass(frozen=True)
class IngestProgress:
    """Progress of a document's ingest: `done` of `total` chunks, or of one file while reading."""

    stage: Stage
    done: int
    total: int


def admit_all(sha256: str, size: int) -> None:
    """Admit every original."""
    del sha256, size


class Library:
    """The documents of `owner`, their originals, and the two indexes over their chunks.

    `open_embedder` is called when a vector is first needed, since opening takes a second. `store` is
    where vectors are searched; `analysers` add morphemes to the word index; `summariser` gives what
    writes the summaries of trees. `open_named` opens a model by its name, as the one that made the index
    while another index is made with that of `open_embedder`. A scan is recognised for `recognition` seconds.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        open_embedder: Callable[[], Embedder],
        store: StoreSpec = StoreSpec(),  # noqa: B008 - a frozen value
        analysers: Sequence[Analyser] = (),
        summariser: Callable[[], Summariser] = ExtractiveSummariser,
        open_named: Callable[[str], Embedder] | None = None,
        admit: Callable[[str, int], None] = admit_all,
        recognition: float = LONGEST,
    ):
        self.owner = owner
        self.documents, self.collections = Documents(database, owner), Collections(database, owner)
        self.files, self.recognition = Files(database.directory, owner), recognition
        self._admit = admit  # raises where an original, by its hash and size, is one too many
        self._adding = Lock()  # a sweep takes originals that no row names, as of a file being added
        directory = database.directory / "indexes" / hashlib.sha256(owner.encode()).hexdigest()[:32]
        states = IndexStates(database, owner)
        self.indexes = Indexes(self.documents, states, directory, open_embedder, store, analysers, open_named)
        self.weighing = HybridCalibration(self.documents, self.indexes)
        self.forest = Forest(
            self.documents,
            Trees(database, owner),
            lambda: self.indexes.embedder,
            lambda: self.indexes.tree,
            summariser,
        )
        self.reindexer = VectorReindexer(
            self.documents, states, self.forest.trees, self.indexes, directory, open_embedder, node_text
        )

    def add(self, name: str, content: bytes | Iterable[bytes]) -> tuple[DocumentRecord, Outcome]:
        """Keep a file and put it in the queue: one commit, after which nothing is lost."""
        return self.keep(content, lambda sha256, size: self.documents.add(name, sha256, size))

    def keep(self, content: bytes | Iterable[bytes], row: Callable[[str, int], R]) -> R:
        """Keep an original, and make the `row` that names it by its hash and its size in bytes."""
        with self._adding:
            sha256, size = self.files.save(content)
            try:
                self._admit(sha256, size)
            except LimitReached:
                self.files.delete(sha256)
                raise
            return row(sha256, size)

    def index(self, document_id: str, cancelled: Cancel = never) -> Iterator[IngestProgress]:
        """Read and embed a document in the calling thread."""
        yield from self.read(document_id, cancelled)
        if self.documents.get(document_id).state != "refused":
            yield from self.embed(document_id, cancelled)

    def read(self, document_id: str, cancelled: Cancel = never) -> Iterator[IngestProgress]:
        """Make a document searchable by words; a file that cannot be read ends as refused."""
        record = self.documents.get(document_id)
        if record.state not in ("queued", "reading"):
            return
        self.documents.set_state(document_id, "reading")
        yield IngestProgress("reading", 0, 1)
        try:
            yield from self._save_text(record, cancelled)
            if cancelled():
                raise Cancelled(f"Reading {record.name} was stopped.")
            yield from self._index_words(record)
        except DocumentRefused as error:
            self._note(document_id, "refused", str(error))
        except (RetrievalError, StorageError) as error:
            self._note(document_id, "reading", f"{error} It is tried again later.")
            raise

    def embed(self, document_id: str, cancelled: Cancel = never) -> Iterator[IngestProgress]:
        """Make a document searchable by meaning, going on where an earlier try ended."""
        self._promote(document_id)
        chunks = self.documents.chunks(document_id)
        try:
            vectors = self.indexes.vectors
            present = vectors.present([chunk.id for chunk in chunks])
            missing = [chunk for chunk in chunks if chunk.id not in present]
            yield from self.add_vectors(vectors, missing, len(chunks), cancelled)
            self.documents.set_state(document_id, "searchable_by_meaning")
            self.documents.set_state(document_id, "ready")
        except (EmbeddingError, RetrievalError, StorageError) as error:
            self._note(document_id, "searchable_by_words", f"{error} It is tried again later.")
            raise
        finally:
            self._take_back_if_removed(document_id, chunks)

    def remove(self, document_id: str) -> None:
        """Delete a document, its original and all that was derived from it."""
        record = self.documents.get(document_id)
        chunks, nodes = self.documents.chunks(document_id), self.forest.nodes_of(document_id)
        self.documents.delete(document_id)
        self._drop_original(record.sha256)
        self.indexes.forget([chunk.id for chunk in chunks])
        self.forest.forget(nodes)

    def recover(self) -> list[str]:
        """Bring originals and indexes in step with the ledger; return the ids whose ingest goes on."""
        with self._adding:
            self.files.sweep({record.sha256 for record in self.documents.list()})
        for record in self.documents.unfinished():
            if record.state not in ("queued", "reading"):
                self._promote(record.id)
        self.indexes.recover()
        self.forest.recover()
        return [record.id for record in self.documents.unfinished()]

    def reindex(
        self,
        cancelled: Cancel = never,
        *,
        force: bool = False,
        stop_writers: Callable[[], None] = lambda: None,
        drain_seconds: float = 0.0,
    ) -> Iterator[ReindexProgress]:
        """Embed every document by the model of the settings, while the present index answers.

        See `VectorReindexer.run`.
        """
        yield from self.reindexer.run(
            cancelled, force=force, stop_writers=stop_writers, drain_seconds=drain_seconds
        )
        self.indexes.recover_vectors()
        self.forest.recover()

    def rebuild_vectors(self) -> list[str]:
        """Drop the vector index, as after a change of embedding model; return the ids to embed again."""
        self.indexes.drop_vectors()
        self.forest.trees.reopen()
        return [record.id for record in self.documents.unfinished()]

    def destroy(self) -> None:
        """Remove the originals and all that was derived from them, as when their owner goes."""
        self.indexes.destroy()
        self.files.destroy()

    def close(self) -> None:
        """Give the indexes back, so that the library can be opened again."""
        self.indexes.close()

    def retriever(
        self,
        name: str,
        k: int,
        *,
        document_ids: Collection[str] | None = None,
        on_failure: Callable[[str, Exception], None] | None = None,
    ) -> BaseRetriever:
        """Return the one that rag/retrieval/registry.py calls `name`; RAPTOR's fill a budget, not `k`."""
        if name in TREES:
            return TREES[name](forest=self.forest, document_ids=document_ids)
        return choose_retriever(
            name,
            k=k,
            words=self.indexes.words,
            vectors=lambda: self.indexes.vectors,
            near_at_hand=lambda: self.indexes.near_at_hand,
            hydrate=self.indexes.hydrate,
            label=self.indexes.label,
            names=self.indexes.names,
            document_ids=document_ids,
            mixture=lambda: self.weighing.mixture,
            on_failure=on_failure,
        )

    def add_vectors(
        self, vectors: VectorIndex, chunks: Sequence[ChunkRecord], total: int, cancelled: Cancel
    ) -> Iterator[IngestProgress]:
        """Embed chunks, the last of `total`, with the index's own model, and add them to it.

        Raises Cancelled, also where the index is dropped for another one meanwhile.
        """
        done = total - len(chunks)
        yield IngestProgress("meaning", done, total)
        texts = [index_text(chunk) for chunk in chunks]
        with WriteBuffer(vectors) as gathered:
            for positions, embedded in self.indexes.embedder.embed_batches(texts, batch=EMBED_BATCH):
                if cancelled() or self.indexes.vectors is not vectors:
                    raise Cancelled("The ingest was stopped; it goes on later.")
                batch = [chunks[position] for position in positions]
                gathered.add([c.id for c in batch], embedded, [{"document_id": c.document_id} for c in batch])
                done += len(batch)
                yield IngestProgress("meaning", done, total)

    def rarity(self, token: str) -> float:
        """Return how rare a token is among the chunks: the word index's inverse document frequency."""
        return self.indexes.words.rarity(token)

    def _save_text(self, record: DocumentRecord, cancelled: Cancel) -> Iterator[IngestProgress]:
        way, tell = self.collections.splitting_of(record.id), partial(IngestProgress, "reading")
        read = yield from reading_edition(self.files, record, way, tell, cancelled, self.recognition)
        read.keep(self.documents, record.id)

    def _index_words(self, record: DocumentRecord) -> Iterator[IngestProgress]:
        chunks = self.documents.chunks(record.id)
        yield IngestProgress("words", 0, len(chunks))
        self.indexes.words.add(to_entry(chunk) for chunk in chunks)
        try:
            self.documents.set_state(record.id, "searchable_by_words")
            self._promote(record.id)
        finally:
            self._take_back_if_removed(record.id, chunks)
        yield IngestProgress("words", len(chunks), len(chunks))

    def _note(self, document_id: str, state: State, reason: str) -> None:
        if self.documents.exists(document_id):
            self.documents.set_state(document_id, state, reason)

    def _promote(self, document_id: str) -> None:
        """Let a replacement that can be searched take its place, in one commit of the ledger."""
        record = self.documents.get(document_id)
        if record.replaces is None or not self.documents.exists(record.replaces):
            return
        replaced = self.documents.get(record.replaces)
        leaving = self.documents.chunks(replaced.id)
        self.indexes.copy_vectors(same_text_pairs(self.documents.chunks(record.id), leaving))
        nodes = self.forest.nodes_of(replaced.id)
        self.documents.promote(record.id)
        self._drop_original(replaced.sha256)
        self.indexes.forget([chunk.id for chunk in leaving])
        self.forest.forget(nodes)

    def _take_back_if_removed(self, document_id: str, chunks: Sequence[ChunkRecord]) -> None:
        """Leave nothing in the indexes of a document that was removed while it was indexed."""
        ids = [chunk.id for chunk in chunks]
        if ids and not self.documents.exists(document_id):
            self.indexes.forget(ids)

    def _drop_original(self, sha256: str) -> None:
        with self._adding:
            if all(record.sha256 != sha256 for record in self.documents.list()):
                self.files.delete(sha256)
