"""Ruled tables of PDF pages: cells are the closed rectangles of the lines that are drawn.

What is not closed on all sides is no cell, and what is not a grid of such cells is no table. So lines that
only underline, frame or separate text make none. Coordinates are points along the direction of reading.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from rag.ingest.parsers.pdf_lines import Cell, Segment, Word, cell_text, cell_words, is_figure, segments_of
from rag.ingest.parsers.pdf_shapes import Edge
from rag.ingest.parsers.pdf_tables import LEADERS, PdfTable

_SAME = 3.0  # greatest distance of two edges that are one line, and of a line from one that it meets
_GAP = 4.5  # widest gap within a line
_SHORTEST = 6.0  # a line is at least so long
_OPEN_LINES = 4  # horizontal lines of a table that is open at a side
_TOGETHER = 0.75  # share of them that end there
_NARROWEST = 20.0  # points of a column that is open at a side
_MAX_PAIRS = 200_000  # lines of a page that may meet: a drawing has more
_MAX_PLACES = 20_000  # of a grid
_MAX_COLUMNS = 60
_LONGEST = 1500  # characters of a cell; in a longer one text is framed
_MIN_FILLED = 0.25  # share of the cells beside the labels and under the header that hold text
_HEADER_ROWS = 4
_ROWS = 3
_SENTENCE = re.compile(r"\w\s+\w.*[^\W\d]\.$|[다요]\.$|。$")


class RuledCell(NamedTuple):
    """Closed rectangle of a grid; rows count from the top."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True)
class RuledGrid:
    """Cells between vertical lines, from the left, and horizontal ones, from the top.

    One that is ``open`` has no line at a side, only the ends of horizontal ones.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[RuledCell, ...]
    open: bool = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.ys) - 1

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.xs) - 1

    @cached_property
    def places(self) -> dict[tuple[int, int], RuledCell]:
        """Cell at each row and column."""
        return {
            (row, column): cell
            for cell in self.cells
            for row in range(cell.row, cell.row + cell.rows)
            for column in range(cell.column, cell.column + cell.columns)
        }

    def at(self, x: float, y: float) -> RuledCell | None:
        """Return the cell around a point."""
        row = bisect_right([-height for height in self.ys], -y) - 1
        return self.places.get((row, bisect_right(self.xs, x) - 1))

    def is_beside(self, height: float) -> bool:
        """Return whether a height is one of the grid's."""
        return self.ys[-1] < height < self.ys[0]


# Lines


def find_grids(
    level: Sequence[Edge], upright: Sequence[Edge], *, may_be_open: bool = True
) -> list[RuledGrid]:
    """Return the grids that horizontal and vertical edges form.

    >>> rows = [Edge(y, 0, 90) for y in (30, 20, 10)]
    >>> [len(grid.cells) for grid in find_grids(rows, [Edge(x, 10, 30) for x in (0, 50, 90)])]
    [4]
    >>> find_grids(rows, [Edge(x, 10, 30) for x in (0, 90)])
    []

    A grid may lack its outer upright lines where its horizontal ones end together.

    >>> [grid.xs for grid in find_grids([*rows, Edge(40, 0, 90)], [Edge(50, 10, 40)])]
    [(0, 50.0, 90)]
    """
    upright = _lines(upright)
    if not upright:
        return []
    level = _lines(level)
    if len(level) < 2 or len(level) * len(upright) > _MAX_PAIRS:
        return []
    grids = (_regular_grid(*lines, may_be_open=may_be_open) for lines in _connected(level, upright))
    return [grid for grid in grids if grid]


def _regular_grid(level: Sequence[Edge], upright: Sequence[Edge], *, may_be_open: bool) -> RuledGrid | None:
    """Return the grid of lines that meet, with its open sides, or without."""
    sides = _open_sides(level, upright) if may_be_open else []
    if sides:
        grid = _grid(level, sorted([*upright, *sides]))
        if grid and _is_regular(grid):
            return replace(grid, open=True)
    grid = _grid(level, upright)
    return grid if grid and _is_regular(grid) else None


