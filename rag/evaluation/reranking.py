"""Evaluation of rerankers: each orders the same passages for each question of a set."""

import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from rag.errors import QuestionRefused
from rag.evaluation.datasets import QuestionSet
from rag.evaluation.metrics import Judgements, ndcg
from rag.evaluation.runs import Run
from rag.retrieval.rerank.base import Reranker

CUTS = (1, 5, 10)

Candidates = Mapping[str, Sequence[Document]]
"""Passages to rerank by question, in their given order."""


@dataclass(frozen=True)
class RerankedQuestion:
    """A question's passages in their new order, by id; `kept` is the reason of an unchanged order."""

    question_id: str
    found: tuple[str, ...]
    seconds: float
    kept: str = ""
    note: str = ""


@dataclass(frozen=True)
class RerankingReport:
    """Metrics of one reranker: mean nDCG and seconds of a question, number of requests and fallbacks."""

    dataset: str
    reranker: str
    queries: int
    ndcg: Mapping[int, float]
    s_per_query: float
    requests: int
    fallbacks: int

    def as_dict(self) -> dict[str, Any]:
        """Return one flat line: ``{"dataset", "reranker", "queries", "ndcg@1", ..., "fallbacks"}``."""
        return {
            "dataset": self.dataset,
            "reranker": self.reranker,
            "queries": self.queries,
            **{f"ndcg@{cut}": round(value, 4) for cut, value in self.ndcg.items()},
            "s_per_query": round(self.s_per_query, 3),
            "requests": self.requests,
            "fallbacks": self.fallbacks,
        }


def judged_candidates(questions: QuestionSet) -> Candidates:
    """Return each question's judged passages, in the order of the judgements."""
    return _present(questions, {id_: tuple(judged) for id_, judged in questions.judgements.items()})


def candidates_from_run(questions: QuestionSet, run: Run) -> Candidates:
    """Return each question's passages of a run, as far as the corpus has them.

    Raises QuestionRefused where the run is of other questions.
    """
    candidates = _present(questions, run)
    if not any(candidates.values()):
        raise QuestionRefused(f"The run has no passage of {questions.name} for any of its questions.")
    return candidates


def _present(questions: QuestionSet, lists: Mapping[str, Sequence[str]]) -> Candidates:
    corpus = {document.id: document for document in questions.corpus}
    return {id_: [corpus[one] for one in lists.get(id_, ()) if one in corpus] for id_ in questions.questions}


def rerank_all(
    questions: QuestionSet, candidates: Candidates, reranker: Reranker | None
) -> Iterator[RerankedQuestion]:
    """Yield each question's passages as the reranker orders them; without one, in the given order."""
    for id_, text in questions.questions.items():
        begun = time.perf_counter()
        if reranker is None:
            yield RerankedQuestion(id_, _ids(candidates[id_]), 0.0)
            continue
        result = reranker.rerank(candidates[id_], text)
        kept = str(result.failure or "")
        yield RerankedQuestion(id_, _ids(result.documents), time.perf_counter() - begun, kept, result.note)


def reranking_report(
    questions: QuestionSet, name: str, ordered: Iterable[RerankedQuestion], *, requests: int = 0
) -> RerankingReport:
    """Return the metrics of a reranker over all of the set's questions."""
    done = list(ordered)
    return RerankingReport(
        dataset=questions.name,
        reranker=name,
        queries=len(done),
        ndcg={cut: _mean_ndcg(done, questions.judgements, cut) for cut in CUTS},
        s_per_query=statistics.fmean(one.seconds for one in done),
        requests=requests,
        fallbacks=sum(bool(one.kept) for one in done),
    )


def _mean_ndcg(done: Sequence[RerankedQuestion], judgements: Mapping[str, Judgements], cut: int) -> float:
    return statistics.fmean(ndcg(one.found, judgements[one.question_id], cut) for one in done)


def _ids(documents: Iterable[Document]) -> tuple[str, ...]:
    return tuple(document.id or "" for document in documents)
