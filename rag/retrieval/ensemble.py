"""Ensemble retriever: runs several retrievers in parallel and fuses their results into one list."""

import asyncio
import logging
import math
import time
from _thread import start_new_thread
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import cache, partial
from itertools import islice
from queue import Empty, Queue
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config, run_in_executor, set_config_context
from langchain_core.runnables.utils import ConfigurableFieldSpec, coro_with_context, get_unique_config_specs
from pydantic import ConfigDict, model_validator

from rag.errors import RetrievalError
from rag.i18n import N_
from rag.index.vector_index import Candidates, Hydrate, Ranking, Rate
from rag.logs import fields
from rag.retrieval.fusion import (
    Join,
    Normaliser,
    Ties,
    distinct,
    inner_join,
    min_max,
    missing_ids,
    normalised,
    rrf,
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
Searched = Runnable[str, Any]  # a retriever, or anything else that gives documents or texts for a question


def run_parallel(
    searches: Mapping[str, Search[Found]], timeout: float | None, *, here: Collection[str] = ()
) -> dict[str, Found | Exception]:
    """Run each search in a thread; return its result or error, a RetrievalError after `timeout` seconds.

    Those named `here` run in the calling thread meanwhile, without a timeout: for searches that cannot hang.
    """
    answers: Answers[Found] = Queue()
    late = _late(timeout)
    deadline = None if timeout is None else time.monotonic() + timeout
    outcomes: dict[str, Found | Exception] = dict.fromkeys(searches, late)
    for name, search in searches.items():
        if name not in here:
            # Thread.start waits until the thread runs, which takes longer than many searches.
            start_new_thread(copy_context().run, (_run_one, answers, name, search))
    mine = [name for name in here if name in searches]
    outcomes.update({name: _outcome(searches[name]) for name in mine})
    for _ in searches.keys() - set(mine):
        try:
            name, answer = answers.get(
                timeout=None if deadline is None else max(0.0, deadline - time.monotonic())
            )
        except Empty:
            break
        outcomes[name] = answer
    return outcomes


def require_results(
    outcomes: Mapping[str, Found | Exception], on_failure: OnFailure | None
) -> dict[str, Found]:
    """Return the results; `on_failure` gets the name and error of each failure.

    Raises RetrievalError where all failed, and the first failure where there is no `on_failure`.
    """
    found = successful(outcomes, on_failure or _raise_failure)
    if not found:
        failures = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Exception)}
        sentences = " ".join(f"{name}: {error}" for name, error in sorted(failures.items()))
        raise RetrievalError(N_("No search could answer. {sentences}", sentences=sentences)) from next(
            iter(failures.values())
        )
    return found


def successful(outcomes: Mapping[str, Found | Exception], on_failure: OnFailure) -> dict[str, Found]:
    """Return the results; `on_failure` gets the name and error of each failure."""
    for name, outcome in outcomes.items():
        if isinstance(outcome, Exception):
            on_failure(name, outcome)
    return {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, Exception)}


def _late(timeout: float | None) -> RetrievalError:
    return RetrievalError(f"no answer within {timeout or 0:g} seconds")


def _raise_failure(_: str, error: Exception) -> None:
    raise error


