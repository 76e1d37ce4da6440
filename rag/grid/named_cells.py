"""Values of cells from the row and the column of a table that a question names: "price of MK-420".

Price lists and rosters have a record in each row. A column that asks for one of them is answered by the cell
where the row that it names and the heading that it names meet. A label before a value, as in a form, is
another thing: there the row's name alone asks for its value.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag.citations.tables import TableCell, split_row
from rag.grid.cells import Candidate, CellValue, Words
from rag.grid.columns import Column
from rag.grid.document import RowDocument
from rag.grid.terms import ColumnTerms, words
from rag.grid.values import find_values
from rag.text.markdown import TableBlock, TableRow, read_tables

NAMED = 2.3
"""Score of a cell whose row and heading are named, above what a document says of itself."""
LEAST_HEADING = 0.5  # share of a heading's words that name it: "price" for "Unit price"
SPARE = 1  # word of a column's name that neither row nor heading has
_KINDS = frozenset({"money", "number", "text", "date", "choice"})
_BRACKETED = re.compile(r"[(（\[][^()（）\[\]]*[)）\]]")
_NAME = re.compile(r"[^\W\d_]")
_LEAST_COLUMNS = 3  # of a table of records; one of two columns is a form


class _Place(NamedTuple):
    """Cell of a row: its text, and where it stands in the document."""

    text: str
    start: int


def named_cell_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values where a row and a heading meet that the column names; without a heading, the only sum.

    One is sure where no other row is named and no other heading is named as well.
    """
    column = terms.column
    if column.kind not in _KINDS:
        return
    asked = f"{column.name}\n{column.question}"
    found: list[tuple[TableRow, list[_Place]]] = []
    for table in read_tables(document.read_text):
        heads, body = _heads(table)
        named = [(row, cells) for row in body if (cells := _named_row(document.text, row, heads, asked))]
        for row, cells in named:
            kept = _under_named_heading(heads, cells, asked) or _only_sum(document, column, row, cells)
            kept = kept if _names_all(column, heads, cells, kept) else []
            found += [(row, kept)] * bool(kept)
    sure = len(found) == 1 and len(found[0][1]) == 1
    for row, places in found:
        for place in places:
            value = _value(document, column, row, place)
            if value is not None:
                yield Candidate(value, row.start, row.end, NAMED, sure)


def _heads(table: TableBlock) -> tuple[Sequence[str], Sequence[TableRow]]:
    """Return the headings and the rows of a table; a title above them may stand in its first row."""
    if len([one for one in table.header if one]) > 1 or not table.rows:
        return table.header, table.rows
    return table.rows[0].cells, table.rows[1:]


def _named_row(text: str, row: TableRow, heads: Sequence[str], asked: str) -> list[_Place]:
    """Return the cells of a row of a table of records whose own name is asked for; nothing for others."""
    if len(heads) < _LEAST_COLUMNS or not any(_is_named(cell, asked) for cell in row.cells):
        return []
    own = next((cell for cell in row.cells if _NAME.search(cell)), "")
    codes = (cell for cell in row.cells if _NAME.search(cell) and re.search(r"\d", cell))
    if not any(_is_named(cell, asked) for cell in (own, *codes)):
        return []
    return [_Place(cell, row.start + at) for cell, at in split_row(text[row.start : row.end])]


def _is_named(cell: str, asked: str) -> bool:
    """Return True where a text has a cell's words as they are, not as a part of another name.

    >>> _is_named("MK-420", "How much is the MK-420?"), _is_named("MK-42", "How much is the MK-420?")
    (True, False)
    >>> _is_named("MK-420", "MK-420은 얼마인가요?"), _is_named("MK-420", "price of MK-420-B")
    (True, False)
    """
    if len(cell) < 2 or not _NAME.search(cell):
        return False
    whole = rf"(?<![A-Za-z0-9])(?<![A-Za-z0-9][-./]){re.escape(cell)}(?![A-Za-z0-9]|[-./][A-Za-z0-9])"
    return re.search(whole, asked, re.IGNORECASE) is not None


def _under_named_heading(heads: Sequence[str], cells: Sequence[_Place], asked: str) -> list[_Place]:
    """Return the cells under the headings that are named best, without the cells that name the row."""
    told = words(asked)
    scored = [
        (_heading_score(head, told, asked), place)
        for head, place in zip(heads, cells, strict=False)
        if place.text and not _is_named(place.text, asked)
    ]
    best = max((score for score, _ in scored), default=0.0)
    return [place for score, place in scored if score == best] if best >= LEAST_HEADING else []


def _names_all(column: Column, heads: Sequence[str], cells: Sequence[_Place], kept: Sequence[_Place]) -> bool:
    """Return True where row and headings have the words of a column's name, but for one: "price" over "GBP".

    "Total current assets" is not the total of whatever a table sums up.
    """
    told = {word for place in cells if place not in kept for word in words(place.text)}
    told |= {word for head, place in zip(heads, cells, strict=False) if place in kept for word in words(head)}
    return len(words(column.name) - told) <= SPARE


def _heading_score(head: str, told: frozenset[str], asked: str) -> float:
    """Return the share of a heading's words that are told; its whole name in place counts as all."""
    name = " ".join(_BRACKETED.sub(" ", head).split())
    if _is_named(name, asked):
        return 1.0
    own = words(name)
    return len(own & told) / len(own) if own else 0.0


def _only_sum(document: RowDocument, column: Column, row: TableRow, cells: Sequence[_Place]) -> list[_Place]:
    """Return the only cell of a row with a sum of money, for a column that asks for one."""
    if column.kind != "money":
        return []
    sums = [
        place for place in cells if (one := _figure(document, row, place)) and one.quantity.unit.isupper()
    ]
    return sums if len(sums) == 1 else []


def _figure(document: RowDocument, row: TableRow, place: _Place) -> TableCell | None:
    """Return the number of a cell of a row."""
    figures = document.figures_by_row.get(row.start, ())
    return next((one for one in figures if place.start <= one.start < place.start + len(place.text)), None)


def _value(document: RowDocument, column: Column, row: TableRow, place: _Place) -> CellValue | None:
    if column.kind == "text":
        return Words(place.text)
    if column.kind in ("money", "number"):
        figure = _figure(document, row, place)
        return document.amount(figure, column) if figure is not None else None
    return next((one.value for one in find_values(place.text, column)), None)
