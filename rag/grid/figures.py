"""Figures over the cells of a column: sums, means, counts, and rows that agree or not.

A figure is calculated, says from which cells, and mixes no units: amounts of two currencies are two sums.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Literal

from rag.grid.cells import Amount, CellValue, Day, number_text, value_key, value_order, value_text
from rag.grid.columns import Column
from rag.grid.grids import DocumentCell, DocumentRow
from rag.i18n import N_, N_plural, translated
from storage.grids import CellKey

Operation = Literal["sum", "mean", "lowest", "highest", "earliest", "latest", "count"]
MEAN_DIGITS = 12  # significant ones; a mean of thirds has no end
MOST_SHOWN = 12  # operands that a calculation shows
_NAMES: dict[Operation, str] = {
    "sum": N_("Sum"),
    "mean": N_("Mean"),
    "lowest": N_("Lowest"),
    "highest": N_("Highest"),
    "earliest": N_("Earliest"),
    "latest": N_("Latest"),
    "count": N_("Count"),
}


@dataclass(frozen=True)
class Figure:
    """A calculated figure over `cells`; of a count, `counted` is the value that they share, None for any.

    `unconfirmed` of its cells may be wrong, `left_out` cells have no value, or one that the source denies.
    """

    operation: Operation
    column: Column
    value: CellValue
    cells: tuple[CellKey, ...]
    counted: CellValue | None = None
    calculation: str = ""
    unconfirmed: int = 0
    left_out: int = 0

    @property
    def sentence(self) -> str:
        """The figure in the present language: a statement, its calculation, and what is doubtful about it."""
        return " ".join(map(translated, (self.statement, *self.notes)))

    @property
    def statement(self) -> str:
        """The figure and what it was calculated from."""
        count = len(self.cells)
        if self.counted is not None:
            return N_plural(
                "{column}: {value} in {count} document.",
                "{column}: {value} in {count} documents.",
                count,
                column=self.column.name,
                value=value_text(self.counted),
            )
        return N_plural(
            "{reason} of {column} over {count} document: {value}.",
            "{reason} of {column} over {count} documents: {value}.",
            count,
            reason=_NAMES[self.operation],
            column=self.column.name,
            value=value_text(self.value),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Its calculation, and how many of its cells are not confirmed."""
        calculated = N_("Calculated: {calculation}.", calculation=self.calculation)
        doubted = N_plural(
            "{count} of the cells is not confirmed.",
            "{count} of the cells are not confirmed.",
            self.unconfirmed,
        )
        return (*[calculated] * bool(self.calculation), *[doubted] * bool(self.unconfirmed))


@dataclass(frozen=True)
class Compared:
    """Cells of one column in two rows; `difference` is the second amount less the first, of one unit."""

    column: Column
    first: DocumentCell
    second: DocumentCell
    same: bool
    difference: Amount | None = None


@dataclass(frozen=True)
class Disagreement:
    """Cells of a column that say another thing than most do."""

    column: Column
    usual: CellValue
    agreeing: int
    cells: tuple[DocumentCell, ...]


@dataclass(frozen=True)
class Comparable:
    """Number of a grid's cells, how many of them are filled, and how many columns have two values or more.

    Of those columns `split` have no value that more than half of their documents share.
    """

    cells: int
    filled: int
    columns: int
    split: int


def counts(cell: DocumentCell) -> bool:
    """Return True for a cell whose value counts: corrected, or found and not denied by its source."""
    return cell.corrected is not None or (cell.value is not None and cell.state != "differs")


def is_confirmed(cell: DocumentCell) -> bool:
    """Return True for a cell that was verified, or corrected by hand."""
    return cell.corrected is not None or cell.state == "verified"


def figures(rows: Sequence[DocumentRow], column: Column) -> tuple[Figure, ...]:
    """Return the figures of a column, by its kind: of amounts by unit, of dates, of choices, and a count."""
    cells = [row.cell(column.id) for row in rows]
    counted = [cell for cell in cells if counts(cell)]
    left_out = len(cells) - len(counted)
    found = [*_of_amounts(counted, column), *_of_days(counted, column), *_of_values(counted, column)]
    return tuple(replace(figure, left_out=left_out) for figure in (*found, *_count(counted, column)))


def _figure(
    operation: Operation, column: Column, value: CellValue, cells: Iterable[DocumentCell], how: str = ""
) -> Figure:
    taken = tuple(cells)
    doubted = sum(not is_confirmed(cell) for cell in taken)
    return Figure(operation, column, value, tuple(cell.key for cell in taken), None, how, doubted)


def _count(cells: Sequence[DocumentCell], column: Column) -> Iterator[Figure]:
    if cells:
        yield _figure("count", column, Amount(Decimal(len(cells))), cells)