def log_failure(name: str, error: Exception) -> None:
    """Log that a retriever was left out: an ensemble's `on_failure`."""
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
    """Ensemble of retrievers, fused by weighted reciprocal rank or by convex combination; LangChain's class.

    `method` is "rrf": the sum of weight / (rank + `c`); or "cc": the weighted sum of scores made comparable
    by `normalisers`, min-max by default, with `weights` that sum to 1. Weights are equal shares by default,
    and may be a function of the question. A document's key is its metadata under `id_key`, else its text, or
    its id where retrievers share ids (`by_id`). All unique documents are returned, or the best `k`. Results
    have the fused "score" and "found_by" in metadata: ``{"1": {"rank": 1, "score": 9.2, "normalised": 1.0}}``
    by place in the list, or by name in a mapping.

    With `join="inner"` only documents that all found are fused. `p` is the pool: how many each retriever is
    asked for. With `ties="share"` equal scores of one retriever share a rank. A retriever that fails, or
    takes longer than `timeout` seconds, fails the search; with `on_failure`, which gets its name and error,
    it is left out, and RetrievalError is raised where all fail.

    With `hydrate`, which gives documents by id, retrievers that have `candidates` return only ids, and where
    scores are combined, each scores what only the others found, within RATING seconds. Only the best `k` are
    read. `names` gives the names of documents by id; an id without one is no candidate. `boost` may change
    the order by them. `inline` names retrievers that cannot hang: the first searches in the calling thread,
    since a new thread starts on a cold core, and all of them score there.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    retrievers: Mapping[str, Searched] | Sequence[Searched]
    weights: Mapping[str, float] | Sequence[float] | Callable[[str], Mapping[str, float]]
    method: Literal["rrf", "cc"] = "rrf"
    c: float = 60
    id_key: str | None = None
    by_id: bool = False
    k: int | None = None
    p: int | None = None
    join: Join = "outer"
    ties: Ties = "order"
    normalisers: Mapping[str, Normaliser] | None = None
    timeout: float | None = None
    on_failure: OnFailure | None = None
    hydrate: Hydrate | None = None
    names: Callable[[Sequence[str]], Names] | None = None
    boost: Boost | None = None
    inline: Callable[[], Sequence[str]] = tuple

    @model_validator(mode="before")
    @classmethod
    def _equal_weights(cls, values: dict[str, Any]) -> dict[str, Any]:
        retrievers, weights = values.get("retrievers"), values.get("weights")
        if not retrievers:
            raise ValueError("retrievers is empty: an ensemble needs at least one retriever")
        if callable(weights) or weights:
            return values
        equal = dict.fromkeys(_by_name(retrievers), 1 / len(retrievers))
        return {**values, "weights": equal if isinstance(retrievers, Mapping) else list(equal.values())}

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for field in ("weights", "normalisers"):
            named = _by_name(getattr(self, field))
            if named and (missing := set(_by_name(self.retrievers)) ^ set(named)):
                raise ValueError(f"{field} and retrievers differ in {', '.join(sorted(missing))}")
        shares = list(_by_name(self.weights).values())
        if shares and not any(share > 0 for share in shares):
            raise ValueError("At least one ensemble weight must be greater than zero.")
        if shares and self.method == "cc" and not math.isclose(math.fsum(shares), 1.0, abs_tol=1e-6):
            raise ValueError(
                f"weights sum to {math.fsum(shares):g}. A convex combination needs weights that sum to 1."
            )
        return self

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable fields of all retrievers."""
        return get_unique_config_specs(
            spec for retriever in _by_name(self.retrievers).values() for spec in retriever.config_specs
        )

    def invoke(
        self,
        input: str,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the fused documents; the retrievers get the configuration too."""
        with set_config_context(ensure_config(config)) as context:
            return context.run(super().invoke, input, config, **kwargs)

    async def ainvoke(
        self,
        input: str,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the fused documents, as `invoke`."""
        with set_config_context(ensure_config(config)) as context:
            return await coro_with_context(super().ainvoke(input, config, **kwargs), context)

    def rank_fusion(
        self,
        query: str,
        run_manager: CallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """Search with all retrievers, and return the fused documents."""
        weigh, inline = cache(partial(self._weights, query)), self.inline()
        searches = {
            name: partial(self._find, name, query, weigh, run_manager, config)
            for name in _by_name(self.retrievers)
        }
        outcomes = run_parallel(searches, self.timeout, here=inline[:1])
        return self._fused(query, require_results(outcomes, self.on_failure), weigh(), inline, self.k)

    async def arank_fusion(
        self,
        query: str,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """Search with all retrievers in this event loop, and return the fused documents."""

        async def find(name: str, retriever: Searched) -> list[Document | str]:
            child = patch_config(config, callbacks=run_manager.get_child(tag=f"retriever_{name}"))
            return await asyncio.wait_for(
                retriever.ainvoke(query, child, **self._pool(retriever)), self.timeout
            )

        named = _by_name(self.retrievers)
        answers = await asyncio.gather(
            *(find(name, each) for name, each in named.items()), return_exceptions=True
        )
        outcomes = {name: _timed(answer, self.timeout) for name, answer in zip(named, answers, strict=True)}
        found = require_results(outcomes, self.on_failure)
        hits = {name: self._named(self._hits(documents)) for name, documents in found.items()}
        return self._fused(query, hits, self._weights(query), (), self.k)

    def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
        """Return the unique documents of ranked lists, in the retrievers' order, fused by their ranks."""
        names = list(_by_name(self.retrievers))
        if len(doc_lists) != len(names):
            raise ValueError("Number of rank lists must be equal to the number of weights.")
        hits = {name: self._hits(documents) for name, documents in zip(names, doc_lists, strict=True)}
        rankings = {name: each.ranking for name, each in hits.items()}
        scores = rrf(rankings, self._weights(""), self.c)
        documents = _reader_of(hits)(list(scores))
        return [documents[key] for key in _first_seen_first(scores, rankings)]

    def retrieve_id_with_scores(self, query: str, top_k: int = 5) -> tuple[list[str], list[float]]:
        """Return the ids of the best `top_k` documents, and their fused scores.

        A document's id is its own, or the metadata under `id_key`.
        """
        found = self.invoke(query, k=top_k)
        ids = [
            str(document.metadata[self.id_key]) if self.id_key else document.id or document.page_content
            for document in found
        ]
        return ids, [document.metadata["score"] for document in found]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        chosen = self if k is None else self.model_copy(update={"k": k})
        return chosen.rank_fusion(query, run_manager)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        chosen = self if k is None else self.model_copy(update={"k": k})
        if self.hydrate:  # ids come from indexes, which are no coroutines
            return await run_in_executor(None, chosen.rank_fusion, query, run_manager.get_sync())
        return await chosen.arank_fusion(query, run_manager)

    def _fused(
        self,
        query: str,
        found: Mapping[str, "_Hits"],
        weights: Mapping[str, float],
        inline: Sequence[str],
        k: int | None,
    ) -> list[Document]:
        """Return the best documents of all hits, with their scores."""
        joined = inner_join({name: each.ranking for name, each in found.items()}, self.join)
        found = {name: each._replace(ranking=joined[name]) for name, each in found.items()}
        rankings: dict[str, Ranking] = {name: each.ranking for name, each in found.items()}
        scored = rankings if self.method == "rrf" else self._rated(found, inline)
        normalisers = self.normalisers or dict.fromkeys(scored, min_max)
        comparable = {name: normalised(scored[name], normalisers[name]) for name in scored}
        scores = (
            rrf(rankings, weights, self.c, ties=self.ties)
            if self.method == "rrf"
            else weighted(comparable, weights)
        )
        names = {key: name for each in found.values() for key, name in each.names.items()}
        scores, matches = self.boost(query, scores, names) if self.boost else (scores, {})
        findings = _findings(rankings, comparable)
        order = list(scores) if self.hydrate else _first_seen_first(scores, rankings)
        count = len(order) if k is None else k
        hits = islice(_read_first(order, max(1, count), self.hydrate or _reader_of(found)), count)
        return [
            _result(document, scores[key], findings[key], matches.get(names.get(key, ""), 0.0))
            for key, document in hits
        ]

    def _find(
        self,
        name: str,
        query: str,
        weigh: Callable[[], object],
        run_manager: CallbackManagerForRetrieverRun,
        config: RunnableConfig | None,
    ) -> "_Hits":
        """Return one retriever's hits. The first with ids computes the weights while others still search."""
        retriever = _by_name(self.retrievers)[name]
        if self.hydrate and isinstance(retriever, CandidateRetriever):
            candidates = retriever.candidates(query)
            if candidates is not None:
                found = self._named(_Hits(candidates.ranking[: self.p], candidates.rate))
                weigh()
                return found
        child = patch_config(config, callbacks=run_manager.get_child(tag=f"retriever_{name}"))
        return self._named(self._hits(retriever.invoke(query, child, **self._pool(retriever))))

    def _pool(self, retriever: Searched) -> dict[str, int]:
        """Return how many a retriever is asked for; LangChain's take what they know of it."""
        return {"k": self.p} if self.p is not None and isinstance(retriever, BaseRetriever) else {}

    def _hits(self, documents: Sequence[Document | str]) -> "_Hits":
        """Return a retriever's documents as hits; a text becomes a document."""
        given = [Document(each) if isinstance(each, str) else each for each in documents[: self.p]]
        keyed = [(self._key(document), document) for document in given]
        ranking = [
            (key, float(document.metadata.get("score", 1 / rank)))
            for rank, (key, document) in enumerate(keyed, start=1)
        ]
        return _Hits(ranking, documents=dict(reversed(keyed)))

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
        within = RATING if self.timeout is None else min(RATING, self.timeout)
        rated = successful(run_parallel(ratings, within, here=inline), _log_unscored)
        return {name: [*each.ranking, *rated.get(name, {}).items()] for name, each in found.items()}

    def _key(self, document: Document) -> str:
        if self.id_key is not None:
            return str(document.metadata[self.id_key])
        shared = self.by_id or self.hydrate is not None
        return (document.id if shared else None) or document.page_content

    def _weights(self, query: str) -> Mapping[str, float]:
        return self.weights(query) if callable(self.weights) else _by_name(self.weights)


def _by_name(given: Any) -> Mapping[str, Any]:
    """Return the items of a mapping, or those of a list under their number from 1; nothing of a function."""
    if isinstance(given, Mapping):
        return given
    if given is None or callable(given):
        return {}
    return {str(number): item for number, item in enumerate(given, start=1)}


def _timed(outcome: Any, timeout: float | None) -> Any:
    """Return the outcome of an awaited search; a time limit becomes its sentence."""
    if isinstance(outcome, Exception):
        return _late(timeout) if isinstance(outcome, asyncio.TimeoutError) else outcome
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _first_seen_first(scores: Mapping[str, float], rankings: Mapping[str, Ranking]) -> list[str]:
    """Return the keys by score, equal ones as they come in the lists: LangChain's order."""
    seen = dict.fromkeys(key for ranking in rankings.values() for key, _ in ranking)
    return sorted((key for key in seen if key in scores), key=lambda key: -scores[key])


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
    """Return a reader of the retrievers' documents; of one key, that of the first retriever."""
    documents = {key: each for hits in reversed([*found.values()]) for key, each in hits.documents.items()}
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
