"""Words of PDF pages with their places, and the tables that they form."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import byref
from functools import cache, partial
from statistics import median

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from rag.ingest.parsers.pdf_lines import JOINING, Line
from rag.ingest.parsers.pdf_rows import Word
from rag.ingest.parsers.pdf_shapes import address, box_of, rules_of, turned_box
from rag.ingest.parsers.pdf_tables import PdfTable, find_tables

_WORD = re.compile(r"\S+")
_LINE = re.compile(r"\S(?:.*\S)?")
_NUMERAL = re.compile(r"\d[\d.,]*|[-–—−]")
_FEWEST = 4  # figures in a table
_PROSE = 40  # characters
_FIGURES = 0.2  # share of a line's words without a letter
_LOOSE = 1.08  # a line with gaps is so much wider than prose


def tables_of(sheet: PdfPage, page: PdfTextPage, lines: Sequence[Line]) -> list[PdfTable]:
    """Return the tables that the lines form that run as most of a page does."""
    if sum(len(_NUMERAL.findall(line.text)) for line in lines) < _FEWEST:
        return []
    [(main, _)] = Counter(round(line.angle) for line in lines).most_common(1)
    turn = math.radians(main)
    along = (round(math.cos(turn), 6), round(math.sin(turn), 6))
    straight = [number for number, line in enumerate(lines) if round(line.angle) == main]
    return find_tables(_words_of(page, lines, straight, along), cache(partial(rules_of, sheet, along)))


def _words_of(
    page: PdfTextPage, lines: Sequence[Line], straight: Sequence[int], along: tuple[float, float]
) -> list[Word]:
    """Return the words of lines; one of prose is one word, since only lines with gaps can be rows."""
    advances = {number: _advance(line) for number, line in enumerate(lines) if _may_be_prose(line.text)}
    prose = median(advances.values()) if advances else 0.0
    words: list[Word] = []
    characters = address(page.raw)
    for number in straight:
        whole = number in advances and advances[number] < _LOOSE * prose
        words += _words(characters, number, lines[number], _LINE if whole else _WORD, along)
    return words


def _may_be_prose(text: str) -> bool:
    """Return whether a line is long, and neither ends with a figure nor holds many.

    >>> _may_be_prose("Sales rose by 2% to 39.7 billion in the third quarter of this year")
    True
    """
    last = text.rstrip()[-1]
    if len(text) < _PROSE or not (last.isalpha() or last in ".,;:"):
        return False
    words = text.split()
    return sum(not any(map(str.isalpha, word)) for word in words) < _FIGURES * len(words)


def _advance(line: Line) -> float:
    """Return the mean width of a line's characters, in font sizes."""
    return (line.right - line.left) / (len(line.text) + len(JOINING.findall(line.text))) / (line.size or 1)


def _words(
    characters: int, number: int, line: Line, pattern: re.Pattern[str], along: tuple[float, float]
) -> Iterator[Word]:
    """Yield the words of a line; `characters` is the address of its page's characters."""
    box, indices, size, upright = pdfium.FS_RECTF(), line.indices, line.size, along[0] == 1
    pointer = byref(box)
    for found in pattern.finditer(line.text):
        start, end = found.span()
        box_of(characters, indices[start], pointer)
        turned = None if upright else turned_box(box, along)
        left, right, bottom, top = turned or (box.left, box.right, box.bottom, box.top)
        if end - start > 1:
            box_of(characters, indices[end - 1], pointer)
            right = box.right if upright else turned_box(box, along)[1]
        yield Word(found[0], left, right, (bottom + top) / 2, size, number, start, end)
