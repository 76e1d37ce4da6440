"""Cells of numbered passages: the words of their labels, and which of them stand in one row or column."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property

from rag.citations.asked import TOTALS, WORD, Span, fold
from rag.citations.quantities import MONEY, Quantity, StatedTime, periods, same_unit
from rag.citations.tables import TableCell
from rag.text.tokenize import content_words

_SAME_METRIC = (
    {"revenu", "sale", "turnov"},
    {"매출", "순매출", "매출액", "순매출액"},
    {"売上高", "売上", "純売上高", "収益"},
)
TOTAL = re.compile(r"\s*(?:total|합계|총계|소계|총|전체|合計|総計|計|总计)", re.IGNORECASE)
"""Label of a row that sums up the others."""
LOSS = re.compile(r"\bloss(?:es)?\b|손실|적자|損失|赤字", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class PlacedCell:
    """Cell of a numbered passage with the words of its labels; `own` are the names of its document."""

    number: int
    cell: TableCell
    own: frozenset[str]

    @cached_property
    def row(self) -> tuple[str, ...]:
        """Words of the row's label."""
        return label_words(self.cell.row)

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """Words of column and section that are not the row's."""
        words = (*label_words(self.cell.column), *label_words(self.cell.section))
        return tuple(dict.fromkeys(word for word in words if word not in self.row))

    @cached_property
    def told(self) -> frozenset[str]:
        """Content words that say what the cell is."""
        cell = self.cell
        told = {*content_words(f"{cell.row} {cell.column} {cell.section} {cell.around}"), *self.own}
        for same in _SAME_METRIC:
            if same & told:
                told |= same
        return frozenset(told)

    @property
    def table(self) -> tuple[int, int]:
        """Number of the passage, and of the table in it."""
        return self.number, self.cell.table

    @property
    def is_value(self) -> bool:
        """True unless the cell says by how much another changed."""
        return not self.cell.is_change

    def lacks(self, words: Iterable[str]) -> set[str]:
        """Return the words that say something else than the cell's labels."""
        return {
            word
            for word in words
            if word not in self.told
            and (word.isascii() or not any(word in one or one in word for one in self.told if len(one) > 1))
        }


def latest_cells(found: Sequence[PlacedCell]) -> list[PlacedCell]:
    """Return the cells of the latest day or year among those given."""
    days = [day_of(p.cell.periods[0]) for p in found if p.cell.periods]
    return (
        [p for p in found if p.cell.periods and day_of(p.cell.periods[0]) == max(days)]
        if days
        else list(found)
    )


def day_of(period: StatedTime) -> tuple[int, int, int]:
    """Return year, month and day, by which times are put in order."""
    return period.year, period.month, period.day


def series_of(now: PlacedCell, here: Sequence[PlacedCell]) -> list[PlacedCell]:
    """Return the other cells of a row with its unit and headers; of a column where its rows are times."""
    table = (p for p in here if p.table == now.table and p is not now and p.is_value)
    row = (
        p
        for p in table
        if p.cell.row_start == now.cell.row_start or (not now.row and not p.row and _same_series(p, now))
    )
    return [p for p in row if p.cell.quantity.unit == now.cell.quantity.unit and p.beside == now.beside]


def is_alone_in_unit(placed: PlacedCell, found: Sequence[PlacedCell]) -> bool:
    """Return True for the only cell of a column with its unit, which then says what it is."""
    unit = placed.cell.quantity.unit
    column = [p for p in found if p.table == placed.table and p.cell.column == placed.cell.column]
    return bool(unit) and [p.cell.quantity.unit for p in column].count(unit) == 1


def moved_by(before: TableCell, now: TableCell) -> Decimal:
    """Return by how much a number rose; sums paid, which may stand in brackets, without their sign."""
    old, new = before.quantity.value, now.quantity.value
    paid = old < 0 and new < 0 and not LOSS.search(f"{now.row} {now.section}")
    return old - new if paid else new - old


