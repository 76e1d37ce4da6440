"""A readable part of a sentence that is too wide to show: tables, lists, text without a full stop."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from rag.text.tokenize import tokens

_BREAK = re.compile(r"\n|(?<=[,;:、，；|])|(?<=\s)")


def width(text: str) -> float:
    """Return a text's width: CJK characters say as much as 2.5 Latin letters.

    >>> width("ab"), width("한국")
    (2.0, 5.0)
    """
    return len(text) + 1.5 * sum(character > "\u2e80" for character in text)


def clip(text: str, start: int, end: int, weight: Mapping[str, float], widest: int) -> tuple[int, int]:
    """Return the span, or of one wider than `widest` a part around its weightiest words.

    The part grows from the piece with most weight to the side that has more to add, in turns where
    neither has.

    >>> text = "a b c the limit is 450 x y z"
    >>> text[slice(*clip(text, 0, 28, {"limit": 1.0}, 13))]
    'limit is 450'
    """
    if width(text[start:end]) <= widest:
        return start, end
    pieces = list(_pieces(text, start, end, max(1, widest // 2)))
    gains = [sum(weight.get(word, 0.0) for word in tokens(text[a:b])) for a, b in pieces]
    first = last = max(range(len(pieces)), key=gains.__getitem__)
    room = widest - width(text[slice(*pieces[first])])
    while True:
        sides = [at for at in (last + 1, first - 1) if 0 <= at < len(pieces)]
        fitting = [at for at in sides if width(text[slice(*pieces[at])]) <= room]
        if not fitting:
            break
        taken = max(fitting, key=lambda at: (gains[at], -abs(at - (first + last) / 2)))
        room -= width(text[slice(*pieces[taken])])
        first, last = min(first, taken), max(last, taken)
    return _trimmed(text, pieces[first][0], pieces[last][1])


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the spans between breaks, none longer than `longest`."""
    breaks = (match.start() for match in _BREAK.finditer(text, start + 1, end))
    for here, there in pairwise(dict.fromkeys([start, *breaks, end])):
        for part in range(here, there, longest):
            yield part, min(part + longest, there)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
