"""Grid page: the list of grids, and the open one with its table, run, figures and downloads."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from rag.errors import GridRefused
from rag.grid.columns import Column
from rag.grid.export import GRID_MEDIA_TYPES, GridForm, file_name_of
from rag.grid.grids import DocumentRow, Grid
from rag.i18n import N_, _, in_language, language, ngettext, translated, written_day
from rag.workspace import Workspace
from storage.errors import NotFound
from storage.grids import MAX_GRID_NAME
from ui import pages
from ui.chat import citations
from ui.components import side_panel
from ui.components.markdown import label
from ui.components.messages import (
    action,
    confirm_deletion,
    flash,
    rename_action,
    show_errors,
    show_sentence,
)
from ui.components.pagination import paginated
from ui.documents import panel as document_panel
from ui.grid import cell_panel, summary
from ui.grid.dialogs import PARAMETER, change_rows, chosen_rows, new_grid, rows_in_words, show_columns
from ui.grid.run_bar import is_running, show_run
from ui.grid.table import show_grid_table
from ui.grid.view import (
    GridView,
    filtered,
    grouped,
    ordered,
    show_filters,
    show_legend,
    shown_view,
    sort_by,
    viewed_columns,
)
from ui.server.services import workspace

PAGE = 50  # rows shown at once
TICK = 1.0  # seconds between looks at a run
_SELECTED, _OPENED = "grid-selected", "grid-opened"
GRID_FORMS: dict[GridForm, str] = {
    "xlsx": N_("Excel, quotes as comments"),
    "csv": "CSV",
    "md": "Markdown",
    "html": N_("Web page"),
    "json": N_("JSON (for programs)"),
}


def show() -> None:
    """Show the page."""
    here = workspace()
    citations.listen(cell_panel.choose)
    wished = chosen_rows()
    if wished is not None:
        _close()
        new_grid(here, wished)
    grid = _opened(here)
    with st.container(key="grid"):
        if grid is None:
            _show_list(here)
        else:
            _show_grid(here, grid)
    if grid is not None:
        _show_panel(here, grid)


def _opened(here: Workspace) -> Grid | None:
    grid_id = st.query_params.get(PARAMETER)
    if not grid_id:
        return None
    try:
        return here.grids.get(grid_id)
    except NotFound:
        st.toast(_("Grid not found. It may have been deleted."))
        _close()
        return None


def _close(_: object = None) -> None:
    for name in (PARAMETER, cell_panel.PARAMETER, *side_panel.DOCUMENT_PARAMETERS):
        st.query_params.pop(name, None)


def _open(grid_id: str) -> None:
    _close()
    st.query_params[PARAMETER] = grid_id


def _show_panel(here: Workspace, grid: Grid) -> None:
    if side_panel.DOCUMENT in st.query_params:
        document_panel.show_chosen(here)
    else:
        cell_panel.show_chosen(here, grid)


# The list of grids


def _show_list(here: Workspace) -> None:
    st.title(_("Grids"))
    if not here.documents():
        st.markdown(_("A grid asks the same questions of many documents. Add documents first."))
        st.page_link(pages.LIBRARY, label=_("Add documents"), icon=":material/upload:")
        return
    grids = here.grids.list()
    if not grids:
        st.markdown(_("Ask the same questions of many documents. Each cell of the table opens its source."))
    if st.button(_("New grid"), icon=":material/add:", type="primary", key="grid-new"):
        new_grid(here, [])
    with st.container(key="grid-list", gap="small"):
        for grid in grids:
            _show_entry(here, grid)


def _show_entry(here: Workspace, grid: Grid) -> None:
    with st.container(border=True, gap="xxsmall"):
        action(f"**{label(grid.name, 100)}**", "table_chart", f"grid-open-{grid.id}", _open, grid.id)
        said = [
            ngettext("{count} document", "{count} documents", len(here.grids.documents(grid.id))),
            ngettext("{count} column", "{count} columns", len(grid.columns)),
            _("being read") if is_running(here, grid) else _("changed {day}", day=written_day(grid.updated)),
        ]
        st.caption(" · ".join(said))


# The open grid


def _show_grid(here: Workspace, grid: Grid) -> None:
    pages.name_tab(grid.name)
    with st.container(key="grid-head", gap="xsmall"):
        action(_("All grids"), "arrow_back", "grid-all", _close)
        st.title(label(grid.name, 120))
        st.caption(_("Rows: {scope}", scope=label(rows_in_words(here.grids.scope(grid.id)), 300)))
    _show_actions(here, grid)
    if not grid.columns:
        st.markdown(_("No columns yet. Add one: a question, or a field such as a date or an amount."))
    running = is_running(here, grid)
    st.fragment(_show_table, run_every=TICK if running else None)(here, grid.id, running=running)


def _show_actions(here: Workspace, grid: Grid) -> None:
    with st.container(key="grid-actions", horizontal=True, gap="small", vertical_alignment="center"):
        show_columns(here, grid)
        if st.button(_("Rows"), icon=":material/table_rows:", type="tertiary", key="grid-rows"):
            change_rows(here, grid)
        show_downloads(grid)
        rename_action(
            _("Name of the grid"),
            grid.name,
            MAX_GRID_NAME,
            f"grid-name-{grid.id}",
            lambda: _rename(here, grid),
            at="grid-rename",
        )
        if st.button(_("Delete"), icon=":material/delete:", type="tertiary", key="grid-delete"):
            confirm_deletion(
                _("Delete this grid?"),
                _("**{name}** and all its cells are deleted. Documents stay.", name=label(grid.name, 120)),
                key="grid-delete-now",
                act=lambda: _delete(here, grid),
            )


def _rename(here: Workspace, grid: Grid) -> None:
    here.grids.change(grid.id, name=str(st.session_state[f"grid-name-{grid.id}"]))


def _delete(here: Workspace, grid: Grid) -> None:
    here.grid_runs.remove(grid.id)
    _close()
    flash(_("{name} was deleted.", name=label(grid.name, 60)), ":material/delete:")


@show_errors()
def _show_table(here: Workspace, grid_id: str, *, running: bool) -> None:
    """Show the table with its run and filters; when a run has ended, run the page again without polling."""
    if st.session_state.pop(_OPENED, False):
        st.rerun()  # the panel is outside of this fragment
    grid = here.grids.get(grid_id)
    if is_running(here, grid) != running:
        st.rerun()
    rows = here.grids.rows(grid_id)
    if not rows:
        st.markdown(_("No document is in these rows yet. Change the rows, or add documents."))
        return
    if grid.columns:
        show_run(here, grid, rows, running=running)
        show_filters(grid)
    view = shown_view(grid)
    found = _found(rows, view)
    with paginated(len(found), PAGE, f"grid-page-{grid_id}") as part:
        _show_rows(found[part], grid, view)
    if grid.columns:
        show_legend(found, rows)
    _show_below(here, found, rows, viewed_columns(grid.columns, view))


def _found(rows: Sequence[DocumentRow], view: GridView) -> list[DocumentRow]:
    try:
        return ordered(filtered(rows, view), view)
    except GridRefused as error:
        show_sentence(error)
        return list(rows)


def _show_rows(rows: Sequence[DocumentRow], grid: Grid, view: GridView) -> None:
    show_grid_table(
        grouped(rows, view),
        viewed_columns(grid.columns, view),
        view,
        name=grid.name,
        opened=st.query_params.get(cell_panel.PARAMETER, ""),
        selected=_selected(),
        version=0,
        on_order=partial(sort_by, grid),
        on_open=_open_cell,
        on_document=_open_document,
        on_select=_select,
    )


def _selected() -> set[str]:
    ids: set[str] = st.session_state.setdefault(_SELECTED, set())
    return ids


def _select(document_ids: set[str]) -> None:
    st.session_state[_SELECTED] = document_ids


def _open_cell(cell_id: str) -> None:
    for name in side_panel.DOCUMENT_PARAMETERS:
        st.query_params.pop(name, None)
    cell_panel.choose(cell_id)
    st.session_state[_OPENED] = True


def _open_document(document_id: str) -> None:
    cell_panel.close()
    side_panel.open_document(document_id)
    st.session_state[_OPENED] = True


def _show_below(
    here: Workspace, found: Sequence[DocumentRow], rows: Sequence[DocumentRow], columns: Sequence[Column]
) -> None:
    """Show what is calculated from the rows, in parts that are opened where they are wanted."""
    if not any(cell.value is not None for row in rows for cell in row.cells):
        return
    with st.expander(_("Ask this grid"), icon=":material/forum:", key="grid-ask"):
        summary.show_question(found, columns, _open_cell, here)
    with st.expander(_("Totals"), icon=":material/functions:", key="grid-totals"):
        summary.show_totals(found, columns)
    with st.expander(_("Compare two documents"), icon=":material/compare:", key="grid-compare"):
        chosen = _selected()
        summary.show_comparison([row for row in rows if row.document.id in chosen], columns)
    if not summary.can_be_compared(found, columns):
        return
    with st.expander(_("Where documents disagree"), icon=":material/rule:", key="grid-disagree"):
        summary.show_disagreements(found, columns, _open_cell)


def show_downloads(grid: Grid) -> None:
    """Show the menu of downloads; the file is made when one is pressed."""
    with st.popover(_("Download"), icon=":material/download:", type="tertiary", key="grid-download"):
        for form, name in GRID_FORMS.items():
            st.download_button(
                translated(name),
                data=partial(_exported, workspace(), grid.id, form, language(), _address()),
                file_name=file_name_of(grid, form),
                mime=GRID_MEDIA_TYPES[form],
                on_click="ignore",
                type="tertiary",
                key=f"grid-download-{form}",
            )


def _address() -> str:
    """Return the address of this page's server, for links in a file."""
    url = st.context.url or ""
    scheme, _separator, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if rest else ""


def _exported(here: Workspace, grid_id: str, form: GridForm, code: str, address: str) -> bytes:
    with in_language(code):  # the server asks for it outside of the page
        return here.exported_grid(grid_id, form, address)