def length_of(period: StatedTime) -> tuple[int, int]:
    """Return months and quarter: times of one length may be compared."""
    return period.months, period.quarter


def in_same_column(one: PlacedCell, other: PlacedCell) -> bool:
    """Return True for two cells under one header of one time."""
    a, b = one.cell, other.cell
    return one.table == other.table and one is not other and (a.column, a.periods) == (b.column, b.periods)


def _same_series(one: PlacedCell, other: PlacedCell) -> bool:
    a, b = one.cell, other.cell
    return (a.column, a.section) == (b.column, b.section) and bool(a.column)


def is_comparable(quantity: Quantity, text: str, cell: TableCell) -> bool:
    """Return True where a number may be a cell's by its unit, which the labels may state."""
    if same_unit(quantity.unit, cell.quantity.unit):
        return True
    unit = re.sub(r"[\d.,\s]+", "", text[quantity.start : quantity.end]).casefold()
    labels = f"{cell.row} {cell.column} {cell.around}".casefold()
    return not cell.quantity.unit and quantity.unit not in MONEY and bool(unit) and unit in labels


def may_be_scaled(quantity: Quantity, cell: TableCell) -> bool:
    """Return True where a number is a cell's in thousands or more, and no scale of its table is known."""
    told = cell.quantity
    return abs(told.value) == abs(cell.written.value) and any(
        quantity.fits(replace(told, value=told.value * scale, step=told.step * scale))
        for scale in map(Decimal, (10**3, 10**6, 10**9))
    )


def fits_cell(quantity: Quantity, placed: PlacedCell, lead: str) -> bool:
    """Return True where a number is a cell's, and is called a loss where that may be one."""
    cell = placed.cell
    lost = bool(LOSS.search(lead)) or quantity.value < 0
    labels = f"{cell.row} {cell.section}"
    if "(loss" in labels.casefold() and lost != (cell.quantity.value < 0):
        return False
    if lost and cell.quantity.value > 0 and not LOSS.search(labels):
        return False
    if quantity.value < 0 < cell.quantity.value:
        return False
    as_written = not quantity.unit and quantity.step == 1 and abs(quantity.value) == abs(cell.written.value)
    bare = replace(quantity, unit="") if not cell.quantity.unit and quantity.unit not in MONEY else quantity
    return as_written or bare.fits(cell.quantity)


def row_span(placed: PlacedCell) -> Span:
    """Return the words of a cell's row."""
    return Span(placed.number, placed.cell.row_start, placed.cell.row_end)


def as_written(cell: TableCell) -> str:
    """Return a cell's number as a reader is shown it: "1,284", "2.5 %"."""
    value = cell.written
    text = f"{value.value:,f}"
    return f"{text} %" if value.unit == "%" else text


def in_scale(value: Decimal, cell: TableCell) -> str:
    """Return a calculated value in the scale of a table."""
    written, scaled = cell.written.value, cell.quantity.value
    try:
        factor = scaled / written if written else Decimal(1)
        return f"{(value / factor).normalize():,f}"
    except InvalidOperation:
        return f"{value:,f}"


_JOINING = ("and", "of", "the", "a", "및", "to", "as")


def label_words(row: str) -> tuple[str, ...]:
    """Return the words of a row's label, without periods and what is in brackets; none of mere numbers.

    >>> label_words("Net sales (2024)"), label_words("합계"), label_words("計")
    (('net', 'sale'), ('total',), ('total',))
    """
    bare = re.sub(r"\([^)]*\)|\*+", " ", row)
    for period in reversed(periods(bare)):
        bare = bare[: period.start] + " " + bare[period.end :]
    words = ["total" if match[0] in TOTALS else fold(match[0]) for match in WORD.finditer(bare)]
    told = tuple(dict.fromkeys(word for word in words if word and word not in _JOINING))
    return () if all(word.isdigit() for word in told) else told
