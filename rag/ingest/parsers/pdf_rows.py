"""Rows of a PDF page: words at one height in segments, with currency signs joined to their figures.

Coordinates are points along the direction of reading.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from rag.ingest.parsers.pdf_lines import JOINING

TIGHT = 1.6  # distance of two lines of one cell, in font sizes
_JOINED = 0.5  # widest space within a cell, in font sizes
_JUSTIFIED_WORDS = 6  # fewest words of a line of prose
_JUSTIFIED = 1.5  # widest space between them, in font sizes
_EVEN = 2.0  # the widest space over the median one
_GLUED = 18.0  # widest gap between a currency sign and its figure
_CLOSING = 2.0  # widest gap between a figure and its per cent sign
_SAME_ROW = 0.35
_RAISED = 0.8  # greatest size of a note's mark, in sizes of the text
_BACK_UP = 10.0  # a line so much higher than the last begins another column of the page

_SIGNS = r"[-–—−+±~<>≤≥▲△]"
_MONEY = r"(?:(?:US|HK|NT|A|C|S|R)?[$€£¥₩₹￦￥])"
_UNIT = (
    r"%|％|\)|x|×|bps?|pts?|[KMBkm]|bn|mn|million|billion|years?|months?|days?|hours?"
    r"|천원|백만원|억원|만원|원|명|개|건|세|円|万円|百万円|人|件|歳"
)
_NOTE = r"(?:\s?(?:\(\w\)|\[\w\]|[*†‡]))*"
_FIGURE = re.compile(
    rf"(?:\(|{_SIGNS})*{_MONEY}?(?:\(|{_SIGNS})*\d+(?:[,.’' :]\d+)*(?:\s?(?:{_UNIT}))*{_NOTE}"
)
_BLANK = re.compile(r"[$€£¥₩]?[-–—−]{1,3}(?:\s?%)?\)?|[Nn]/?[AaMm]|\*+|…|\.{3}")
_OPENING = re.compile(rf"(?:\(|{_SIGNS})*{_MONEY}(?:\(|{_SIGNS})*|\(")
_CLOSERS = re.compile(r"[%％)]{1,2}")
_OPENING_LENGTH = 8
_AFTER_OPENING = frozenset("0123456789(-–—−.")
_BEFORE_CLOSER = frozenset("0123456789)-–—−")
_YEAR = re.compile(r"(?:(?:FY|CY)?\s?(?:19|20)\d\d[AEF]?|\d{1,2})(?:\s?\(\d\))?")
_MARK = re.compile(r"\(\w\)|\[\w\]|[*†‡]")
_HYPHENATED = re.compile(r"[^\W\d]-$")


class Word(NamedTuple):
    """Word of a page: ``lines[line].text[start:end]``."""

    text: str
    left: float
    right: float
    middle: float
    size: float
    line: int
    start: int
    end: int


class Segment:
    """Words without a wide gap between them; a word whose place is in ``glued`` follows without a space."""

    def __init__(self, words: Sequence[Word], glued: Iterable[int] = ()) -> None:
        self.words = words
        self.glued = frozenset(glued)
        self.left = words[0].left
        self.right = words[-1].right
        self.text = " ".join([word.text for word in words])
        if self.glued:
            self.text = "".join(
                " " * (place > 0 and place not in self.glued) + word.text for place, word in enumerate(words)
            )

    @cached_property
    def is_figure(self) -> bool:
        """Return whether this is a number or the dash that stands for one."""
        return is_figure(self.text)

    @cached_property
    def is_year(self) -> bool:
        """Return whether this is a year."""
        return len(self.text) >= 4 and bool(_YEAR.fullmatch(self.text))

    @cached_property
    def core(self) -> tuple[float, float]:
        """Left and right edge without a currency sign that stands apart."""
        if len(self.words) == 1:
            return self.left, self.right
        words = self.words
        start = next((word.left for word in words if not _OPENING.fullmatch(word.text)), self.left)
        return start, self.right


def is_figure(text: str) -> bool:
    """Return whether a cell holds a number, or a sign for none.

    >>> [is_figure(text) for text in ("$39,669", "(2)%", "—", "1.", "1)", "Note 7", "12백만원")]
    [True, True, True, False, False, False, True]
    """
    if _BLANK.fullmatch(text):
        return True
    return bool(_FIGURE.fullmatch(text)) and text.count(")") <= text.count("(")


@dataclass
class Row:
    """Words of a page at one height, in segments from left to right."""

    segments: list[Segment]
    middle: float
    size: float

    @cached_property
    def left(self) -> float:
        """Left edge in points."""
        return self.segments[0].left

    @cached_property
    def figures(self) -> list[Segment]:
        """Segments that hold numbers; a first one is a row's name where others follow."""
        return [segment for segment in self.segments if segment.is_figure]

    @cached_property
    def is_data(self) -> bool:
        """Return whether figures follow a label, or stand alone, several in a row."""
        return any(segment.is_figure for segment in self.segments[1:]) and not self.is_years

    @cached_property
    def is_years(self) -> bool:
        """Return whether all figures are years, as above columns."""
        return bool(self.figures) and all(segment.is_year for segment in self.figures)


Cell = list[Segment]