def _lines(edges: Iterable[Edge]) -> list[Edge]:
    """Join edges at one place that touch; short ones that touch no other are left out."""
    aligned: list[list[Edge]] = []
    for edge in sorted(edges):
        if aligned and edge.at - aligned[-1][0].at <= _SAME:
            aligned[-1].append(edge)
        else:
            aligned.append([edge])
    return [line for group in aligned for line in _joined(group) if line.high - line.low >= _SHORTEST]


def _joined(edges: Sequence[Edge]) -> Iterator[Edge]:
    at = (edges[0].at + edges[-1].at) / 2
    low, high = None, 0.0
    for edge in sorted(edges, key=lambda edge: edge.low):
        if low is not None and edge.low - high <= _GAP:
            high = max(high, edge.high)
            continue
        if low is not None:
            yield Edge(at, low, high)
        low, high = edge.low, edge.high
    if low is not None:
        yield Edge(at, low, high)


def _connected(level: Sequence[Edge], upright: Sequence[Edge]) -> Iterator[tuple[list[Edge], list[Edge]]]:
    """Yield lines that meet one another, directly or through others; both in the order of their places."""
    groups = _Groups(len(level) + len(upright))
    heights = [line.at for line in level]
    for number, line in enumerate(upright, len(level)):
        first = bisect_left(heights, line.low - _SAME)
        for other in range(first, bisect_right(heights, line.high + _SAME)):
            if level[other].low - _SAME <= line.at <= level[other].high + _SAME:
                groups.join(number, other)
    parts: dict[int, tuple[list[Edge], list[Edge]]] = {}
    for number, line in enumerate([*level, *upright]):
        parts.setdefault(groups.of(number), ([], []))[number >= len(level)].append(line)
    return iter(parts.values())


def _open_sides(level: Sequence[Edge], upright: Sequence[Edge]) -> list[Edge]:
    """Return an upright line for each open side of lines that meet: where the horizontal ones end.

    Only of lines that an upright one runs through from the first to the last.
    """
    low, high = level[0].at if level else 0.0, level[-1].at if level else 0.0
    through = any(line.low <= low + _SAME and line.high >= high - _SAME for line in upright)
    if len(level) < _OPEN_LINES or not through:
        return []
    left, right = min(line.low for line in level), max(line.high for line in level)
    sides = []
    if upright[0].at - left > _NARROWEST and _end_together(level, [line.low for line in level], left):
        sides.append(Edge(left, low, high))
    if right - upright[-1].at > _NARROWEST and _end_together(level, [line.high for line in level], right):
        sides.append(Edge(right, low, high))
    return sides


def _end_together(level: Sequence[Edge], ends: Sequence[float], side: float) -> bool:
    """Return whether the first and the last of lines, and most of them, end at a side."""
    at = [abs(end - side) <= _SAME for end in ends]
    return at[0] and at[-1] and sum(at) >= _TOGETHER * len(level)


