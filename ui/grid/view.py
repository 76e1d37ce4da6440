"""Rows of a grid as a person looks at them: filtered, sorted, grouped, without hidden columns."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import ge, gt, le, lt
from typing import Any

from rag.grid.cells import Amount, CellValue, Day, value_key, value_order
from rag.grid.columns import Column
from rag.grid.grids import DocumentCell, DocumentRow
from rag.i18n import N_, _, translated
from ui.components.markdown import plain_line
from ui.grid.values import shown_value, typed_value

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
