"""What the app needs of a vector index beside LangChain's interface: chunks by id, vectors made elsewhere."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from numpy.typing import ArrayLike

from rag.index.relevance import RELEVANCE, Space
from rag.index.rows import Floats, distances
from rag.index.vector import VectorStoreRetriever

Hydrate = Callable[[Sequence[str]], Mapping[str, Document]]
NamesOf = Callable[[Sequence[str]], Mapping[str, str]]
Ranked = list[tuple[str, float]]


class VectorIndex(VectorStore):
    """A LangChain vector store that is kept in step with the ledger, chunk id by chunk id.

    Its searches take a `filter` of equal or listed values, ``{"document_id": {"$in": [...]}}``, and its
    relevance scores are the cosine, cut at 0. Raises RetrievalError for what it cannot do.
    """

    _embeddings: Embeddings
    _hydrate: Hydrate | None
    space: Space = "cosine"

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model."""
        return self._embeddings

    @property
    def at_hand(self) -> bool:
        """Whether it answers in milliseconds: from this process's memory, with nobody to wait for."""
        return False

    @abstractmethod
    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the `k` closest documents with their distance from a vector: less is closer."""

    @abstractmethod
    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add what is embedded already, float [n, dimension], replacing entries with the same id."""

    @abstractmethod
    def ids(self) -> set[str]:
        """Return the id of every entry."""

    def check(self) -> None:
        """Raise IndexUnusable where it is damaged, as far as it can tell."""

    @abstractmethod
    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""

    @abstractmethod
    def rows_of(self, ids: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return those of the ids that are there, in order, and their vectors [n, dimension]."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files, connections and threads."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the `k` documents closest to a question; `kwargs` limit the search."""
        return self.similarity_search_by_vector(self._embeddings.embed_query(query), k, **kwargs)

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their distance from a question."""
        return self.similarity_search_by_vector_with_score(self._embeddings.embed_query(query), k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the `k` documents closest to a vector."""
        return [found for found, _ in self.similarity_search_by_vector_with_score(embedding, k, **kwargs)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return `k` of the `fetch_k` closest documents that fit the question and differ; see `mmr`."""
        vector = self._embeddings.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return RELEVANCE[self.space]

    def read_by(self, hydrate: Hydrate) -> Self:
        """Return a view of this index, to search only: its hits are what `hydrate` makes of their ids."""
        view = copy(self)
        view._hydrate = hydrate
        return view

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Return the vectors [dimension] of those of the ids that are there, in their order."""
        return dict(zip(*self.rows_of(ids), strict=True))

    def ranked(self, vector: Sequence[float], k: int, chosen: Mapping[str, Any] | None = None) -> Ranked:
        """Return at most `k` ids that a filter chooses with their relevance to a vector, best first."""
        limits = {} if chosen is None else {"filter": chosen}
        found = self.similarity_search_by_vector_with_score(vector, k, **limits)
        return [(str(document.id), RELEVANCE[self.space](distance)) for document, distance in found]

    def relevances(self, vector: Sequence[float], ids: Sequence[str]) -> dict[str, float]:
        """Return the relevance to a vector of those of the ids that are there."""
        there, rows = self.rows_of(ids)
        if not there:
            return {}
        far = distances(rows, np.asarray(vector, np.float32), self.space)
        return {id_: RELEVANCE[self.space](float(distance)) for id_, distance in zip(there, far, strict=True)}

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Return our retriever over this index, whose results tell their relevance; `kwargs` are its own."""
        tags = kwargs.pop("tags", None) or self._get_retriever_tags()
        return VectorStoreRetriever(vectorstore=self, tags=tags, **kwargs)
