"""The retrievers by the names people choose them by."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import SettingsError
from rag.retrievers.bm25 import BM25Retriever
from rag.retrievers.ensemble import EnsembleRetriever
from rag.retrievers.mixture import NORMALISERS, POOL, Mixture
from rag.retrievers.named import NamedFirst
from rag.retrievers.reading import ReadLast
from rag.retrievers.vector import VectorStoreRetriever
from rag.stores.index import Hydrate, VectorIndex
from rag.stores.lexical import LexicalIndex

NAMES = ("ensemble-cc", "ensemble-rrf", "similarity", "mmr", "bm25")

Failed = Callable[[str, Exception], None]


class LateRetriever(BaseRetriever):
    """A retriever opened when it is first asked, so that failing to open is failing to answer."""

    open: Callable[[], BaseRetriever]

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
    document_ids: Collection[str] | None = None,
    mixture: Mixture | None = None,
    on_failure: Failed | None = None,
) -> BaseRetriever:
    """Return the retriever called `name`, giving `k` passages of the chosen documents, or of all.

    `vectors` is called when a question first needs it; `mixture` is how "ensemble-cc" weighs words and
    meaning. `hydrate` gives documents by id, `label` the same without text, of which an ensemble orders
    many and reads few. Raises SettingsError for another name.
    """
    halves = _Halves(words, vectors, hydrate, label, document_ids)
    match name:
        case "bm25":
            return halves.by_words(k)
        case "similarity":
            return halves.by_meaning("similarity", k=k)
        case "mmr":
            return halves.by_meaning("mmr", k=k, fetch_k=POOL)
        case "ensemble-cc":
            fused = _convex(halves, mixture or Mixture(), on_failure)
            return ReadLast(retriever=NamedFirst(retriever=fused, k=2 * POOL), hydrate=hydrate, k=k)
        case "ensemble-rrf":
            return ReadLast(retriever=_by_ranks(halves, on_failure), hydrate=hydrate, k=k)
    raise SettingsError(f"There is no retriever {name!r}. Choose one of: {', '.join(NAMES)}.")


def _convex(halves: "_Halves", mixture: Mixture, on_failure: Failed | None) -> EnsembleRetriever:
    both = halves.both()
    return EnsembleRetriever(
        retrievers=both,
        weights=mixture.weights_for,
        normalisers=dict.fromkeys(both, NORMALISERS[mixture.normaliser]),
        k=2 * POOL,
        on_failure=on_failure,
    )


def _by_ranks(halves: "_Halves", on_failure: Failed | None) -> EnsembleRetriever:
    return EnsembleRetriever(retrievers=halves.both(), fusion="rrf", k=2 * POOL, on_failure=on_failure)


@dataclass(frozen=True)
class _Halves:
    """Search by words and search by meaning, over the chosen documents or all."""

    words: LexicalIndex
    vectors: Callable[[], VectorIndex]
    hydrate: Hydrate
    label: Hydrate
    document_ids: Collection[str] | None

    def both(self) -> dict[str, BaseRetriever]:
        """Return both halves, their candidates labelled only, the slower one first, to begin first."""
        labelled = replace(self, hydrate=self.label)
        return {
            "similarity": labelled.by_meaning("similarity", k=POOL),
            "bm25": labelled.by_words(POOL),
        }

    def by_words(self, k: int) -> BM25Retriever:
        return BM25Retriever(index=self.words, hydrate=self.hydrate, k=k, document_ids=self.document_ids)

    def by_meaning(self, search_type: str, **search: Any) -> LateRetriever:
        if self.document_ids is not None:
            search["filter"] = {"document_id": {"$in": list(self.document_ids)}}
        return LateRetriever(
            open=lambda: VectorStoreRetriever(
                vectorstore=self.vectors().read_by(self.hydrate),
                search_type=search_type,
                search_kwargs=search,
            )
        )
