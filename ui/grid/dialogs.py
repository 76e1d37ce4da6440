"""Dialogs of a grid: make one, choose its rows, edit its columns."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import streamlit as st

from rag.chat.scope import DocumentFilter
from rag.grid.columns import (
    KINDS,
    MAX_INSTRUCTIONS,
    MAX_NAME,
    MAX_QUESTION,
    TEMPLATES,
    Column,
    Kind,
    find_template,
)
from rag.grid.grids import Grid
from rag.i18n import N_, _, enumerated, language, ngettext, translated
from rag.workspace import Workspace
from storage.choices import FILTERS, Chosen
from storage.grids import MAX_GRID_NAME, GridScope
from ui.chat.scope import adding_up, distinct, filter_in_page_words, pick_filter
from ui.components.markdown import label, plain_line
from ui.components.messages import action, dialog, flash_errors, show_refusal

KIND_NAMES: dict[Kind, str] = {
    "text": N_("Text"),
    "date": N_("Date"),
    "money": N_("Money"),
    "number": N_("Number"),
    "yes_no": N_("Yes or no"),
    "choice": N_("One of a list"),
    "list": N_("List of items"),
}


def show_columns(here: Workspace, grid: Grid) -> None:
    """Show the buttons that add a column, and edit each."""
    kind: Literal["primary", "secondary"] = "secondary" if grid.columns else "primary"
    if st.button(_("Add column"), icon=":material/add:", type=kind, key="grid-add-column"):
        add_column(here, grid)
    with st.popover(_("Columns"), icon=":material/view_column:", type="tertiary", key="grid-columns"):
        for column in grid.columns:
            if st.button(
                label(column.name, 60), icon=":material/edit:", type="tertiary", key=f"grid-edit-{column.id}"
            ):
                edit_column(here, grid, column)
        template = st.selectbox(
            _("Template"),
            [one.id for one in TEMPLATES],
            format_func=lambda id_: find_template(id_).title(language()),
            key="grid-template",
        )
        action(_("Add its columns"), "playlist_add", "grid-add-template", _add_template, here, grid, template)


def _add_template(here: Workspace, grid: Grid, template: str) -> None:
    """Add the columns of a template that are not there yet."""
    there = {column.id for column in grid.columns} | {column.name for column in grid.columns}
    new = [one for one in find_template(template).columns(language()) if not {one.id, one.name} & there]
    here.grids.change(grid.id, columns=[*grid.columns, *new])


@dialog(N_("Add column"), ":material/view_column:", "medium")
def add_column(here: Workspace, grid: Grid) -> None:
    """Ask for the fields of a new column, and keep it."""
    _show_column(here, grid, None)


@dialog(N_("Edit column"), ":material/view_column:", "medium")
def edit_column(here: Workspace, grid: Grid, column: Column) -> None:
    """Ask for the fields of a column, and keep it."""
    _show_column(here, grid, column)


def _show_column(here: Workspace, grid: Grid, column: Column | None) -> None:
    before = column or Column("", "")
    typed = _typed_column(before, f"grid-{grid.id}-{before.id or len(grid.columns)}")
    places = len(grid.columns) + (column is None)
    at = [one.id for one in grid.columns].index(column.id) + 1 if column is not None else places
    place = at
    if places > 1:
        place = int(st.number_input(_("Position"), 1, places, at, key=f"grid-position-{before.id}"))
    if column is not None:
        st.caption(_("Cells of this column are outdated once its question, kind, options or unit change."))
    with st.container(horizontal=True, gap="small"):
        if st.button(_("Save"), type="primary", key=f"grid-column-now-{before.id}"):
            with show_refusal():
                here.grids.change(grid.id, columns=_placed(grid.columns, column, typed, place))
                st.rerun()
        if column is not None:
            _show_delete(here, grid, column)


def _typed_column(before: Column, key: str) -> Column:
    name = st.text_input(_("Name (required)"), before.name, max_chars=MAX_NAME, key=f"{key}-name")
    question = st.text_input(
        _("Question (optional)"),
        before.question,
        max_chars=MAX_QUESTION,
        placeholder=_("On which day does the contract start?"),
        key=f"{key}-question",
    )
    kind = st.selectbox(
        _("Kind"),
        KINDS,
        KINDS.index(before.kind),
        format_func=lambda one: translated(KIND_NAMES[one]),
        key=f"{key}-kind",
    )
    options, unit = before.options, before.unit
    if kind == "choice":
        lines = st.text_area(_("Options, one a line"), "\n".join(before.options), key=f"{key}-options")
        options = tuple(line.strip() for line in lines.splitlines() if line.strip())
    if kind in ("money", "number"):
        said = _("Currency (optional)") if kind == "money" else _("Unit (optional)")
        hint = _("EUR") if kind == "money" else "days"
        unit = st.text_input(said, before.unit, max_chars=30, placeholder=hint, key=f"{key}-unit")
    instructions = st.text_area(
        _("Instructions (optional)"),
        before.instructions,
        max_chars=MAX_INSTRUCTIONS,
        help=_("A language model reads them. What it writes is checked against the documents as before."),
        key=f"{key}-instructions",
        height=80,
    )
    return Column(
        before.id, name.strip(), question.strip(), kind, options, unit.strip(), instructions.strip()
    )


def _placed(columns: Sequence[Column], before: Column | None, typed: Column, place: int) -> list[Column]:
    """Return the columns with one of them changed, or a new one, at a place counted from 1."""
    others = [column for column in columns if before is None or column.id != before.id]
    return [*others[: place - 1], typed, *others[place - 1 :]]


def _show_delete(here: Workspace, grid: Grid, column: Column) -> None:
    with st.popover(_("Delete column"), icon=":material/delete:", type="tertiary", key="grid-delete-column"):
        st.markdown(_("Its cells are deleted, too, with what was corrected in them."))
        rest = [one for one in grid.columns if one.id != column.id]
        change = flash_errors(partial(here.grids.change, grid.id, columns=rest))
        if st.button(_("Delete permanently"), type="primary", key="grid-delete-column-now", on_click=change):
            st.rerun()


PARAMETER = "grid"
_NEXT = "grid-next-rows"


def choose_rows(document_ids: Sequence[str]) -> None:
    """Have the grid page open the form of a new grid over these documents."""
    st.session_state[_NEXT] = list(document_ids)


def chosen_rows() -> list[str] | None:
    """Return the documents that a new grid is wished over, once; None where none is wished."""
    chosen: list[str] | None = st.session_state.pop(_NEXT, None)
    return chosen


def rows_in_words(scope: Sequence[Chosen]) -> str:
    """Return what the rows of a grid are chosen by."""
    if not scope:
        return _("All documents; new ones join")
    documents = sum(one.kind == "document" for one in scope)
    named = [_named(one) for one in scope if one.kind != "document"][:5]
    if documents:
        named.append(ngettext("{count} document", "{count} documents", documents))
    return enumerated(named)


def _named(one: Chosen) -> str:
    return filter_in_page_words(one.kind, one.id) if one.kind in FILTERS else plain_line(one.name, 60)


@dialog(N_("New grid"), ":material/table_chart:", "medium")
def new_grid(here: Workspace, document_ids: Sequence[str]) -> None:
    """Ask for name, rows and columns of a grid, make it and open it."""
    hint = _("Contracts 2026")
    # Taken while it is typed: the form stays as it is when the field is left for the button.
    name = st.text_input(
        _("Name"), max_chars=MAX_GRID_NAME, key="grid-new-name", placeholder=hint, live="300ms"
    )
    scope = _pick_rows(here, GridScope(documents=document_ids), "new")
    template = st.selectbox(
        _("Columns to begin with"),
        ["", *(one.id for one in TEMPLATES)],
        format_func=lambda id_: find_template(id_).title(language()) if id_ else _("None (add later)"),
        key="grid-new-template",
    )
    if template:
        st.caption(_("Columns: {names}", names=" · ".join(one.name for one in _template_columns(template))))
    if st.button(_("Make the grid"), type="primary", key="grid-new-now"):
        with show_refusal():
            columns = _template_columns(template) if template else []
            made = here.grids.create(name or _("Grid"), columns, scope)
            st.query_params[PARAMETER] = made.id
            st.rerun()


def _template_columns(template: str) -> list[Column]:
    return find_template(template).columns(language())


@dialog(N_("Rows"), ":material/table_rows:", "medium")
def change_rows(here: Workspace, grid: Grid) -> None:
    """Ask for the rows of a grid, and keep them."""
    chosen = here.grids.scope(grid.id)
    ids = {kind: [one.id for one in chosen if one.kind == kind and one.there] for kind in _SINGULAR.values()}
    filters = [(one.kind, one.id) for one in chosen if one.kind not in _SINGULAR.values()]
    now = GridScope(ids["collection"], ids["document"], ids["tag"], filters)
    scope = _pick_rows(here, now, grid.id)
    st.caption(_("Cells of documents that leave the grid are kept, and come back with them."))
    if st.button(_("Save"), type="primary", key=f"grid-rows-now-{grid.id}"):
        with show_refusal():
            here.grids.change(grid.id, scope=scope)
            st.rerun()


def _name_of(names: Mapping[str, str], id_: str) -> str:
    return names.get(id_, id_)


_SINGULAR = {"collections": "collection", "tags": "tag", "documents": "document"}


def _pick(title: str, names: Mapping[str, str], before: Sequence[str], key: str) -> list[str]:
    if not names:
        return []
    return st.multiselect(
        title,
        list(names),
        default=[id_ for id_ in before if id_ in names],
        format_func=partial(_name_of, names),
        placeholder=_("None selected"),
        key=f"grid-{key}",
    )


def _pick_rows(here: Workspace, now: GridScope, key: str) -> GridScope:
    """Show what the rows can be chosen by; nothing chosen is every document."""
    records = [record for record in here.documents() if record.replaces is None]
    options = {
        "collections": {one.id: plain_line(one.name, 80) for one in here.library.collections.list()},
        "tags": {one.id: plain_line(one.name, 80) for one in here.tags.list()},
        "documents": distinct({record.id: plain_line(record.name, 80) for record in records}),
    }
    titles = {"collections": _("Collections"), "tags": _("Tags"), "documents": _("Documents")}
    picked = {
        "documents": _pick(titles["documents"], options["documents"], now.documents, f"documents-{key}")
    }
    with st.container(horizontal=True, gap="small"):
        for kind, chosen in (("collections", now.collections), ("tags", now.tags)):
            picked[kind] = _pick(titles[kind], options[kind], chosen, f"{kind}-{key}")
    of = pick_filter(
        [record.name for record in records], DocumentFilter.of_pairs(now.filters), f"grid-filter-{key}"
    )
    if not any(picked.values()) and of == DocumentFilter():
        readable = [record for record in records if record.state != "refused"]
        st.caption(
            ngettext(
                "Nothing selected: the grid has all documents ({count} now), and new ones join.",
                "Nothing selected: the grid has all documents ({count} now), and new ones join.",
                len(readable),
            )
        )
    elif options["collections"] or options["tags"]:
        st.caption(adding_up())
    return GridScope(picked["collections"], picked["documents"], picked["tags"], of.choices)
