"""Fiscal quarters: which quarter a month ends, as a document's tables and texts show it."""

import re
from collections.abc import Mapping, Sequence

from rag.citations.quantities import StatedTime, periods
from rag.text.dates import MONTH_NAMES

_FISCAL_END = re.compile(
    r"fiscal years?\b[^.\n]{0,80}?\b(?:ends?|ended|ending|closes?)\b[^.\n]{0,40}?"
    rf"\b({'|'.join(MONTH_NAMES)})\b",
    re.IGNORECASE,
)


def quarter_of(period: StatedTime, known: Mapping[tuple[int, int], int]) -> int:
    """Return the quarter that a period ends, by the `known` quarters of years and months.

    Where none is known it is 0. A first week of a month is the end of the one before.

    >>> told = StatedTime(2023, 7, 1), StatedTime(2022, 10, 30)
    >>> [quarter_of(period, {}) for period in told], [quarter_of(period, {(2023, 4): 1}) for period in told]
    ([0, 0], [2, 3])
    """
    if found := known.get((period.year, period.month)):
        return found
    near = [(year, end, quarter) for (year, end), quarter in known.items() if quarter]
    if not near:
        return 0
    year, end, quarter = near[0]
    return (quarter - 1 + round((12 * (period.year - year) + _ended(period) - end) / 3)) % 4 + 1


def calendar_quarter(period: StatedTime) -> int:
    """Return the quarter of the calendar in which a period ends.

    >>> [calendar_quarter(StatedTime(2023, month, day)) for month, day in ((7, 1), (9, 30), (1, 3))]
    [2, 3, 4]
    """
    return (_ended(period) - 1) % 12 // 3 + 1


def _ended(period: StatedTime) -> int:
    return period.month - (0 < period.day < 8)


def ending_quarters(ends_of: Sequence[StatedTime], texts: Sequence[str]) -> dict[tuple[int, int], int]:
    """Return the quarter that each month of a year ends, from the times of tables and from texts."""
    found: dict[tuple[int, int], int] = {}
    told = [period for period in ends_of if period.month]
    for period in told:
        if period.months in (6, 9, 12):
            found[period.year, period.month] = period.months // 3
    ends = [MONTH_NAMES.index(m[1].lower()) + 1 for text in texts for m in _FISCAL_END.finditer(text)]
    for period in told:
        if (period.year, period.month) not in found:
            month = (period.month - 2) % 12 + 1 if period.day and period.day < 8 else period.month
            last = ends[0] if ends else 12
            quarter = ((month - last - 1) % 12) // 3 + 1
            if ends or not _mentions(texts, period.year, quarter):
                found[period.year, period.month] = quarter if ends else 0
    return found


def _mentions(texts: Sequence[str], year: int, quarter: int) -> bool:
    return any(p.quarter == quarter and p.year == year for text in texts for p in periods(text))
