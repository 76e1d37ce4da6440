"""Answers as the app gives them without a language model, and whether what they cite holds the words."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rag.chat.answer import Done
from rag.chat.pipeline import RagPipeline
from rag.citations.cite import Citation
from rag.errors import QuestionRefused
from rag.evaluation.datasets import QuestionSet
from rag.evaluation.metrics import percentile
from rag.jobs import Cancel, never
from rag.text.normalize import fold


@dataclass(frozen=True)
class Answer:
    """What came of one question: whether its first citation, and any, holds an answer, and its sentences."""

    first: bool
    any: bool
    verified: int
    sentences: int
    seconds: float

    @property
    def abstained(self) -> bool:
        """Whether nothing was answered."""
        return self.sentences == 0


def ask_answers(questions: QuestionSet, pipeline: RagPipeline, cancelled: Cancel = never) -> Iterator[Answer]:
    """Yield the answer to each question of the set that has `answers`, in order.

    Raises QuestionRefused where no question has any.
    """
    if not questions.answers:
        raise QuestionRefused(
            f"{questions.name} has no question with answers, so there is nothing to compare citations with."
        )
    for id_, gold in questions.answers.items():
        begun = time.perf_counter()
        events = pipeline.ask(questions.questions[id_], questions.histories.get(id_, ()), cancelled)
        done = next(event for event in events if isinstance(event, Done))
        yield _answer(done.citations, gold, time.perf_counter() - begun)


def _answer(citations: Sequence[Citation], gold: Sequence[str], seconds: float) -> Answer:
    held = [any(holds(citation.quote, words) for words in gold) for citation in citations]
    verified = sum(citation.status == "verified" for citation in citations)
    return Answer(held[:1] == [True], any(held), verified, len(citations), seconds)


def holds(quote: str, words: str) -> bool:
    r"""Return whether a quote has some words, whatever the case, the white space and the form of letters.

    >>> holds("The ofﬁce opened in\n May.", "office  opened"), holds("１９３２年に開通", "1932年")
    (True, True)
    """
    return "".join(fold(words).text.split()) in "".join(fold(quote).text.split())


def summary(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return one flat line: shares of answers 0 to 1, of their sentences, and seconds of one answer."""
    sentences = sum(answer.sentences for answer in answers)
    seconds = [answer.seconds for answer in answers]
    return {
        "dataset": name,
        "questions": len(answers),
        "first_holds_answer": round(fmean(answer.first for answer in answers), 4),
        "any_holds_answer": round(fmean(answer.any for answer in answers), 4),
        "sentences_verified": round(sum(a.verified for a in answers) / sentences, 4) if sentences else 0.0,
        "abstained": round(fmean(answer.abstained for answer in answers), 4),
        "p50_s": round(percentile(seconds, 50), 4),
        "p95_s": round(percentile(seconds, 95), 4),
    }
