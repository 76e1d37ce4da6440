"""Re-indexing by another embedding model: a staged vector index beside the one in use."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rag.errors import Cancelled, IndexUnusable
from rag.i18n import N_
from rag.index.chunks import index_text
from rag.index.external import CHROMA
from rag.index.indexes import NEXT, STOPPED, VECTORS, Indexes, description, same_model
from rag.index.slot import Closeable
from rag.index.staged import Hits, IndexPair, ReindexProgress, StagedIndex, sample_chunks, verify_index
from rag.index.vector_index import VectorIndex
from rag.jobs import Cancel, never
from rag.models.embeddings import Embedder
from storage.documents import SEARCHABLE, Documents, IndexStates
from storage.errors import DiskFull, NotFound
from storage.trees import NodeRecord, Trees

BATCH = 8  # texts; a question's embedding waits for one batch at most
NEAREST = 3  # hits among which a chunk must find itself
MISSED = 0.01  # share of the sample that may be missed: no graph finds every entry
PER_NUMBER = 9  # bytes on disk for each number of a vector: its place in the graph, and two copies of it
PER_VECTOR = 900  # bytes on disk for each vector besides: its id, its neighbours
PER_INDEX = 1 << 20  # bytes on disk of an empty index
RESERVE = 64 << 20  # bytes of disk kept free for the index in use

NodeText = Callable[[NodeRecord], str]


@dataclass
class VectorReindexer:
    """Re-indexing of an owner's documents by another embedding model, while the present index is in use.

    `open_embedder` opens the model of the settings; `node_text` gives the text that is embedded for a tree
    node.
    """

    documents: Documents
    states: IndexStates
    trees: Trees
    indexes: Indexes
    base: Path
    open_embedder: Callable[[], Embedder]
    node_text: NodeText

    @property
    def pair(self) -> IndexPair:
        """The ledger's states of both indexes."""
        return IndexPair(self.documents, self.states, self.base, VECTORS, NEXT, self.indexes.store.folders)

    @property
    def begun(self) -> str | None:
        """The model of the staged index; None where there is none."""
        state = self.documents.index_state(NEXT)
        return None if state is None else str(state["model"])

    @property
    def answering(self) -> str | None:
        """The model of the index in use; None where nothing is embedded yet."""
        state = self.documents.index_state(VECTORS)
        return None if state is None else str(state["model"])

    @property
    def possible(self) -> bool:
        """True where there is an index in the store of the settings, and it can hold two at once."""
        answering, store = self.documents.index_state(VECTORS), self.indexes.store
        return answering is not None and store.built_in and answering.get("store", CHROMA) == store.name

    def due(self) -> bool:
        """Return whether a build was begun, or the settings name another model. Raises EmbeddingError."""
        answering = self.documents.index_state(VECTORS)
        if answering is None or not self.possible or self.begun is not None:
            return self.begun is not None
        return not same_model(answering, description(self.indexes.embedder, self.indexes.store))

    def needs(self, dimension: int | None = None) -> int:
        """Return about how many bytes of disk the staged index takes."""
        answering = self.documents.index_state(VECTORS)
        numbers = dimension or (answering["dimension"] if answering else 0)
        count = len(self.documents.chunk_ids()) + len(self.trees.node_ids())
        return PER_INDEX + count * (int(numbers) * PER_NUMBER + PER_VECTOR)

    def run(
        self,
        cancelled: Cancel = never,
        *,
        force: bool = False,
        stop_writers: Callable[[], None] = lambda: None,
        drain_seconds: float = 0.0,
    ) -> Iterator[ReindexProgress]:
        """Build or resume the staged index, and put it to use; with `force` also by the same model.

        `stop_writers` is called before the exchange; questions that still search the old index then have
        `drain_seconds`. Raises as `StagedIndex.rebuild`, and EmbeddingError, after which it can be resumed.
        """
        begun = self._begin(force)
        if begun is None:
            return
        state, embedder = begun
        staged = StagedVectors(self, state, embedder, stop_writers)
        try:
            yield from staged.rebuild(cancelled)
            time.sleep(drain_seconds)
        finally:
            close_all([*staged.retired, *self.indexes.unstage()])
            self.pair.sweep()

    def _begin(self, force: bool) -> tuple[dict[str, Any], Embedder] | None:
        """Return the state of the index to build, new or resumed, and its model; None where none is due."""
        answering = self.documents.index_state(VECTORS)
        embedder = self.open_embedder()
        wanted = description(embedder, self.indexes.store)
        state = self.pair.resume(lambda begun: same_model(begun, wanted))
        if state is None:
            if answering is None or not self.possible or (same_model(answering, wanted) and not force):
                return None
            self._refuse_if_too_large(embedder)
            state = self.pair.begin(**wanted)
        self.indexes.reopen()
        return state, embedder

    def _refuse_if_too_large(self, embedder: Embedder) -> None:
        needed, free = self.needs(embedder.dimension), shutil.disk_usage(self.base).free
        if free < needed + RESERVE:
            raise DiskFull(
                N_(
                    "Embedding with {name} needs about {needed} MB beside the present index in {base}, "
                    "and {free} MB are free. Nothing was changed: free some, then try again.",
                    name=embedder.name,
                    needed=f"{needed / 1000000.0:,.0f}",
                    base=self.base,
                    free=f"{free / 1000000.0:,.0f}",
                )
            )


