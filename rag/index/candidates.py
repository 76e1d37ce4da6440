"""Candidates of a search: ids with scores, and a way to score other ids for the same question."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from langchain_core.documents import Document

Ranking = Sequence[tuple[str, float]]
Rate = Callable[[Sequence[str]], Mapping[str, float]]


class Candidates(NamedTuple):
    """Ids with scores, best first, and a function that scores other ids for the same question.

    It leaves out the ids that it cannot score.
    """

    ranking: Ranking
    rate: Rate


def scored(document: Document, score: float, id_: str | None = None) -> Document:
    """Return a copy of a document with its score in its metadata."""
    return Document(
        id=id_ or document.id,
        page_content=document.page_content,
        metadata={**document.metadata, "score": score},
    )
