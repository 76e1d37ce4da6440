"""Cells of a grid: a value in its type, the quotes behind it, and how far it is confirmed.

A cell is chosen among candidates, values that a document may mean, each with its words. Its value is shown as
text, and compared and sorted by a key.
"""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Literal, get_args

from rag.i18n import N_, translated
from rag.text.normalize import normalize_with_offsets

ONLY_SEARCHED = N_("Not found by search alone. A connected model reads the whole text.")
CellState = Literal["verified", "differs", "unconfirmed", "absent", "failed"]
STATES: tuple[CellState, ...] = get_args(CellState)


@dataclass(frozen=True)
class Words:
    """A value of text: the words of the document, or a model's of them; also the option of a choice."""

    text: str


@dataclass(frozen=True)
class Day:
    """A date; `label` is as precise as the document says: "2023-07-01", "2023-07", "2023"."""

    label: str
    first: date


@dataclass(frozen=True)
class Amount:
    """A number with its unit: a currency ("USD"), "%", "days", or none. `amount` is in single units."""

    amount: Decimal
    unit: str = ""


@dataclass(frozen=True)
class YesNo:
    """A yes or a no."""

    yes: bool


@dataclass(frozen=True)
class Items:
    """A list of items, in the document's order."""

    items: tuple[str, ...]


CellValue = Words | Day | Amount | YesNo | Items


@dataclass(frozen=True)
class CellQuote:
    """Words of the cell's document: its canonical text from `start` to `end`."""

    start: int
    end: int
    text: str
    page: int | None = None


@dataclass(frozen=True)
class CellResult:
    """Result of reading a cell: `read` of the document's `total` passages were looked at.

    A `verified` value is said by its quotes. One that `differs` was given by the model and contradicted by
    them; an `unconfirmed` one may be right. `absent`: not found in this document; `only_searched` where no
    language model read it. `failed`: `note` says why.
    """

    state: CellState
    value: CellValue | None = None
    quotes: tuple[CellQuote, ...] = ()
    read: int = 0
    total: int = 0
    calculated: bool = False
    note: str = ""
    only_searched: bool = False


def value_to_json(value: CellValue | None) -> dict[str, Any] | None:
    """Return a value as it is stored and exported.

    >>> value_to_json(Amount(Decimal("39700000000"), "USD"))
    {'amount': '39700000000', 'unit': 'USD'}
    """
    match value:
        case None:
            return None
        case Words(text):
            return {"text": text}
        case Day(label, first):
            return {"date": label, "first": first.isoformat()}
        case Amount(amount, unit):
            return {"amount": str(amount), "unit": unit}
        case YesNo(yes):
            return {"yes": yes}
        case Items(items):
            return {"items": list(items)}


def value_from_json(fields: Mapping[str, Any] | None) -> CellValue | None:
    """Return the value that `value_to_json` wrote.

    >>> value_from_json({"yes": True})
    YesNo(yes=True)
    """
    match fields:
        case None:
            return None
        case {"text": str(text)}:
            return Words(text)
        case {"date": str(label), "first": str(first)}:
            return Day(label, date.fromisoformat(first))
        case {"amount": str(amount), "unit": str(unit)}:
            return Amount(Decimal(amount), unit)
        case {"yes": bool(yes)}:
            return YesNo(yes)
        case {"items": list(items)}:
            return Items(tuple(map(str, items)))
        case _:
            raise ValueError(f"not a value of a cell: {sorted(fields)}")


CLOSE = 0.011
"""Distance from the best score within which candidates compete."""
RIVAL = 0.1
"""Distance within which a sure candidate with another value leaves none sure."""


@dataclass(frozen=True)
class Candidate:
    """Value of a cell that ``text[start:end]`` of the document states; if `sure`, for this very field."""

    value: CellValue
    start: int
    end: int
    score: float
    sure: bool = False


