"""An index by another model, made beside the one that answers, proven, and put in its place in one commit."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag.chunks import index_text
from rag.embeddings import Embedder
from rag.errors import Cancelled, IndexUnusable
from rag.index.slot import Closeable
from rag.indexes import NEXT, VECTORS, Indexes
from rag.jobs import Cancel, never
from rag.mixing import description, fresh_folder, same_model
from rag.proving import prove
from rag.raptor.build import index_text as node_text
from rag.stores.chroma import ChromaVectorStore
from rag.stores.spec import CHROMA
from storage.documents import SEARCHABLE, Documents
from storage.errors import DiskFull, NotFound
from storage.index_states import IndexStates
from storage.trees import Trees

BATCH = 8  # texts: a question's own embedding waits behind one batch at most
PER_NUMBER = 9  # bytes on disk for each number of a vector: its place in the graph, and two copies of it
PER_VECTOR = 900  # bytes on disk for each vector besides: its id, its neighbours
PER_INDEX = 1 << 20  # bytes on disk of an index of nothing
RESERVE = 64 << 20  # bytes that are left to what answers meanwhile

_STOPPED = "The documents are not embedded anew any more. What is done is kept for the next time."

Step = Literal["embedding", "trees", "proving"]


@dataclass(frozen=True)
class Rebuilt:
    """How far the other index is: `done` of `total` passages, or nodes of trees."""

    step: Step
    done: int
    total: int


class Shadow:
    """The index that an owner's documents get beside the one that answers.

    It is in the ledger from its beginning, so that it is gone on with after any end; `base` is the owner's
    folder of indexes, `open_embedder` opens the model that it is made by.
    """

    def __init__(
        self,
        documents: Documents,
        states: IndexStates,
        trees: Trees,
        indexes: Indexes,
        base: Path,
        open_embedder: Callable[[], Embedder],
    ):
        self._documents = documents
        self._states = states
        self._trees = trees
        self._indexes = indexes
        self._base = base
        self._open_embedder = open_embedder

    @property
    def begun(self) -> str | None:
        """The model of an index that was begun and does not answer yet; None where there is none."""
        state = self._documents.index_state(NEXT)
        return None if state is None else str(state["model"])

    @property
    def answering(self) -> str | None:
        """The model of the index that answers; None where nothing is embedded yet."""
        state = self._documents.index_state(VECTORS)
        return None if state is None else str(state["model"])

    @property
    def possible(self) -> bool:
        """Whether there is an index, and the next is ours too: in anyone's store it would overwrite this."""
        standing = self._documents.index_state(VECTORS)
        return standing is not None and standing.get("store", CHROMA) == self._indexes.store.name == CHROMA

    def due(self) -> bool:
        """Whether the settings' model is not the one of the index that answers. Raises EmbeddingError."""
        standing = self._documents.index_state(VECTORS)
        if standing is None or not self.possible or self.begun is not None:
            return self.begun is not None
        return not same_model(standing, description(self._indexes.embedder, self._indexes.store))

    def needs(self, dimension: int | None = None) -> int:
        """Return about how many bytes another index takes beside this one until it is in its place."""
        standing = self._documents.index_state(VECTORS)
        numbers = dimension or (standing["dimension"] if standing else 0)
        count = len(self._documents.chunk_ids()) + len(self._trees.node_ids())
        return PER_INDEX + count * (int(numbers) * PER_NUMBER + PER_VECTOR)

    def build(
        self,
        cancelled: Cancel = never,
        *,
        anew: bool = False,
        alone: Callable[[], None] = lambda: None,
        grace: float = 0.0,
    ) -> Iterator[Rebuilt]:
        """Make the index, prove it, and let it answer from then on; with `anew` by the same model, too.

        `alone` is called before it does: it stops whoever writes into the index that goes. Questions that are
        searching that one have `grace` seconds. Raises Cancelled and EmbeddingError, after which it can be
        gone on with; DiskFull and IndexUnusable, after which it is gone. What answers stays as it is.
        """
        begun = self._begin(anew)
        if begun is None:
            return
        state, embedder = begun
        retired: list[Closeable] = []
        try:
            chunks, tree = self._indexes.stage(state["folder"], embedder)
            yield from self._fill(chunks, state, embedder, cancelled)
            yield from self._grow(tree, state, embedder, cancelled)
            yield from self._prove(chunks, embedder)
            alone()
            yield from self._fill(chunks, state, embedder, cancelled)  # what came while it was proven
            self._states.replace(VECTORS, NEXT)
            retired = self._indexes.exchange(embedder)
            time.sleep(grace)
        except (DiskFull, IndexUnusable):
            _close(self._indexes.unstage())
            self.drop()
            raise
        finally:
            _close([*retired, *self._indexes.unstage()])
            self._indexes.sweep()

    def drop(self) -> None:
        """Give up the index that was begun."""
        if self._documents.index_state(NEXT):
            self._documents.set_index_state(NEXT, None)
        self._indexes.sweep()

    def _begin(self, anew: bool) -> tuple[dict[str, Any], Embedder] | None:
        """Return the index to make, begun or gone on with, and its model; None where none is to be made."""
        standing = self._documents.index_state(VECTORS)
        embedder = self._open_embedder()
        wanted = description(embedder, self._indexes.store)
        begun = self._documents.index_state(NEXT)
        if begun is not None and not same_model(begun, wanted):
            self.drop()
            begun = None
        known = standing is None or not self.possible or (same_model(standing, wanted) and not anew)
        if begun is None and known:
            return None
        state = begun or {**wanted, "folder": fresh_folder()}
        if begun is None:
            self._refuse_if_too_large(embedder)
            self._documents.set_index_state(NEXT, state)
        self._indexes.reopen()
        return state, embedder

    def _refuse_if_too_large(self, embedder: Embedder) -> None:
        needed, free = self.needs(embedder.dimension), shutil.disk_usage(self._base).free
        if free < needed + RESERVE:
            raise DiskFull(
                f"Embedding with {embedder.name} needs about {needed / 1e6:,.0f} MB beside the present index "
                f"in {self._base}, and {free / 1e6:,.0f} MB are free. Nothing was changed: free some, then "
                "try again."
            )

    def _fill(
        self, index: ChromaVectorStore, state: dict[str, Any], embedder: Embedder, cancelled: Cancel
    ) -> Iterator[Rebuilt]:
        """Bring the index in step with the ledger, also with what comes and goes meanwhile."""
        while True:
            there, wanted = index.ids(), self._documents.chunk_ids()
            index.delete(sorted(there - self._documents.chunk_ids(searchable=False)))
            done, total = len(there & wanted), len(wanted)
            yield Rebuilt("embedding", done, total)
            if done == total:
                return
            for document_id in self._searchable():
                for count in self._embed(index, document_id, there, embedder):
                    self._go_on(state, cancelled)
                    done += count
                    yield Rebuilt("embedding", done, max(done, total))

    def _searchable(self) -> list[str]:
        return [record.id for record in reversed(self._documents.list()) if record.state in SEARCHABLE]

    def _embed(
        self, index: ChromaVectorStore, document_id: str, there: set[str], embedder: Embedder
    ) -> Iterator[int]:
        """Embed a document's chunks that are not there; yield how many, batch by batch."""
        try:
            chunks = [chunk for chunk in self._documents.chunks(document_id) if chunk.id not in there]
        except NotFound:  # removed meanwhile
            return
        texts = [index_text(chunk) for chunk in chunks]
        for positions, vectors in embedder.embed_batches(texts, batch=BATCH):
            batch = [chunks[position] for position in positions]
            yield 0  # may it still be written?
            index.add_vectors([c.id for c in batch], vectors, [{"document_id": c.document_id} for c in batch])
            yield len(batch)

    def _grow(
        self, index: ChromaVectorStore, state: dict[str, Any], embedder: Embedder, cancelled: Cancel
    ) -> Iterator[Rebuilt]:
        """Give the nodes of trees their vectors: the trees stand as they are."""
        wanted = self._trees.node_ids()
        there = index.ids()
        index.delete(sorted(there - wanted))
        nodes = list(self._trees.nodes_by_id(wanted - there).values())
        done = len(wanted) - len(nodes)
        for positions, vectors in embedder.embed_batches([node_text(n) for n in nodes], batch=BATCH):
            self._go_on(state, cancelled)
            batch = [nodes[position] for position in positions]
            origins = [{"document_id": node.document_id or "", "level": node.level} for node in batch]
            index.add_vectors([node.id for node in batch], vectors, origins)
            done += len(batch)
            yield Rebuilt("trees", done, len(wanted))

    def _go_on(self, state: dict[str, Any], cancelled: Cancel) -> None:
        """Raise Cancelled where it was stopped or given up, DiskFull before the disk is full for all."""
        if cancelled() or self._documents.index_state(NEXT) != state:
            raise Cancelled(_STOPPED)
        if shutil.disk_usage(self._base).free < RESERVE:
            raise DiskFull(
                f"{self._base} has less than {RESERVE >> 20} MB left, so the documents were not embedded "
                "anew. They are found as before: free some space, then try again."
            )

    def _prove(self, index: ChromaVectorStore, embedder: Embedder) -> Iterator[Rebuilt]:
        """Raise IndexUnusable where passages do not find themselves."""
        for proof in prove(index, self._documents, embedder):
            yield Rebuilt("proving", proof.done, proof.total)
        if proof.failed:
            raise IndexUnusable(
                f"The documents embedded with {embedder.name} do not find themselves: {proof.missed} of "
                f"{proof.total} passages were missed. They are found as before; try again, or choose another "
                "model."
            )


def _close(stores: Sequence[Closeable]) -> None:
    for store in stores:
        store.close()
