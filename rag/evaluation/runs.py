"""Evaluation runs: ask retrievers or rerankers the questions of a set, summarize the results; run files."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import Cancelled, FootnoteError, QuestionRefused
from rag.evaluation.datasets import QuestionSet, lines_with_places
from rag.evaluation.metrics import METRICS, measure, ndcg, percentile
from rag.jobs import Cancel, never
from rag.retrieval.rerank.base import Reranker
from storage.records import ResultRecord

CUTS = (1, 5, 10)
Candidates = Mapping[str, Sequence[Document]]  # passages to rerank by question, in their given order
Run = Mapping[str, tuple[str, ...]]  # ids of passages by question, best first
Search = Callable[[BaseRetriever, str], Sequence[Document]]  # of a retriever and a question's id


@dataclass(frozen=True)
class QuestionResult:
    """Result of one retriever or reranker for one question: the ids found, best first.

    `ms` is the time of the search with the embedding of the question. A failed search found nothing, and a
    failed reranker kept the order; `error` has the reason, `note` a remark on what a reranker did.
    """

    retriever: str
    question_id: str
    found: tuple[str, ...]
    ms: float
    error: str | None = None
    note: str = ""


def ask_all(
    questions: QuestionSet,
    retrievers: Mapping[str, BaseRetriever],
    cancelled: Cancel = never,
    search: Search | None = None,
) -> Iterator[QuestionResult]:
    """Ask each retriever every question: all of the first retriever's answers, then the next one's.

    One that fails is still asked the next question. Raises Cancelled once `cancelled` returns True.
    """
    for name, retriever in retrievers.items():
        for id_, text in questions.questions.items():
            if cancelled():
                raise Cancelled("The run was stopped.")
            begun = time.perf_counter()
            error = None
            try:
                found = _ids(retriever.invoke(text) if search is None else search(retriever, id_))
            except Exception as failure:  # noqa: BLE001 - a foreign retriever may fail in any way; it is said and counted
                found, error = (), _sentence(failure)
            yield QuestionResult(name, id_, found, (time.perf_counter() - begun) * 1000, error)


def summarize_results(questions: QuestionSet, name: str, answered: Iterable[QuestionResult]) -> ResultRecord:
    """Return the retriever's means over all of the set's questions, ignoring other retrievers' results.

    A question that failed, or has no result here, counts as found nothing (trec_eval's ``-c``).
    """
    own = {answer.question_id: answer for answer in answered if answer.retriever == name}
    found = {id_: own[id_].found if id_ in own else () for id_ in questions.questions}
    measured = [measure(ids, questions.judgements[id_]) for id_, ids in found.items()]
    times = [answer.ms for answer in own.values()]
    return ResultRecord(
        retriever=name,
        queries=len(questions.questions),
        metrics={metric: round(statistics.fmean(m[metric] for m in measured), 4) for metric in METRICS},
        p50_ms=round(percentile(times, 50), 2),
        p95_ms=round(percentile(times, 95), 2),
        errors=sum(answer.error is not None for answer in own.values()),
    )


def _sentence(failure: Exception) -> str:
    """Return an error's message, with the class of one that was not written for users."""
    return str(failure) if isinstance(failure, FootnoteError) else f"{type(failure).__name__}: {failure}"


def judged_candidates(questions: QuestionSet) -> Candidates:
    """Return each question's judged passages, in the order of the judgements."""
    return _present(questions, {id_: tuple(judged) for id_, judged in questions.judgements.items()})


def candidates_from_run(questions: QuestionSet, run: Run) -> Candidates:
    """Return each question's passages of a run that the corpus has; QuestionRefused where it has none."""
    candidates = _present(questions, run)
    if not any(candidates.values()):
        raise QuestionRefused(f"The run has no passage of {questions.name} for any of its questions.")
    return candidates


def _present(questions: QuestionSet, lists: Mapping[str, Sequence[str]]) -> Candidates:
    corpus = {document.id: document for document in questions.corpus}
    return {id_: [corpus[one] for one in lists.get(id_, ()) if one in corpus] for id_ in questions.questions}


def rerank_all(
    questions: QuestionSet, candidates: Candidates, name: str, reranker: Reranker | None
) -> Iterator[QuestionResult]:
    """Yield each question's passages as the reranker orders them; without one, in the given order."""
    for id_, text in questions.questions.items():
        begun = time.perf_counter()
        if reranker is None:
            yield QuestionResult(name, id_, _ids(candidates[id_]), 0.0)
            continue
        result = reranker.rerank(candidates[id_], text)
        error = None if result.failure is None else str(result.failure)
        ms = (time.perf_counter() - begun) * 1000
        yield QuestionResult(name, id_, _ids(result.documents), ms, error, result.note)


def reranking_report(
    questions: QuestionSet, name: str, ordered: Sequence[QuestionResult], *, requests: int = 0
) -> dict[str, Any]:
    """Return one flat line: mean nDCG and seconds of a question, number of requests and fallbacks."""
    gains = {
        cut: [ndcg(one.found, questions.judgements[one.question_id], cut) for one in ordered] for cut in CUTS
    }
    return {
        "dataset": questions.name,
        "reranker": name,
        "queries": len(ordered),
        **{f"ndcg@{cut}": round(statistics.fmean(values), 4) for cut, values in gains.items()},
        "s_per_query": round(statistics.fmean(one.ms for one in ordered) / 1000, 3),
        "requests": requests,
        "fallbacks": sum(one.error is not None for one in ordered),
    }


def _ids(documents: Iterable[Document]) -> tuple[str, ...]:
    return tuple(document.id or "" for document in documents)


def read_run(path: Path) -> Run:
    """Read a run file, in four columns or TREC's six; raises QuestionRefused naming file and line."""
    ranked: dict[str, dict[str, float]] = {}
    for line, place in lines_with_places(path):
        question, passage, rank = _columns(line, place)
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
