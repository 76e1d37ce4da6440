"""Several retrievers asked at once, their lists fused into one that says who found what."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, model_validator

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

Found = dict[str, list[Document]]


class EnsembleRetriever(BaseRetriever):
    """Asks retrievers in parallel and fuses their lists by convex combination or reciprocal rank.

    `retrievers` are named; a list of them is named "1", "2", ... A document's key is its id, or the
    metadata under `id_key`, or else its text. `weights` default to equal shares, and may be a function
    of the question; `normalisers` default to theoretical min-max from 0, which BM25 scores and relevances
    cannot fall below. A retriever that fails or takes longer than `timeout` seconds is left out, and
    `on_failure` is told its name and error; when all fail, RetrievalError. Results have the fused "score"
    and "found_by" in metadata: ``{"words": {"rank": 1, "score": 9.2, "normalised": 1.0}, ...}``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    retrievers: Mapping[str, BaseRetriever]
    weights: Mapping[str, float] | Callable[[str], Mapping[str, float]] | None = None
    fusion: Literal["convex", "rrf"] = "convex"
    normalisers: Mapping[str, Normaliser] | None = None
    c: float = 60
    id_key: str | None = None
    k: int = 4
    timeout: float = 10.0
    on_failure: Callable[[str, Exception], None] | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_lists(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Name the retrievers and weights of a list, as LangChain's class takes them."""
        lists = {
            field: {str(number): item for number, item in enumerate(values[field], start=1)}
            for field in ("retrievers", "weights")
            if isinstance(values.get(field), list | tuple)
        }
        return {**values, **lists}

    @model_validator(mode="after")
    def _check_names(self) -> "EnsembleRetriever":
        if not self.retrievers:
            raise ValueError("retrievers is empty: an ensemble needs at least one retriever")
        for field in ("weights", "normalisers"):
            named = getattr(self, field)
            if isinstance(named, Mapping) and (missing := set(self.retrievers) ^ set(named)):
                raise ValueError(f"{field} and retrievers differ in {', '.join(sorted(missing))}")
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        found = self._ask(query, run_manager)
        rankings = {name: self._ranking(documents) for name, documents in found.items()}
        documents = {self._key(d): d for name in sorted(found, reverse=True) for d in found[name]}
        findings = {name: self._findings(name, ranking) for name, ranking in rankings.items()}
        fused = list(self._fuse(rankings, self._weights(query)).items())[: self.k if k is None else k]
        return [
            _result(documents[key], score, {name: f[key] for name, f in findings.items() if key in f})
            for key, score in fused
        ]

    def _ask(self, query: str, run_manager: CallbackManagerForRetrieverRun) -> Found:
        """Return what each retriever found in time; raises RetrievalError when none did."""
        searches = {
            name: partial(retriever.invoke, query, config={"callbacks": run_manager.get_child(name)})
            for name, retriever in self.retrievers.items()
        }
        return answered(ask(searches, self.timeout), self.on_failure)

    def _key(self, document: Document) -> str:
        if self.id_key is not None:
            return str(document.metadata[self.id_key])
        return document.id or document.page_content

    def _ranking(self, documents: Sequence[Document]) -> Ranking:
        """Return keys and raw scores; a retriever that tells no scores has those of its ranks, 1 / rank."""
        return [
            (self._key(document), float(document.metadata.get("score", 1 / rank)))
            for rank, document in enumerate(documents, start=1)
        ]

    def _normaliser(self, name: str) -> Normaliser:
        return theoretical_min_max(0.0) if self.normalisers is None else self.normalisers[name]

    def _findings(self, name: str, ranking: Ranking) -> dict[str, dict[str, float]]:
        comparable = normalised(ranking, self._normaliser(name))
        return {
            key: {"rank": rank, "score": score, "normalised": comparable[key]}
            for rank, (key, score) in enumerate(distinct(ranking).items(), start=1)
        }

    def _weights(self, query: str) -> Mapping[str, float]:
        if callable(self.weights):
            return self.weights(query)
        return self.weights or dict.fromkeys(self.retrievers, 1 / len(self.retrievers))

    def _fuse(self, rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> dict[str, float]:
        if self.fusion == "rrf":
            return rrf(rankings, weights, self.c)
        return convex_combination(rankings, weights, {name: self._normaliser(name) for name in rankings})


def _result(document: Document, score: float, found_by: dict[str, dict[str, float]]) -> Document:
    return Document(
        id=document.id,
        page_content=document.page_content,
        metadata={**document.metadata, "score": score, "found_by": found_by},
    )
