"""Table of a grid: real rows and buttons, with a frozen first column, worked by the arrow keys."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from rag.grid.columns import Column
from rag.grid.grids import DocumentCell, DocumentRow
from rag.i18n import _, ngettext, translated
from ui.components.markdown import plain_line
from ui.grid.view import DOCUMENT, FLAGS, SIGNS, GridView, cell_words, flags, mark, shown_value, state_words

KEY = "grid-table"
MAX_VALUE = 400  # characters of a value in the table; the panel has all of it


@dataclass(frozen=True)
class ShownCell:
    """A cell as the table shows it; all of it is shown as text."""

    id: str
    text: str
    sign: str
    mark: str
    words: str
    flags: tuple[str, ...] = ()
    right: bool = False


@dataclass(frozen=True)
class ShownCells:
    """A row as the table shows it: a document and its cells."""

    id: str
    name: str
    note: str
    cells: tuple[ShownCell, ...]


def cell_id(cell: DocumentCell) -> str:
    """Return the name of a cell in an address: "3fa2:c1"."""
    return f"{cell.document_id}:{cell.column.id}"


def shown_row(row: DocumentRow, columns: Sequence[Column]) -> ShownCells:
    """Return a row as the table shows it."""
    note = "" if row.readable else _("Could not be read") if row.refused else _("Not read yet")
    cells = tuple(_shown_cell(row.cell(column.id)) for column in columns)
    return ShownCells(row.document.id, plain_line(row.document.name, 120), note, cells)


def _shown_cell(cell: DocumentCell) -> ShownCell:
    """Return a cell as the table shows it: an unread one has no sign before it is to be read again."""
    sign = mark(cell)
    written = "…" if cell.again else SIGNS[sign]
    shown = "\n".join(plain_line(line, MAX_VALUE) for line in shown_value(cell.value).splitlines())
    instead = "" if sign == "unread" else state_words(cell)
    return ShownCell(
        cell_id(cell),
        shown[:MAX_VALUE] or instead,
        written,
        sign,
        cell_words(cell),
        tuple(translated(FLAGS[flag]) for flag in flags(cell)),
        cell.column.kind in ("money", "number") and bool(shown),
    )


def show_grid_table(
    groups: Sequence[tuple[str, Sequence[DocumentRow]]],
    columns: Sequence[Column],
    view: GridView,
    *,
    name: str,
    opened: str,
    selected: Collection[str],
    version: int,
    on_order: Callable[[str], object],
    on_open: Callable[[str], object],
    on_document: Callable[[str], object],
    on_select: Callable[[set[str]], object],
) -> None:
    """Show groups of rows; `opened` is the cell in the panel.

    `selected` rows count where `version` has changed, else what the browser has selected.
    """

    def given(event: str, act: Callable[[Any], object]) -> Callable[[], None]:
        def called() -> None:
            value = st.session_state[KEY].get(event)
            if value is not None:
                act(value)

        return called

    _table(
        key=KEY,
        height="content",
        data={
            "columns": [{"id": DOCUMENT, "name": _("Document")}, *map(_shown_column, columns)],
            "groups": [
                {"name": _group(title, len(rows)), "rows": [asdict(shown_row(row, columns)) for row in rows]}
                for title, rows in groups
            ],
            "sort": {"column": view.sort, "descending": view.descending},
            "opened": opened,
            "selected": sorted(selected),
            "version": version,
            "words": {
                "caption": _("{name}. The arrow keys move between cells; Enter opens one.", name=name),
                "scrolls": _("Table of {name}", name=name),
                "select": _("Select {name}", name="{name}"),
                "one": ngettext("{count} document selected", "{count} documents selected", 1),
                "selected": _("{number} documents selected", number="{number}"),
            },
        },
        on_ordered_change=given("ordered", lambda column: on_order(str(column))),
        on_opened_change=given("opened", lambda id_: on_open(str(id_))),
        on_document_change=given("document", lambda id_: on_document(str(id_))),
        on_selected_change=given("selected", lambda ids: on_select({str(id_) for id_ in ids})),
    )


def _shown_column(column: Column) -> dict[str, object]:
    right = column.kind in ("money", "number")
    return {
        "id": column.id,
        "name": plain_line(column.name, 80),
        "right": right,
        "wide": column.kind in ("text", "list"),
    }


def _group(title: str, rows: int) -> str:
    documents = ngettext("{count} document", "{count} documents", rows)
    return f"{title} · {documents}" if title else ""


_HTML = """
<div class="scroll" role="region">
  <table>
    <caption class="aside"></caption>
    <thead><tr></tr></thead>
  </table>
</div>
<p class="aside" role="status"></p>
"""
_CSS, _JS = (Path(__file__).with_suffix(end).read_text(encoding="utf-8") for end in (".css", ".js"))
_table = st.components.v2.component("footnote_grid", html=_HTML, css=_CSS, js=_JS)
