"""Markdown tables: read from a text, and written from cells.

Markdown tables in a text: their header and rows as cells, each with its exact span.

Tables as Markdown from cells with their places.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_TABLE = re.compile(
    r"^(?P<head>[ \t]*\|[^\n]*)\n(?P<rule>[ \t]*\|[ \t:|-]*-[ \t:|-]*)(?:\n[ \t]*\|[^\n]*)*", re.M
)
_CAPTION = re.compile(r"^(?![ \t]*[|#])[^\n]{1,200}(?<![.!?。！？\s])[ \t]*\n(?:[ \t]*\n)?\Z", re.M)
_ROW = re.compile(r"^[ \t]*\|[^\n]*", re.M)
_WRAPPED = 4  # lines above its last that a caption may begin on
_LONGEST_CAPTION = 204
BAR = re.compile(r"(?<!\\)\|")
"""Bar between two cells; one within a cell is written `\\|`."""

_SHEET = re.compile(r"^## .*\n\n", re.MULTILINE)
"""Heading of a sheet in the text of a spreadsheet."""


@dataclass(frozen=True)
class TableRow:
    """Row ``text[start:end]`` of a table, with its cells."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """Table ``text[start:end]``: its header, the rows below the rule, and the line above it that names it.

    The caption, with the unit of its figures if that is said there, is ``text[caption:start]``.
    """

    start: int
    end: int
    caption: int
    header: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def within(self, start: int, end: int) -> tuple[TableRow, ...]:
        """Return the rows that a span of the text holds as a whole."""
        return tuple(row for row in self.rows if start <= row.start and row.end <= end)


def read_tables(text: str) -> list[TableBlock]:
    r"""Return the tables of a text, in order.

    >>> read_tables("So:\n| ship | year |\n|---|---|\n| Ada | 1931 |")[0].rows
    (TableRow(start=30, end=44, cells=('Ada', '1931')),)
    """
    return [
        TableBlock(
            found.start(),
            found.end(),
            _caption(text, found.start()),
            cells(found["head"]),
            tuple(rows(text, found.end("rule"), found.end())),
        )
        for found in _TABLE.finditer(text)
    ]


def _caption(text: str, start: int) -> int:
    found = _CAPTION.search(text, max(0, start - _LONGEST_CAPTION), start)
    return found.start() if found else start


def whole_caption(text: str, table: TableBlock) -> str:
    r"""Return a table's caption with the lines above that its sentence began on.

    >>> text = "Net sales were as follows (in\nmillions):\n| Mac | iPad |\n|---|---|\n| 6,840 | 5,791 |"
    >>> whole_caption(text, read_tables(text)[0])
    'Net sales were as follows (in millions):'
    """
    caption = text[table.caption : table.start].strip()
    above = text[: table.caption].removesuffix("\n").split("\n")[-_WRAPPED:]
    while caption[:1].islower() and above and above[-1].strip() and above[-1].lstrip()[0] not in "#|":
        caption = f"{above.pop().strip()} {caption}"
    return caption


def rows(text: str, start: int, end: int) -> Iterator[TableRow]:
    """Yield the table rows of a span of a text."""
    for found in _ROW.finditer(text, start, end):
        yield TableRow(found.start(), found.end(), cells(found[0]))


def row_numbers(text: str, start: int, end: int) -> tuple[int, int] | None:
    r"""Return the first and the last row of a sheet, from 1, that a span of a spreadsheet's text lies in.

    None where it lies outside of the sheet's rows: in a comment, or in the figures of a chart.

    >>> text = "## Budget\n\n\n| item | sum |\n| --- | --- |\n| rent | 40 |\n\n| all | 40 |\n| --- | --- |"
    >>> row_numbers(text, text.index("rent"), text.index("40")), row_numbers(text, 12, len(text))
    ((3, 3), (2, 5))
    """
    sheet = next(reversed([found for found in _SHEET.finditer(text, 0, end) if found.start() <= start]), None)
    at = sheet.end() if sheet else 0
    number, place, found = 0, 0, list[int]()
    for line in text[at:].split("\n"):
        if at >= end:
            break
        place = place + 1 if line else 0  # in its table, whose second line is the rule
        if line and not line.startswith("|"):
            return None
        if place != 2:
            number += 1
            if place and at + len(line) > start:
                found.append(number)
        at += len(line) + 1
    return (found[0], found[-1]) if found else None


def cells(row: str) -> tuple[str, ...]:
    r"""Return the cells of a row, without the bars that escape none.

    >>> cells(r"| a \| b | |"), cells("a | b")
    (('a | b', ''), ('a', 'b'))
    """
    inner = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", row)
    return tuple(cell.strip().replace("\\|", "|") for cell in BAR.split(inner))


def markdown_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    r"""Return a table as Markdown; a header that is shorter than the rows begins in a later column.

    >>> print(markdown_table(["1931"], [["Ada", "7"]]))
    |  | 1931 |
    |---|---|
    | Ada | 7 |
    """
    width = max(map(len, body))
    head = [*[""] * (width - len(header)), *header][:width]
    return "\n".join([_line(head), "|" + "---|" * width, *map(_line, body)])


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(map(escape_bars, row)) + " |"


def escape_bars(cell: str) -> str:
    r"""Return the text of a cell with its bars escaped.

    >>> print(escape_bars("a|b"))
    a\|b
    """
    return BAR.sub(r"\\|", cell)


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
