"""Vector index interface, its retriever with scores, metadata filters, and maximal marginal relevance."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores import VectorStoreRetriever as LangChainRetriever
from numpy.typing import ArrayLike, NDArray
from pydantic import model_validator

from rag.errors import RetrievalError
from rag.i18n import N_
from rag.index.exact import RELEVANCE, Floats, Space, distances, evenly

SEARCH_TYPES = ("similarity", "similarity_score_threshold", "mmr")
# Self-check of an index: damage to its files is often silent.
SAMPLE = 50  # entries
NEAREST = 3  # hits among which each must find itself
MISSED = 0.1  # share of them that may be missed: a sound index finds nearly every one, a damaged one few
EQUAL = 1e-4  # distances and numbers that differ by less are of the same vector

SMALL, LARGE = 1e-30, 1e30  # squared lengths between which float arithmetic is exact enough
Scored = list[tuple[Document, float]]
Filter = Mapping[str, Any]
Hydrate = Callable[[Sequence[str]], Mapping[str, Document]]
NamesOf = Callable[[Sequence[str]], Mapping[str, str]]
Hits = list[tuple[str, float]]
AnyFloats = NDArray[np.floating[Any]]
Ranking = Sequence[tuple[str, float]]
Rate = Callable[[Sequence[str]], Mapping[str, float]]


class Candidates(NamedTuple):
    """Ids with scores, best first, and a function that scores other ids, as far as it can."""

    ranking: Ranking
    rate: Rate


def with_score(document: Document, score: float, id_: str | None = None) -> Document:
    """Return a copy of a document with its score in its metadata."""
    return Document(
        id=id_ or document.id,
        page_content=document.page_content,
        metadata={**document.metadata, "score": score},
    )


class VectorStoreRetriever(LangChainRetriever):
    """Retriever over any LangChain vector store: "similarity", "similarity_score_threshold" or "mmr".

    `search_kwargs` are the store's: `k`, `filter`, `score_threshold`, 0 to 1; for "mmr" `fetch_k` and
    `lambda_mult`. Each result's metadata has its relevance as "score", where the store gives it; "mmr" has
    none.
    """

    @model_validator(mode="before")
    @classmethod
    def validate_search_type(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Raise ValueError for an unknown search type or an invalid threshold."""
        search_type = values.get("search_type", "similarity")
        if search_type not in SEARCH_TYPES:
            raise ValueError(
                f"There is no search type {search_type!r}. Choose one of: {', '.join(SEARCH_TYPES)}."
            )
        threshold = (values.get("search_kwargs") or {}).get("score_threshold")
        valid = isinstance(threshold, int | float) and 0 <= threshold <= 1
        if search_type == "similarity_score_threshold" and not valid:
            raise ValueError(
                f"The score_threshold in search_kwargs is {threshold!r}. Give a number from 0 to 1."
            )
        return values

    def candidates(self, query: str) -> Candidates | None:
        """Return the ids of the best `k` with their relevance; None where the store gives only documents."""
        store, options = self.vectorstore, self.search_kwargs
        plain = self.search_type == "similarity" and options.keys() <= {"k", "filter"}
        if not plain or not isinstance(store, VectorIndex):
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
            return _with_scores(self._relevances(query, **options))
        except NotImplementedError as error:
            self._check_no_threshold(options, error)
        return self.vectorstore.similarity_search(query, **options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        if self.search_type == "mmr":
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **kwargs)
        options = self.search_kwargs | kwargs
        try:
            return _with_scores(await self._arelevances(query, **options))
        except NotImplementedError as error:
            self._check_no_threshold(options, error)
        return await self.vectorstore.asimilarity_search(query, **options)

    def _relevances(self, query: str, **options: Any) -> Scored:
        """Search, without LangChain's range check (it warns at every question) where no threshold is set."""
        if "score_threshold" in options:
            return self.vectorstore.similarity_search_with_relevance_scores(query, **options)
        return self.vectorstore._similarity_search_with_relevance_scores(query, **options)

    async def _arelevances(self, query: str, **options: Any) -> Scored:
        if "score_threshold" in options:
            return await self.vectorstore.asimilarity_search_with_relevance_scores(query, **options)
        return await self.vectorstore._asimilarity_search_with_relevance_scores(query, **options)

    def _check_no_threshold(self, options: dict[str, Any], error: NotImplementedError) -> None:
        """Raise RetrievalError for a threshold on a store without relevance scores."""
        if "score_threshold" in options:
            raise RetrievalError(
                N_(
                    "{name} does not tell how relevant its documents are, so none can be left out by "
                    "score_threshold. Search by similarity without it, or by mmr.",
                    name=type(self.vectorstore).__name__,
                )
            ) from error


