"""Alignment of a PDF table's cells: last rows that keep none of its edges belong to another table.

Invoices and quotations have their totals right below the positions, often as a table of its own with a label
and an amount. Nothing but its edges parts it from the rows above.
"""

from collections.abc import Callable, Iterator, Sequence

from rag.ingest.parsers.pdf_lines import Row, Segment, touch

_FLUSH = 0.35  # how far cells at one edge may be from one another, in font sizes
_INDENT = 1.0  # a label so far from all others stands in another column, in font sizes
_FEWEST = 2  # rows that show how a table is aligned

Place = Callable[[Segment], float]

_PLACES: tuple[Place, ...] = (
    lambda cell: cell.core[0],
    lambda cell: cell.core[1],
    lambda cell: sum(cell.core) / 2,
)
"""Left edge, right edge and middle: the ways in which the cells of a column may be aligned."""


def rows_apart(rows: Sequence[Row]) -> int:
    """Return how many of a table's last rows stand in other columns than those above.

    They hold fewer figures than the others, and neither their labels nor their figures are aligned with the
    cells of a column above.
    """
    most = max(len(row.figures) for row in rows)
    above = list(rows)
    while len(above[-1].figures) < most:
        above.pop()
    if len(above) < _FEWEST:
        return 0
    columns = list(_columns(above))
    count = 0
    while count < len(rows) - len(above) and _is_apart(rows[-1 - count], above, columns):
        count += 1
    return count


def _columns(rows: Sequence[Row]) -> Iterator[list[Segment]]:
    """Yield the figures of each column of rows."""
    figures = sorted((cell for row in rows for cell in row.figures), key=lambda cell: cell.core)
    column: list[Segment] = []
    for cell in figures:
        if column and not any(touch(cell.core, other.core) for other in column):
            yield column
            column = []
        column.append(cell)
    yield column


def _is_apart(row: Row, above: Sequence[Row], columns: Sequence[Sequence[Segment]]) -> bool:
    label = row.segments[0]
    if label.is_figure:
        return False
    words = (cell for other in above for cell in other.segments if not cell.is_figure)
    if any(abs(cell.left - label.left) <= _INDENT * row.size for cell in words):
        return False
    return not any(_fits(cell, column, row.size) for cell in row.figures for column in columns)


def _fits(cell: Segment, column: Sequence[Segment], size: float) -> bool:
    """Return whether a figure is aligned as those of a column, or stands in one that is not aligned."""
    flush = [place for place in _PLACES if _spread([place(other) for other in column]) <= _FLUSH * size]
    if not flush:
        return any(touch(cell.core, other.core) for other in column)
    return any(_spread([place(cell), *map(place, column)]) <= _FLUSH * size for place in flush)


def _spread(places: Sequence[float]) -> float:
    return max(places) - min(places)
