"""Differences: the one value of a statement that a sentence of a source gives otherwise."""

import re

from rag.citations.quantities import Quantity, same_unit
from rag.citations.sentence import Sentence

_ITEM = re.compile(r"\s*\d{1,3}[.)]\s")
"""Number of a list's item."""
MOST_OTHERS = 8  # numbers of a sentence that another one may be instead: of more, none is told


def other_numbers(claim: Sentence, source: Sentence) -> list[tuple[Quantity, Quantity]]:
    """Return the one number of a claim that a source does not state, with each that it may be instead.

    >>> pairs = other_numbers(Sentence("The fee is £9.", 0, 14), Sentence("The fee is £8 in 2024.", 0, 22))
    >>> [(str(one.value), str(other.value)) for one, other in pairs]
    [('9', '8')]
    """
    wrong = [q for q in claim.quantities if not any(q.fits(other) for other in source.quantities)]
    if len(wrong) != 1:
        return []
    item = _ITEM.match(source.text)
    told = [p for p in source.quantities if not item or p.start >= item.end()]
    left = [p for p in told if not any(q.fits(p) for q in claim.quantities)]
    able = [p for p in left if p.bound == wrong[0].bound and same_unit(wrong[0].unit, p.unit)]
    return [(wrong[0], p) for p in able] if len(able) <= MOST_OTHERS else []
