"""The retrievers by the names people choose them by."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import SettingsError
from rag.index.bm25 import LexicalIndex
from rag.index.vector import VectorStoreRetriever
from rag.index.vector_index import Hydrate, NamesOf, VectorIndex
from rag.retrieval.bm25 import BM25Retriever
from rag.retrieval.ensemble import Candidates, EnsembleRetriever
from rag.retrieval.named import raised
from rag.retrieval.weights import NORMALISERS, POOL, Mixture

NAMES = ("ensemble-cc", "ensemble-rrf", "similarity", "mmr", "bm25")

Failed = Callable[[str, Exception], None]


class LateRetriever(BaseRetriever):
    """Vector store retriever opened when it is first asked, so that failing to open is failing to answer."""

    open: Callable[[], VectorStoreRetriever]

    def candidates(self, query: str) -> Candidates | None:
        """Return the ids of what fits best with their relevance."""
        return self.open().candidates(query)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self.open().invoke(query, config={"callbacks": run_manager.get_child()}, **kwargs)


def choose_retriever(
    name: str,
    *,
    k: int,
    words: LexicalIndex,
    vectors: Callable[[], VectorIndex],
    hydrate: Hydrate,
    label: Hydrate,
    names: NamesOf,
    document_ids: Collection[str] | None = None,
    mixture: Callable[[], Mixture] = Mixture,
    near_at_hand: Callable[[], bool] = lambda: False,
    on_failure: Failed | None = None,
) -> BaseRetriever:
    """Return the retriever called `name`, giving `k` passages of the chosen documents, or of all.

    `vectors` is called when a question first needs it, and `near_at_hand` tells whether they answer in
    milliseconds; `mixture`, called while one is searched for, how "ensemble-cc" weighs words and meaning.
    `hydrate` gives documents by id, `label` the same without text, `names` only what they are called: an
    ensemble orders many and reads few. Raises SettingsError for another name.
    """
    halves = _Halves(words, vectors, near_at_hand, hydrate, label, names, document_ids)
    match name:
        case "bm25":
            return halves.by_words(k)
        case "similarity":
            return halves.by_meaning("similarity", hydrate, k=k)
        case "mmr":
            return halves.by_meaning("mmr", hydrate, k=k, fetch_k=POOL)
        case "ensemble-cc":
            mixed = _Mixed(mixture)
            return halves.both(
                k,
                on_failure,
                weights=mixed.weights_for,
                normalisers=dict.fromkeys(("similarity", "bm25"), mixed.normalise),
                boost=raised,
            )
        case "ensemble-rrf":
            return halves.both(k, on_failure, fusion="rrf")
    raise SettingsError(f"There is no retriever {name!r}. Choose one of: {', '.join(NAMES)}.")


class _Mixed:
    """A mixture that is opened when it is first needed, and once."""

    def __init__(self, open_mixture: Callable[[], Mixture]):
        self._open = open_mixture

    @cached_property
    def _mixture(self) -> Mixture:
        return self._open()

    def weights_for(self, question: str) -> Mapping[str, float]:
        return self._mixture.weights_for(question)

    def normalise(self, scores: Sequence[float]) -> list[float]:
        return NORMALISERS[self._mixture.normaliser](scores)


@dataclass(frozen=True)
class _Halves:
    """Search by words and search by meaning, over the chosen documents or all."""

    words: LexicalIndex
    vectors: Callable[[], VectorIndex]
    near_at_hand: Callable[[], bool]
    hydrate: Hydrate
    label: Hydrate
    names: NamesOf
    document_ids: Collection[str] | None

    def both(self, k: int, on_failure: Failed | None, **fusing: Any) -> EnsembleRetriever:
        """Return both at once."""
        near = self.by_meaning("similarity", self.label, k=POOL)
        return EnsembleRetriever(
            retrievers={"similarity": near, "bm25": self.by_words(POOL)},
            inline=self.inline,
            names=self.names,
            hydrate=self.hydrate,
            k=k,
            on_failure=on_failure,
            **fusing,
        )

    def inline(self) -> Sequence[str]:
        """Name the halves for the calling thread: the longer one first, unless it may keep one waiting."""
        return ("similarity", "bm25") if self.near_at_hand() else ("bm25",)

    def by_words(self, k: int) -> BM25Retriever:
        return BM25Retriever(index=self.words, hydrate=self.hydrate, k=k, document_ids=self.document_ids)

    def by_meaning(self, search_type: str, hydrate: Hydrate, **search: Any) -> LateRetriever:
        if self.document_ids is not None:
            search["filter"] = {"document_id": {"$in": list(self.document_ids)}}
        return LateRetriever(
            open=lambda: VectorStoreRetriever(
                vectorstore=self.vectors().read_by(hydrate),
                search_type=search_type,
                search_kwargs=search,
            )
        )
