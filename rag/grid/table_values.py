# ruff: noqa: E501 - patterns
"""Values of cells from tables of figures: the row is found by its label, the column by its period.

The period that the column asks for decides, else the one that the document covers: the figure of the prior
year, or of nine months in place of three, is another one. Lists are labels of rows under a kind, such as
"Net sales by reportable segment".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import groupby
from operator import attrgetter
from typing import Literal

from rag.citations.quantities import StatedTime, periods
from rag.citations.tables import TableCell
from rag.grid.cells import Amount, Candidate, Items
from rag.grid.columns import Column
from rag.grid.document import RowDocument
from rag.grid.terms import LEAST_LABEL, SURE_LABEL, ColumnTerms, words
from rag.grid.values import unit_fits
from rag.retrieval.table_rows import TOTAL
from rag.text.dates import find_periods

Fit = Literal["same", "open", "other"]
_FITS: dict[Fit, float] = {"same": 0.3, "open": 0.0}
_MONTH = 30.44  # days
AMBIGUOUS = 0.25
"""Loss of score where several numbers of a row are of the same period."""
LONGER = 0.3
"""Loss of score of a number for a longer span."""
PART = 0.16
"""Loss of score of a figure that is smaller than one before it of a label that says as much."""
_SHARE = re.compile(r"\bas a per ?cent|\bpercentage of|% of|비율|구성비|構成比|割合", re.IGNORECASE)
"""Words over a table of shares, whose numbers are no amounts."""
_OUTFLOW = re.compile(
    r"\b(?:expenses?|costs?|paid|payments?|purchases?|repurchases?|charges|depreciation|dividends)\b"
    r"|비용|원가|지급|費用|原価|支払",
    re.IGNORECASE,
)
"""Sums that go out: a table may state them in brackets, where it subtracts them."""
_EITHER = re.compile(r"\(|\bnet\b|순|純", re.IGNORECASE)
"""Marks of a row whose numbers may have either sign: "Other income (expense)"."""
LIST_SCORE = 0.9
"""Score of a list of labels."""
_BY = re.compile(r"\b(?:by|of each|for each)\s+(?:\w+\s+){0,2}\Z|별\s*\Z", re.IGNORECASE)
_TOTAL = re.compile(
    r"\b(?:total|all other|other|corporate|reconcil\w+|eliminations?)\b|합계|총계|소계|合計|総計|計\Z", re.I
)


@dataclass(frozen=True)
class WantedPeriod:
    """Period that a value is wanted for."""

    first: date
    last: date
    instant: bool | None = None
    """True for what is so at its end, False for what happens in it, None where the column does not say."""

    @property
    def months(self) -> int:
        """Its length, rounded.

        >>> WantedPeriod(date(2023, 4, 2), date(2023, 7, 1)).months
        3
        """
        return round(((self.last - self.first).days + 1) / _MONTH)

    def fit(self, stated: StatedTime | None) -> Fit:
        """Return how a stated time agrees: not at all where a field that it states is another one."""
        if stated is None or not (stated.year or stated.months):
            return "open"
        if (self.instant and stated.months) or (self.instant is False and stated.day and not stated.months):
            return "other"
        stated = replace(stated, months=0) if self.instant else stated
        if stated.year and not stated.month:
            whole = self.months >= 11 and not stated.quarter and stated.months in (0, self.months)
            return "same" if whole and stated.year == self.last.year else self._undated(stated)
        ends = not stated.year or (stated.year, stated.month) == (self.last.year, self.last.month)
        day = not stated.day or stated.day == self.last.day
        length = not stated.months or stated.months == self.months
        if not (ends and day and length):
            return "other"
        return "same" if stated.year else "open"

    def ends_with(self, stated: StatedTime) -> bool:
        """Return True for a longer span that ends with this one."""
        ends = (stated.year, stated.month) == (self.last.year, self.last.month)
        return self.instant is not True and ends and stated.months > self.months

    def _undated(self, stated: StatedTime) -> Fit:
        other = stated.year not in (self.last.year, self.last.year + 1)  # fiscal years begin earlier
        return "other" if other or (stated.months and stated.months != self.months) else "open"


def wanted_period(column: Column, document: RowDocument) -> WantedPeriod | None:
    """Return the period that a column names, else the one that the document covers; None without any."""
    asked = f"{column.name} {column.question}"
    named, instant = find_periods(asked), _is_instant(asked)
    if named:
        return WantedPeriod(named[-1].first, named[-1].last, instant)
    return WantedPeriod(*document.days, instant) if document.days else None


_INSTANT = re.compile(
    r"\bat (?:the )?end\b|\bas (?:of|at)\b|\bat year[- ]end\b|기말|말 현재|期末|末時点|末現在", re.IGNORECASE
)
_SPAN = re.compile(
    r"\b(?:of|in|for|during) the (?:\w+ )?(?:quarter|year|period|month|half)\b|기간의|기간 동안|분기의|당기의|当期の|期間中",
    re.IGNORECASE,
)


def _is_instant(asked: str) -> bool | None:
    """Return True for a question about a point in time, False for one about a span, None without either.

    >>> _is_instant("Cash at the end of the year"), _is_instant("Sales of the year"), _is_instant("Sales")
    (True, False, None)
    """
    if _INSTANT.search(asked):
        return True
    return False if _SPAN.search(asked) else None


def table_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the numbers of tables whose labels name a column's field, with their rows as words."""
    wanted = wanted_period(terms.column, document)
    own = frozenset(word for name in document.profile.names for word in name.casefold().split())
    scores: dict[tuple[str, str], float] = {}
    candidates: list[Candidate] = []
    for _, row in groupby(document.cells, key=attrgetter("row_start")):
        found = list(row)
        key = found[0].row, found[0].section
        if key not in scores:
            scores[key] = terms.label_score(*key, own=own)
        if scores[key] >= LEAST_LABEL:
            candidates += _of_row(document, terms.column, found, wanted, scores[key])
    yield from _wholes_first(candidates)
    yield from _of_columns(document, terms)


