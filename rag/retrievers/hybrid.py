"""Search by words and by meaning at once, fused by id; only what is given in the end becomes documents."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.retrievers.asking import answered, ask
from rag.retrievers.fusion import (
    Normaliser,
    Ranking,
    convex_combination,
    distinct,
    normalised,
    rrf,
    theoretical_min_max,
)
from rag.retrievers.named import raised
from rag.retrievers.reading import read
from rag.stores.index import Hydrate, NamesOf

Half = Callable[[str], Ranking]
Names = Mapping[str, str]


class HybridRetriever(BaseRetriever):
    """An EnsembleRetriever over searches that are functions, from a question to ids with scores.

    `names` tells by id what each candidate's document is called: those it does not know are none. With
    `weights`, a function of the question, scores are combined, and raised where the question names a
    document; without, reciprocal ranks. The best `k` are read by `hydrate`. The half that `here` names is
    asked in the calling thread: one made for the longest would begin on a cold core. What fails, takes
    longer than `timeout` seconds, or is gone, is treated as there.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    halves: Mapping[str, Half]
    names: NamesOf
    hydrate: Hydrate
    weights: Callable[[str], Mapping[str, float]] | None = None
    normaliser: Normaliser = theoretical_min_max(0.0)
    here: Callable[[], str | None] = lambda: None
    k: int = 4
    timeout: float = 10.0
    on_failure: Callable[[str, Exception], None] | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the halves are no runs of their own
        k: int | None = None,
    ) -> list[Document]:
        weigh = cache(partial(self.weights, query)) if self.weights else None
        searches = {name: partial(self._find, half, query, weigh) for name, half in self.halves.items()}
        found = answered(ask(searches, self.timeout, here=self.here()), self.on_failure)
        rankings = {name: half.hits for name, half in found.items()}
        names = dict(pair for half in found.values() for pair in half.names.items())
        scores, matches = self._fuse(query, rankings, names, weigh() if weigh else None)
        told = _Findings(rankings, self.normaliser)
        return [
            _result(document, scores[str(document.id)], told.of(str(document.id), names, matches))
            for document in read(list(scores), self.k if k is None else k, self.hydrate)
        ]

    def _find(self, half: Half, query: str, weigh: Callable[[], object] | None) -> "_Found":
        """Return what a half finds and what the ledger says of it; the first to find anything weighs, too."""
        hits = half(query)
        names = self.names([id_ for id_, _ in hits])
        if weigh:
            weigh()
        return _Found([hit for hit in hits if hit[0] in names], names)

    def _fuse(
        self, query: str, rankings: Mapping[str, Ranking], names: Names, weights: Mapping[str, float] | None
    ) -> tuple[dict[str, float], Mapping[str, float]]:
        """Return scores, best first, and how much the name of each document matches the question."""
        if weights is None:
            return rrf(rankings, dict.fromkeys(self.halves, 1 / len(self.halves))), {}
        normalisers = dict.fromkeys(rankings, self.normaliser)
        return raised(query, convex_combination(rankings, weights, normalisers), names)


class _Found(NamedTuple):
    """The hits of a half that are there, and the names of their documents by the hits' ids."""

    hits: Ranking
    names: Names


class _Findings:
    """Who found what: of each half rank, score and normalised score."""

    def __init__(self, rankings: Mapping[str, Ranking], normaliser: Normaliser):
        self._scores = {name: distinct(ranking) for name, ranking in rankings.items()}
        self._ranks: dict[str, Sequence[str]] = {name: list(scores) for name, scores in self._scores.items()}
        self._normalised = {name: normalised(ranking, normaliser) for name, ranking in rankings.items()}

    def of(self, id_: str, names: Names, matches: Mapping[str, float]) -> dict[str, dict[str, float]]:
        found = {
            name: {
                "rank": self._ranks[name].index(id_) + 1,
                "score": scores[id_],
                "normalised": self._normalised[name][id_],
            }
            for name, scores in self._scores.items()
            if id_ in scores
        }
        match = matches.get(names[id_], 0.0)
        return {**found, "name": {"rank": 1, "score": match, "normalised": match}} if match else found


def _result(document: Document, score: float, found_by: dict[str, Any]) -> Document:
    return Document(
        id=document.id,
        page_content=document.page_content,
        metadata={**document.metadata, "score": score, "found_by": found_by},
    )
