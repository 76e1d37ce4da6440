"""Questions that documents answer and questions that they do not: how often each is taken for the other.

Read from ``all_tasks.jsonl`` beside a question set, in MTRAG's form: ``{"text", "history", "enrichments":
{"Answerability": ["ANSWERABLE" or "UNANSWERABLE"]}}``; turns of another kind are left out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rag.errors import QuestionRefused
from rag.evaluation.beir import read_text

TASKS = "all_tasks.jsonl"
_KINDS = {"ANSWERABLE": True, "UNANSWERABLE": False}
_POINTS = 20


@dataclass(frozen=True)
class LabelledTurn:
    """A question, the conversation before it, and whether the documents answer it."""

    text: str
    history: tuple[tuple[str, str], ...]
    answerable: bool


@dataclass(frozen=True)
class Decided:
    """What was decided about a question, with its score, and what is right."""

    answered: bool
    score: float
    answerable: bool


def load_turns(directory: Path, *, limit: int | None = None) -> list[LabelledTurn]:
    """Read the first `limit` turns; raises QuestionRefused naming file and line."""
    path = directory / TASKS
    turns: list[LabelledTurn] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            try:
                turns.extend(_turn(json.loads(line)))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise QuestionRefused(
                    f"Line {number} of {path} is no turn with text, history and enrichments."
                ) from error
    chosen = turns[:limit]
    if len({turn.answerable for turn in chosen}) < 2:
        raise QuestionRefused(f"{path} needs turns that are answerable and turns that are not.")
    return chosen


def _turn(entry: dict[str, Any]) -> Iterator[LabelledTurn]:
    history = tuple((turn["role"] + "", turn["content"] + "") for turn in entry["history"])
    for kind in entry["enrichments"]["Answerability"]:
        if kind in _KINDS:
            yield LabelledTurn(entry["text"] + "", history, _KINDS[kind])


def report(name: str, decided: Sequence[Decided]) -> dict[str, Any]:
    """Return how often each kind was refused, 0 to 1, as decided and at other scores."""
    return {
        "dataset": name,
        "answerable": sum(one.answerable for one in decided),
        "unanswerable": sum(not one.answerable for one in decided),
        **rates([one.answered for one in decided], decided),
        "curve": [
            {"threshold": least, **rates([one.score >= least for one in decided], decided)}
            for least in (round(point / _POINTS, 2) for point in range(_POINTS + 1))
        ],
    }


def rates(answered: Sequence[bool], decided: Sequence[Decided]) -> dict[str, float]:
    """Return the unanswerable that were refused, the answerable that were too, and the balanced accuracy.

    >>> rates([True, False], [Decided(True, 0.9, True), Decided(False, 0.1, False)])
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