def _of_columns(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the numbers under a heading that names the field, of tables with one row, or of their total."""
    for _, table in groupby(document.cells, key=attrgetter("table")):
        found = list(table)
        rows = {cell.row_start for cell in found}
        last = max(rows)
        for cell in found:
            total = cell.row_start == last and words(cell.row) <= TOTAL
            if not (len(rows) == 1 or total) or cell.is_change or not _unit_fits(cell, terms.column):
                continue
            label = terms.label_score(cell.column) if cell.column else 0.0
            if label >= LEAST_LABEL:
                value = _unsigned(document.amount(cell, terms.column), cell)
                yield Candidate(value, cell.row_start, cell.row_end, label, label >= SURE_LABEL)


def _wholes_first(found: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield figures of rows, none sure that may be a part: of the same label, one before it is larger.

    A statement gives the whole before the notes give its parts by kind or by segment.
    """
    top = max((one.score for one in found), default=0.0)
    largest = Decimal(0)
    for one in sorted(found, key=lambda one: one.start):
        size = abs(one.value.amount) if isinstance(one.value, Amount) else Decimal(0)
        if one.score < top - PART:
            yield one
        elif size < largest:
            yield replace(one, score=one.score - PART, sure=False)
        else:
            largest = size
            yield one


def row_candidates(
    document: RowDocument, column: Column, start: int, end: int, label: float
) -> Iterator[Candidate]:
    """Yield the numbers of the row ``text[start:end]``, whose label counts for so much."""
    row = [cell for cell in document.cells if start <= cell.start and cell.end <= end]
    yield from _of_row(document, column, row, wanted_period(column, document), label)


def _of_row(
    document: RowDocument,
    column: Column,
    row: Sequence[TableCell],
    wanted: WantedPeriod | None,
    label: float,
) -> Iterator[Candidate]:
    """Yield the numbers of a row that may be of the wanted period; only one that stands alone is sure."""
    fits = [_fit(_period_of(cell, place, len(row)), wanted) for place, cell in enumerate(row)]
    able = [
        (cell, fit)
        for cell, fit in zip(row, fits, strict=True)
        if fit != "other" and not cell.is_change and _unit_fits(cell, column)
    ]
    if not able:
        yield from _longer(document, column, row, wanted, label)
    same = [cell for cell, fit in able if fit == "same"]
    for cell, fit in able:
        value = _unsigned(document.amount(cell, column), cell)
        alone = len(same) == 1 if fit == "same" else len(row) == 1 and not same
        score = label + _FITS[fit] - (0.0 if alone else AMBIGUOUS)
        yield Candidate(value, cell.row_start, cell.row_end, score, alone and label >= SURE_LABEL)


def _longer(
    document: RowDocument,
    column: Column,
    row: Sequence[TableCell],
    wanted: WantedPeriod | None,
    label: float,
) -> Iterator[Candidate]:
    """Yield the first number of a row for a longer span with the wanted end, where no other is there.

    A report of a quarter states cash flows for the months of the year so far. None of them is sure.
    """
    for place, cell in enumerate(row):
        stated = _period_of(cell, place, len(row))
        ends = wanted is not None and stated is not None and wanted.ends_with(stated)
        if ends and not cell.is_change and _unit_fits(cell, column):
            value = _unsigned(document.amount(cell, column), cell)
            yield Candidate(value, cell.row_start, cell.row_end, label - LONGER)
            return


def _unsigned(value: Amount, cell: TableCell) -> Amount:
    """Return the size of a sum that goes out: 617 of "Interest expense | (617)"."""
    goes_out = _OUTFLOW.search(cell.row) and not _EITHER.search(cell.row)
    return replace(value, amount=abs(value.amount)) if goes_out else value


def _unit_fits(cell: TableCell, column: Column) -> bool:
    share = (
        column.kind == "money" and not cell.quantity.unit and _SHARE.search(f"{cell.around} {cell.column}")
    )
    return not share and unit_fits(cell.quantity.unit, column, scaled=True)


def _fit(stated: StatedTime | None, wanted: WantedPeriod | None) -> Fit:
    return "open" if wanted is None else wanted.fit(stated)


def _period_of(cell: TableCell, place: int, width: int) -> StatedTime | None:
    """Return the period of a cell, completed by the words above: "Three Months Ended June 30" over "2023".

    Where columns have no headings, the words above may name one period for each.
    """
    stated = cell.periods[0] if cell.periods else None
    above = [one for one in periods(cell.around) if one.month or one.months]
    if stated is None:
        dated = [one for one in above if one.year]
        return dated[place] if not cell.column and len(dated) == width else None
    if stated.month or not above:
        return stated
    return above[-1].merged(stated) if not above[-1].year or above[-1].year == stated.year else stated


def list_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the labels of rows, or of their sections, in the tables by the kind that a column asks for."""
    for _, table in groupby(document.cells, key=attrgetter("table")):
        found = list(table)
        under = [cell for cell in found if cell.section and _is_by(terms, cell.section)]
        if not under and not _is_by(terms, found[0].around):
            continue
        labels = _labels(under) if under else _labels(found) if _one_each(found) else _sections(found)
        items = tuple(dict.fromkeys(label for label in labels if label and not _TOTAL.search(label)))
        if len(items) > 1:
            rows = under or found
            yield Candidate(Items(items), rows[0].row_start, rows[-1].row_end, LIST_SCORE, sure=bool(under))


def _is_by(terms: ColumnTerms, text: str) -> bool:
    return any(_BY.search(text[: mention.start]) for mention in terms.mentions(text))


def _labels(found: list[TableCell]) -> list[str]:
    return [cell.row.strip(" :：") for cell in found]


def _sections(found: list[TableCell]) -> list[str]:
    return [cell.section.strip(" :：") for cell in found]


def _one_each(found: list[TableCell]) -> bool:
    rows = list(dict.fromkeys((cell.row, cell.section) for cell in found))
    return len({row for row, _ in rows}) == len(rows)
