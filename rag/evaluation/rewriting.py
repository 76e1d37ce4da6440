"""Evaluation of query rewriting: follow-ups rewritten by the app beside the same rewritten by people.

Reads ``queries.jsonl {_id, text, history, rewrite}``; no corpus is needed. A question whose rewrite has the
same words as its text stands alone and should not be changed.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import and_
from pathlib import Path

from langchain_core.embeddings import Embeddings

from rag.chat.corpus import History
from rag.chat.rewrite import REWRITE_SECONDS, make_standalone
from rag.errors import QuestionRefused
from rag.evaluation.datasets import read_questions
from rag.evaluation.metrics import longest_common
from rag.models.protocol import LanguageModel
from rag.text.tokenize import tokens


@dataclass(frozen=True)
class FollowUp:
    """A question with its conversation, (role, content) oldest first, and a person's rewrite."""

    text: str
    history: History
    rewrite: str


@dataclass(frozen=True)
class RewrittenFollowUp:
    """A follow-up, the app's rewrite, its time, and True where there is a note on a model's rewrite."""

    turn: FollowUp
    question: str
    ms: float
    noted: bool


def load_follow_ups(directory: Path, limit: int | None = None) -> list[FollowUp]:
    """Read the questions that have a rewrite; raises QuestionRefused where there is none."""
    found = [
        FollowUp(question["text"], question["history"], question["rewrite"])
        for question in read_questions(directory)
        if question.get("rewrite")
    ]
    if not found:
        raise QuestionRefused(f"{directory} has no question with a rewrite, so there is nothing to measure.")
    return found[:limit]


def rewrite_all(
    turns: Sequence[FollowUp],
    *,
    llm: LanguageModel | None = None,
    embedder: Embeddings | None = None,
    seconds: float = REWRITE_SECONDS,
) -> Iterator[RewrittenFollowUp]:
    """Yield each follow-up as the app rewrites it; `seconds` is the time limit of a model."""
    for turn in turns:
        begun = time.perf_counter()
        made = make_standalone(turn.text, turn.history, llm=llm, embedder=embedder, seconds=seconds)
        yield RewrittenFollowUp(turn, made.text, (time.perf_counter() - begun) * 1000, bool(made.note))


def rewriting_report(written: Sequence[RewrittenFollowUp]) -> dict[str, float]:
    """Return shares from 0 to 1, and the median time of a rewrite in milliseconds.

    Precision and recall are of changing what people changed; ROUGE-L is the mean over all turns. `noted`
    is the share of turns where a model's rewrite was not used, or was made from a part of the conversation.
    """
    changed = [not _same_words(item.turn.text, item.question) for item in written]
    wanted = [not _same_words(item.turn.text, item.turn.rewrite) for item in written]
    right = sum(map(and_, changed, wanted))
    kept = sum(not one and not other for one, other in zip(changed, wanted, strict=True))
    standalone = len(written) - sum(wanted)
    figures = {
        "gate_precision": right / sum(changed) if any(changed) else 0.0,
        "gate_recall": right / sum(wanted) if any(wanted) else 0.0,
        "unchanged_when_standalone": kept / standalone if standalone else 0.0,
        "rouge_l_f1": statistics.fmean(rouge_l(item.question, item.turn.rewrite) for item in written),
        "p50_ms": statistics.median(item.ms for item in written),
        "noted": statistics.fmean(item.noted for item in written),
    }
    return {"turns": len(written), **{name: round(value, 4) for name, value in figures.items()}}


def _same_words(one: str, other: str) -> bool:
    """Return True where two texts differ at most in case, spaces and marks.

    >>> _same_words("What is it?", "what is  it")
    True
    """
    return "".join(filter(str.isalnum, one.casefold())) == "".join(filter(str.isalnum, other.casefold()))


def rouge_l(written: str, wanted: str) -> float:
    """Return the harmonic mean of the shares that the longest common subsequence of tokens has of both.

    Lin, "ROUGE" (2004), with our tokens.

    >>> rouge_l("red green blue", "red blue"), rouge_l("red", "blue")
    (0.8, 0.0)
    """
    one, other = tokens(written), tokens(wanted)
    common = longest_common(one, other)
    return 2 * common / (len(one) + len(other)) if common else 0.0
