"""A follow-up read in several ways: by itself, as typed, after the last answer, after the first question.

What a question leaves unsaid was mostly said by the answer before it, or at the conversation's start. As a
rewrite such words can mislead; as further searches, whose finds count less, they help. So does the question
as it was typed, where a rewrite has changed it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from rag.declining import declines
from rag.retrievers.fusion import convex_combination, distinct, theoretical_min_max
from rag.sentences import sentences

History = Sequence[tuple[str, str]]

ASIDE = 0.5
"""What a find of another reading counts beside one of the question itself. With the default search over
MTRAG's clapnq and govt, recall@5: question as typed .347 and .574, by the rule .369 and .645, with the other
readings .403 and .667, human rewrite .381 and .687. Weights from .3 to .7 differ by .02."""
DEPTH = 30
"""Passages of each reading that are fused."""
HEARD = 300
"""Characters of an answer's first sentence that are read with the question: it names the subject."""
LOOKED_AT = 2000
"""Characters of an answer among which its first sentence is looked for."""
NAME, TYPED = "conversation", "as typed"
"""Who found a passage, in `found_by`, where another reading than the question as it stands alone did."""
_MARKER = re.compile(r"\s?\[\d{1,4}\]")


@dataclass(frozen=True)
class Reading:
    """A text to search for, what its finds count, and who found them beside the retrievers, if anyone."""

    text: str
    weight: float
    name: str = ""


def readings(standalone: str, question: str, history: History) -> tuple[Reading, ...]:
    """Return the readings of a question, first as it stands alone; `history` is oldest first.

    One that stands alone as it was typed is searched once and counts as both.

    >>> said = [("user", "Do cats purr?"), ("assistant", "Most do [1].")]
    >>> [(r.text, r.weight) for r in readings("Why? (about cats)", "Why?", said)]
    [('Why? (about cats)', 1.0), ('Why?', 0.5), ('Most do. Why?', 0.5), ('Do cats purr? Why?', 0.5)]
    """
    if not history:
        return (Reading(standalone, 1.0),)
    answered = _first_said(_first_of("assistant", reversed(history)))
    before = [said for said in (answered, _first_of("user", history)) if said]
    asides = [Reading(f"{said} {question}", ASIDE, NAME) for said in before]
    if standalone == question:
        return (Reading(question, 1.0 + ASIDE), *asides)
    return (Reading(standalone, 1.0), Reading(question, ASIDE, TYPED), *asides)


def _first_said(answer: str) -> str:
    """Return the first sentence of an answer that says something, without its markers."""
    text = _MARKER.sub("", answer[:LOOKED_AT])
    said = (text[start:end] for start, end in sentences(text))
    return next((one[:HEARD] for one in said if not one.endswith((":", "：")) and not declines(one)), "")


def _first_of(role: str, messages: Iterable[tuple[str, str]]) -> str:
    """Return the first thing that was said in a role; empty where nothing was."""
    return next((content for who, content in messages if who == role and content.strip()), "")


def search(
    retriever: Runnable[str, list[Document]], ways: Sequence[Reading], k: int | None = None
) -> list[Document]:
    """Return the best `k` documents, or all, over all readings; of one, as the retriever gives them.

    Each reading's scores are divided by its best and weighed, documents without one count by rank. The
    retriever is asked for DEPTH documents, where it can be.
    """
    if len(ways) == 1:
        return retriever.invoke(ways[0].text)[:k]
    found = {str(at): _scored(retriever.invoke(way.text, k=DEPTH)) for at, way in enumerate(ways)}
    rankings = {at: [(key, score) for key, (_, score) in of.items()] for at, of in found.items()}
    weights = {str(at): way.weight for at, way in enumerate(ways)}
    from_zero = dict.fromkeys(rankings, theoretical_min_max(0.0))
    fused = list(convex_combination(rankings, weights, from_zero).items())[:k]
    others = _others(rankings, [way.name for way in ways])
    return [_result(_first(found, key), score, others.get(key, {})) for key, score in fused]


Scored = Mapping[str, tuple[Document, float]]


def _scored(documents: Sequence[Document]) -> dict[str, tuple[Document, float]]:
    ranked = enumerate(documents, start=1)
    return {d.id or d.page_content: (d, float(d.metadata.get("score", 1 / rank))) for rank, d in ranked}


def _first(found: Mapping[str, Scored], key: str) -> Document:
    """Return the document as the first reading that found it has it."""
    return next(of[key][0] for of in found.values() if key in of)


Place = Mapping[str, float]


def _others(
    rankings: Mapping[str, Sequence[tuple[str, float]]], names: Sequence[str]
) -> dict[str, dict[str, Place]]:
    """Return the best rank and score of each document among the readings of each name."""
    best: dict[str, dict[str, Place]] = {}
    for (_, ranking), name in zip(rankings.items(), names, strict=True):
        highest = max((score for _, score in ranking), default=0.0) or 1.0
        for rank, (key, score) in enumerate(distinct(ranking).items(), start=1):
            places = best.setdefault(key, {})
            if name and rank < places.get(name, {"rank": rank + 1})["rank"]:
                places[name] = {"rank": rank, "score": score, "normalised": score / highest}
    return best


def _result(document: Document, score: float, others: Mapping[str, Place]) -> Document:
    found_by = {**document.metadata.get("found_by", {}), **others}
    metadata = {**document.metadata, "score": score, "found_by": found_by}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)
