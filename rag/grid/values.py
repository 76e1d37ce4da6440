"""Values of cells read from words: dates, money, numbers, yes or no, options, lists and text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from rag.citations.periods import periods as stated_times
from rag.citations.quantities import MONEY, Quantity, undated
from rag.grid.cells import Amount, CellValue, Day, Items, Words, YesNo
from rag.grid.columns import Column
from rag.text.dates import Period, find_periods
from rag.text.facts import negations

LONGEST = 300  # characters of a value of text


@dataclass(frozen=True)
class FoundValue:
    """Value that ``text[start:end]`` states."""

    value: CellValue
    start: int
    end: int


def find_values(text: str, column: Column) -> Iterator[FoundValue]:
    """Yield the values of a column's kind that some words state, in order."""
    match column.kind:
        case "date":
            yield from (FoundValue(day_of(one), one.start, one.end) for one in find_periods(text))
        case "money" | "number":
            yield from _amounts(text, column)
        case "yes_no":
            yield FoundValue(YesNo(negations(text) % 2 == 0), 0, len(text))
        case "choice":
            yield from _options(text, column)
        case "list":
            yield FoundValue(Items(tuple(_parts(text))), 0, len(text))
        case "text":
            yield FoundValue(Words(text.strip()[:LONGEST]), 0, len(text))


def day_of(period: Period) -> Day:
    """Return a date or a period as the value of a cell, by its first day."""
    return Day(period.label, period.first)


def _amounts(text: str, column: Column) -> Iterator[FoundValue]:
    for one in undated(text, stated_times(text)):
        if unit_fits(one.unit, column):
            yield FoundValue(amount_of(one, column), one.start, one.end)


def unit_fits(unit: str, column: Column) -> bool:
    """Return True for a unit that the values of a column may have."""
    if column.kind == "money":
        return unit in MONEY or not unit
    return unit not in MONEY


def amount_of(quantity: Quantity, column: Column) -> Amount:
    """Return a quantity as the value of a cell; one without a unit has that of the column."""
    return Amount(plain(quantity.value), quantity.unit or column.unit)


def plain(value: Decimal) -> Decimal:
    """Return a number without an exponent or zeros after the point.

    >>> str(plain(Decimal("8.1797E+10"))), str(plain(Decimal("1.260")))
    ('81797000000', '1.26')
    """
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def _options(text: str, column: Column) -> Iterator[FoundValue]:
    found = [
        (match.start(), option)
        for option in column.options
        if (match := re.search(re.escape(option), text, re.IGNORECASE))
    ]
    for start, option in sorted(found):
        yield FoundValue(Words(option), start, start + len(option))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,;、，]| and | 및 ", text) if part.strip()]


def first_day(label: str) -> date:
    """Return the first day of an ISO label: "2023", "2023-07", "2023-07-01"; raises ValueError."""
    return date.fromisoformat((label + "-01-01")[:10])
