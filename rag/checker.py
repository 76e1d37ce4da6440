"""check(): whether the words of a passage support a sentence, and which words. No model, no network.

A sentence is verified by one sentence of a passage, the anchor, that has all its numbers and most of its
words; its neighbours may lend the rest. Precision goes before recall: names, numbers, negation and
direction must agree, and what is not found is only `related`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.facts import clauses, holds_name, latin_words, names, negated, numbers, opposed
from rag.folding import Folded, fold
from rag.passages import Passage
from rag.text import sentences, tokens

Status = Literal["verified", "related", "unsupported"]

VERIFIED = 0.7
RELATED = 0.3
ANCHOR = 0.5
"""Shares of a sentence's words: in the evidence, in a passage on the subject, in the anchor alone."""
_EXTRA_SENTENCE = 0.04
_REACH = 2  # sentences before the anchor whose names a pronoun in it may stand for


@dataclass(frozen=True)
class Evidence:
    """What was found for a sentence: the passage's number from 1 (0: none) and a span of its text.

    `score` is the share of the sentence's words that the span holds, 0 to 1.
    """

    status: Status
    number: int = 0
    start: int = 0
    end: int = 0
    score: float = 0.0


def check(sentence: str, passages: Sequence[Passage]) -> Evidence:
    """Return the best evidence for a sentence in the passages.

    >>> from rag.passages import Passage
    >>> text = "Seoul is big. It has 9 million people."
    >>> check("Seoul has 9 million people.", [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)])
    Evidence(status='verified', number=1, start=0, end=38, score=0.96)
    """
    return Checker(passages).check(sentence)


class Checker:
    """Checks many sentences against the same passages, reading each passage once."""

    def __init__(self, passages: Sequence[Passage]):
        self._read = [_Text(passage) for passage in passages]

    def check(self, sentence: str, among: Collection[int] | None = None) -> Evidence:
        """Return the best evidence among the passages of these numbers, or among all."""
        claim = _Unit(sentence, 0, len(sentence))
        best = Evidence("unsupported")
        for number, text in enumerate(self._read, 1):
            if among is None or number in among:
                best = max(best, text.evidence(claim, number), key=_rank)
        return best


def _rank(evidence: Evidence) -> tuple[int, float]:
    order = ("unsupported", "related", "verified")
    return order.index(evidence.status), evidence.score


class _Unit:
    """One sentence, or a run of them, and what it states."""

    def __init__(self, text: str, start: int, end: int):
        self.text, self.start, self.end = text, start, end
        self.folded = fold(text).text
        self.numbers = numbers(text)
        self.names = names(text)
        self.words = frozenset(tokens(text)) - frozenset(self.numbers)
        self.latin = latin_words(self.folded)

    def holds(self, name: str) -> bool:
        return holds_name(name, self.folded, self.latin)

    def lacks(self, wanted: Sequence[str]) -> list[str]:
        return [name for name in wanted if not self.holds(name)]


class _Text:
    """One passage: its sentences, and the titles above it that its pronouns may stand for."""

    def __init__(self, passage: Passage):
        self.text = passage.text
        self.folded: Folded = fold(passage.text)
        self.units = [_Unit(self.text[start:end], start, end) for start, end in sentences(passage.text)]
        self.above = _Unit(f"{passage.heading} {passage.document}", 0, 0)

    def evidence(self, claim: _Unit, number: int) -> Evidence:
        verbatim = self._verbatim(claim)
        if verbatim is not None:
            return Evidence("verified", number, *verbatim, 1.0)
        best = Evidence("unsupported")
        for evidence in self._windows(claim, number):
            best = max(best, evidence, key=_rank)
        return best

    def _verbatim(self, claim: _Unit) -> tuple[int, int] | None:
        """Return the span of the claim's own words, unless the sentence around them denies them."""
        span = self.folded.find(claim.folded) or self.folded.find(claim.folded.rstrip(".。!?！？ "))
        if span is None or not claim.words:
            return None
        around = [unit for unit in self.units if unit.start < span[1] and span[0] < unit.end]
        denied = any(negated(unit.text) for unit in around) and not negated(claim.text)
        return None if denied else span

    def _windows(self, claim: _Unit, number: int) -> Iterator[Evidence]:
        for at, anchor in enumerate(self.units):
            alone = _share(claim.words, anchor.words)
            yield _judge(claim, anchor, [anchor], self.above, number)
            if alone < ANCHOR / 2:
                continue
            for first in range(max(0, at - _REACH), at + 1):
                for last in range(at, min(at + 1, len(self.units) - 1) + 1):
                    if last > first:
                        yield _judge(claim, anchor, self.units[first : last + 1], self.above, number)


def _judge(claim: _Unit, anchor: _Unit, window: Sequence[_Unit], above: _Unit, number: int) -> Evidence:
    words = frozenset().union(*(unit.words for unit in window)) | above.words
    score = _share(claim.words, words)
    shown = round(score - _EXTRA_SENTENCE * (len(window) - 1), 4)
    status: Status = "unsupported"
    if score >= RELATED:
        status = "verified" if score >= VERIFIED and _agrees(claim, anchor, window, above) else "related"
    return Evidence(status, number, window[0].start, window[-1].end, max(0.0, min(1.0, shown)))


def _share(wanted: frozenset[str], given: frozenset[str]) -> float:
    """Return the share of the wanted words that are given; 0 where none is wanted."""
    return len(wanted & given) / len(wanted) if wanted else 0.0


def _agrees(claim: _Unit, anchor: _Unit, window: Sequence[_Unit], above: _Unit) -> bool:
    """Return whether nothing in the claim is other than in the anchor and what stands around it."""
    if claim.numbers - anchor.numbers or _share(claim.words, anchor.words) < ANCHOR:
        return False
    missing = anchor.lacks(claim.names)
    if any(not any(unit.holds(name) for unit in (*window, above)) for name in missing):
        return False
    if missing and claim.lacks(anchor.names):
        return False
    return not opposed(claim.text, anchor.text) and _denies(claim, anchor) == negated(claim.text)


def _denies(claim: _Unit, anchor: _Unit) -> bool:
    """Return whether the anchor denies something in a clause that shares words with the claim."""
    parts = [part for part in clauses(anchor.text) if claim.words & frozenset(tokens(part))]
    return any(negated(part) for part in parts)
