"""Text made comparable, with the way back: NFKC, case, white space, hyphens at line ends."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_SKIPPED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_LINE_HYPHEN = re.compile(r"(?<=\w)[-\u2010]\s*\n\s*(?=[a-z])")
_SAME = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d", "------''\"\"")


@dataclass(frozen=True)
class Folded:
    """Folded text; character i of `text` came from the original span [starts[i], ends[i])."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def find(self, part: str) -> tuple[int, int] | None:
        """Return the original span of folded `part` where it begins and ends at word borders, or None."""
        at = self.text.find(part) if part else -1
        while at >= 0:
            end = at + len(part)
            if _border(self.text, at) and _border(self.text, end):
                return self.starts[at], self.ends[end - 1]
            at = self.text.find(part, at + 1)
        return None


def _border(text: str, at: int) -> bool:
    """Return whether no Latin word or number runs across position `at`."""
    return not (0 < at < len(text) and _runs(text[at - 1]) and _runs(text[at]))


def _runs(character: str) -> bool:
    return character.isalnum() and character < "\u3000"


def fold(text: str) -> Folded:
    r"""Fold a text for comparison.

    >>> fold("The  ofﬁce,\nre-\nopened").text
    'the office, reopened'
    """
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text, _hyphens(text)):
        piece = unicodedata.normalize("NFKC", text[start:end]).translate(_SAME).casefold()
        if piece.isspace():
            piece = " " if folded and folded[-1] != " " else ""
        folded.extend(piece)
        starts.extend([start] * len(piece))
        ends.extend([end] * len(piece))
    if folded and folded[-1] == " ":
        folded.pop(), starts.pop(), ends.pop()
    return Folded("".join(folded), tuple(starts), tuple(ends))


def _hyphens(text: str) -> frozenset[int]:
    """Return the positions of hyphens, and the space after them, that only break a line."""
    return frozenset(at for match in _LINE_HYPHEN.finditer(text) for at in range(*match.span()))


def _clusters(text: str, skipped: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans of characters that NFKC may join: a base and its marks, the letters of a syllable."""
    start, size = 0, len(text)
    while start < size:
        end = start + 1
        while end < size and (unicodedata.combining(text[end]) or "\u1160" <= text[end] <= "\u11ff"):
            end += 1
        if start not in skipped and text[start] not in _SKIPPED:
            yield start, end
        start = end
