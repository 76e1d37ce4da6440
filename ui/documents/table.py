"""Table of documents: real rows, boxes and buttons, so that a keyboard and a screen reader can work it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from rag.i18n import N_, _, ngettext, translated

KEY = "documents-table"
COLUMNS: Mapping[str, str] = {
    "name": N_("Name"),
    "kind": N_("Type"),
    "added": N_("Added"),
    "pages": N_("Pages"),
    "collection": N_("Collection"),
    "tags": N_("Tags"),
    "status": N_("Status"),
}


@dataclass(frozen=True)
class ShownRow:
    """One document as the table shows it; all of it is shown as text."""

    id: str
    name: str
    kind: str
    added: str
    pages: str
    collection: str
    tags: tuple[str, ...]
    status: str
    tone: str  # "good", "busy", "bad" or "calm"
    note: str = ""
    origin: str = ""
    retry: bool = False
    final: bool = False  # nothing but another file helps: it can be deleted here


@dataclass(frozen=True)
class Order:
    """Order of the rows: a key of `COLUMNS`, and its direction."""

    column: str = "added"
    descending: bool = True

    def by(self, column: str) -> "Order":
        """Return the order after a press on a column's header: the other direction, or that column."""
        if column == self.column:
            return Order(column, not self.descending)
        return Order(column, column == "added")


def show_table(
    rows: Sequence[ShownRow],
    order: Order,
    selected: Collection[str],
    *,
    version: int,
    on_select: Callable[[set[str]], object],
    on_order: Callable[[str], object],
    on_open: Callable[[str], object],
    on_retry: Callable[[str], object],
    on_delete: Callable[[str], object],
) -> None:
    """Show the rows; `selected` counts where `version` has changed, else what the browser has selected."""

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
            "columns": {column: translated(name) for column, name in COLUMNS.items()},
            "words": {
                "caption": _("Documents"),
                "all": _("Select all on this page"),
                "select": _("Select {name}", name="{name}"),
                "again": _("Try again"),
                "again_with": _("Try again: {name}", name="{name}"),
                "delete": _("Delete"),
                "delete_with": _("Delete: {name}", name="{name}"),
                "one": ngettext("{count} document selected", "{count} documents selected", 1),
                "selected": _("{number} documents selected", number="{number}"),
            },
            "order": asdict(order),
            "rows": [asdict(row) for row in rows],
            "selected": sorted(selected),
            "version": version,
        },
        on_selected_change=given("selected", lambda told: on_select({str(id_) for id_ in told["ids"]})),
        on_ordered_change=given("ordered", lambda column: on_order(str(column))),
        on_opened_change=given("opened", lambda id_: on_open(str(id_))),
        on_retried_change=given("retried", lambda id_: on_retry(str(id_))),
        on_deleted_change=given("deleted", lambda id_: on_delete(str(id_))),
    )


_HTML = """
<table>
  <caption class="aside"></caption>
  <thead><tr></tr></thead>
  <tbody></tbody>
</table>
<p class="aside" role="status"></p>
"""
_CSS, _JS = (Path(__file__).with_suffix(end).read_text(encoding="utf-8") for end in (".css", ".js"))
_table = st.components.v2.component("footnote_documents", html=_HTML, css=_CSS, js=_JS)
