"""check(): whether the words of a passage support a sentence, and which words. No model, no network.

A sentence is verified by one sentence of a passage, the anchor, that has all its numbers and most of its
words; its neighbours may lend the rest. Precision goes before recall: names, numbers, negation and
direction must agree, and what is not found is only `related`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from rag.facts import (
    clauses,
    holds_name,
    in_order,
    latin_words,
    names,
    negated,
    numbers,
    opposed,
    outline,
    without_numbers,
)
from rag.folding import Folded, fold
from rag.passages import Passage
from rag.text import sentences, tokens

Status = Literal["verified", "related", "unsupported"]

VERIFIED = 0.65
RELATED = 0.3
ANCHOR = 0.75
"""Shares of a sentence's words: in the evidence, in a passage on the subject, in the anchor alone."""
ALIKE = 0.6
"""The share of words in the same order from which two sentences run alike, so that a different one tells."""
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
        self.words = frozenset(tokens(without_numbers(text)))
        self.plain = self.words - frozenset(tokens(" ".join(self.names)))
        self.latin = latin_words(self.folded)
        self.outline = outline(text)

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
            if alone < RELATED:
                continue
            for first in range(max(0, at - _REACH), at + 1):
                for last in range(at, min(at + 1, len(self.units) - 1) + 1):
                    if last > first:
                        yield _judge(claim, anchor, self.units[first : last + 1], self.above, number)


def _judge(claim: _Unit, anchor: _Unit, window: Sequence[_Unit], above: _Unit, number: int) -> Evidence:
    words = frozenset[str]().union(*(unit.words for unit in window))
    score = _share(claim.words, words)
    status: Status = "related" if score >= RELATED else "unsupported"
    backed = _share(claim.words, words | above.words)
    if backed >= VERIFIED and _agrees(claim, anchor, window, above):
        status, score = "verified", backed
    shown = round(score - _EXTRA_SENTENCE * (len(window) - 1), 4)
    return Evidence(status, number, window[0].start, window[-1].end, max(0.0, shown))


def _share(wanted: frozenset[str], given: frozenset[str]) -> float:
    """Return the share of the wanted words that are given; 0 where none is wanted."""
    return len(wanted & given) / len(wanted) if wanted else 0.0


def _agrees(claim: _Unit, anchor: _Unit, window: Sequence[_Unit], above: _Unit) -> bool:
    """Return whether nothing in the claim is other than in the anchor and what stands around it."""
    if not in_order(claim.numbers, anchor.numbers) or _share(claim.plain, anchor.words) < ANCHOR:
        return False
    missing = anchor.lacks(claim.names)
    if any(not any(unit.holds(name) for unit in (*window, above)) for name in missing):
        return False
    if missing and claim.lacks(anchor.names):
        return False
    if opposed(claim.text, anchor.text) or _denies(claim, anchor) != negated(claim.text):
        return False
    return not exchanged(claim.outline, anchor.outline)


def exchanged(claim: Sequence[str], anchor: Sequence[str]) -> bool:
    """Return whether, where two sentences run alike, one has something else in a place of the other.

    Words that only moved are no exchange, nor are words that one has more than the other.

    >>> exchanged("elder order of deacon".split(), "elder order of elder".split())
    True
    >>> exchanged("film open 2004".split(), "2004 film open".split())
    False
    """
    more, less = Counter(claim) - Counter(anchor), Counter(anchor) - Counter(claim)
    steps = SequenceMatcher(None, claim, anchor, autojunk=False).get_opcodes()
    alike = sum(b - a for operation, a, b, _, _ in steps if operation == "equal")
    return alike >= ALIKE * len(claim) and any(
        operation == "replace" and any(map(more.get, claim[a:b])) and any(map(less.get, anchor[c:d]))
        for operation, a, b, c, d in steps
    )


def _denies(claim: _Unit, anchor: _Unit) -> bool:
    """Return whether the anchor denies something in a clause that shares words with the claim."""
    parts = [part for part in clauses(anchor.text) if claim.words & frozenset(tokens(part))]
    return any(negated(part) for part in parts)
