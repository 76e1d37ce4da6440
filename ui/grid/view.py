"""Rows of a grid as a person looks at them: filtered, sorted, grouped, without hidden columns.

Dates, money and numbers are read and typed in the page's language. The filters above the table are kept per
grid in the session; a legend stands below it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from operator import ge, gt, le, lt
from typing import Any

import streamlit as st

from rag.errors import GridRefused
from rag.grid.cells import (
    CURRENCY_CODE,
    Amount,
    CellValue,
    Day,
    Items,
    Words,
    number_text,
    value_key,
    value_order,
    value_text,
)
from rag.grid.columns import Column
from rag.grid.grids import DocumentCell, DocumentRow, Grid
from rag.grid.values import find_values
from rag.i18n import N_, _, language, ngettext, translated, written_period
from ui.components.markdown import escape_line, plain_line

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
    if CURRENCY_CODE.fullmatch(unit):
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


DOCUMENT = ""  # in place of a column's id
SIGNS = {
    "verified": "✓",
    "differs": "≠",
    "unconfirmed": "?",
    "absent": "–",
    "failed": "!",
    "corrected": "✎",
    "unread": "",
}
MARKS = {
    "verified": N_("Verified"),
    "differs": N_("The source differs"),
    "unconfirmed": N_("Not confirmed"),
    "absent": N_("Not found in this document"),
    "failed": N_("Failed"),
    "corrected": N_("Corrected by hand"),
    "unread": N_("Not read yet"),
}
"""What is known of a cell, by the state of its result."""
FLAGS = {"outdated": N_("Outdated"), "locked": N_("Locked"), "calculated": N_("Calculated")}
_LIMIT = re.compile(r"(>=|<=|>|<)\s*(.+)")
_LIMITS: dict[str, Callable[[Any, Any], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}


@dataclass(frozen=True)
class GridView:
    """Filters, order and groups: `words` and `states` are looked for in the column `inside`, "" for all.

    `sort` and `group` are ids of columns; DOCUMENT sorts by name and groups by nothing.
    """

    sort: str = DOCUMENT
    descending: bool = False
    words: str = ""
    states: frozenset[str] = frozenset()
    inside: str = ""
    hidden: frozenset[str] = frozenset()
    group: str = DOCUMENT

    def by(self, column: str) -> "GridView":
        """Return the view after a press on a column's header: sorted by it, or in the other direction."""
        return replace(self, sort=column, descending=column == self.sort and not self.descending)


def mark(cell: DocumentCell) -> str:
    """Return the key in MARKS of a cell."""
    return "corrected" if cell.corrected is not None else cell.state or "unread"


def state_words(cell: DocumentCell) -> str:
    """Return what is known of a cell, in the language of the page."""
    found = cell.found
    if mark(cell) == "absent" and found is not None and found.only_searched:
        return _("Not found by search alone")
    return translated(MARKS[mark(cell)])


def flags(cell: DocumentCell) -> list[str]:
    """Return the keys in FLAGS that hold for a cell; one never read, or failed, is not outdated."""
    found = cell.found
    calculated = found is not None and found.calculated and cell.corrected is None
    there = {
        "outdated": cell.outdated and not cell.locked and cell.state not in (None, "failed"),
        "locked": cell.locked,
        "calculated": calculated,
    }
    return [flag for flag, holds in there.items() if holds]


def cell_words(cell: DocumentCell) -> str:
    """Return a cell in words, as a screen reader says it: "Rent: €1,200. Verified. Locked"."""
    value = " · ".join(shown_value(cell.value).splitlines())
    said = [value, state_words(cell), *(translated(FLAGS[flag]) for flag in flags(cell))]
    return _("{name}: {words}", name=cell.column.name, words=". ".join(filter(None, said)))


def viewed_columns(columns: Sequence[Column], view: GridView) -> list[Column]:
    """Return the columns that are not hidden."""
    return [column for column in columns if column.id not in view.hidden]


def filtered(rows: Iterable[DocumentRow], view: GridView) -> list[DocumentRow]:
    """Return the rows with a cell, or a name, as the view asks for; raises GridRefused for a bad limit."""
    return [row for row in rows if _has_words(row, view) and _has_state(row, view)]


def _cells(row: DocumentRow, view: GridView) -> list[DocumentCell]:
    return [cell for cell in row.cells if view.inside in ("", cell.column.id)]


def _has_state(row: DocumentRow, view: GridView) -> bool:
    return not view.states or any(view.states & {mark(cell), *flags(cell)} for cell in _cells(row, view))


def _has_words(row: DocumentRow, view: GridView) -> bool:
    words = " ".join(view.words.casefold().split())
    if not words:
        return True
    limit = _LIMIT.fullmatch(view.words.strip())
    if limit and view.inside:
        return any(_within(cell, limit[1], limit[2]) for cell in _cells(row, view))
    texts = [
        *([] if view.inside else [row.document.name]),
        *(shown_value(c.value) for c in _cells(row, view)),
    ]
    return any(words in " ".join(text.casefold().split()) for text in texts)


def _within(cell: DocumentCell, sign: str, limit: str) -> bool:
    """Return True for a value on the asked side of a limit; amounts of other units are on none."""
    wanted, value = typed_value(cell.column, limit), cell.value
    match value, wanted:
        case Amount(amount, unit), Amount(number, other):
            return other in ("", unit) and _LIMITS[sign](amount, number)
        case Day(), Day():
            return _LIMITS[sign](value.first, wanted.first)
    return False


