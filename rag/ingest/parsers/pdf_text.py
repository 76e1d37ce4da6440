"""The text of one PDF page, and which of the page's characters each code point is.

Loading and highlighting both read a page with `page_text`, so what was stored can be found again.
Order is the page's own order of content; lines are joined where a word runs over their end.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from statistics import median
from typing import NamedTuple

from pypdfium2 import PdfTextPage

from rag.ingest.parsers.pdf_lines import Line, lines_of

INSERTED = -1  # the character index of a line break that we wrote
_AROUND = 4  # lines before and after one that tell how wide its column is
_OTHER_SIZE = 0.15  # share by which font sizes differ when two lines are no one paragraph
_SPACED = 0.12  # share of Korean lines that end with a space where lines break anywhere in a word
_JOINING = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff、。，．！？」』）〉》】ー々]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_COMPOUND = re.compile(r"\w+-\w+")
_LAST_WORD = re.compile(r"\w+$")
_FIRST_WORD = re.compile(r"\w+")


class LineStart(NamedTuple):
    """Where a line begins in the page's text, and how it is set; ``size`` in points."""

    start: int
    size: float
    angle: float
    bold: bool


@dataclass(frozen=True)
class PageText:
    """A page's text; ``indices[i]`` is pdfium's index of ``text[i]``, or INSERTED."""

    text: str
    indices: list[int]
    lines: list[LineStart]


def page_text(page: PdfTextPage) -> PageText:
    """Read a page: lines, words that run over line ends, paragraphs as blank lines."""
    lines = _without_split_hyphens(lines_of(page))
    text = ""
    indices: list[int] = []
    starts: list[LineStart] = []
    for line, before in zip(lines, _breaks(lines), strict=True):
        starts.append(LineStart(len(text) + len(before), line.size, line.angle, line.bold))
        text += before + line.text
        indices.extend([INSERTED] * len(before))
        indices.extend(line.indices)
    return PageText(text, indices, starts)


def _without_split_hyphens(lines: list[Line]) -> list[Line]:
    """Take off the hyphens that only split a word; one that the page writes elsewhere stays."""
    compounds = {word.lower() for line in lines if "-" in line.text for word in _COMPOUND.findall(line.text)}
    kept = []
    for line, following in zip_longest(lines, lines[1:]):
        if line.hyphenated and following and _splits(line.text[:-1], following.text, compounds):
            line = replace(line, text=line.text[:-1], indices=line.indices[:-1])
        kept.append(line)
    return kept


def _splits(before: str, after: str, compounds: set[str]) -> bool:
    """Whether the hyphen between two lines' words is none of their compound's."""
    if not after[:1].islower():
        return False
    last, first = _LAST_WORD.search(before), _FIRST_WORD.match(after)
    return not (last and first and f"{last[0]}-{first[0]}".lower() in compounds)


def _breaks(lines: list[Line]) -> list[str]:
    """Return what stands before each line: nothing, a space, a line end, or a blank line."""
    pairs = list(pairwise(lines))
    gaps = [gap for before, line in pairs if 0 < (gap := before.baseline - line.baseline) < 4 * line.size]
    leading = median(gaps) if gaps else 0.0
    spaced = _breaks_words(pairs)
    return [""][: len(lines)] + [
        _break(before, line, leading, spaced, lines[max(place - _AROUND, 0) : place + _AROUND + 1])
        for place, (before, line) in enumerate(pairs)
    ]


def _break(before: Line, line: Line, leading: float, spaced: bool, around: list[Line]) -> str:
    if before.hyphenated:
        return ""
    if abs(before.angle - line.angle) > 1:
        return "\n\n"
    if _goes_on(before, line):
        return " " if line.left - before.right > 0.15 * line.size else ""
    gap = before.baseline - line.baseline
    if not _alike(before, line) or gap > max(1.25 * leading, 1.3 * line.size):
        return "\n\n"
    if gap > 0 and _runs_on(before.text, line.text, spaced) and _full(before, around):
        return ""
    return "\n"


def _goes_on(before: Line, line: Line) -> bool:
    """Whether a line goes on where the one before ended, as around a footnote's raised number."""
    size = max(before.size, line.size)
    return abs(before.baseline - line.baseline) < 0.6 * size and abs(line.left - before.right) < 0.6 * size


def _alike(before: Line, line: Line) -> bool:
    return abs(before.size - line.size) <= _OTHER_SIZE * max(before.size, line.size)


def _breaks_words(pairs: list[tuple[Line, Line]]) -> bool:
    """Whether Korean lines break inside words: then those that end with a word keep its space."""
    korean = [
        before for before, line in pairs if _HANGUL.match(before.text.rstrip()[-1] + line.text.lstrip()[0])
    ]
    kept = sum(line.text[-1].isspace() for line in korean)
    return kept > 1 and kept >= _SPACED * len(korean)


def _runs_on(before: str, after: str, spaced: bool) -> bool:
    """Whether a word may run over a line end: in Korean only where lines keep their spaces."""
    last, first = before[-1], after[0]
    if _HANGUL.match(last) and _HANGUL.match(first):
        return spaced
    return bool(_JOINING.match(last) and _JOINING.match(first)) and last not in "。！？"


def _full(line: Line, around: list[Line]) -> bool:
    """Whether a line reaches the right edge of the lines of its column around it."""
    edge = max(
        other.right
        for other in around
        if abs(other.left - line.left) <= 2 * line.size and _alike(other, line)
    )
    return line.right >= edge - 1.5 * line.size