def _of_amounts(cells: Sequence[DocumentCell], column: Column) -> Iterator[Figure]:
    amounts = [(cell, cell.value) for cell in cells if isinstance(cell.value, Amount)]
    amounts.sort(key=lambda one: one[1].unit)
    for unit, group in groupby(amounts, key=lambda one: one[1].unit):
        of_unit = list(group)
        taken = [cell for cell, _ in of_unit]
        numbers = [value.amount for _, value in of_unit]
        how = _calculation(numbers)
        if unit != "%":
            yield _figure("sum", column, Amount(sum(numbers, Decimal(0)), unit), taken, how)
        yield _figure(
            "mean",
            column,
            Amount(mean(numbers), unit),
            taken,
            f"({how}) / {len(numbers)}" if how else "",
        )
        for operation, number in (("lowest", min(numbers)), ("highest", max(numbers))):
            at = [cell for cell, value in of_unit if value.amount == number]
            yield _figure(operation, column, Amount(number, unit), at)  # type: ignore[arg-type]


def _of_days(cells: Sequence[DocumentCell], column: Column) -> Iterator[Figure]:
    days = sorted((cell for cell in cells if isinstance(cell.value, Day)), key=lambda c: value_order(c.value))
    if days:
        yield _figure("earliest", column, days[0].value, days[:1])  # type: ignore[arg-type]
        yield _figure("latest", column, days[-1].value, days[-1:])  # type: ignore[arg-type]


def _of_values(cells: Sequence[DocumentCell], column: Column) -> Iterator[Figure]:
    """Count the cells of each value, where there are few values to choose from."""
    if column.kind not in ("yes_no", "choice"):
        return
    by_value = sorted((cell for cell in cells if cell.value is not None), key=lambda c: value_order(c.value))
    for _, group in groupby(by_value, key=lambda cell: value_key(cell.value)):  # type: ignore[arg-type]
        same = list(group)
        figure = _figure("count", column, Amount(Decimal(len(same))), same)
        yield replace(figure, counted=same[0].value)


def mean(numbers: Sequence[Decimal]) -> Decimal:
    """Return the mean of numbers, to twelve significant digits.

    >>> mean([Decimal(1), Decimal(2)]), mean([Decimal(1), Decimal(1), Decimal(2)])
    (Decimal('1.5'), Decimal('1.33333333333'))
    """
    exact = sum(numbers, Decimal(0)) / len(numbers)
    if not exact:
        return Decimal(0)
    step = Decimal(1).scaleb(exact.adjusted() - MEAN_DIGITS + 1)
    rounded = exact.quantize(step, ROUND_HALF_EVEN)
    return exact if exact == rounded else rounded


def _calculation(numbers: Sequence[Decimal]) -> str:
    if not 1 < len(numbers) <= MOST_SHOWN:
        return ""
    return " + ".join(f"({number_text(n)})" if n < 0 else number_text(n) for n in numbers)


def compare(first: DocumentRow, second: DocumentRow) -> tuple[Compared, ...]:
    """Compare two rows, column by column."""
    pairs = zip(first.cells, second.cells, strict=True)
    return tuple(Compared(one.column, one, two, _same(one, two), _difference(one, two)) for one, two in pairs)


def _same(one: DocumentCell, two: DocumentCell) -> bool:
    if one.value is None or two.value is None:
        return one.value is two.value
    return value_key(one.value) == value_key(two.value)


def _difference(one: DocumentCell, two: DocumentCell) -> Amount | None:
    match one.value, two.value:
        case Amount(first, unit), Amount(second, other) if unit == other:
            return Amount(second - first, unit)
    return None


def disagreements(rows: Sequence[DocumentRow]) -> tuple[Disagreement, ...]:
    """Return the cells that differ from what most documents say, of columns where more than half agree."""
    by_column = zip(*(row.cells for row in rows), strict=True)
    return tuple(found for cells in by_column if (found := _disagreement(cells)) is not None)


def comparable(rows: Sequence[DocumentRow], columns: Collection[str]) -> Comparable:
    """Return how much of some columns, by their ids, can be compared between documents."""
    kept = [[cell for cell in row.cells if cell.column.id in columns] for row in rows]
    by_column = [_values(cells) for cells in zip(*kept, strict=True)]
    compared = [values for values in by_column if len(values) > 1]
    split = sum(2 * _most_common(values)[1] <= len(values) for values in compared)
    return Comparable(sum(map(len, kept)), sum(map(len, by_column)), len(compared), split)


def _disagreement(cells: Sequence[DocumentCell]) -> Disagreement | None:
    with_value = _values(cells)
    if not with_value:
        return None
    usual, agreeing = _most_common(with_value)
    others = tuple(cell for cell, key in with_value if key != usual)
    if not others or 2 * agreeing <= len(with_value):
        return None
    like = next(cell.value for cell, key in with_value if key == usual)
    return None if like is None else Disagreement(cells[0].column, like, agreeing, others)


def _values(cells: Sequence[DocumentCell]) -> list[tuple[DocumentCell, Hashable]]:
    """Return the cells with a value that counts, each with the key of its value."""
    return [(cell, value_key(cell.value)) for cell in cells if cell.value is not None and counts(cell)]


def _most_common(values: Sequence[tuple[DocumentCell, Hashable]]) -> tuple[Hashable, int]:
    return Counter(key for _, key in values).most_common(1)[0]