class _Groups:
    """Disjoint sets of numbers."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def of(self, number: int) -> int:
        """Return the number that stands for the set of another."""
        while self._parents[number] != number:
            self._parents[number] = number = self._parents[self._parents[number]]
        return number

    def join(self, one: int, other: int) -> None:
        """Unite two sets."""
        self._parents[self.of(one)] = self.of(other)


# Cells


def _grid(level: Sequence[Edge], upright: Sequence[Edge]) -> RuledGrid | None:
    """Return the grid of lines that meet, or None where some of it is not closed."""
    xs = tuple(sorted({line.at for line in upright}))
    ys = tuple(sorted({line.at for line in level}, reverse=True))
    if len(xs) < 3 or len(ys) < 2 or len(xs) * len(ys) > _MAX_PLACES:
        return None
    cells = _cells(xs, ys, level, upright)
    used = {
        (row, column)
        for cell in cells
        for row in range(cell.row, cell.row + cell.rows)
        for column in range(cell.column, cell.column + cell.columns)
    }
    if not used:
        return None
    rows, columns = sorted({row for row, _ in used}), sorted({column for _, column in used})
    top, left = rows[0], columns[0]
    bottom, right = rows[-1] + 1, columns[-1] + 1
    if len(used) != (bottom - top) * (right - left):
        return None
    moved = tuple(cell._replace(row=cell.row - top, column=cell.column - left) for cell in cells)
    return _without_unused_lines(RuledGrid(xs[left : right + 1], ys[top : bottom + 1], moved))


def _cells(
    xs: Sequence[float], ys: Sequence[float], level: Sequence[Edge], upright: Sequence[Edge]
) -> list[RuledCell]:
    """Return the rectangles that are closed on all sides."""
    rows, columns = len(ys) - 1, len(xs) - 1
    outside = rows * columns
    groups = _Groups(outside + 1)
    across, down = _by_place(level), _by_place(upright)
    for row in range(rows):
        for column in range(columns + 1):
            if not _covers(down[xs[column]], ys[row + 1], ys[row]):
                left = row * columns + column - 1 if column else outside
                groups.join(left, row * columns + column if column < columns else outside)
    for column in range(columns):
        for row in range(rows + 1):
            if not _covers(across[ys[row]], xs[column], xs[column + 1]):
                above = (row - 1) * columns + column if row else outside
                groups.join(above, row * columns + column if row < rows else outside)
    regions: dict[int, list[int]] = {}
    for place in range(outside):
        regions.setdefault(groups.of(place), []).append(place)
    regions.pop(groups.of(outside), None)
    cells = (_rectangle([divmod(place, columns) for place in region]) for region in regions.values())
    return sorted(cell for cell in cells if cell)


def _by_place(lines: Iterable[Edge]) -> dict[float, list[Edge]]:
    places: dict[float, list[Edge]] = {}
    for line in lines:
        places.setdefault(line.at, []).append(line)
    return places


def _covers(lines: Iterable[Edge], low: float, high: float) -> bool:
    return any(line.low <= low + _SAME and line.high >= high - _SAME for line in lines)


def _rectangle(places: Sequence[tuple[int, int]]) -> RuledCell | None:
    rows, columns = [row for row, _ in places], [column for _, column in places]
    row, column = min(rows), min(columns)
    cell = RuledCell(row, column, max(rows) - row + 1, max(columns) - column + 1)
    return cell if cell.rows * cell.columns == len(places) else None


def _without_unused_lines(grid: RuledGrid) -> RuledGrid:
    """Leave out lines that no cell begins at, as those inside of all cells."""
    rows, columns = sorted({cell.row for cell in grid.cells}), sorted({cell.column for cell in grid.cells})
    cells = tuple(
        RuledCell(
            rows.index(cell.row),
            columns.index(cell.column),
            _number_between(rows, cell.row, cell.row + cell.rows),
            _number_between(columns, cell.column, cell.column + cell.columns),
        )
        for cell in grid.cells
    )
    xs = tuple(grid.xs[column] for column in [*columns, grid.columns])
    return RuledGrid(xs, tuple(grid.ys[row] for row in [*rows, grid.rows]), cells)


def _number_between(places: Sequence[int], first: int, end: int) -> int:
    return sum(first <= place < end for place in places)


def _is_regular(grid: RuledGrid) -> bool:
    """Return whether most rows have a cell in each column; in a form they are divided in different ways."""
    if not 2 <= grid.columns <= _MAX_COLUMNS:
        return False
    widest = [
        max(grid.places[row, column].columns for column in range(grid.columns)) for row in range(grid.rows)
    ]
    even = widest.count(1)
    return even >= min(2, grid.rows) and 2 * even >= sum(width < grid.columns for width in widest)


# Tables

Marks = Callable[[Word], bool]


def ruled_table(
    grid: RuledGrid, words: Sequence[Word], marked: Marks, continues: Callable[[PdfTable], bool]
) -> PdfTable | None:
    """Return the table of a grid's words, or None where they are no table.

    ``marked`` tells words that are bold or on a coloured ground, as headers are. A single row, or rows under
    an empty one, must be such that ``continues`` finds them in a table of the page before.
    """
    texts: dict[RuledCell, list[Word]] = {}
    for word in words:
        if cell := grid.at((word.left + word.right) / 2, word.middle):
            texts.setdefault(cell, []).append(word)
    cells = _Cells(grid, texts)
    if not cells.rows or len(cells.columns) < 2 or not cells.is_table():
        return None
    table = cells.table(marked)
    alone = len(cells.rows) > 1 and cells.has_heads()
    return table if alone or continues(table) else None


class _Cells:
    """Rows and columns of a grid that hold text, without captions and notes over its whole width."""

    def __init__(self, grid: RuledGrid, texts: dict[RuledCell, list[Word]]) -> None:
        self.grid, self.texts = grid, texts
        self.columns = sorted({cell.column for cell in texts})
        rows = sorted({cell.row for cell in texts})
        divided = [row for row in rows if grid.places[row, 0].columns < grid.columns]
        self.rows = [row for row in rows if divided[0] <= row <= divided[-1]] if divided else []
        self.depth = self._header_depth() if len(self.rows) > 1 else 0

    def _at(self, row: int, column: int) -> RuledCell:
        return self.grid.places[row, column]

    def _text(self, row: int, column: int) -> list[Word]:
        return self.texts.get(self._at(row, column), [])

    def _is_wide(self, cell: RuledCell) -> bool:
        return sum(cell.column <= column < cell.column + cell.columns for column in self.columns) > 1

    def _header_depth(self) -> int:
        """Return the number of the header's rows: a head over several columns has others under it."""
        depth = 1
        while depth < min(_HEADER_ROWS, len(self.rows) - 1):
            above, below = self.rows[depth - 1], self.rows[depth]
            heads = {column: self._at(above, column) for column in self.columns}
            single = [column for column, head in heads.items() if not self._is_wide(head)]
            if len(single) == len(heads) or any(
                self._at(below, column) != heads[column] and self._text(below, column) for column in single
            ):
                break
            depth += 1
        return depth

    def has_heads(self) -> bool:
        """Return whether most columns have a head."""
        heads = [any(self._text(row, at) for row in self.rows[: self.depth or 1]) for at in self.columns[1:]]
        return 2 * sum(heads) >= len(heads)

    def is_table(self) -> bool:
        """Return whether most labels and enough other cells hold text, none too much."""
        body, beside = self.rows[self.depth :], self.columns[1:]
        labels = [bool(self._text(row, self.columns[0])) for row in body]
        cells = [bool(self._text(row, at)) for row in body for at in beside]
        lengths = [sum(len(word.text) + 1 for word in words) for words in self.texts.values()]
        return (
            2 * sum(labels) >= len(labels)
            and sum(cells) >= _MIN_FILLED * len(cells)
            and max(lengths) <= _LONGEST
            and not any(
                LEADERS.search(" ".join(word.text for word in words)) for words in self.texts.values()
            )
            and not self._is_undivided(body)
        )

    def _is_undivided(self, body: Sequence[int]) -> bool:
        """Return whether most lines stand in rows of several labels, which no line divides."""
        counts = [(len(_lines_of(self._text(row, self.columns[0]))), row) for row in body]
        undivided = sum(count for count, row in counts if count > 1 and self._holds_rows(row))
        return 2 * undivided > sum(count for count, _ in counts)

    def _holds_rows(self, row: int) -> bool:
        """Return whether cells have lines beside all of their label's that were not broken for want of room.

        Three lines and more in each cell of a row, all at the same heights, are rows in any case.
        """
        cells = {self._at(row, column): _lines_of(self._text(row, column)) for column in self.columns}
        label = cells[self._at(row, self.columns[0])]
        filled = [(cell, lines) for cell, lines in cells.items() if lines]
        level = [(cell, lines) for cell, lines in filled if _are_level(label, lines)]
        if len(level) == len(filled) > 1 and len(label) >= _ROWS:
            return True
        ends = [(self.grid.xs[cell.column + cell.columns], lines) for cell, lines in level]
        breaks = range(len(label) - 1)
        return len(level) > 1 and all(
            any(_has_room(lines[at], lines[at + 1], edge) for edge, lines in ends) for at in breaks
        )

    def table(self, marked: Marks) -> PdfTable:
        """Return the table, without a header where its first row holds none."""
        labels = [self._text(row, self.columns[0]) for row in self.rows]
        heads = [self._text(self.rows[0], column) for column in self.columns[1:]]
        others = [self._text(row, column) for row in self.rows[1:] for column in self.columns[1:]]
        plain = not _are_marked(others, marked)
        is_amount = len(heads) == 1 and _is_amount(heads[0])
        stands_out = plain and not is_amount and _are_marked(heads, marked)
        beside = plain and _are_marked(labels, marked)
        is_body = not stands_out and (beside or any(map(_is_content, heads)))
        depth = 0 if (self.depth == 1 and is_body) or not self.has_heads() else self.depth
        kept = [word for row in self.rows for column in self.columns for word in self._text(row, column)]
        return PdfTable(
            header=[self._head(column, depth) for column in self.columns],
            rows=[[self._cell(row, column) for column in self.columns] for row in self.rows[depth:]],
            lines=frozenset(word.line for word in kept),
            edges=self._edges(),
            ruled=True,
            marked=stands_out,
        )

    def _edges(self) -> list[tuple[float, float]]:
        ends = [*self.columns[1:], self.grid.columns]
        return [(self.grid.xs[at], self.grid.xs[end]) for at, end in zip(self.columns, ends, strict=True)]

    def _head(self, column: int, depth: int) -> Cell:
        cells = dict.fromkeys(self._at(row, column) for row in self.rows[:depth])
        return [segment for cell in cells for segment in _cell(self.texts.get(cell, []))]

    def _cell(self, row: int, column: int) -> Cell:
        """Return a cell's text: in each row that it spans, and in the first column."""
        cell = self._at(row, column)
        first = next(at for at in self.columns if at >= cell.column)
        return _cell(self.texts.get(cell, [])) if first == column else []


