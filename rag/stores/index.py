"""What the app needs of a vector index beside LangChain's interface: chunks by id, vectors made elsewhere."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from numpy.typing import ArrayLike

from rag.retrievers.vector import VectorStoreRetriever

Hydrate = Callable[[Sequence[str]], Mapping[str, Document]]
Ranked = list[tuple[str, float]]


class VectorIndex(VectorStore):
    """A LangChain vector store that is kept in step with the ledger, chunk id by chunk id.

    Its searches take a `filter` of equal or listed values, ``{"document_id": {"$in": [...]}}``, and its
    relevance scores are the cosine, cut at 0. Raises RetrievalError for what it cannot do.
    """

    _hydrate: Hydrate | None

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
    def vectors_of(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Return the vectors, float [dimension], of those of the ids that are there."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files, connections and threads."""

    def read_by(self, hydrate: Hydrate) -> Self:
        """Return a view of this index, to search only: its hits are what `hydrate` makes of their ids."""
        view = copy(self)
        view._hydrate = hydrate
        return view

    def ranked(
        self, question: str, k: int, label: Hydrate, chosen: Mapping[str, Any] | None = None
    ) -> Ranked:
        """Return at most `k` ids that a filter chooses with their relevance, best first.

        `label` knows those that count, and gives a filter what it looks at.
        """
        limits = {} if chosen is None else {"filter": chosen}
        found = self.read_by(label)._similarity_search_with_relevance_scores(question, k=k, **limits)
        return [(str(document.id), score) for document, score in found]

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Return our retriever over this index, whose results tell their relevance; `kwargs` are its own."""
        tags = kwargs.pop("tags", None) or self._get_retriever_tags()
        return VectorStoreRetriever(vectorstore=self, tags=tags, **kwargs)
