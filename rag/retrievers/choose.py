"""The retrievers by the names people choose them by."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from rag.errors import SettingsError
from rag.retrievers.bm25 import BM25Retriever
from rag.retrievers.ensemble import EnsembleRetriever
from rag.retrievers.mixture import NORMALISERS, POOL, Mixture
from rag.retrievers.named import NamedFirst
from rag.retrievers.vector import VectorStoreRetriever
from rag.stores.lexical import LexicalIndex

NAMES = ("ensemble-cc", "ensemble-rrf", "similarity", "mmr", "bm25")

Failed = Callable[[str, Exception], None]


class LateRetriever(BaseRetriever):
    """A retriever opened when it is first asked, so that failing to open is failing to answer."""

    open: Callable[[], BaseRetriever]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.open().invoke(query, config={"callbacks": run_manager.get_child()})


def choose_retriever(
    name: str,
    *,
    k: int,
    words: LexicalIndex,
    vectors: Callable[[], VectorStore],
    hydrate: Callable[[Sequence[str]], dict[str, Document]],
    document_ids: Collection[str] | None = None,
    mixture: Mixture | None = None,
    on_failure: Failed | None = None,
) -> BaseRetriever:
    """Return the retriever called `name`, giving `k` passages of the chosen documents, or of all.

    `vectors` is called when a question first needs it; `mixture` is how "ensemble-cc" weighs words and
    meaning. Raises SettingsError for another name.
    """
    halves = _Halves(words, vectors, hydrate, document_ids)
    match name:
        case "bm25":
            return halves.by_words(k)
        case "similarity":
            return halves.by_meaning("similarity", k=k)
        case "mmr":
            return halves.by_meaning("mmr", k=k, fetch_k=POOL)
        case "ensemble-cc":
            return NamedFirst(retriever=_convex(halves, mixture or Mixture(), on_failure), k=k)
        case "ensemble-rrf":
            return EnsembleRetriever(retrievers=halves.both(), fusion="rrf", k=k, on_failure=on_failure)
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


@dataclass(frozen=True)
class _Halves:
    """Search by words and search by meaning, over the chosen documents or all."""

    words: LexicalIndex
    vectors: Callable[[], VectorStore]
    hydrate: Callable[[Sequence[str]], dict[str, Document]]
    document_ids: Collection[str] | None

    def both(self) -> dict[str, BaseRetriever]:
        return {"bm25": self.by_words(POOL), "similarity": self.by_meaning("similarity", k=POOL)}

    def by_words(self, k: int) -> BM25Retriever:
        return BM25Retriever(index=self.words, hydrate=self.hydrate, k=k, document_ids=self.document_ids)

    def by_meaning(self, search_type: str, **search: Any) -> LateRetriever:
        if self.document_ids is not None:
            search["filter"] = {"document_id": {"$in": list(self.document_ids)}}
        return LateRetriever(
            open=lambda: VectorStoreRetriever(
                vectorstore=self.vectors(), search_type=search_type, search_kwargs=search
            )
        )