def _with_scores(found: Scored) -> list[Document]:
    return [with_score(document, score) for document, score in found]


class Docstore(Mapping[str, Document]):
    """View of a vector index by id, as in LangChain's stores: `docstore.search(id)`, `docstore._dict`."""

    def __init__(self, index: "VectorIndex"):
        self._index = index

    def search(self, search: str) -> Document | str:
        """Return the document with this id, or a sentence that there is none."""
        return self.get(search, f"ID {search} not found.")

    @property
    def _dict(self) -> Mapping[str, Document]:
        return self

    def __getitem__(self, id_: str) -> Document:
        found = self._index.get_by_ids([id_])
        if not found:
            raise KeyError(id_)
        return found[0]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._index.ids()))

    def __len__(self) -> int:
        return len(self._index.ids())


class VectorIndex(VectorStore):
    """LangChain vector store that is kept in step with the ledger, chunk id by chunk id.

    Its searches take a `filter` of equal or listed values, ``{"document_id": {"$in": [...]}}``. Relevance
    scores are LangChain's for the space, or cut to 0 to 1 with `clamp_relevance`.
    """

    _embeddings: Embeddings
    _hydrate: Hydrate | None
    space: Space = "cosine"
    clamp_relevance: bool = False
    folder: str = ""
    """Name of its folder, for an index that has one."""

    def refresh(self) -> None:
        """Have searches see what other processes have written until now; raises IndexUnusable."""

    def close_writer(self) -> None:
        """Accept no more writes; searches that run go on."""

    @property
    def docstore(self) -> Docstore:
        """The documents by id."""
        return Docstore(self)

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model."""
        return self._embeddings

    @property
    def at_hand(self) -> bool:
        """True where it answers in milliseconds, from this process's memory."""
        return False

    @abstractmethod
    def nearest(self, vector: Sequence[float], k: int, **kwargs: Any) -> Hits:
        """Return at most `k` ids with their distance, closest first; `filter` limits the search."""

    @abstractmethod
    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the `k` closest documents with their distance from a vector: less is closer."""

    @abstractmethod
    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add vectors, float [n, dimension], replacing entries with the same id."""

    @abstractmethod
    def ids(self) -> set[str]:
        """Return the id of every entry."""

    def check(self) -> None:
        """Raise IndexUnusable where damage is found."""

    def finds(self, id_: str, vector: Sequence[float]) -> bool:
        """Return whether an entry is among the nearest of its vector, or all of those equal it."""
        hits = self.nearest(vector, NEAREST)
        return not any(vector) or id_ in {name for name, _ in hits} or bool(hits and hits[-1][1] < EQUAL)

    def sample(self) -> Sequence[str]:
        """Return the ids of SAMPLE entries, evenly spread."""
        return evenly(sorted(self.ids()), SAMPLE)

    @abstractmethod
    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""

    @abstractmethod
    def rows_of(self, ids: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return the existing ids in order, and their vectors [n, dimension]."""

    @abstractmethod
    def close(self) -> None:
        """Release files, connections and threads."""

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
        if self.clamp_relevance:
            return RELEVANCE[self.space]
        langchains: dict[Space, Callable[[float], float]] = {
            "cosine": self._cosine_relevance_score_fn,
            "l2": self._euclidean_relevance_score_fn,
            "ip": self._max_inner_product_relevance_score_fn,
        }
        return langchains[self.space]

    def read_by(self, hydrate: Hydrate) -> Self:
        """Return a read-only view of this index whose documents come from `hydrate`."""
        view = copy(self)
        view._hydrate = hydrate
        return view

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Return the vectors [dimension] of the existing ids, in their order."""
        return dict(zip(*self.rows_of(ids), strict=True))

    def ranked(self, vector: Sequence[float], k: int, chosen: Mapping[str, Any] | None = None) -> Hits:
        """Return at most `k` ids that a filter chooses with their relevance to a vector, best first."""
        hits = self.nearest(vector, k, filter=chosen)
        relevance = self._select_relevance_score_fn()
        return [(id_, relevance(distance)) for id_, distance in hits]

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, from a vector; the documents' vectors come from the index."""
        hits = [id_ for id_, _ in self.nearest(embedding, max(k, fetch_k), **kwargs)]
        there, vectors = self.rows_of(hits)
        chosen = mmr(embedding, vectors, k=k, lambda_mult=lambda_mult)
        return self.get_by_ids([there[position] for position in chosen])

    def relevances(self, vector: Sequence[float], ids: Sequence[str]) -> dict[str, float]:
        """Return the relevance of the existing ids to a vector."""
        there, rows = self.rows_of(ids)
        if not there:
            return {}
        far = distances(rows, np.asarray(vector, np.float32), self.space)
        relevance = self._select_relevance_score_fn()
        return {id_: relevance(float(distance)) for id_, distance in zip(there, far, strict=True)}

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Return a retriever over this index, whose results have a score; `kwargs` are the retriever's."""
        tags = kwargs.pop("tags", None) or self._get_retriever_tags()
        return VectorStoreRetriever(vectorstore=self, tags=tags, **kwargs)


def to_where(asked: Filter | None) -> dict[str, Any] | None:
    """Return a filter as Chroma's `where`, which takes one key at a time.

    >>> to_where({"page": 3, "document_id": "d"})
    {'$and': [{'page': 3}, {'document_id': 'd'}]}
    """
    if not asked:
        return None
    if len(asked) == 1:
        return dict(asked)
    return {"$and": [{key: value} for key, value in asked.items()]}


def excludes_all(asked: Filter | None) -> bool:
    """Return whether a filter has an empty list of values, which Chroma refuses."""
    return any(isinstance(value, Mapping) and value.get("$in") == [] for value in (asked or {}).values())


def chosen_documents(asked: Filter | None) -> list[str] | None:
    """Return the documents of a filter that limits nothing else, or None.

    >>> chosen_documents({"document_id": {"$in": ["a", "b"]}})
    ['a', 'b']
    >>> chosen_documents({"document_id": "a", "page": 3})
    """
    if asked is None or set(asked) != {"document_id"}:
        return None
    value = asked["document_id"]
    if isinstance(value, Mapping):
        value = value["$in"] if set(value) == {"$in"} else None
    documents = [value] if isinstance(value, str) else value
    if not isinstance(documents, list | tuple | set | frozenset):
        return None
    return list(documents) if all(isinstance(document, str) for document in documents) else None


def documents_of(metadatas: Iterable[Mapping[str, Any] | None]) -> list[str | None]:
    """Return the documents of entries by their metadata; None where it has none.

    >>> documents_of([{"document_id": "a", "page": 3}, {}, None])
    ['a', None, None]
    """
    named = [(metadata or {}).get("document_id") for metadata in metadatas]
    return [name if isinstance(name, str) else None for name in named]


def mmr(question: ArrayLike, vectors: ArrayLike, *, k: int, lambda_mult: float = 0.5) -> list[int]:
    """Return the positions of `k` vectors [n, d] by maximal marginal relevance, best first.

    The next has the highest lambda * cosine to the question [d] - (1 - lambda) * highest cosine to one chosen
    before (Carbonell and Goldstein, SIGIR 1998). Vectors without a direction have cosines of 0.

    >>> mmr([1, 0], [[1, 0], [0.9, 0.1], [0.6, -0.8]], k=2, lambda_mult=0.3)
    [0, 2]
    """
    given = np.atleast_2d(np.asarray(vectors))
    if given.size == 0:
        return []
    candidates = _unit(given if given.dtype == np.float32 else given.astype(np.float64))
    asked = _unit(np.asarray(question, np.float64)[None])[0].astype(candidates.dtype)
    relevance = lambda_mult * (candidates @ asked)
    scores, least = relevance, np.full(len(candidates), np.inf, candidates.dtype)
    chosen: list[int] = []
    for _ in range(min(k, len(candidates))):
        best = int(scores.argmax())
        chosen.append(best)
        if len(chosen) == k:
            break
        likeness = candidates @ candidates[best]  # to the chosen ones only: all pairs would take longer
        scores = np.minimum(least, relevance - (1 - lambda_mult) * likeness, out=least)
        scores[best] = -np.inf  # never chosen again
    return chosen


def _unit(vectors: AnyFloats) -> AnyFloats:
    """Return vectors [n, d] of length 1, or 0 where there is no direction, without overflow."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if squares.min() > SMALL and squares.max() < LARGE:  # the usual case; false for NaN
        return np.asarray(vectors / np.sqrt(squares)[:, None])
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0).astype(np.float64)
    scaled = finite / _above_zero(np.abs(finite).max(axis=1, keepdims=True))
    return (scaled / _above_zero(np.linalg.norm(scaled, axis=1, keepdims=True))).astype(vectors.dtype)


def _above_zero(lengths: AnyFloats) -> AnyFloats:
    return np.where(lengths > 0, lengths, 1.0)
