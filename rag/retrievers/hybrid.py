"""Search by words and by meaning at once, fused by id; only what is given in the end becomes documents."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.observing.lines import fields
from rag.retrievers.asking import answered, ask, but_failed
from rag.retrievers.fusion import (
    Normaliser,
    Ranking,
    distinct,
    lacking,
    normalised,
    rrf,
    theoretical_min_max,
    weighted,
)
from rag.retrievers.named import raised
from rag.retrievers.reading import read
from rag.stores.index import Hydrate, NamesOf

log = logging.getLogger(__name__)

RATING = 1.0  # seconds: what was found without it is in nearly as good an order

Names = Mapping[str, str]
Rate = Callable[[Sequence[str]], Mapping[str, float]]


class Hits(NamedTuple):
    """What a half finds, and how it scores what it did not: by id, those it cannot tell of left out."""

    ranking: Ranking
    rate: Rate


Half = Callable[[str], Hits]


class HybridRetriever(BaseRetriever):
    """Like an EnsembleRetriever, over searches that are functions, from a question to ids with scores.

    `names` tells by id what each candidate's document is called: those it does not know are none. With
    `weights`, a function of the question, scores are combined, and raised where the question names a
    document; without, reciprocal ranks. Where scores count each half also rates what only the other found:
    to miss the best fifty by a hair is not to be worth nothing. The best `k` are read by `hydrate`.

    Of the halves that `at_hand` names, which cannot hang, the first is asked in the calling thread: a thread
    made for the longest would begin on a cold core; and all of them rate there, which takes less than a
    thread. A half that fails or takes longer than `timeout` seconds is left out, and one that cannot rate,
    or not within RATING seconds, counts with what it found; what is gone is no candidate.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    halves: Mapping[str, Half]
    names: NamesOf
    hydrate: Hydrate
    weights: Callable[[str], Mapping[str, float]] | None = None
    normaliser: Normaliser = theoretical_min_max(0.0)
    at_hand: Callable[[], Sequence[str]] = tuple
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
        here = self.at_hand()
        searches = {name: partial(self._find, half, query, weigh) for name, half in self.halves.items()}
        found = answered(ask(searches, self.timeout, here=here[:1]), self.on_failure)
        names = dict(pair for half in found.values() for pair in half.names.items())
        rankings: dict[str, Ranking] = {name: half.ranking for name, half in found.items()}
        scored = self._rated(found, here) if weigh else rankings
        comparable = {name: normalised(ranking, self.normaliser) for name, ranking in scored.items()}
        scores, matches = (
            raised(query, weighted(comparable, weigh()), names) if weigh else (self._by_rank(rankings), {})
        )
        told = _Findings(rankings, comparable)
        return [
            _result(document, scores[str(document.id)], told.of(str(document.id), names, matches))
            for document in read(list(scores), self.k if k is None else k, self.hydrate)
        ]

    def _find(self, half: Half, query: str, weigh: Callable[[], object] | None) -> "_Found":
        """Return what a half finds and what the ledger says of it; the first to find anything weighs, too."""
        hits, rate = half(query)
        names = self.names([id_ for id_, _ in hits])
        if weigh:
            weigh()
        return _Found([hit for hit in hits if hit[0] in names], names, rate)

    def _rated(self, found: Mapping[str, "_Found"], here: Sequence[str]) -> dict[str, Ranking]:
        """Return the ranking of each half, lengthened by how it rates what only the others found."""
        missing = lacking({name: half.ranking for name, half in found.items()})
        ratings = {name: partial(found[name].rate, ids) for name, ids in missing.items()}
        rated = but_failed(ask(ratings, min(RATING, self.timeout), here=here), _unrated)
        return {name: [*half.ranking, *rated.get(name, {}).items()] for name, half in found.items()}

    def _by_rank(self, rankings: Mapping[str, Ranking]) -> dict[str, float]:
        return rrf(rankings, dict.fromkeys(self.halves, 1 / len(self.halves)))


def _unrated(name: str, error: Exception) -> None:
    log.warning("The %s search did not rate what others found: %s", name, error, extra=fields(search=name))


class _Found(NamedTuple):
    """The hits of a half that are there, the names of their documents by id, and how it rates others."""

    ranking: Ranking
    names: Names
    rate: Rate


class _Findings:
    """Who found what: of each half rank, score and normalised score."""

    def __init__(self, rankings: Mapping[str, Ranking], comparable: Mapping[str, Mapping[str, float]]):
        self._scores = {name: distinct(ranking) for name, ranking in rankings.items()}
        self._ranks: dict[str, Sequence[str]] = {name: list(scores) for name, scores in self._scores.items()}
        self._normalised = comparable

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
