# ruff: noqa: E501 - patterns
"""Values of cells read from words: dates, money, numbers, options, parts of a list, birth and death."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from rag.citations.quantities import MONEY, Quantity, quantities, undated
from rag.citations.quantities import periods as stated_times
from rag.grid.cells import Amount, CellValue, Day, Words
from rag.grid.columns import Column
from rag.text.dates import Period, find_periods

LONGEST = 300  # characters of a value of text
MOST_ITEMS = 100
_UNIT_NAMES = {"d": "days", "wk": "weeks", "mo": "months", "yr": "years", "h": "hours", "min": "minutes"}
_SEPARATOR = re.compile(
    r"\s*(?:,(?!\s?(?:Inc|Ltd|LLC|L\.?P|PLC|Corp|Co|GmbH|S\.?A)\b)|[;、，；・·]|\band\b|\s&\s(?=[A-Z“\"].*$)(?!.*[,;])|\s및\s|\s그리고\s|[와과]\s|及び|および|並びに|ならびに|\s와\s|\s과\s)\s*(?:\band\b\s*)?"
)
_QUOTED = re.compile(r"[“\"「『‘](?P<item>[^”\"」』’\n]{1,80})[”\"」』’]")
_DASHES = re.compile(r"(?:^|\s)[-•]\s+")
_TRIM = " \t\n.。:：*_“”\"'‘’「」『』()（）"
OPENING = 700
"""Characters at the beginning of a document in which its subject is introduced."""
LONGEST_LIFE = 240  # characters between the parentheses that have the dates of a life
_DASH = re.compile(
    r"\s*[)）]?[^-–—~～〜()（）]{0,12}(?:[(（][^()（）]{0,12}[)）])?\s*[-–—~～〜][^-–—~～〜]{0,24}"
)
_OPEN = re.compile(r"[-–—~～〜]\s*\Z")


@dataclass(frozen=True)
class FoundValue:
    """Value that ``text[start:end]`` states; `in_unit` where it is written in the unit of the column."""

    value: CellValue
    start: int
    end: int
    in_unit: bool = True


def find_values(text: str, column: Column) -> Iterator[FoundValue]:
    """Yield the dates, amounts or options that some words state, in order; for other kinds nothing.

    >>> rent = Column("rent", "Rent", kind="money")
    >>> [str(one.value.amount) for one in find_values("EUR 1,200 from 1 May 2024 (12 months)", rent)]
    ['1200']
    """
    match column.kind:
        case "date":
            found = [FoundValue(day_of(one), one.start, one.end) for one in find_periods(text)]
            yield from sorted((*found, *_slashed(text)), key=lambda one: one.start)
        case "money" | "number":
            yield from _amounts(without_numbering(text), column)
        case "choice":
            yield from _options(text, column)
        case _:
            return


def in_unit(found: list[FoundValue]) -> list[FoundValue]:
    """Return the values that are written in the unit of their column; all where none is."""
    return [one for one in found if one.in_unit] or found


_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})/(\d{1,2})/((?:19|20)?\d\d)(?![\d/])")
_LAST_MONTH, _SHORT_YEAR, _CENTURY = 12, 100, 2000


def _slashed(text: str) -> Iterator[FoundValue]:
    """Yield dates such as 16/03/2026 and 11/23/2024, whose parts can be told apart.

    >>> [one.value.label for one in _slashed("on 16/03/2026 or 11/23/2024, not 03/04/2024")]
    ['2026-03-16', '2024-11-23']
    """
    for match in _SLASHED.finditer(text):
        one, other, year = (int(part) for part in match.groups())
        short = year < _SHORT_YEAR  # of 24/05/16 the year may be the first
        if (one != other and max(one, other) <= _LAST_MONTH) or (short and other <= _LAST_MONTH):
            continue
        year += _CENTURY * short
        with suppress(ValueError):
            day = date(year, min(one, other), max(one, other))
            yield FoundValue(Day(day.isoformat(), day), match.start(), match.end())


def day_of(period: Period) -> Day:
    """Return a date or a period as the value of a cell, by its first day."""
    return Day(period.label, period.first)


_CODES = "USD|EUR|GBP|JPY|KRW|CNY|CHF|SGD|AUD|CAD|HKD|INR|NOK|SEK|DKK|NZD|PLN|CZK|HUF|BRL|MXN|ZAR|TRY|THB|TWD|VND|IDR"
CURRENCY = re.compile(rf"\b(?:{_CODES})\b")
"""Code of a currency."""
_CODE_BEFORE = re.compile(rf"\b({_CODES})\s?\Z")
_CODE_AFTER = re.compile(rf"\s?({_CODES})\b")


_NUMBERING = re.compile(
    r"(?m)^[ \t>*#|]*(?:\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}[.)]|\(\d{1,2}\))(?=[ \t](?![A-Z]{2,4}\b|Mio|Mrd|[백천만억조원달유円万億千百%％€£¥￥₩￦㎡])[^\d\W a-z])|[①-⑳]"
    r"|[제第]\s?\d+\s?[조항호관장절편条項号章節]|§\s?\d+"
    r"|\b(?:[Ss]ections?|[Aa]rticles?|[Cc]lauses?|[Ii]tems?|[Nn]otes?|[Pp]ages?|[Ff]orms?|[Rr]ules?)\s\d+[A-Za-z]?\b"
)
_SPELLED = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand"
_SPELLED_OUT = re.compile(rf"\b(?:(?:{_SPELLED})\b[\s-]*(?:and\s+)?)+(?=\(\d)", re.IGNORECASE)


def without_numbering(text: str) -> str:
    """Return a text of the same length without numbers of clauses, and without words that digits repeat.

    >>> without_numbering("2.1 It is five (5) years under Section 9.")
    '    It is      (5) years under          .'
    """
    for pattern in (_NUMBERING, _SPELLED_OUT):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text.replace("￥", "¥").replace("￦", "₩")


def _amounts(text: str, column: Column) -> Iterator[FoundValue]:
    dated = [one for one in stated_times(text) if one.year or one.month or one.day or one.quarter]
    wanted = canonical_unit(column.unit)
    for one in undated(text, dated):
        code = _CODE_BEFORE.search(text, max(0, one.start - 4), one.start) or _CODE_AFTER.match(text, one.end)
        unit = one.unit or (code[1] if code else "")
        if unit_fits(unit, column, scaled=one.step > 1):
            start = code.start() if code and code.start() < one.start else one.start
            bracketed = text[max(0, one.start - 1) : one.start + 1].strip()[:1] == "("
            value = plain(abs(one.value) if bracketed else one.value)  # "ninety (90) days" is no loss
            counted = bool(wanted) and (unit == wanted or _is_counted(text, one.end, column.unit))
            shown = column.unit if counted and unit != wanted else shown_unit(unit) or column.unit
            yield FoundValue(
                Amount(value, shown), start, one.end, not wanted or counted or column.kind == "money"
            )


def _is_counted(text: str, end: int, unit: str) -> bool:
    """Return True where a number that ends here is followed by a unit in words: "2,400 square feet"."""
    after = text[end : end + len(unit) + 2].lstrip(" -").casefold()
    return after.startswith(unit.casefold().removesuffix("s"))


def unit_fits(unit: str, column: Column, *, scaled: bool = False) -> bool:
    """Return True for a unit that values of a column may have; money in words names a currency or a scale."""
    money = unit in MONEY or (len(unit) == 3 and unit.isupper())
    if column.kind == "money":
        return money or (not unit and scaled)
    wanted = canonical_unit(column.unit)
    if wanted == "%" or unit == "%":
        return unit == wanted or (not wanted and unit == "%")
    return not money


def canonical_unit(unit: str) -> str:
    """Return the unit that a column names as quantities have it.

    >>> canonical_unit("days"), canonical_unit("percent"), canonical_unit("shares")
    ('d', '%', 'shares')
    """
    read = quantities(f"1 {unit}") if unit else []
    return read[0].unit or unit if read else unit


def shown_unit(unit: str) -> str:
    """Return a unit as a cell shows it: "days" for "d"."""
    return _UNIT_NAMES.get(unit, unit)


def amount_of(quantity: Quantity, unit: str) -> Amount:
    """Return a quantity as the value of a cell; one without a unit has this one."""
    return Amount(plain(quantity.value), shown_unit(quantity.unit) or unit)


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
        for match in re.finditer(_whole(option), text, re.IGNORECASE)
    ]
    for start, option in sorted(found):
        yield FoundValue(Words(option), start, start + len(option))


def _whole(option: str) -> str:
    edge = r"\b" if option.isascii() and option[:1].isalnum() and option[-1:].isalnum() else ""
    return edge + re.escape(option) + edge


def split_items(text: str) -> tuple[str, ...]:
    """Return the parts of an enumeration; those in quotation marks where there are several.

    >>> split_items("the Americas, Europe and Japan."), split_items("「営業」、「開発」")
    (('Americas', 'Europe', 'Japan'), ('営業', '開発'))
    """
    quoted = [match["item"].strip(_TRIM + ",") for match in _QUOTED.finditer(text)]
    bullets = _DASHES.split(text) if _DASHES.match(text) else []
    parts = quoted if len(quoted) > 1 else bullets or _SEPARATOR.split(" ".join(text.split()))
    trimmed = (re.sub(r"^(?:the|an?)\s+", "", part.strip(_TRIM)) for part in parts)
    return tuple(dict.fromkeys(part for part in trimmed if part))[:MOST_ITEMS]


def life_dates(text: str) -> tuple[FoundValue | None, FoundValue | None]:
    """Return birth and death by the first parentheses with a life span; the second is None for the living.

    >>> [one.value.label for one in life_dates("Ada Lovelace (10 December 1815 – 27 November 1852) was")]
    ['1815-12-10', '1852-11-27']
    """
    for start, end in _parentheses(text[:OPENING]):
        inside = text[start:end]
        dates = find_periods(inside)
        pairs = (pair for pair in pairwise(dates) if _DASH.fullmatch(inside[pair[0].end : pair[1].start]))
        span = next(pairs, None)
        if span is not None:
            one, two = (FoundValue(day_of(date), start + date.start, start + date.end) for date in span)
            return (one, two) if _in_order(one, two) else (None, None)
        if len(dates) == 1 and _OPEN.match(inside[dates[0].end :].lstrip()):
            only = dates[0]
            return FoundValue(day_of(only), start + only.start, start + only.end), None
    return None, None


def _in_order(born: FoundValue, died: FoundValue) -> bool:
    match born.value, died.value:
        case Day(_, first), Day(_, last):
            return first < last
    return False


def _parentheses(text: str) -> list[tuple[int, int]]:
    """Return the spans inside of the outer parentheses of a text."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "(（":
            start = place + 1 if depth == 0 else start
            depth += 1
        elif letter in ")）" and depth:
            depth -= 1
            if depth == 0 and place - start <= LONGEST_LIFE:
                found.append((start, place))
    return found
