"""Tables as Markdown from cells with their places."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag.text.tables import escape_bars

TABLE = "| "  # first characters of a block that is a table
_SPARSEST = 50  # places of a table for each of its cells


class Cell(NamedTuple):
    """Cell of a table with its blocks of text; rows and columns count from 0."""

    row: int
    column: int
    rows: int
    blocks: list[str]


def table_blocks(cells: Sequence[Cell]) -> Iterator[str]:
    r"""Yield a table in Markdown; one that only frames text or other tables is their blocks.

    A cell over several rows stands in each of them, one over several columns in the first.

    >>> list(table_blocks([Cell(0, 0, 2, ["배"]), Cell(0, 1, 1, ["1890"]), Cell(1, 1, 1, ["1901"])]))
    ['| 배 | 1890 |\n| --- | --- |\n| 배 | 1901 |']
    """
    rows, columns = sorted({cell.row for cell in cells}), sorted({cell.column for cell in cells})
    is_frame = len(cells) == 1 or any(block.startswith(TABLE) for cell in cells for block in cell.blocks)
    if is_frame or len(rows) * len(columns) > _SPARSEST * len(cells):
        yield from (block for cell in cells for block in cell.blocks)
    elif any(cell.blocks for cell in cells):
        yield "\n".join(_lines(_grid(cells, rows, columns)))


def _grid(cells: Sequence[Cell], rows: Sequence[int], columns: Sequence[int]) -> list[list[str]]:
    """Return the texts of a table's places; a span ends where another cell stands."""
    places: dict[tuple[int, int], str] = {}
    for cell in sorted(cells, key=lambda cell: (cell.row, cell.column), reverse=True):
        text = escape_bars(" ".join(" ".join(cell.blocks).split()))
        places[cell.row, cell.column] = text
        for below in range(bisect_right(rows, cell.row), len(rows)):
            row = rows[below]
            if row >= cell.row + cell.rows or (row, cell.column) in places:
                break
            places[row, cell.column] = text
    return [[places.get((row, column), "") for column in columns] for row in rows]


def _lines(grid: list[list[str]]) -> Iterator[str]:
    for place, row in enumerate(grid):
        yield f"| {' | '.join(row)} |"
        if place == 0:
            yield f"|{' --- |' * len(row)}"
