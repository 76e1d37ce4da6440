"""Filters above the table of a grid, kept per grid in the session, and the legend below it."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from rag.grid.grids import DocumentRow, Grid
from rag.i18n import _, ngettext, translated
from ui.components.markdown import escape_line, plain_line
from ui.grid.view import DOCUMENT, FLAGS, MARKS, SIGNS, GridView, mark, state_words

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
            placeholder=_("Words, or a limit such as > 1,000"),
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
