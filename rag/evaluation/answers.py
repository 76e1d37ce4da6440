"""Evaluation of answers: citations and refusals without a language model, and claims that people judged.

Claims with passages and judgements are JSON lines, each of one of these forms: ``{"claim", "passages": [text,
...], "supported": true or false}``; WiCE's ``{"claim", "label", "evidence_sentences"}``, where only
"supported" counts as it; ExpertQA's ``{"answers": {system: {"claims": [{"claim_string", "evidence",
"support"}]}}}``, where only "Complete" does and a claim without evidence or judgement is left out.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import and_, eq
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeVar

from rag.chat.answer import Done
from rag.chat.pipeline import RagPipeline
from rag.citations.checker import Checker
from rag.citations.reader import StatementReader, read_evidence
from rag.citations.support import OPEN
from rag.errors import QuestionRefused
from rag.evaluation.datasets import QuestionSet, parse_lines
from rag.evaluation.metrics import percentile
from rag.jobs import never
from rag.passage import Passage
from rag.text.normalize import normalize_with_offsets

T = TypeVar("T")
Group = Literal["kind", "lang"]
GROUPS: tuple[Group, ...] = ("kind", "lang")
_FORM = "no claim in any of the forms: claim, passages and supported; WiCE's; ExpertQA's"
_MARKER = re.compile(r"\s*\[\d+\]")
_ADDRESS = re.compile(r"\A\s*(?:\[\d+\])?\s*(?:https?://\S+)?\s*")
_LEAST_EVIDENCE = 40
"""Characters: shorter evidence of ExpertQA is a bare address or a title, not a text."""


@dataclass(frozen=True)
class Claim:
    """A claim, the passages cited for it, and the human judgement that they support it."""

    text: str
    passages: tuple[str, ...]
    supported: bool
    kind: str = ""
    lang: str = ""


@dataclass(frozen=True)
class Verdict:
    """Status that the checker gave a claim, with its score, 0 where it found a contradiction."""

    supported: bool
    status: str
    score: float
    kind: str = ""
    lang: str = ""


def load_claims(path: Path) -> list[Claim]:
    """Read the claims of a file; raises QuestionRefused naming file and line."""
    found = list(parse_lines(path, _claims, _FORM))
    if not found:
        raise QuestionRefused(f"{path} has no claim with evidence, so there is nothing to measure.")
    return found


def _claims(entry: dict[str, Any]) -> Iterator[Claim]:
    if "answers" in entry:
        for answer in entry["answers"].values():
            yield from filter(None, map(_of_expertqa, answer["claims"]))
    elif "evidence_sentences" in entry:
        page = "\n\n".join(entry["evidence_sentences"])
        yield Claim(entry["claim"] + "", (page,), entry["label"] == "supported")
    else:
        passages = tuple(text + "" for text in _typed(list, entry["passages"]))
        yield Claim(
            entry["claim"] + "",
            passages,
            _typed(bool, entry["supported"]),
            str(entry.get("kind", "")),
            str(entry.get("lang", "")),
        )


def _typed(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _of_expertqa(claim: dict[str, Any]) -> Claim | None:
    texts = (_ADDRESS.sub("", evidence) for evidence in claim["evidence"] or ())
    passages = tuple(text for text in texts if len(text) > _LEAST_EVIDENCE)
    if not passages or claim["support"] in ("N/A", None):
        return None
    return Claim(_MARKER.sub("", claim["claim_string"]), passages, claim["support"] == "Complete")


def as_passages(texts: Sequence[str]) -> list[Passage]:
    """Return texts as passages of documents without names."""
    return [
        Passage(str(number), str(number), "", "", None, "", 0, len(text), text)
        for number, text in enumerate(texts, 1)
    ]


def check_claim(claim: Claim, checker: Checker, reader: StatementReader | None = None) -> Verdict:
    """Check a claim with a checker of its passages, and then with a reader if it is left open."""
    found = checker.check(claim.text)
    if reader is not None and found.status in OPEN:
        read, _ = read_evidence([claim.text], as_passages(claim.passages), reader)
        found = next((one for one in read.values() if one.status == "verified"), found)
    score = found.score if found.status == "verified" else 0.0
    return Verdict(claim.supported, found.status, score, claim.kind, claim.lang)


_COUNTED = ("true", "true_verified", "false", "false_verified")


def count_by(verdicts: Sequence[Verdict], what: Group) -> dict[str, dict[str, int]]:
    """Return the counts of each kind or language: true and false statements, and how many were verified.

    >>> count_by([Verdict(True, "verified", 0.9, "units", "en")], "lang")
    {'en': {'true': 1, 'true_verified': 1, 'false': 0, 'false_verified': 0}}
    """
    counts: dict[str, dict[str, int]] = {}
    for verdict in verdicts:
        if name := getattr(verdict, what):
            row = counts.setdefault(
                name, dict.fromkeys(("true", "true_verified", "false", "false_verified"), 0)
            )
            side = "true" if verdict.supported else "false"
            row[side] += 1
            row[f"{side}_verified"] += verdict.status == "verified"
    return dict(sorted(counts.items()))


def score_citations(verdicts: Sequence[Verdict], threshold: float | None = None) -> dict[str, float]:
    """Return precision, recall, F1 and accuracy, 0 to 1, of what was verified or scored at least `threshold`.

    They are 0 where nothing was verified or supported.

    >>> score_citations([Verdict(True, "verified", 0.9), Verdict(False, "related", 0.0)])
    {'verified': 1, 'right': 1, 'precision': 1.0, 'recall': 1.0, 'f1': 1.0, 'accuracy': 1.0}
    """
    taken = [v.status == "verified" if threshold is None else v.score >= threshold for v in verdicts]
    supported = [v.supported for v in verdicts]
    right = sum(map(and_, taken, supported))
    rates = {
        "precision": right / sum(taken) if any(taken) else 0.0,
        "recall": right / sum(supported) if any(supported) else 0.0,
        "f1": 2 * right / (sum(taken) + sum(supported)) if right else 0.0,
        "accuracy": sum(map(eq, taken, supported)) / len(verdicts),
    }
    return {"verified": sum(taken), "right": right, **{name: round(rate, 4) for name, rate in rates.items()}}


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
