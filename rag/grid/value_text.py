"""Values of cells as text, and the keys that they are compared and sorted by."""

from collections.abc import Hashable
from datetime import date  # noqa: F401 - of an example
from decimal import Decimal

from rag.grid.cells import Amount, CellValue, Day, Items, Words, YesNo
from rag.i18n import N_, translated
from rag.text.normalize import normalize_with_offsets

YES, NO = N_("Yes"), N_("No")


def number_text(number: Decimal) -> str:
    """Return a number with separators and without needless digits.

    >>> number_text(Decimal("39700000.50")), number_text(Decimal("1E+3"))
    ('39,700,000.5', '1,000')
    """
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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
            return f"{number_text(amount)} {unit}".rstrip()
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
