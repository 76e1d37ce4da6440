"""Cell of a grid: a value in its type, the quotes behind it, and how far it is confirmed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, get_args

from rag.i18n import N_

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
