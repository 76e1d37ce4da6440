"""Search by words and by meaning at once, fused by id; only what is given in the end becomes documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

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
from rag.stores.index import Hydrate

Half = Callable[[str], Ranking]
Names = Mapping[str, str]


class HybridRetriever(BaseRetriever):
    """An EnsembleRetriever over searches that are functions, from a question to ids with scores.

    `label` gives documents by id without their text: candidates it does not know are none. With `weights`,
    a function of the question, scores are combined, and raised where the question names a document;
    without, reciprocal ranks. The best `k` are read by `hydrate`. The half named `here` is asked in the
    calling thread, and what it found looked up while others search; what fails, takes longer than `timeout`
    seconds, or is gone, is treated as there.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    halves: Mapping[str, Half]
    label: Hydrate
    hydrate: Hydrate
    weights: Callable[[str], Mapping[str, float]] | None = None
    normaliser: Normaliser = theoretical_min_max(0.0)
    here: str | None = None
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
        searches = {name: partial(half, query) for name, half in self.halves.items()}
        known = _Known(self.label, partial(self.weights, query) if self.weights else None)
        outcomes = ask(searches, self.timeout, here=self.here, then=known.prepare)
        rankings = known.among(answered(outcomes, self.on_failure))
        scores, matches = self._fuse(query, rankings, known)
        told = _Findings(rankings, self.normaliser)
        return [
            _result(document, scores[str(document.id)], told.of(str(document.id), known.names, matches))
            for document in read(list(scores), self.k if k is None else k, self.hydrate)
        ]

    def _fuse(
        self, query: str, rankings: Mapping[str, Ranking], known: "_Known"
    ) -> tuple[dict[str, float], Mapping[str, float]]:
        """Return scores, best first, and how much the name of each document matches the question."""
        if known.weights is None:
            return rrf(rankings, dict.fromkeys(self.halves, 1 / len(self.halves))), {}
        normalisers = dict.fromkeys(rankings, self.normaliser)
        return raised(query, convex_combination(rankings, known.weights, normalisers), known.names)


class _Known:
    """What the ledger says of the hits and of how to weigh them: read while a half is still searching."""

    def __init__(self, label: Hydrate, weigh: Callable[[], Mapping[str, float]] | None):
        self._label, self._weigh = label, weigh
        self._asked: set[str] = set()
        self.names: dict[str, str] = {}  # of the documents, by the ids of the hits that are there

    @cached_property
    def weights(self) -> Mapping[str, float] | None:
        """The weight of each half; None where their scores are not combined."""
        return self._weigh() if self._weigh else None

    def prepare(self, hits: Ranking) -> None:
        """Look up these hits, and the weights."""
        self._look_up(id_ for id_, _ in hits)
        self.weights  # noqa: B018 - read

    def among(self, found: Mapping[str, Ranking]) -> dict[str, Ranking]:
        """Return the hits that are there."""
        self._look_up(id_ for hits in found.values() for id_, _ in hits)
        return {name: [hit for hit in hits if hit[0] in self.names] for name, hits in found.items()}

    def _look_up(self, ids: Iterable[str]) -> None:
        fresh = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._asked]
        self._asked.update(fresh)
        if fresh:
            labels = self._label(fresh)
            self.names |= {id_: str(label.metadata.get("document", "")) for id_, label in labels.items()}


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
