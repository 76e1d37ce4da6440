"""Dates of birth and death, as an article about a person gives them beside the name."""

import re
from itertools import pairwise

from rag.grid.cells import Day
from rag.grid.values import FoundValue, day_of
from rag.text.dates import find_periods

OPENING = 700
"""Characters at the beginning of a document in which its subject is introduced."""
LONGEST = 240  # characters between parentheses
_DASH = re.compile(
    r"\s*[)）]?[^-–—~～〜()（）]{0,12}(?:[(（][^()（）]{0,12}[)）])?\s*[-–—~～〜][^-–—~～〜]{0,24}"
)
_OPEN = re.compile(r"[-–—~～〜]\s*\Z")


def life_dates(text: str) -> tuple[FoundValue | None, FoundValue | None]:
    """Return birth and death by the first parentheses with a life span; the second is None for the living.

    >>> [one.value.label for one in life_dates("Ada Lovelace (10 December 1815 – 27 November 1852) was")]
    ['1815-12-10', '1852-11-27']
    """
    for start, end in _parentheses(text[:OPENING]):
        inside = text[start:end]
        dates = find_periods(inside)
        pairs = (pair for pair in pairwise(dates) if _DASH.fullmatch(inside[pair[0].end : pair[1].start]))
        span = next(pairs, None)
        if span is not None:
            one, two = (FoundValue(day_of(date), start + date.start, start + date.end) for date in span)
            return (one, two) if _in_order(one, two) else (None, None)
        if len(dates) == 1 and _OPEN.match(inside[dates[0].end :].lstrip()):
            only = dates[0]
            return FoundValue(day_of(only), start + only.start, start + only.end), None
    return None, None


def _in_order(born: FoundValue, died: FoundValue) -> bool:
    match born.value, died.value:
        case Day(_, first), Day(_, last):
            return first < last
    return False


def _parentheses(text: str) -> list[tuple[int, int]]:
    """Return the spans inside of the outer parentheses of a text."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "(（":
            start = place + 1 if depth == 0 else start
            depth += 1
        elif letter in ")）" and depth:
            depth -= 1
            if depth == 0 and place - start <= LONGEST:
                found.append((start, place))
    return found
