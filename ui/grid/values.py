"""Values of cells as people read and type them: dates, money and numbers in the page's language."""

import re
from decimal import Decimal

from rag.errors import GridRefused
from rag.grid.cells import Amount, CellValue, Day, Items, Words, number_text, value_text
from rag.grid.columns import Column
from rag.grid.values import find_values
from rag.i18n import N_, _, language, ngettext, written_period

_CODE = re.compile("[A-Z]{3}")
_AMOUNT = re.compile(
    r"(?:(?P<code>[A-Z]{3})\s*)?(?P<number>[-−]?\d[\d,]*(?:\.\d+)?)\s*(?P<unit>%|[^\W\d_][^\d]{0,30})?"
)


def shown_value(value: CellValue | None) -> str:
    """Return a value in the language of the page; empty for none.

    >>> shown_value(Amount(Decimal(1200), "EUR")), shown_value(Amount(Decimal("12.5"), "%"))
    ('€1,200', '12.5%')
    """
    match value:
        case Day():
            return written_period(value.label)
        case Amount(amount, unit):
            return _amount(amount, unit)
        case Items(items):
            return "\n".join(items)
        case _:
            return value_text(value)


def _amount(amount: Decimal, unit: str) -> str:
    if _CODE.fullmatch(unit):
        return _money(amount, unit)
    if amount == amount.to_integral_value() and (span := _span(unit, int(amount))):
        return span
    return f"{number_text(amount)}{unit}" if unit == "%" else f"{number_text(amount)} {unit}".rstrip()


def _span(unit: str, count: int) -> str:
    match unit:
        case "days":
            return ngettext("{count} day", "{count} days", count)
        case "weeks":
            return ngettext("{count} week", "{count} weeks", count)
        case "months":
            return ngettext("{count} month", "{count} months", count)
        case "years":
            return ngettext("{count} year", "{count} years", count)
        case "hours":
            return ngettext("{count} hour", "{count} hours", count)
        case "minutes":
            return ngettext("{count} minute", "{count} minutes", count)
        case _:
            return ""


def _money(amount: Decimal, code: str) -> str:
    """Return money with a currency's sign; its cents where it has some."""
    from babel.numbers import format_currency

    cents = "" if amount == amount.to_integral_value() else ".00#"
    spaced = "¤#,##0" + cents
    return format_currency(
        amount, code, format=spaced, locale=language(), currency_digits=False, decimal_quantization=False
    )


def typed_form(value: CellValue | None) -> str:
    """Return a value as a field shows it to be edited: what `typed_value` reads back."""
    return "\n".join(value.items) if isinstance(value, Items) else value_text(value)


def typed_value(column: Column, text: str) -> CellValue:
    """Return the value that was typed for a cell of a column; raises GridRefused.

    >>> typed_value(Column("rent", "Rent", kind="money"), "1,250.50 EUR")
    Amount(amount=Decimal('1250.5'), unit='EUR')
    >>> typed_value(Column("start", "Start", kind="date"), "2024-05").label
    '2024-05'
    """
    tidy = text.strip()
    if not tidy:
        raise GridRefused(N_("There is no value. Type one, or close the form."))
    match column.kind:
        case "date":
            return _typed_day(column, tidy)
        case "money" | "number":
            return _typed_amount(column, tidy)
        case "list":
            return Items(tuple(dict.fromkeys(line.strip() for line in tidy.splitlines() if line.strip())))
        case _:
            return Words(tidy)


def _typed_day(column: Column, text: str) -> CellValue:
    found = next(find_values(text, column), None)
    if found is None or text[found.start : found.end] != text:
        raise GridRefused(N_("“{text}” is not a date. Write it like 2024-05-31, 2024-05 or 2024.", text=text))
    return found.value


def _typed_amount(column: Column, text: str) -> CellValue:
    found = next(find_values(text, column), None)
    if found is not None and text[found.start : found.end] == text:
        return found.value
    plain = _AMOUNT.fullmatch(text)
    if plain is None:
        raise GridRefused(N_("“{text}” is not a number. Write it like 1,200.50 EUR.", text=text))
    number = Decimal(plain["number"].replace(",", "").replace("−", "-"))
    return Amount(number, (plain["code"] or plain["unit"] or column.unit).strip())


def value_hint(column: Column) -> str:
    """Return an example of what can be typed for a column; empty where anything can."""
    match column.kind:
        case "date":
            return "2024-05-31"
        case "money":
            return f"1,200.50 {column.unit}" if column.unit else _("1,200.50 EUR")
        case "number":
            return f"1,200 {column.unit}".rstrip()
        case "list":
            return _("One item a line")
        case _:
            return ""
