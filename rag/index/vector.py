"""LangChain's vector store retriever, with what fusion and evidence need: the score of each document."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStoreRetriever as LangChainRetriever
from pydantic import model_validator

from rag.errors import RetrievalError
from rag.index.candidates import Candidates, scored

SEARCH_TYPES = ("similarity", "similarity_score_threshold", "mmr")

Scored = list[tuple[Document, float]]


@runtime_checkable
class RankedStore(Protocol):
    """Vector store that tells relevances by id, without reading documents."""

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model."""

    def ranked(
        self, vector: Sequence[float], k: int, chosen: Mapping[str, Any] | None = None
    ) -> list[tuple[str, float]]:
        """Return at most `k` ids with their relevance to a vector, best first."""

    def relevances(self, vector: Sequence[float], ids: Sequence[str]) -> Mapping[str, float]:
        """Return the relevance to a vector of those of the ids that are there."""


class VectorStoreRetriever(LangChainRetriever):
    """Finds documents in any LangChain vector store by "similarity", "similarity_score_threshold" or "mmr".

    `search_kwargs` are the store's: `k`, `filter`; for "mmr" `fetch_k` and `lambda_mult`. With a
    `score_threshold`, from 0 to 1, what is less relevant is left out. Each result's metadata has its
    relevance as "score", where the store tells it; results of "mmr" have none, since what places them
    is how much they differ from those before.
    """

    @model_validator(mode="before")
    @classmethod
    def validate_search_type(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Refuse a search type that there is not, and a threshold that is none, with ValueError."""
        search_type = values.get("search_type", "similarity")
        if search_type not in SEARCH_TYPES:
            raise ValueError(
                f"There is no search type {search_type!r}. Choose one of: {', '.join(SEARCH_TYPES)}."
            )
        threshold = (values.get("search_kwargs") or {}).get("score_threshold")
        if search_type == "similarity_score_threshold" and not _is_relevance(threshold):
            raise ValueError(
                f"The score_threshold in search_kwargs is {threshold!r}. Give a number from 0 to 1."
            )
        return values

    def candidates(self, query: str) -> Candidates | None:
        """Return the ids of the best `k` with their relevance; None where the store has only documents."""
        store, options = self.vectorstore, self.search_kwargs
        plain = self.search_type == "similarity" and options.keys() <= {"k", "filter"}
        if not plain or not isinstance(store, RankedStore):
            return None
        vector = store.embeddings.embed_query(query)
        hits = store.ranked(vector, options.get("k", 4), options.get("filter"))
        return Candidates(hits, partial(store.relevances, vector))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        if self.search_type == "mmr":
            return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)
        options = self.search_kwargs | kwargs
        try:
            return _scored(self._relevances(query, **options))
        except NotImplementedError as error:
            self._needs_no_scores(options, error)
        return self.vectorstore.similarity_search(query, **options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        if self.search_type == "mmr":
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **kwargs)
        options = self.search_kwargs | kwargs
        try:
            return _scored(await self._arelevances(query, **options))
        except NotImplementedError as error:
            self._needs_no_scores(options, error)
        return await self.vectorstore.asimilarity_search(query, **options)

    def _relevances(self, query: str, **options: Any) -> Scored:
        """Ask the store past its check of the scores where none is cut off: it warns at every question."""
        if "score_threshold" in options:
            return self.vectorstore.similarity_search_with_relevance_scores(query, **options)
        return self.vectorstore._similarity_search_with_relevance_scores(query, **options)

    async def _arelevances(self, query: str, **options: Any) -> Scored:
        if "score_threshold" in options:
            return await self.vectorstore.asimilarity_search_with_relevance_scores(query, **options)
        return await self.vectorstore._asimilarity_search_with_relevance_scores(query, **options)

    def _needs_no_scores(self, options: dict[str, Any], error: NotImplementedError) -> None:
        """Raise RetrievalError when a threshold was asked of a store that tells no relevance."""
        if "score_threshold" in options:
            raise RetrievalError(
                f"{type(self.vectorstore).__name__} does not tell how relevant its documents are, so none "
                "can be left out by score_threshold. Search by similarity without it, or by mmr."
            ) from error


def _scored(found: Scored) -> list[Document]:
    return [scored(document, score) for document, score in found]


def _is_relevance(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
