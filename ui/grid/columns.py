"""Columns of a grid: the list to edit them, and the dialog of one."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import streamlit as st

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
from rag.i18n import N_, _, language, translated
from rag.workspace import Workspace
from ui.components.markdown import label
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
        edit_column(here, grid, None)
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


@dialog(N_("Column"), ":material/view_column:", "medium")
def edit_column(here: Workspace, grid: Grid, column: Column | None) -> None:
    """Ask for the fields of a column, a new one where none is given, and keep it."""
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