def row_blocks(words: Sequence[Word]) -> Iterator[list[Row]]:
    """Yield the rows of each column of a page; words are in the page's order."""
    for block in _blocks(words):
        yield _rows(block)


def _blocks(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the columns of a page: runs of words that go down."""
    block: list[Word] = []
    for word in words:
        back_up = bool(block) and word.middle > block[-1].middle + _BACK_UP * word.size
        if back_up and not _is_mark(word, block[-1]):
            yield block
            block = []
        block.append(word)
    if block:
        yield block


def _is_mark(word: Word, before: Word) -> bool:
    """Return whether a word is a note's raised mark, which some programs draw after the page's text."""
    return bool(_MARK.fullmatch(word.text)) or (len(word.text) == 1 and word.size < _RAISED * before.size)


def _rows(words: Sequence[Word]) -> list[Row]:
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: -word.middle):
        if rows and rows[-1][0].middle - word.middle <= _SAME_ROW * max(word.size, rows[-1][0].size):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [_row(row) for row in rows]


def _row(words: list[Word]) -> Row:
    words.sort(key=lambda word: word.left)
    middle = words[len(words) // 2]
    segments = [Segment(words)] if len(words) == 1 or _is_justified(words) else segments_of(words)
    return Row(segments, middle.middle, middle.size)


def _is_justified(words: Sequence[Word]) -> bool:
    """Return whether words stand evenly apart, as in a line of prose that fills its column."""
    if len(words) < _JUSTIFIED_WORDS:
        return False
    small = sum(word.text[0].isalpha() and not word.text[0].isupper() for word in words)
    if 2 * small < len(words):
        return False
    bulleted = not words[0].text[0].isalnum()
    gaps = [word.left - before.right for before, word in pairwise(words[bulleted:])]
    return max(gaps) < min(_EVEN * median(gaps), _JUSTIFIED * words[0].size)


def segments_of(words: Sequence[Word]) -> list[Segment]:
    """Return the words of a line in segments, figures joined with their signs."""
    groups: list[list[Word]] = []
    for word in words:
        last = groups[-1] if groups else None
        near = last is not None and word.left - last[-1].right <= _JOINED * word.size
        if last and near and not _begins_figure(last, word):
            last.append(word)
        else:
            groups.append([word])
    return _glued(groups)


def _begins_figure(words: Sequence[Word], word: Word) -> bool:
    """Return whether a currency sign after a figure begins the next one."""
    return _may_open(word.text) and is_figure(Segment(words, _inner_glue(words)).text)


def _may_open(text: str) -> bool:
    return not text[-1].isalnum() and len(text) < _OPENING_LENGTH and bool(_OPENING.fullmatch(text))


def _glued(groups: Sequence[Sequence[Word]]) -> list[Segment]:
    """Join currency signs, brackets and per cent signs with their figures."""
    kept: list[Segment] = []
    for words in groups:
        segment = Segment(words, _inner_glue(words))
        before = kept[-1] if kept else None
        if before and _glues(before, segment):
            shifted = (len(before.words) + place for place in segment.glued)
            kept[-1] = Segment([*before.words, *words], {*before.glued, len(before.words), *shifted})
        else:
            kept.append(segment)
    return kept


def _glues(before: Segment, segment: Segment) -> bool:
    size, gap = segment.words[0].size, segment.left - before.right
    if _may_open(before.text):
        return gap <= _GLUED * size and is_figure(before.text + segment.text.replace(" ", ""))
    if len(segment.text) < 3 and _CLOSERS.fullmatch(segment.text):
        return gap <= _CLOSING * size and bool(is_figure(before.text + segment.text))
    return False


def _inner_glue(words: Sequence[Word]) -> Collection[int]:
    if len(words) == 1:
        return ()
    return {
        place for place, (before, word) in enumerate(pairwise(words), 1) if _sticks(before.text, word.text)
    }


def _sticks(before: str, text: str) -> bool:
    if text[0] in _AFTER_OPENING and _may_open(before):
        return True
    return before[-1] in _BEFORE_CLOSER and len(text) < 3 and bool(_CLOSERS.fullmatch(text))


def is_blank(text: str) -> bool:
    """Return whether a cell holds a sign for no number."""
    return _BLANK.fullmatch(text) is not None


def touch(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Return whether two spans have a point in common."""
    return a[0] < b[1] and b[0] < a[1]


def overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the points that two spans have in common; negative where they are apart."""
    return min(a[1], b[1]) - max(a[0], b[0])


def cell_words(cell: Iterable[Segment]) -> Iterator[tuple[Word, bool]]:
    """Yield the words of a cell; True where a space stands before one."""
    before: Word | None = None
    for segment in cell:
        for place, word in enumerate(segment.words):
            split = place == 0 and before is not None and _runs_on(before, word)
            yield word, not (before is None or split or place in segment.glued)
            before = word


def _runs_on(before: Word, word: Word) -> bool:
    """Return whether a word goes on from the end of one line of a cell in the next."""
    joined = JOINING.match(before.text[-1]) and JOINING.match(word.text[0]) and before.line != word.line
    return bool(joined or _HYPHENATED.search(before.text))


def cell_text(cell: Iterable[Segment]) -> str:
    """Return the text of a cell as it stands in Markdown."""
    return "".join(" " * spaced + word.text.replace("|", "/") for word, spaced in cell_words(cell))
