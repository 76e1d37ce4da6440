"""Evaluation of answers without a language model: correct citations, and refused questions."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rag.chat.answer import Done
from rag.chat.pipeline import RagPipeline
from rag.errors import QuestionRefused
from rag.evaluation.datasets import QuestionSet, parse_lines
from rag.evaluation.metrics import percentile
from rag.jobs import never
from rag.text.normalize import normalize_with_offsets


@dataclass(frozen=True)
class Answer:
    """Result of one question: does its first citation, does any, hold an answer; and its sentences."""

    first: bool
    any: bool
    verified: int
    sentences: int
    seconds: float


def ask_answers(questions: QuestionSet, pipeline: RagPipeline) -> Iterator[Answer]:
    """Yield the answer to each question of the set that has `answers`; QuestionRefused where none has."""
    if not questions.answers:
        raise QuestionRefused(
            f"{questions.name} has no question with answers, so there is nothing to compare citations with."
        )
    for id_, gold in questions.answers.items():
        begun = time.perf_counter()
        events = pipeline.ask(questions.questions[id_], questions.histories.get(id_, ()), never)
        done = next(event for event in events if isinstance(event, Done))
        seconds = time.perf_counter() - begun
        held = [any(quote_contains(citation.quote, words) for words in gold) for citation in done.citations]
        verified = sum(citation.status == "verified" for citation in done.citations)
        yield Answer(held[:1] == [True], any(held), verified, len(held), seconds)


def quote_contains(quote: str, words: str) -> bool:
    """Return True where a quote contains words, whatever the case, the white space and the letters' form."""
    wanted, given = ("".join(normalize_with_offsets(text).text.split()) for text in (words, quote))
    return wanted in given


def summarize_answers(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return one flat line: shares of answers 0 to 1, of their sentences, and seconds of one answer."""
    sentences = sum(answer.sentences for answer in answers)
    seconds = [answer.seconds for answer in answers]
    return {
        "dataset": name,
        "questions": len(answers),
        "first_holds_answer": round(fmean(answer.first for answer in answers), 4),
        "any_holds_answer": round(fmean(answer.any for answer in answers), 4),
        "sentences_verified": round(sum(a.verified for a in answers) / sentences, 4) if sentences else 0.0,
        "abstained": round(fmean(not answer.sentences for answer in answers), 4),
        "p50_s": round(percentile(seconds, 50), 4),
        "p95_s": round(percentile(seconds, 95), 4),
    }


# Refusals of answerable and unanswerable questions
TASKS = "all_tasks.jsonl"
_KINDS = {"ANSWERABLE": True, "UNANSWERABLE": False}
_POINTS = 20  # steps of the threshold from 0 to 1


@dataclass(frozen=True)
class LabelledTurn:
    """A question with the conversation before it, labelled as answerable from the documents or not."""

    text: str
    history: tuple[tuple[str, str], ...]
    answerable: bool


@dataclass(frozen=True)
class RefusalDecision:
    """Decision to answer a question, its score, and the right decision."""

    answered: bool
    score: float
    answerable: bool


def load_labelled_turns(directory: Path, *, limit: int | None = None) -> list[LabelledTurn]:
    """Read the first `limit` turns; raises QuestionRefused naming file and line."""
    path = directory / TASKS
    turns = list(parse_lines(path, _labelled_turns, "no turn with text, history and enrichments"))
    chosen = turns[:limit]
    if len({turn.answerable for turn in chosen}) < 2:
        raise QuestionRefused(f"{path} needs turns that are answerable and turns that are not.")
    return chosen


def _labelled_turns(entry: dict[str, Any]) -> Iterator[LabelledTurn]:
    history = tuple((turn["role"] + "", turn["content"] + "") for turn in entry["history"])
    for kind in entry["enrichments"]["Answerability"]:
        if kind in _KINDS:
            yield LabelledTurn(entry["text"] + "", history, _KINDS[kind])


def refusal_report(name: str, decided: Sequence[RefusalDecision]) -> dict[str, Any]:
    """Return how often each kind was refused, 0 to 1, as decided and at other scores."""
    return {
        "dataset": name,
        "answerable": sum(one.answerable for one in decided),
        "unanswerable": sum(not one.answerable for one in decided),
        **_refusal_rates([one.answered for one in decided], decided),
        "curve": [
            {"threshold": least, **_refusal_rates([one.score >= least for one in decided], decided)}
            for least in (round(point / _POINTS, 2) for point in range(_POINTS + 1))
        ],
    }


def _refusal_rates(answered: Sequence[bool], decided: Sequence[RefusalDecision]) -> dict[str, float]:
    """Return the unanswerable that were refused, the answerable that were too, and the balanced accuracy.

    >>> _refusal_rates([True, False], [RefusalDecision(True, 0.9, True), RefusalDecision(False, 0.1, False)])
    {'refused': 1.0, 'falsely_refused': 0.0, 'balanced_accuracy': 1.0}
    """
    refused = {
        kind: fmean(not took for took, one in zip(answered, decided, strict=True) if one.answerable is kind)
        for kind in (True, False)
    }
    return {
        "refused": round(refused[False], 4),
        "falsely_refused": round(refused[True], 4),
        "balanced_accuracy": round((refused[False] + 1 - refused[True]) / 2, 4),
    }
