"""Ensemble retriever: runs several retrievers in parallel and fuses their results into one list."""

import logging
import time
from _thread import start_new_thread
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import cache, partial
from itertools import islice
from queue import Empty, Queue
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, model_validator

from rag.errors import RetrievalError
from rag.index.vector_index import Candidates, Hydrate, Ranking, Rate
from rag.logs import fields
from rag.retrieval.fusion import (
    Normaliser,
    distinct,
    missing_ids,
    normalised,
    rrf,
    theoretical_min_max,
    weighted,
)

log = logging.getLogger(__name__)
Found = TypeVar("Found")
Search = Callable[[], Found]
Answers = Queue[tuple[str, Found | Exception]]
OnFailure = Callable[[str, Exception], None]
RATING = 1.0  # seconds for scoring ids that only others found; without it the order is nearly as good
Names = Mapping[str, str]
Boost = Callable[[str, Mapping[str, float], Names], tuple[dict[str, float], dict[str, float]]]
Finding = dict[str, float]


def run_parallel(
    searches: Mapping[str, Search[Found]], timeout: float, *, here: Collection[str] = ()
) -> dict[str, Found | Exception]:
    """Run each search in a thread; return its result or error, a RetrievalError after `timeout` seconds.

    Those named `here` run in the calling thread meanwhile, without a timeout: for searches that cannot hang.
    """
    answers: Answers[Found] = Queue()
    late = RetrievalError(f"no answer within {timeout:g} seconds")
    deadline = time.monotonic() + timeout
    outcomes: dict[str, Found | Exception] = dict.fromkeys(searches, late)
    for name, search in searches.items():
        if name not in here:
            # Thread.start waits until the thread runs, which takes longer than many searches.
            start_new_thread(copy_context().run, (_run_one, answers, name, search))
    mine = [name for name in here if name in searches]
    outcomes.update({name: _outcome(searches[name]) for name in mine})
    for _ in searches.keys() - set(mine):
        try:
            name, answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        outcomes[name] = answer
    return outcomes


def require_results(
    outcomes: Mapping[str, Found | Exception], on_failure: OnFailure | None
) -> dict[str, Found]:
    """Return the results; `on_failure`, or else the log, gets the name and error of each failure.

    Raises RetrievalError where all failed.
    """
    found = successful(outcomes, on_failure or _log_failure)
    if not found:
        failures = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Exception)}
        sentences = " ".join(f"{name}: {error}" for name, error in sorted(failures.items()))
        raise RetrievalError(f"No search could answer. {sentences}") from next(iter(failures.values()))
    return found


def successful(outcomes: Mapping[str, Found | Exception], on_failure: OnFailure) -> dict[str, Found]:
    """Return the results; `on_failure` gets the name and error of each failure."""
    for name, outcome in outcomes.items():
        if isinstance(outcome, Exception):
            on_failure(name, outcome)
    return {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, Exception)}


def _log_failure(name: str, error: Exception) -> None:
    log.warning("The %s search was left out: %s", name, error, extra=fields(search=name))


def _log_unscored(name: str, error: Exception) -> None:
    log.warning("The %s search did not rate what others found: %s", name, error, extra=fields(search=name))


def _run_one(answers: Answers[Found], name: str, search: Search[Found]) -> None:
    answers.put((name, _outcome(search)))


def _outcome(search: Search[Found]) -> Found | Exception:
    try:
        return search()
    except Exception as error:  # noqa: BLE001 - any retriever may fail in any way
        return error


@runtime_checkable
class CandidateRetriever(Protocol):
    """Retriever that can search by id, without reading a document."""

    def candidates(self, query: str) -> Candidates | None:
        """Return ids with scores, or None where only documents can be had."""