class StagedVectors(StagedIndex):
    """Staged vectors of chunks and of tree nodes by one embedding model."""

    _chunks: VectorIndex
    _tree: VectorIndex

    def __init__(
        self,
        reindexer: VectorReindexer,
        state: dict[str, Any],
        embedder: Embedder,
        stop_writers: Callable[[], None],
    ):
        super().__init__(reindexer.pair)
        self._indexes = reindexer.indexes
        self._trees = reindexer.trees
        self._node_text = reindexer.node_text
        self._state = state
        self._embedder = embedder
        self.stop_writers = stop_writers  # of the index in use; later documents wait for this one
        self.retired: list[Closeable] = []  # indexes in use before, which searches may still use

    def open(self) -> None:
        """Open the staged index."""
        self._chunks, self._tree = self._indexes.stage(str(self._state["folder"]), self._embedder)

    def fill(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Bring the index in step with the ledger, including changes made meanwhile."""
        yield from self._fill_chunks(cancelled)
        yield from self._fill_tree(cancelled)

    def verify(self) -> Iterator[ReindexProgress]:
        """Raise IndexUnusable where chunks do not find themselves by their own text embedded again."""
        sample = sample_chunks(self.documents, self._chunks.ids())
        for step in verify_index(self.documents, sample, self._search):
            done, missed = step
            yield ReindexProgress("verifying", done, len(sample))
        if missed > MISSED * len(sample):
            raise IndexUnusable(
                N_(
                    "The documents embedded with {name} do not find themselves: {missed} of {number} "
                    "passages were missed. They are found as before; try again, or choose another model.",
                    name=self._embedder.name,
                    missed=missed,
                    number=len(sample),
                )
            )

    def exchange(self) -> bool:
        """Put the index to use where it holds exactly the chunks of the ledger."""
        self._chunks.refresh()
        there = self._chunks.ids()
        if self.documents.chunk_ids() - there or there - self.documents.chunk_ids(searchable=False):
            return False
        self.pair.exchange()
        self.retired = self._indexes.exchange(self._embedder)
        return True

    def give_up(self) -> None:
        """Close and remove the staged index."""
        close_all(self._indexes.unstage())
        self.pair.give_up()

    def _fill_chunks(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        while True:
            there, wanted = self._chunks.ids(), self.documents.chunk_ids()
            self._chunks.delete(sorted(there - self.documents.chunk_ids(searchable=False)))
            done, total = len(there & wanted), len(wanted)
            yield ReindexProgress("embedding", done, total)
            if done == total:
                return
            searchable = [record.id for record in self.documents.list() if record.state in SEARCHABLE]
            for document_id in reversed(searchable):
                for count in self._embed(document_id, there):
                    self._check_continue(cancelled)
                    done += count
                    yield ReindexProgress("embedding", done, max(done, total))

    def _embed(self, document_id: str, there: set[str]) -> Iterator[int]:
        """Embed a document's missing chunks; yield how many, batch by batch."""
        try:
            indexed = chain.from_iterable(self.documents.indexed_batches(document_id))
            chunks = [chunk for chunk in indexed if chunk.id not in there]
        except NotFound:  # removed meanwhile
            return
        texts = [index_text(chunk) for chunk in chunks]
        for positions, vectors in self._embedder.embed_batches(texts, batch=BATCH):
            batch = [chunks[position] for position in positions]
            yield 0  # the caller checks once more before the index is written
            origins = [{"document_id": chunk.document_id} for chunk in batch]
            self._chunks.add_vectors([chunk.id for chunk in batch], vectors, origins)
            yield len(batch)

    def _fill_tree(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Embed the tree nodes again; their summaries stay."""
        wanted, there = self._trees.node_ids(), self._tree.ids()
        self._tree.delete(sorted(there - wanted))
        nodes = list(self._trees.nodes_by_id(wanted - there).values())
        done = len(wanted) - len(nodes)
        texts = [self._node_text(node) for node in nodes]
        for positions, vectors in self._embedder.embed_batches(texts, batch=BATCH):
            self._check_continue(cancelled)
            batch = [nodes[position] for position in positions]
            origins = [{"document_id": node.document_id or "", "level": node.level} for node in batch]
            self._tree.add_vectors([node.id for node in batch], vectors, origins)
            done += len(batch)
            yield ReindexProgress("trees", done, len(wanted))

    def _check_continue(self, cancelled: Cancel) -> None:
        """Raise Cancelled where the build was stopped or given up, DiskFull where the disk is nearly full."""
        if cancelled() or self.documents.index_state(NEXT) != self._state:
            raise Cancelled(STOPPED.format("documents are not embedded"))
        if shutil.disk_usage(self.pair.directory).free < RESERVE:
            raise DiskFull(
                N_(
                    "{directory} has less than {reserve} MB left, so the documents were not embedded "
                    "anew. They are found as before: free some space, then try again.",
                    directory=self.pair.directory,
                    reserve=RESERVE >> 20,
                )
            )

    def _search(self, texts: Sequence[str]) -> Iterator[Hits]:
        for positions, vectors in self._embedder.embed_batches(texts, batch=BATCH):
            yield {
                position: [
                    str(found.id)
                    for found in self._chunks.similarity_search_by_vector(vector.tolist(), NEAREST)
                ]
                for position, vector in zip(positions, vectors, strict=True)
            }


def close_all(indexes: Iterable[Closeable]) -> None:
    """Close indexes."""
    for index in indexes:
        index.close()
