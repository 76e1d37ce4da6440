"""Any LangChain vector store as the app's index: it finds candidates; what is kept here tells the rest."""

import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import ArrayLike

from rag.errors import IndexUnusable, StoreFailed
from rag.index.columns import batches
from rag.index.filters import Filter, chosen_documents, documents_of
from rag.index.mmr import mmr
from rag.index.outside import OutsideStore
from rag.index.rows import Floats, VectorRows, distances
from rag.index.spec import StoreSpec
from rag.index.vector_index import Hydrate, VectorIndex

log = logging.getLogger(__name__)

LEAST, WIDEST = 50, 1000
"""Candidates asked for at first and at most; beyond that the kept vectors are compared one by one."""
SPARE = 20  # hits read beyond those wanted: a chunk that was just removed has no text any more
PROBES = 5  # chunks looked for in a store that cannot be asked for entries by id

Scored = list[tuple[Document, float]]


class ForeignVectorStore(VectorIndex):
    """The store that `spec` names, as an index over the chunks of one owner.

    Stores differ in scores, in filters, and in what outlives them. So the store is only asked which
    entries are near. Their vectors, kept in `directory`, tell how near, and fill a store that has lost
    them; `hydrate` gives the owner's texts, so nobody else's chunk is shown from a store that several share.
    Scores are cosine distances. Raises StoreFailed for what the store does not do, IndexUnusable for what
    is kept.
    """

    _hydrate: Hydrate

    def __init__(
        self, spec: StoreSpec, embeddings: Embeddings, *, directory: Path, owner: str, hydrate: Hydrate
    ):
        """`owner` is a folder's name: what "{owner}" stands for in the store's arguments."""
        self._embeddings = embeddings
        self._hydrate = hydrate
        with self._speaking("opened"):
            directory.mkdir(parents=True, exist_ok=True)
            self._kept = VectorRows(directory, "kept")
        try:
            self._store = OutsideStore(spec, embeddings, owner)
        except StoreFailed:
            self._kept.close()
            raise

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> "ForeignVectorStore":
        """Raise NotImplementedError: the store's own class makes one of texts."""
        raise NotImplementedError("Make a store of texts with its own class.")

    def refill(self) -> None:
        """Put back what the store has lost since it was last open, from the kept vectors."""
        lost = self._lost()
        if lost:
            log.warning("Putting %d vectors back into %s", len(lost), self._store.name)
        for batch in batches(lost):
            self._put(*self.rows_of(batch))

    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add what is embedded already; kept once the store has it, so what was cut off is done again."""
        rows = np.asarray(vectors, np.float32)
        self._put(ids, rows)
        with self._speaking("changed"):
            self._kept.put(ids, documents_of(metadatas), rows)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Remove entries, all of them without `ids`; unknown ids are no error."""
        for batch in batches(sorted(self.ids()) if ids is None else ids):
            self._store.remove(batch)
            with self._speaking("changed"):
                self._kept.delete(batch)
        return True

    def ids(self) -> set[str]:
        """Return the id of every chunk."""
        with self._speaking("read"):
            return self._kept.ids()

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        return set(self.vectors_of(ids))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return chunks in the order of their ids; those that are not there are left out."""
        found = self._hydrate(list(self.vectors_of(ids)))
        return [found[id_] for id_ in ids if id_ in found]

    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the `k` closest chunks with their distance; `filter` limits the search."""
        return self._closest(embedding, k, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, from a vector; the chunks' own are the kept ones."""
        found = {str(d.id): d for d, _ in self._closest(embedding, max(k, fetch_k), **kwargs)}
        there, vectors = self.rows_of(list(found))
        chosen = mmr(embedding, vectors, k=k, lambda_mult=lambda_mult)
        return [found[there[position]] for position in chosen]

    def close(self) -> None:
        """Let go of the kept vectors and, where it can be told to, of the store."""
        self._kept.close()
        self._store.close()

    def _closest(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> Scored:  # noqa: A002
        """Return the `k` closest chunks with their distance: of ever more candidates, then of all."""
        with self._speaking("read"):
            count = self._kept.count()
        asked = min(max(2 * k, LEAST), count)
        while 0 < asked <= WIDEST and k > 0:
            candidates = self._store.near(vector, asked)
            found = self._read(self._ranked(vector, candidates), k, filter)
            if len(found) == k or len(self.present(candidates)) == count:
                return found
            if asked == count:
                break
            asked = min(4 * asked, count)
        return self._read(self._all_ranked(vector, k, filter), k, filter) if k > 0 < count else []

    def _ranked(self, vector: Sequence[float], ids: Sequence[str]) -> list[tuple[str, float]]:
        """Return those of the ids that are the owner's with their distance, closest first."""
        mine, numbers = self.rows_of(ids)
        if not mine:
            return []
        found = distances(numbers, np.asarray(vector, np.float32), "cosine")
        return [(mine[row], float(found[row])) for row in np.argsort(found, kind="stable")]

    def _all_ranked(self, vector: Sequence[float], k: int, wanted: Filter | None) -> list[tuple[str, float]]:
        """Return the closest of all chunks, or of those of the documents that a filter chooses."""
        documents = chosen_documents(wanted)
        if documents is not None:
            with self._speaking("read"):
                nearest = self._kept.nearest(vector, k + SPARE, documents, "cosine")
            if nearest is not None:
                return nearest
        return self._ranked(vector, sorted(self.ids()))

    def _read(self, ranked: Sequence[tuple[str, float]], k: int, wanted: Filter | None) -> Scored:
        """Return the first `k` that have a text and fit the filter, reading no more texts than needed."""
        found: Scored = []
        for start in range(0, len(ranked), k + SPARE):
            part = ranked[start : start + k + SPARE]
            documents = self._hydrate([id_ for id_, _ in part])
            there = [(documents[id_], distance) for id_, distance in part if id_ in documents]
            found += [hit for hit in there if fits(hit[0].metadata, wanted)]
            if len(found) >= k:
                break
        return found[:k]

    def _put(self, ids: Sequence[str], vectors: Floats) -> None:
        """Add to the store what still has a text; a chunk removed meanwhile has none."""
        documents = self._hydrate(ids)
        there = [row for row, id_ in enumerate(ids) if id_ in documents]
        texts = [documents[ids[row]].page_content for row in there]
        self._store.put([ids[row] for row in there], texts, vectors[there])

    def _lost(self) -> list[str]:
        """Return the kept ids that the store does not hold; all where it cannot be asked and finds none."""
        kept = sorted(self.ids())
        held = self._store.held(kept)
        if held is None:
            probes = self.vectors_of(kept[:: len(kept) // PROBES + 1])
            return [] if any(map(self._finds, probes, probes.values())) else kept
        return [id_ for id_ in kept if id_ not in held]

    def _finds(self, id_: str, vector: Floats) -> bool:
        try:
            return id_ in self._store.near(vector.tolist(), min(LEAST, len(self.ids())))
        except StoreFailed as error:  # an empty store may refuse to be searched; adding tells what is wrong
            log.info("%s", error)
            return False

    def rows_of(self, ids: Sequence[str]) -> tuple[list[str], Floats]:
        """Return those of the ids that are there, in order, and their kept vectors [n, dimension]."""
        with self._speaking("read"):
            return self._kept.vectors(ids)

    @contextmanager
    def _speaking(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise IndexUnusable(f"The kept vectors could not be {done}: {error}.") from error


def fits(metadata: Mapping[str, Any], wanted: Filter | None) -> bool:
    """Return whether metadata have the values, or one of those listed, that a filter asks for.

    >>> fits({"document_id": "d", "page": 3}, {"document_id": {"$in": ["c", "d"]}, "page": 3})
    True
    """
    return all(_is(metadata.get(key), value) for key, value in (wanted or {}).items())


def _is(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if wanted.keys() != {"$in"}:
        raise ValueError(f"The filters of this store know values and $in, not {', '.join(wanted)}.")
    return value in wanted["$in"]
