"""Retrievers by name, and the boost of documents whose file name a question mentions."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from math import fsum, log
from pathlib import PurePath
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import SettingsError
from rag.i18n import N_
from rag.index.lexical import LexicalIndex
from rag.index.vector_index import Candidates, Hydrate, NamesOf, VectorIndex, VectorStoreRetriever
from rag.retrieval.bm25 import BM25Retriever
from rag.retrieval.ensemble import EnsembleRetriever, log_failure
from rag.retrieval.weights import NORMALISERS, POOL, HybridWeights
from rag.text.tokenize import tokens

NAMES = ("ensemble-cc", "ensemble-rrf", "similarity", "similarity_score_threshold", "mmr", "bm25")
OnFailure = Callable[[str, Exception], None]
TIMEOUT = 10.0  # seconds that each half of a search may take
WEIGHT = 0.1
"""Boost of a full file-name match ("in the Q3 2023 report", `2023 Q3.pdf`), as a share of the best score:
more than the difference between two passages that say the same, less than that between one that answers and
one that does not."""


def boost_by_name(
    question: str, scores: Mapping[str, float], names: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Boost passages whose document's name shares words with the question; return scores and name matches.

    >>> boost_by_name("Sales in 2023?", {"a": 0.9, "b": 0.85}, {"a": "2022.pdf", "b": "2023.pdf"})
    ({'b': 0.94, 'a': 0.9}, {'2022.pdf': 0.0, '2023.pdf': 1.0})
    """
    matches = name_matches(question, sorted(set(names.values())))
    if not any(matches.values()):  # the usual case
        return dict(scores), matches
    full = WEIGHT * max(0.0, max(scores.values(), default=0.0))
    sums = {id_: score + full * matches.get(names.get(id_, ""), 0.0) for id_, score in scores.items()}
    return dict(sorted(sums.items(), key=lambda item: -item[1])), matches


def name_matches(question: str, names: Collection[str]) -> dict[str, float]:
    """Return each file name's share, 0 to 1, of the question's words that occur in any file name.

    A word weighs log(1 + n / (0.5 + names that have it)), n being the number of names.

    >>> name_matches("Sales in Q3 2023?", ["2023 Q3.pdf", "2022 Q3.pdf", "2022 Q1.pdf"])
    {'2023 Q3.pdf': 1.0, '2022 Q3.pdf': 0.42, '2022 Q1.pdf': 0.0}
    """
    asked = frozenset(tokens(question))
    shared = {name: sorted(asked & _words(name)) for name in names if not asked.isdisjoint(_words(name))}
    among = Counter(word for words in shared.values() for word in words)
    weight = {word: log(1 + len(names) / (0.5 + number)) for word, number in among.items()}
    total = fsum(weight.values())
    matches = {name: round(fsum(weight[word] for word in words) / total, 2) for name, words in shared.items()}
    return dict.fromkeys(names, 0.0) | matches


@lru_cache(maxsize=10_000)
def _words(name: str) -> frozenset[str]:
    """Return the words of a file name, cached since every question asks for the same names."""
    return frozenset(tokens(PurePath(name).stem.replace("_", " ")))


class LazyRetriever(BaseRetriever):
    """Vector store retriever opened at its first search, where a failure to open is a failed search."""

    open: Callable[[], VectorStoreRetriever]

    def candidates(self, query: str) -> Candidates | None:
        """Return the ids of the best matches with their relevance."""
        return self.open().candidates(query)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self.open().invoke(query, config={"callbacks": run_manager.get_child()}, **kwargs)


@dataclass(frozen=True)
class SearchParts:
    """Indexes and readers of retrievers over the chosen documents, or over all.

    `vectors` and `mixture` are called during a search; `near_at_hand` tells whether vectors answer in
    milliseconds. `hydrate` gives documents by id, `label` the same without text, `names` only their names.
    """

    words: LexicalIndex
    vectors: Callable[[], VectorIndex]
    hydrate: Hydrate
    label: Hydrate
    names: NamesOf
    document_ids: Collection[str] | None = None
    mixture: Callable[[], HybridWeights] = HybridWeights
    near_at_hand: Callable[[], bool] = lambda: False

    def bm25(self, k: int) -> BM25Retriever:
        """Return the BM25 retriever."""
        return BM25Retriever(index=self.words, hydrate=self.hydrate, k=k, document_ids=self.document_ids)

    def vector(self, search_type: str, read: Hydrate, **search: Any) -> LazyRetriever:
        """Return a vector retriever whose documents come from `read`."""
        if self.document_ids is not None:
            search["filter"] = {"document_id": {"$in": list(self.document_ids)}}
        options = {"search_type": search_type, "search_kwargs": search}
        return LazyRetriever(
            open=lambda: VectorStoreRetriever(vectorstore=self.vectors().read_by(read), **options)
        )

    def ensemble(self, k: int, on_failure: OnFailure | None, **fusing: Any) -> EnsembleRetriever:
        """Return both, fused."""
        return EnsembleRetriever(
            retrievers={"similarity": self.vector("similarity", self.label, k=POOL), "bm25": self.bm25(POOL)},
            # The slower first in the calling thread, unless it may have to wait.
            inline=lambda: ("similarity", "bm25") if self.near_at_hand() else ("bm25",),
            names=self.names,
            hydrate=self.hydrate,
            k=k,
            timeout=TIMEOUT,
            on_failure=on_failure or log_failure,
            **fusing,
        )


@dataclass(frozen=True)
class SearchOptions:
    """Least relevance for "similarity_score_threshold"; candidates and weight of relevance for "mmr"."""

    score_threshold: float = 0.8
    mmr_fetch_k: int = POOL
    mmr_lambda_mult: float = 0.5


USUAL = SearchOptions()


def choose_retriever(
    name: str,
    parts: SearchParts,
    *,
    k: int,
    on_failure: OnFailure | None = None,
    options: SearchOptions = USUAL,
) -> BaseRetriever:
    """Return the retriever called `name`, giving `k` passages; raises SettingsError for an unknown name."""
    match name:
        case "bm25":
            return parts.bm25(k)
        case "similarity":
            return parts.vector("similarity", parts.hydrate, k=k)
        case "similarity_score_threshold":
            return parts.vector(name, parts.hydrate, k=k, score_threshold=options.score_threshold)
        case "mmr":
            fetch_k, weight = max(k, options.mmr_fetch_k), options.mmr_lambda_mult
            return parts.vector("mmr", parts.hydrate, k=k, fetch_k=fetch_k, lambda_mult=weight)
        case "ensemble-cc":
            return parts.ensemble(
                k, on_failure, method="cc", boost=boost_by_name, **_calibrated(parts.mixture)
            )
        case "ensemble-rrf":
            return parts.ensemble(k, on_failure, method="rrf")
    raise SettingsError(
        N_("There is no retriever {name}. Choose one of: {names}.", name=repr(name), names=", ".join(NAMES))
    )


def _calibrated(mixture: Callable[[], HybridWeights]) -> dict[str, Any]:
    """Return weights and normalisers of an ensemble by a mixture that is loaded at the first search."""
    loaded = cache(mixture)
    return {
        "weights": lambda question: loaded().weights_for(question),
        "normalisers": dict.fromkeys(
            ("similarity", "bm25"), lambda scores: NORMALISERS[loaded().normaliser](scores)
        ),
    }
