"""The retrievers by the names people choose them by."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from rag.errors import SettingsError
from rag.retrievers.bm25 import BM25Retriever
from rag.retrievers.ensemble import EnsembleRetriever
from rag.retrievers.fusion import theoretical_min_max
from rag.retrievers.named import NamedFirst
from rag.retrievers.vector import VectorStoreRetriever
from rag.stores.lexical import LexicalIndex

NAMES = ("ensemble-cc", "ensemble-rrf", "similarity", "mmr", "bm25")
POOL = 50  # candidates that each half gives to the fusion, and that MMR chooses from
WEIGHTS = {"bm25": 0.2, "similarity": 0.8}
# e5's cosines, which are its relevances, lie in .7-1: from 0 they would all look alike. Over XQuAD-en,
# KorQuAD and JaQuAD this pair is at most .006 nDCG@10 below the best one of each set.
NORMALISERS = {"bm25": theoretical_min_max(0.0), "similarity": theoretical_min_max(0.5)}


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
    on_failure: Callable[[str, Exception], None] | None = None,
) -> BaseRetriever:
    """Return the retriever called `name`, giving `k` passages of the chosen documents, or of all.

    `vectors` is called when a question first needs it. Raises SettingsError for another name.
    """
    chosen = None if document_ids is None else {"document_id": {"$in": list(document_ids)}}

    def by_words(count: int) -> BaseRetriever:
        return BM25Retriever(index=words, hydrate=hydrate, k=count, document_ids=document_ids)

    def by_meaning(search_type: str, **search: Any) -> BaseRetriever:
        kwargs = search if chosen is None else {**search, "filter": chosen}
        return LateRetriever(
            open=lambda: VectorStoreRetriever(
                vectorstore=vectors(), search_type=search_type, search_kwargs=kwargs
            )
        )

    match name:
        case "bm25":
            return by_words(k)
        case "similarity":
            return by_meaning("similarity", k=k)
        case "mmr":
            return by_meaning("mmr", k=k, fetch_k=POOL)
        case "ensemble-cc":
            fused = EnsembleRetriever(
                retrievers={"bm25": by_words(POOL), "similarity": by_meaning("similarity", k=POOL)},
                weights=WEIGHTS,
                normalisers=NORMALISERS,
                k=2 * POOL,
                on_failure=on_failure,
            )
            return NamedFirst(retriever=fused, k=k)
        case "ensemble-rrf":
            return EnsembleRetriever(
                retrievers={"bm25": by_words(POOL), "similarity": by_meaning("similarity", k=POOL)},
                fusion="rrf",
                k=k,
                on_failure=on_failure,
            )
    raise SettingsError(f"There is no retriever {name!r}. Choose one of: {', '.join(NAMES)}.")
