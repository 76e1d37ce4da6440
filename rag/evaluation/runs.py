"""Evaluation runs: ask retrievers the questions of a set, and summarize the results; TREC run files.

The lab, the command line and the benchmarks all read the same stream of `QuestionResult`.
"""

import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.retrievers import BaseRetriever

from rag.chat.rewrite import QueryVariant, search_variants
from rag.errors import Cancelled, FootnoteError, QuestionRefused
from rag.evaluation.datasets import QuestionSet, read_text
from rag.evaluation.metrics import METRICS, measure, percentile
from rag.jobs import Cancel, never


@dataclass(frozen=True)
class QuestionResult:
    """Result of one retriever for one question: the ids found, best first.

    `ms` is the time of the search with the embedding of the question. A failed search found nothing and has
    the reason in `error`.
    """

    retriever: str
    question_id: str
    found: tuple[str, ...]
    ms: float
    error: str | None = None


@dataclass(frozen=True)
class RetrieverResult:
    """Metrics of one retriever over a question set, and its latency.

    `p50_ms` and `p95_ms` are of one question, `index_s` the seconds that its indexes took in this run.
    """

    dataset: str
    retriever: str
    queries: int
    metrics: Mapping[str, float]
    p50_ms: float
    p95_ms: float
    index_s: float
    errors: int

    def as_dict(self) -> dict[str, Any]:
        """Return one flat line: ``{"dataset", "retriever", "queries", "ndcg@5", ..., "errors"}``."""
        return {
            "dataset": self.dataset,
            "retriever": self.retriever,
            "queries": self.queries,
            **{name: round(value, 4) for name, value in self.metrics.items()},
            "p50_ms": round(self.p50_ms, 2),
            "p95_ms": round(self.p95_ms, 2),
            "index_s": round(self.index_s, 2),
            "errors": self.errors,
        }


def ask_all(
    questions: QuestionSet, retrievers: Mapping[str, BaseRetriever], cancelled: Cancel = never
) -> Iterator[QuestionResult]:
    """Ask each retriever every question: all of the first retriever's answers, then the next one's.

    The retrievers must search the set's corpus. One that fails is still asked the next question. Raises
    Cancelled before the next question once `cancelled` returns True.
    """
    for name, retriever in retrievers.items():
        for id_, text in questions.questions.items():
            if cancelled():
                raise Cancelled("The run was stopped.")
            variants = questions.variants.get(id_, (QueryVariant(text),))
            yield _ask(name, retriever, id_, variants)


def summarize_results(
    questions: QuestionSet, name: str, answered: Iterable[QuestionResult], *, index_s: float = 0.0
) -> RetrieverResult:
    """Return the retriever's means over all of the set's questions, ignoring other retrievers' results.

    A question that failed, or has no result here, counts as found nothing (trec_eval's ``-c``).
    """
    own = {answer.question_id: answer for answer in answered if answer.retriever == name}
    found = {id_: own[id_].found if id_ in own else () for id_ in questions.questions}
    measured = [measure(ids, questions.judgements[id_]) for id_, ids in found.items()]
    times = [answer.ms for answer in own.values()]
    return RetrieverResult(
        dataset=questions.name,
        retriever=name,
        queries=len(questions.questions),
        metrics={metric: statistics.fmean(m[metric] for m in measured or [_NOTHING]) for metric in METRICS},
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
        index_s=index_s,
        errors=sum(answer.error is not None for answer in own.values()),
    )


_NOTHING = dict.fromkeys(METRICS, 0.0)  # the means over no question


def _ask(name: str, retriever: BaseRetriever, id_: str, variants: Sequence[QueryVariant]) -> QuestionResult:
    begun = time.perf_counter()
    error = None
    try:
        found = tuple(document.id or "" for document in search_variants(retriever, variants))
    except Exception as failure:  # noqa: BLE001 - a foreign retriever may fail in any way; it is said and counted
        found, error = (), _sentence(failure)
    return QuestionResult(name, id_, found, (time.perf_counter() - begun) * 1000, error)


def _sentence(failure: Exception) -> str:
    """Return an error's message, with the class of one that was not written for users."""
    return str(failure) if isinstance(failure, FootnoteError) else f"{type(failure).__name__}: {failure}"


# Run files, in four columns or TREC's six
Run = Mapping[str, tuple[str, ...]]
"""Ids of passages by question, best first."""


def read_run(path: Path) -> Run:
    """Read a run file; raises QuestionRefused naming file and line."""
    ranked: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            question, passage, rank = _columns(line, f"Line {number} of {path}")
            ranked.setdefault(question, {}).setdefault(passage, rank)
    return {question: tuple(sorted(of, key=lambda id_: of[id_])) for question, of in ranked.items()}


def _columns(line: str, place: str) -> tuple[str, str, float]:
    parts = line.split("\t") if "\t" in line else line.split()
    if len(parts) == 6:
        del parts[1]  # the iteration, which nobody uses
    try:
        question, passage, rank = parts[:3]
        if len(parts) in (4, 5):
            return question.strip(), passage.strip(), float(rank)
    except ValueError as error:
        raise QuestionRefused(f"{place} is not query-id, corpus-id, rank, score.") from error
    raise QuestionRefused(f"{place} is not query-id, corpus-id, rank, score, nor TREC's six columns.")
