"""A follow-up read in more ways than one: by itself, after the last answer, after the first question.

What a question leaves unsaid was mostly said by the answer before it, or at the conversation's start. As a
rewrite such words can mislead; as second and third searches, whose finds count less, they help.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from rag.retrievers.fusion import convex_combination, distinct, theoretical_min_max

History = Sequence[tuple[str, str]]

ASIDE = 0.3
"""What a find of another reading counts beside one of the question itself. With BM25 over MTRAG's clapnq
and govt, recall@5: question as typed .236 and .514, by the rule .257 and .565, with the other readings .298
and .581, human rewrite .277 and .605. From .2 to .5 it differs by .01."""
DEPTH = 30
"""Passages of each reading that are fused."""
HEARD = 300
"""Characters of an answer that are read with the question: it names its subject early."""
NAME = "conversation"
"""Who found a passage, in `found_by`, where another reading than the question itself did."""


@dataclass(frozen=True)
class Reading:
    """A text to search for, and what its finds count."""

    text: str
    weight: float


def readings(standalone: str, question: str, history: History) -> tuple[Reading, ...]:
    """Return the readings of a question, first as it stands alone; `history` is oldest first.

    >>> [r.text for r in readings("Why?", "Why?", [("user", "Do cats purr?"), ("assistant", "Yes.")])]
    ['Why?', 'Yes. Why?', 'Do cats purr? Why?']
    """
    answered = _first_of("assistant", reversed(history))
    before = [said for said in (answered[:HEARD], _first_of("user", history)) if said]
    return (Reading(standalone, 1.0), *(Reading(f"{said} {question}", ASIDE) for said in before))


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
    others = _others(rankings)
    return [_result(_first(found, key), score, others.get(key)) for key, score in fused]


Scored = Mapping[str, tuple[Document, float]]


def _scored(documents: Sequence[Document]) -> dict[str, tuple[Document, float]]:
    ranked = enumerate(documents, start=1)
    return {d.id or d.page_content: (d, float(d.metadata.get("score", 1 / rank))) for rank, d in ranked}


def _first(found: Mapping[str, Scored], key: str) -> Document:
    """Return the document as the first reading that found it has it."""
    return next(of[key][0] for of in found.values() if key in of)


def _others(rankings: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the best rank and score of each document among the readings beside the first."""
    best: dict[str, dict[str, float]] = {}
    for at, ranking in rankings.items():
        highest = max((score for _, score in ranking), default=0.0) or 1.0
        for rank, (key, score) in enumerate(distinct(ranking).items(), start=1):
            if at != "0" and rank < best.get(key, {"rank": rank + 1})["rank"]:
                best[key] = {"rank": rank, "score": score, "normalised": score / highest}
    return best


def _result(document: Document, score: float, other: Mapping[str, float] | None) -> Document:
    found_by = {**document.metadata.get("found_by", {}), **({NAME: dict(other)} if other else {})}
    metadata = {**document.metadata, "score": score, "found_by": found_by}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)
