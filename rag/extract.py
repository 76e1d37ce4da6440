"""The answer when no model is configured: the documents' own sentences, the best few, word for word."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from langchain_core.embeddings import Embeddings

from rag.passages import Passage
from rag.text import sentences, tokens

MOST = 3
_LONGEST = 400
_LEAST = 0.2  # share of the question's weight below which nothing is an answer


@dataclass(frozen=True)
class Pick:
    """A sentence chosen as an answer: the passage's number from 1 and a span of its text."""

    number: int
    start: int
    end: int
    score: float


def extract(question: str, passages: Sequence[Passage], *, embedder: Embeddings | None = None) -> list[Pick]:
    """Return the sentences that answer best, best first; none where nothing fits the question."""
    wanted = frozenset(tokens(question))
    units = [
        (number, start, end, frozenset(tokens(passage.text[start:end])))
        for number, passage in enumerate(passages, 1)
        for start, end in sentences(passage.text)
    ]
    seen = Counter(word for *_, words in units for word in words)
    weight = {word: log(1 + len(units) / (1 + seen[word])) for word in wanted}
    total = sum(weight.values()) or 1.0
    picks = [
        Pick(number, start, end, sum(weight[word] for word in words & wanted) / total - 0.02 * number)
        for number, start, end, words in units
    ]
    best = sorted(picks, key=lambda pick: (-pick.score, pick.number, pick.start))
    return [pick for pick in best[:MOST] if pick.score >= _LEAST]