class EnsembleRetriever(BaseRetriever):
    """Ensemble of named retrievers, fused by convex combination or reciprocal rank.

    A document's key is its id, or the metadata under `id_key`, or else its text. `weights` are equal shares
    by default, and may be a function of the question; `normalisers` are theoretical min-max from 0. A
    retriever that fails or takes longer than `timeout` seconds is left out, and `on_failure` gets its name
    and error; where all fail, RetrievalError is raised. Results have the fused "score" and "found_by" in
    metadata: ``{"words": {"rank": 1, "score": 9.2, "normalised": 1.0}, ...}``.

    With `hydrate`, which gives documents by id, retrievers that have `candidates` return only ids, and where
    scores are combined, each scores what only the others found, within RATING seconds. Only the best `k` are
    read.

    `names` gives the names of documents by id; an id without one is no candidate. `boost` may change the
    order by them. `inline` names retrievers that cannot hang: the first searches in the calling thread, since
    a new thread starts on a cold core, and all of them score there.
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
    hydrate: Hydrate | None = None
    names: Callable[[Sequence[str]], Names] | None = None
    boost: Boost | None = None
    inline: Callable[[], Sequence[str]] = tuple

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
        weigh = cache(partial(self._weights, query))
        inline = self.inline()
        searches = {name: partial(self._find, name, query, weigh, run_manager) for name in self.retrievers}
        found = require_results(run_parallel(searches, self.timeout, here=inline[:1]), self.on_failure)
        rankings: dict[str, Ranking] = {name: each.ranking for name, each in found.items()}
        scored = rankings if self.fusion == "rrf" else self._rated(found, inline)
        normalisers = self.normalisers or dict.fromkeys(scored, theoretical_min_max(0.0))
        comparable = {name: normalised(scored[name], normalisers[name]) for name in scored}
        scores = rrf(rankings, weigh(), self.c) if self.fusion == "rrf" else weighted(comparable, weigh())
        names = {key: name for each in found.values() for key, name in each.names.items()}
        scores, matches = self.boost(query, scores, names) if self.boost else (scores, {})
        findings = _findings(rankings, comparable)
        read = self.hydrate or _reader_of(found)
        count = self.k if k is None else k
        hits = islice(_read_first(list(scores), max(1, count), read), count)
        return [
            _result(document, scores[key], findings[key], matches.get(names.get(key, ""), 0.0))
            for key, document in hits
        ]

    def _find(
        self, name: str, query: str, weigh: Callable[[], object], run_manager: CallbackManagerForRetrieverRun
    ) -> "_Hits":
        """Return one retriever's hits. The first with ids computes the weights while others still search."""
        retriever = self.retrievers[name]
        if self.hydrate and isinstance(retriever, CandidateRetriever):
            candidates = retriever.candidates(query)
            if candidates is not None:
                found = self._named(_Hits(*candidates))
                weigh()
                return found
        documents = retriever.invoke(query, config={"callbacks": run_manager.get_child(name)})
        ranking = [
            (self._key(document), float(document.metadata.get("score", 1 / rank)))
            for rank, document in enumerate(documents, start=1)
        ]
        return self._named(_Hits(ranking, documents={self._key(each): each for each in documents}))

    def _named(self, found: "_Hits") -> "_Hits":
        """Return hits with the names of their documents, without hits that have none."""
        if self.names is None:
            return found
        names = self.names([key for key, _ in found.ranking])
        return found._replace(ranking=[hit for hit in found.ranking if hit[0] in names], names=names)

    def _rated(self, found: Mapping[str, "_Hits"], inline: Sequence[str]) -> dict[str, Ranking]:
        """Return each ranking, followed by its retriever's scores of ids that only others found."""
        missing = missing_ids({name: each.ranking for name, each in found.items()})
        ratings = {name: partial(rate, ids) for name, ids in missing.items() if (rate := found[name].rate)}
        rated = successful(run_parallel(ratings, min(RATING, self.timeout), here=inline), _log_unscored)
        return {name: [*each.ranking, *rated.get(name, {}).items()] for name, each in found.items()}

    def _key(self, document: Document) -> str:
        if self.id_key is not None:
            return str(document.metadata[self.id_key])
        return document.id or document.page_content

    def _weights(self, query: str) -> Mapping[str, float]:
        if callable(self.weights):
            return self.weights(query)
        return self.weights or dict.fromkeys(self.retrievers, 1 / len(self.retrievers))


class _Hits(NamedTuple):
    """Hits of one retriever: keys with scores, a function that scores others, documents and names."""

    ranking: Ranking
    rate: Rate | None = None
    documents: Mapping[str, Document] = MappingProxyType({})
    names: Names = MappingProxyType({})


def _findings(
    rankings: Mapping[str, Ranking], comparable: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, Finding]]:
    """Return rank, score and normalised score of each id, by the retriever that found it."""
    found: dict[str, dict[str, Finding]] = {}
    for name, ranking in rankings.items():
        for rank, (key, score) in enumerate(distinct(ranking).items(), start=1):
            finding = {"rank": rank, "score": score, "normalised": comparable[name][key]}
            found.setdefault(key, {})[name] = finding
    return found


def _reader_of(found: Mapping[str, _Hits]) -> Hydrate:
    """Return a reader of the retrievers' documents; of one key, that of the first by name."""
    documents = {
        key: each for name in sorted(found, reverse=True) for key, each in found[name].documents.items()
    }
    return lambda keys: {key: documents[key] for key in keys if key in documents}


def _read_first(keys: Sequence[str], count: int, read: Hydrate) -> Iterator[tuple[str, Document]]:
    """Yield the keys whose document exists, with it, reading `count` at a time."""
    for start in range(0, len(keys), count):
        documents = read(keys[start : start + count])
        yield from ((key, documents[key]) for key in keys[start : start + count] if key in documents)


def _result(document: Document, score: float, found_by: dict[str, Finding], match: float) -> Document:
    """Return a document with its scores; `match` is the share of the question in its document's name."""
    by_name = {"name": {"rank": 1, "score": match, "normalised": match}} if match else {}
    metadata = {**document.metadata, "score": score, "found_by": {**found_by, **by_name}}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)
