"""Differences: the one thing of a statement that a sentence of a source gives otherwise.

Only a number or a time is told so. A sentence that seems to deny a true statement, or to say it of most, is
as often another sentence: of 880 sentences of people's answers (MTRAG clapnq) 4 % would be told to differ.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.citations.quantities import Quantity, StatedTime, same_unit, states
from rag.citations.sentence import Sentence

_BEFORE = re.compile(r"([^\W\d_]+)\W{0,3}\Z")
_AFTER = re.compile(r"\W{0,2}([A-Za-z\u00c0-\u024f]+|[^\W\d_a-zA-Z])")
_LIMIT = re.compile(r"\s?(부터|까지|から|まで)")
LONGEST_WORD = 40  # characters
NEARLY = 0.05  # by which a sentence may have fewer words of a claim than another on the same subject
MOST_OTHERS = 8  # numbers of a sentence that another one may be instead: of more, none is told


@dataclass(frozen=True)
class Exchange:
    """Number or time of a statement, and the words that a source has in its place."""

    own: Quantity | StatedTime
    words: str

    def made(self, text: str) -> str:
        """Return a statement with the source's words."""
        return text[: self.own.start] + self.words + text[self.own.end :]


def exchanges_of_value(claim: Sentence, source: Sentence) -> list[Exchange]:
    """Return what a source may say in the place of the one number or time of a claim that it does not state.

    >>> told = Sentence("It opens on 4 May for a fee of £8.", 0, 34)
    >>> claims = "It has a fee of £9.", "It opens on 5 May."
    >>> [one.made(said) for said in claims for one in exchanges_of_value(Sentence(said, 0, 0), told)]
    ['It has a fee of £8.', 'It opens on 4 May.']
    """
    numbers = [q for q in claim.quantities if not any(q.fits(other) for other in source.quantities)]
    times = [p for p in claim.periods if not any(states(other, p) for other in source.periods)]
    found: Sequence[tuple[Quantity, Quantity] | tuple[StatedTime, StatedTime]] = []
    if len(numbers) == 1 and not times:
        found = [(numbers[0], other) for other in _other_numbers(claim, source, numbers[0])]
    elif len(times) == 1 and not numbers:
        found = [(times[0], other) for other in _other_times(claim, source, times[0])]
    if len(found) > MOST_OTHERS:
        return []
    return [Exchange(own, source.text[p.start : p.end].strip()) for own, p in found]


def is_stated(
    claim: Sentence, own: Quantity | StatedTime, source: Sentence, every: Iterable[Sentence]
) -> bool:
    """Return True where a sentence as near to a claim as the source states its value: a rule was amended."""
    least = claim.share(source.words) - NEARLY
    near = (unit for unit in every if claim.share(unit.words) >= least)
    if isinstance(own, StatedTime):
        return any(states(period, own) for unit in near for period in unit.periods)
    return any(own.fits(other) for unit in near for other in unit.quantities)


def _other_numbers(claim: Sentence, source: Sentence, own: Quantity) -> list[Quantity]:
    left = [p for p in source.quantities if not any(q.fits(p) for q in claim.quantities)]
    alike = [p for p in left if p.bound == own.bound and same_unit(own.unit, p.unit)]
    alike = [p for p in alike if _limit(claim, own) == _limit(source, p)]
    return [p for p in alike if own.unit or p.unit or _beside(claim, own) & _beside(source, p)]


def _limit(sentence: Sentence, number: Quantity) -> str:
    """Return the particle that makes a number a beginning or an end: 1일부터, 5日まで."""
    found = _LIMIT.match(sentence.text, number.end)
    return found[1] if found else ""


def _beside(sentence: Sentence, number: Quantity) -> frozenset[str]:
    """Return what stands next to a number without a unit, which tells what it counts: "rooms", "時"."""
    begin = max(0, number.start - LONGEST_WORD)
    before = _BEFORE.search(sentence.text, begin, number.start)
    after = _AFTER.match(sentence.text, number.end)
    return frozenset(found[1].casefold() for found in (before, after) if found)


def _other_times(claim: Sentence, source: Sentence, own: StatedTime) -> list[StatedTime]:
    left = [p for p in source.periods if not any(states(p, one) for one in claim.periods)]
    return [p for p in left if _grain(p) == _grain(own)]


def _grain(period: StatedTime) -> tuple[bool, ...]:
    return (bool(period.month), bool(period.day), bool(period.quarter), period.months > 0)
