"""How well retrievers find what they should: metrics, question sets, and runs over them.

A question set is a folder in BEIR's format: ``corpus.jsonl {_id, title, text}``,
``queries.jsonl {_id, text}`` and ``qrels.tsv`` with a header, then query-id, corpus-id, score.
"""

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import FootnoteError, QuestionRefused

Judgements = Mapping[str, float]  # id -> how right it is; what is not named is wrong


@dataclass(frozen=True)
class QuestionSet:
    """Passages to search, questions by id, and for each question the passages that answer it."""

    name: str
    corpus: tuple[Document, ...]
    questions: Mapping[str, str]
    judgements: Mapping[str, Judgements]


@dataclass(frozen=True)
class Result:
    """What one retriever did with a question set: means over its questions, and how long it took.

    A question whose search failed counts as one that found nothing, and in `errors`.
    """

    dataset: str
    retriever: str
    queries: int
    metrics: Mapping[str, float]
    p50_ms: float
    p95_ms: float
    errors: int

    def as_dict(self) -> dict[str, Any]:
        """Return one flat line: ``{"dataset", "retriever", "queries", "ndcg@10", ..., "errors"}``."""
        return {
            "dataset": self.dataset,
            "retriever": self.retriever,
            "queries": self.queries,
            **{name: round(value, 4) for name, value in self.metrics.items()},
            "p50_ms": round(self.p50_ms, 2),
            "p95_ms": round(self.p95_ms, 2),
            "errors": self.errors,
        }


def ndcg(found: Sequence[str], right: Judgements, k: int) -> float:
    """Return the discounted gain of the first `k` against the best order's, 0 to 1.

    Gain is the judgement, discount log2(rank + 1) (Järvelin and Kekäläinen, TOIS 2002), as in trec_eval.

    >>> round(ndcg(["x", "a"], {"a": 1.0}, k=10), 4)
    0.6309
    """
    best = _gain(sorted(right.values(), reverse=True)[:k])
    return _gain([right.get(id_, 0.0) for id_ in _distinct(found)[:k]]) / best if best else 0.0


def recall(found: Sequence[str], right: Judgements, k: int) -> float:
    """Return which part of the right ones is among the first `k`: ``1 of 2 -> 0.5``."""
    wanted = _wanted(right)
    return len(wanted & set(_distinct(found)[:k])) / len(wanted) if wanted else 0.0


def mrr(found: Sequence[str], right: Judgements, k: int) -> float:
    """Return 1 / the rank of the first right one among the first `k`, or 0: ``rank 2 -> 0.5``."""
    wanted = _wanted(right)
    return next((1 / rank for rank, id_ in enumerate(_distinct(found)[:k], start=1) if id_ in wanted), 0.0)


METRICS: dict[str, Callable[[Sequence[str], Judgements], float]] = {
    "ndcg@5": lambda found, right: ndcg(found, right, 5),
    "ndcg@10": lambda found, right: ndcg(found, right, 10),
    "recall@1": lambda found, right: recall(found, right, 1),
    "recall@5": lambda found, right: recall(found, right, 5),
    "recall@10": lambda found, right: recall(found, right, 10),
    "mrr@10": lambda found, right: mrr(found, right, 10),
}


def load(directory: Path, *, limit: int | None = None) -> QuestionSet:
    """Read a question set with its first `limit` judged questions.

    Raises QuestionRefused, naming file and line, for what is not of the format.
    """
    judgements = _read_judgements(directory / "qrels.tsv")
    questions = {line["_id"]: line["text"] for line in _read_lines(directory / "queries.jsonl")}
    judged = [id_ for id_ in questions if any(score > 0 for score in judgements.get(id_, {}).values())]
    corpus = tuple(
        Document(id=line["_id"], page_content=f"{line.get('title', '')}\n{line['text']}".strip())
        for line in _read_lines(directory / "corpus.jsonl")
    )
    return QuestionSet(
        name=directory.name,
        corpus=corpus,
        questions={id_: questions[id_] for id_ in judged[:limit]},
        judgements={id_: judgements[id_] for id_ in judged[:limit]},
    )


def run(questions: QuestionSet, retrievers: Mapping[str, BaseRetriever]) -> Iterator[Result]:
    """Ask each retriever every question and yield its result; they must search the set's corpus."""
    for name, retriever in retrievers.items():
        yield run_one(questions, name, retriever)


def run_one(questions: QuestionSet, name: str, retriever: BaseRetriever) -> Result:
    """Ask one retriever every question."""
    values: dict[str, list[float]] = {metric: [] for metric in METRICS}
    times: list[float] = []
    errors = 0
    for id_, question in questions.questions.items():
        begun = time.perf_counter()
        try:
            found = [document.id or "" for document in retriever.invoke(question)]
        except FootnoteError:
            found, errors = [], errors + 1
        times.append((time.perf_counter() - begun) * 1000)
        for metric, measure in METRICS.items():
            values[metric].append(measure(found, questions.judgements[id_]))
    return Result(
        dataset=questions.name,
        retriever=name,
        queries=len(questions.questions),
        metrics={metric: statistics.fmean(of) if of else 0.0 for metric, of in values.items()},
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
        errors=errors,
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that `percent` of the values do not exceed: ``[1, 2, 3, 4], 50 -> 2``."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else 0.0


def _gain(judged: Sequence[float]) -> float:
    return math.fsum(score / math.log2(rank + 1) for rank, score in enumerate(judged, start=1))


def _wanted(right: Judgements) -> set[str]:
    return {id_ for id_, score in right.items() if score > 0}


def _distinct(found: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(found))


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file; only line feeds end lines, since texts hold other breaks."""
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise QuestionRefused(f"Line {number} of {path} is no JSON: {error}") from error
        if not isinstance(entry, dict) or not {"_id", "text"} <= set(entry):
            raise QuestionRefused(f"Line {number} of {path} is no object with _id and text.")
        yield entry


def _read_judgements(path: Path) -> dict[str, dict[str, float]]:
    judgements: dict[str, dict[str, float]] = {}
    for number, line in enumerate(_read(path).split("\n")[1:], start=2):
        if line.strip():
            try:
                question, passage, score = line.rstrip("\r").split("\t")
                judgements.setdefault(question, {})[passage] = float(score)
            except ValueError as error:
                raise QuestionRefused(
                    f"Line {number} of {path} is not query-id, corpus-id, score."
                ) from error
    return judgements


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise QuestionRefused(f"{path} cannot be read as a file of a question set: {error}") from error