def _cell(words: Iterable[Word]) -> Cell:
    """Return the segments of a cell, line by line in the page's order."""
    lines: dict[int, list[Word]] = {}
    for word in words:
        lines.setdefault(word.line, []).append(word)
    return [segment for line in sorted(lines) for segment in segments_of(lines[line])]


def _are_marked(cells: Iterable[Sequence[Word]], marked: Marks) -> bool:
    """Return whether cells, but for empty ones, are marked as heads or end with a colon."""
    filled = [words for words in cells if words]
    return bool(filled) and all(marked(words[0]) or words[-1].text[-1] in ":：" for words in filled)


def _is_content(words: Sequence[Word]) -> bool:
    """Return whether a cell holds a figure or a sentence, as heads do not."""
    text = " ".join(word.text for word in words)
    return bool(_SENTENCE.search(text)) or _is_amount(words)


def _is_amount(words: Sequence[Word]) -> bool:
    """Return whether a cell holds a figure that is no year, which could head a column."""
    return is_figure(" ".join(word.text for word in words)) and not Segment(words).is_year


def _lines_of(words: Iterable[Word]) -> list[list[Word]]:
    """Return words line by line, from the top, each from the left."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: -word.middle):
        if lines and lines[-1][0].middle - word.middle <= word.size / 2:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda word: word.left) for line in lines]


def _are_level(some: Sequence[Sequence[Word]], others: Sequence[Sequence[Word]]) -> bool:
    """Return whether as many lines stand at the same heights."""
    return len(some) == len(others) and all(
        abs(one[0].middle - other[0].middle) <= one[0].size / 2
        for one, other in zip(some, others, strict=True)
    )


def _has_room(above: Sequence[Word], below: Sequence[Word], edge: float) -> bool:
    """Return whether the first word of a line would have had room in the line above."""
    last, first = above[-1], below[0]
    return last.right + first.right - first.left + first.size < edge


def divides(grid: RuledGrid, tables: Iterable[PdfTable]) -> bool:
    """Return whether a grid has the rows of tables found by their figures, each in a row of its own."""
    rows = []
    for row in (row for table in tables for row in table.rows):
        words = [word for cell in row[1:] if is_figure(cell_text(cell)) for word, _ in cell_words(cell)]
        if words:
            cell = grid.at((words[0].left + words[0].right) / 2, words[0].middle)
            rows.append(cell.row if cell else -1)
    return -1 not in rows and len(set(rows)) == len(rows)