def choose(found: Sequence[Candidate]) -> Candidate | None:
    """Return the best candidate: of those that score alike the value most often given, where it first stands.

    It is sure only where all sure ones that score nearly as well agree with it.

    >>> from rag.grid.cells import YesNo
    >>> yes, no = (Candidate(YesNo(said), 0, 9, 1.0, sure=True) for said in (True, False))
    >>> choose([no, yes, yes]), choose([yes, yes]).sure
    (Candidate(value=YesNo(yes=True), start=0, end=9, score=1.0, sure=False), True)
    """
    if not found:
        return None
    top = max(one.score for one in found)
    best = [one for one in found if one.score >= top - CLOSE]
    counts = Counter(one.value for one in best)
    value = max(counts, key=lambda one: counts[one])  # the first of those given as often
    chosen = min((one for one in best if one.value == value), key=lambda one: (not one.sure, one.start))
    rivals = {one.value for one in found if one.sure and one.score >= top - RIVAL}
    return chosen if rivals <= {value} else replace(chosen, sure=False)


YES, NO = N_("Yes"), N_("No")


def number_text(number: Decimal) -> str:
    """Return a number with separators and the decimals that it was written with.

    >>> number_text(Decimal("120355.50")), number_text(Decimal("1E+3"))
    ('120,355.50', '1,000')
    """
    return f"{number:,f}"


CURRENCY_CODE = re.compile("[A-Z]{3}")
_CENT = Decimal("0.01")


def money_digits(amount: Decimal, unit: str) -> Decimal:
    """Return an amount of a currency with two decimals where it has one; any other number as it is.

    >>> money_digits(Decimal("1200.5"), "EUR"), money_digits(Decimal("12.5"), "%")
    (Decimal('1200.50'), Decimal('12.5'))
    """
    one_decimal = amount.as_tuple().exponent == -1
    return amount.quantize(_CENT) if one_decimal and CURRENCY_CODE.fullmatch(unit) else amount


def value_text(value: CellValue | None) -> str:
    """Return a value as a reader sees it, in the present language; empty for none.

    >>> value_text(Amount(Decimal(1200), "EUR")), value_text(Items(("a", "b"))), value_text(YesNo(True))
    ('1,200 EUR', 'a; b', 'Yes')
    """
    match value:
        case None:
            return ""
        case Words(text):
            return text
        case Day(label, _):
            return label
        case Amount(amount, unit):
            return f"{number_text(money_digits(amount, unit))} {unit}".rstrip()
        case YesNo(yes):
            return translated(YES if yes else NO)
        case Items(items):
            return "; ".join(items)


def value_key(value: CellValue) -> Hashable:
    """Return a key that equal values share, however they are written.

    >>> value_key(Words("Seoul,  Korea")) == value_key(Words("seoul, korea"))
    True
    >>> value_key(Items(("b", "a"))) == value_key(Items(("A", "b")))
    True
    """
    match value:
        case Words(text):
            return "text", folded_words(text)
        case Day(label, _):
            return "date", label
        case Amount(amount, unit):
            return "amount", amount.normalize(), unit
        case YesNo(yes):
            return "yes", yes
        case Items(items):
            return "items", frozenset(map(folded_words, items))


def value_order(value: CellValue | None) -> tuple[int, str, Decimal, str]:
    """Return the key that a column is sorted by: amounts by unit and number, dates by day, none last.

    >>> days = [Day("2024", date(2024, 1, 1)), Day("2023-05", date(2023, 5, 1))]
    >>> [day.label for day in sorted(days, key=value_order)]
    ['2023-05', '2024']
    """
    match value:
        case None:
            return 1, "", Decimal(0), ""
        case Amount(amount, unit):
            return 0, unit, amount, ""
        case Day(label, first):
            return 0, first.isoformat(), Decimal(0), label
        case _:
            return 0, "", Decimal(0), folded_words(value_text(value))


def folded_words(text: str) -> str:
    """Return the words of a text for comparison: normalised, without case."""
    return " ".join(normalize_with_offsets(text).text.casefold().split())