def ordered(rows: Sequence[DocumentRow], view: GridView) -> list[DocumentRow]:
    """Return rows in the order of the view; those without a value come last in both directions."""
    if not any(cell.column.id == view.sort for row in rows[:1] for cell in row.cells):
        return list(reversed(rows)) if view.descending else list(rows)

    def value(row: DocumentRow) -> CellValue | None:
        return row.cell(view.sort).value

    there = [row for row in rows if value(row) is not None]
    there.sort(key=lambda row: value_order(value(row)), reverse=view.descending)
    return [*there, *(row for row in rows if value(row) is None)]


def grouped(rows: Sequence[DocumentRow], view: GridView) -> list[tuple[str, list[DocumentRow]]]:
    """Return groups of rows by the value of a column, named by it; one without a name for no groups."""
    if not any(cell.column.id == view.group for row in rows[:1] for cell in row.cells):
        return [("", list(rows))]

    def key(row: DocumentRow) -> tuple[object, ...]:
        value = row.cell(view.group).value
        return (*value_order(value), "" if value is None else str(value_key(value)))

    first = sorted(rows, key=key)
    groups = [list(group) for _key, group in groupby(first, key=key)]
    place = {row.document.id: at for at, row in enumerate(rows)}
    return [
        (_group_name(group[0].cell(view.group)), sorted(group, key=lambda row: place[row.document.id]))
        for group in groups
    ]


def _group_name(cell: DocumentCell) -> str:
    return plain_line(shown_value(cell.value), 80) or _("No value")


_SORT = "grid-sort"


def sort_by(grid: Grid, column: str) -> None:
    """Sort by a column, or in the other direction where that is so already."""
    view = _sorted_view(grid).by(column)
    st.session_state[f"{_SORT}-{grid.id}"] = view.sort, view.descending


def shown_view(grid: Grid) -> GridView:
    """Return the view that the filters and the table's headers ask for."""
    view, there = _sorted_view(grid), {column.id for column in grid.columns}

    def kept(name: str) -> str:
        value = st.session_state.get(f"grid-{name}-{grid.id}") or ""
        return str(value) if value in there else DOCUMENT

    return GridView(
        view.sort if view.sort in there else DOCUMENT,
        view.descending,
        str(st.session_state.get(f"grid-words-{grid.id}") or ""),
        frozenset(st.session_state.get(f"grid-states-{grid.id}") or ()),
        kept("inside"),
        frozenset(st.session_state.get(f"grid-hidden-{grid.id}") or ()) & there,
        kept("group"),
    )


def _sorted_view(grid: Grid) -> GridView:
    sort, descending = st.session_state.get(f"{_SORT}-{grid.id}", (DOCUMENT, False))
    return GridView(sort, descending)


def show_filters(grid: Grid) -> None:
    """Show the filters, the less common ones folded; `shown_view` returns what is chosen in them."""
    names = {column.id: plain_line(column.name, 60) for column in grid.columns}
    with st.container(key="grid-filter", horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            _("Filter"),
            key=f"grid-words-{grid.id}",
            placeholder=_("Words, or > 1,000"),
            icon=":material/search:",
            live="300ms",
        )
        st.selectbox(
            _("In column"),
            ["", *names],
            format_func=lambda id_: names.get(id_, _("All columns")),
            key=f"grid-inside-{grid.id}",
        )
        narrowed = bool(st.session_state.get(f"grid-states-{grid.id}"))
        icon = ":material/filter_alt:" if narrowed else ":material/view_agenda:"
        with st.popover(_("View"), icon=icon, key="grid-view"):
            states = {**MARKS, **FLAGS}
            st.multiselect(
                _("State"),
                list(states),
                format_func=lambda state: translated(states[state]),
                placeholder=_("Any"),
                key=f"grid-states-{grid.id}",
            )
            st.selectbox(
                _("Group by"),
                ["", *names],
                format_func=lambda id_: names.get(id_, _("No groups")),
                key=f"grid-group-{grid.id}",
            )
            st.multiselect(
                _("Hidden columns"),
                list(names),
                format_func=lambda id_: names.get(id_, id_),
                placeholder=_("None"),
                key=f"grid-hidden-{grid.id}",
            )


def show_legend(found: Sequence[DocumentRow], rows: Sequence[DocumentRow]) -> None:
    """Show how many rows are seen, and the signs of their cells with their number."""
    said = [
        _("{found} of {count} documents", found=len(found), count=len(rows))
        if len(found) < len(rows)
        else ngettext("{count} document", "{count} documents", len(rows))
    ]
    cells = [cell for row in found for cell in row.cells if not row.refused or cell.state is not None]
    counted = Counter((mark(cell), state_words(cell)) for cell in cells)
    said += [_counted(name, words, n) for (name, words), n in sorted(counted.items(), key=_in_order)]
    st.caption(" · ".join(said))


def _in_order(counted: tuple[tuple[str, str], int]) -> tuple[int, str]:
    (name, words), _number = counted
    return list(MARKS).index(name), words


def _counted(name: str, words: str, number: int) -> str:
    if name == "unread":
        return ngettext("{count} cell not read yet", "{count} cells not read yet", number)
    return f"{escape_line(SIGNS[name])} {words}: {number:,}"
