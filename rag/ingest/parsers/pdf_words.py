"""Words of PDF pages with their places, and the tables that they form."""

import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import byref
from functools import partial
from itertools import groupby, islice, pairwise
from statistics import median

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from rag.ingest.parsers.pdf_grids import RuledGrid, divides, find_grids, ruled_table
from rag.ingest.parsers.pdf_lines import JOINING, Line, Word, is_bold, measure
from rag.ingest.parsers.pdf_shapes import Direction, Drawing, address, box_of, turned_box
from rag.ingest.parsers.pdf_tables import PdfTable, find_tables

_WORD = re.compile(r"\S+")
_LINE = re.compile(r"\S(?:.*\S)?")
_NUMERAL = re.compile(r"\d[\d.,]*|[-–—−]")
_FEWEST = 4  # figures in a table
_PROSE = 40  # characters
_FIGURES = 0.2  # share of a line's words without a letter
_LOOSE = 1.08  # a line with gaps is so much wider than prose
_INSET = 2.0  # points by which a word may stand on a line of a grid
_TOUCHING = 0.05  # gap of two letters of one word, in font sizes
_CROSSING = 0.05  # greatest share of the words in a grid that run over its lines

Continued = Callable[[PdfTable], bool]


def tables_of(
    sheet: PdfPage, page: PdfTextPage, lines: list[Line], above: Continued, *, ruled: bool = True
) -> tuple[list[Line], list[PdfTable]]:
    """Return the tables that the lines form that run as most of a page does, and the lines.

    A line that runs over the outline of a ruled table is cut there. ``above`` tells the tables that may
    continue one of the page before.
    """
    if not lines:
        return lines, []
    [(main, _)] = Counter(round(line.angle) for line in lines).most_common(1)
    turn = math.radians(main)
    along = (round(math.cos(turn), 6), round(math.sin(turn), 6))
    drawing = Drawing(sheet, along)
    reader = _Reader(page, main, along)
    grids = find_grids(*drawing.edges) if ruled else []
    found = _tables(reader, lines, grids, drawing, above)
    sides = {(table.edges[0][0], table.edges[-1][1]) for table in found[1] if table.ruled}
    if any(grid.open and (grid.xs[0], grid.xs[-1]) not in sides for grid in grids):
        grids = find_grids(*drawing.edges, may_be_open=False)
        found = _tables(reader, lines, grids, drawing, above)
    return found


def _tables(
    reader: "_Reader", lines: list[Line], grids: Sequence[RuledGrid], drawing: Drawing, above: Continued
) -> tuple[list[Line], list[PdfTable]]:
    """Return lines, cut at grids, and the tables that grids and figures make of them."""
    lines = reader.cut(lines, grids)
    figures = []
    numerals = (found for line in lines for found in _NUMERAL.finditer(line.text))
    if sum(1 for _ in islice(numerals, _FEWEST)) == _FEWEST:
        figures = find_tables(reader.words_of(lines), lambda: drawing.rules)
    return lines, _chosen(_ruled_tables(reader, lines, grids, drawing, above), figures)


def _ruled_tables(
    reader: "_Reader", lines: Sequence[Line], grids: Sequence[RuledGrid], drawing: Drawing, above: Continued
) -> Iterator[tuple[RuledGrid, PdfTable]]:
    for grid in grids:
        if words := reader.words_in(grid, lines):
            marked = partial(_is_marked, reader.page, lines, drawing)
            if table := ruled_table(grid, words, marked, above):
                yield grid, table


def _is_marked(page: PdfTextPage, lines: Sequence[Line], drawing: Drawing, word: Word) -> bool:
    """Return whether a word is bold or on a coloured ground."""
    x, y = (word.left + word.right) / 2, word.middle
    return is_bold(page, lines[word.line].indices[word.start]) or any(
        left < x < right and bottom < y < top for left, right, bottom, top in drawing.grounds
    )


def _chosen(ruled: Iterable[tuple[RuledGrid, PdfTable]], figures: Sequence[PdfTable]) -> list[PdfTable]:
    """Return ruled tables, and those found by figures; of two in one place the one that divides all rows."""
    chosen = list(figures)
    for grid, table in ruled:
        rivals = [other for other in chosen if other.lines & table.lines]
        if divides(grid, rivals):
            chosen = [other for other in chosen if other not in rivals] + [table]
    return chosen


