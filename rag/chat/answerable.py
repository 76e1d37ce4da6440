"""Whether documents seem to answer a question at all, told from the passages that a search brought.

No model is asked. The best sentence of all passages is held against the question: which part of its words,
rare ones counting most, it has; and how near in meaning the nearest passage is, where that is known. How
often this is wrong, either way: docs/developer/citations.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from rag.citations.claims import LIGHT, LIGHT_WEIGHT
from rag.passage import Passage
from rag.retrieval.sentences import substance
from rag.text.tokenize import language, sentences, tokens

Rarity = Callable[[str], float]

LEAST = 0.6
LEAST_UNSPACED = {"ko": 0.42, "ja": 0.42}
"""Scores from which a question counts as answered. Korean and Japanese questions share fewer pairs of letters
with their answers than English ones share words."""
COMMON = 4.0
"""What any word counts beside its rarity, 0 to 10: in a few documents a word is rare by chance."""
SEARCH_BY_MEANING = "similarity"


@dataclass(frozen=True)
class Decision:
    """Whether the passages seem to answer a question, and the score that says so: more is likelier."""

    answered: bool
    score: float


def decide(
    question: str, passages: Sequence[Passage], rarity: Rarity | None = None, *, middle: float | None = None
) -> Decision:
    """Return whether some passage seems to answer a question.

    `rarity` says how rare a word is in the documents; without it, in the passages. `middle` is the cosine of
    a passage that speaks neither for an answer nor against one; None where cosines are not to be trusted.
    Passages in another language than the question cannot be told by words: where there are no others, or one
    of them is the nearest in meaning, the question is left to them.

    >>> from rag.passage import Passage
    >>> text = "The hall opened in 1932. It has a tower."
    >>> decide("When did the hall open?", [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)])
    Decision(answered=True, score=1.0)
    """
    own = [passage for passage in passages if language(passage.text) == language(question)]
    if passages and (not own or _nearest(passages) not in own):
        return Decision(True, 1.0)
    passages = own
    told = [frozenset(tokens(text)) for passage in passages for text in _sentences(passage)]
    weights = _weights(question, rarity or _rarity_among(told))
    total = sum(weights.values()) or 1.0
    best = max((sum(weights[word] for word in weights.keys() & words) for words in told), default=0.0)
    score = round(best / total + _nearness(passages, middle), 4)
    return Decision(score >= LEAST_UNSPACED.get(language(question), LEAST), score)


def _sentences(passage: Passage) -> list[str]:
    return [passage.text[start:end] for start, end in sentences(passage.text)]


def _weights(question: str, rarity: Rarity) -> dict[str, float]:
    """Return what each of a question's words counts."""
    return {
        word: (COMMON + rarity(word)) * (LIGHT_WEIGHT if word in LIGHT else 1.0) * substance(word)
        for word in frozenset(tokens(question))
    }


def _rarity_among(told: Sequence[frozenset[str]]) -> Rarity:
    def rarity(word: str) -> float:
        there = sum(word in words for words in told)
        return log(1 + (len(told) - there + 0.5) / (there + 0.5))

    return rarity


def _nearest(passages: Sequence[Passage]) -> Passage:
    """Return the passage nearest in meaning; the first where none was searched so."""
    return max(passages, key=lambda passage: _cosine(passage) or 0.0)


def _cosine(passage: Passage) -> float | None:
    found = passage.found_by.get(SEARCH_BY_MEANING)
    return None if found is None else found.score


def _nearness(passages: Sequence[Passage], middle: float | None) -> float:
    """Return how much nearer to the question the nearest passage is than one that says nothing."""
    cosines = [cosine for passage in passages if (cosine := _cosine(passage)) is not None]
    return max(cosines) - middle if cosines and middle is not None else 0.0