class _Reader:
    """Reads words of a page along the direction in which most of its lines run."""

    def __init__(self, page: PdfTextPage, angle: int, along: Direction) -> None:
        self.page, self.angle, self.along = page, angle, along
        self._characters = address(page.raw)

    def _straight(self, lines: Sequence[Line]) -> list[int]:
        return [number for number, line in enumerate(lines) if round(line.angle) == self.angle]

    def words_of(self, lines: Sequence[Line]) -> list[Word]:
        """Return the words of lines; one of prose is one word, since only lines with gaps can be rows."""
        advances = {number: _advance(line) for number, line in enumerate(lines) if _may_be_prose(line.text)}
        prose = median(advances.values()) if advances else 0.0
        words: list[Word] = []
        for number in self._straight(lines):
            whole = number in advances and advances[number] < _LOOSE * prose
            words += self._words(number, lines[number], _LINE if whole else _WORD)
        return words

    def _words(self, number: int, line: Line, pattern: re.Pattern[str]) -> Iterator[Word]:
        return _words(self._characters, number, line, pattern, self.along)

    def cut(self, lines: list[Line], grids: Sequence[RuledGrid]) -> list[Line]:
        """Cut lines where they run over the outline of a grid."""
        for grid in grids:
            crossing = {
                number
                for number in self._straight(lines)
                if grid.is_beside(lines[number].baseline)
                and (lines[number].left < grid.xs[0] < lines[number].right)
                + (lines[number].left < grid.xs[-1] < lines[number].right)
            }
            parts = (
                self._parts(line, grid) if number in crossing else [line] for number, line in enumerate(lines)
            )
            lines = [part for cut in parts for part in cut]
        return lines

    def _parts(self, line: Line, grid: RuledGrid) -> list[Line]:
        words = list(self._words(0, line, _WORD))
        runs = [
            list(run)
            for _, run in groupby(words, lambda word: bisect((grid.xs[0], grid.xs[-1]), sum(word[1:3]) / 2))
        ]
        if len(runs) == 1:
            return [line]
        parts = [
            Line(
                line.text[run[0].start : run[-1].end],
                line.indices[run[0].start : run[-1].end],
                line.hyphenated and run is runs[-1],
            )
            for run in runs
        ]
        for part in parts:
            measure(self.page, part)
        return parts

    def words_in(self, grid: RuledGrid, lines: Sequence[Line]) -> list[Word]:
        """Return the words in a grid, parted at its lines; none where text runs over them."""
        words: list[Word] = []
        count = crossing = 0
        for number in self._straight(lines):
            line = lines[number]
            if grid.xs[0] < (line.left + line.right) / 2 < grid.xs[-1] and grid.is_beside(line.baseline):
                for word in self._words(number, line, _WORD):
                    parts, crosses = self._parted(word, line, grid)
                    words += parts
                    crossing += crosses
                    count += 1
        return words if crossing <= _CROSSING * count else []

    def _parted(self, word: Word, line: Line, grid: RuledGrid) -> tuple[list[Word], bool]:
        """Return the parts of a word in different cells, and whether letters stand on the line between."""
        if grid.at(word.left + _INSET, word.middle) == grid.at(word.right - _INSET, word.middle):
            return [word], False
        pattern = re.compile(r"\S")
        letters = [
            letter
            for letter in self._words(word.line, line, pattern)
            if word.start <= letter.start < word.end
        ]
        runs = [
            list(run)
            for _, run in groupby(letters, lambda one: grid.at((one.left + one.right) / 2, word.middle))
        ]
        gaps = [after[0].left - before[-1].right for before, after in pairwise(runs)]
        if gaps and min(gaps) < _TOUCHING * word.size:
            return [word], True
        return [
            word._replace(
                text=line.text[run[0].start : run[-1].end],
                left=run[0].left,
                right=run[-1].right,
                start=run[0].start,
                end=run[-1].end,
            )
            for run in runs
        ], False


def _may_be_prose(text: str) -> bool:
    """Return whether a line is long, and neither ends with a figure nor holds many.

    >>> _may_be_prose("Sales rose by 2% to 39.7 billion in the third quarter of this year")
    True
    """
    last = text.rstrip()[-1]
    if len(text) < _PROSE or not (last.isalpha() or last in ".,;:"):
        return False
    words = text.split()
    figures = sum(not word.isalpha() and not any(map(str.isalpha, word)) for word in words)
    return figures < _FIGURES * len(words)


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
