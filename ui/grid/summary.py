"""Parts below the table of a grid: totals of columns, two rows side by side, rows that disagree."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import streamlit as st

from rag.grid.ask import MAX_GRID_QUESTION, GridAnswer, GridStatement
from rag.grid.cells import Amount
from rag.grid.columns import Column
from rag.grid.figures import (
    Comparable,
    Compared,
    Disagreement,
    Figure,
    comparable,
    compare,
    disagreements,
    figures,
)
from rag.grid.grids import DocumentCell, DocumentRow
from rag.i18n import N_, _, enumerated, language, ngettext, translated
from rag.workspace import Workspace
from ui.components.markdown import label
from ui.components.messages import action, show_refusal
from ui.grid.table import cell_id
from ui.grid.view import SIGNS, mark, shown_value, state_words

MOST_CELLS = 12  # of a disagreement that are named
_ANSWERED = "grid-answered"
MOST_NAMED = 3  # documents of a lowest or highest value that are named
_AT_A_DOCUMENT = ("lowest", "highest", "earliest", "latest")
_OPERATIONS = {
    "sum": N_("Sum"),
    "mean": N_("Mean"),
    "lowest": N_("Lowest"),
    "highest": N_("Highest"),
    "earliest": N_("Earliest"),
    "latest": N_("Latest"),
    "count": N_("With a value"),
}

Open = Callable[[str], object]


def show_question(
    rows: Sequence[DocumentRow], columns: Sequence[Column], on_open: Open, workspace: Workspace
) -> None:
    """Show a field for a question, and its answer from the cells of these rows, each with its button."""
    question = st.text_input(
        _("Question about these documents"),
        max_chars=MAX_GRID_QUESTION,
        placeholder=_("Which has the highest rent? How many start after 2024?"),
        key="grid-question",
    )
    if not question.strip():
        return
    with show_refusal():
        answer = _answer(question, columns, rows, workspace)
        if not answer.statements:
            st.markdown(label(translated(answer.understood), 600))
            return
        st.caption(_("Answered from the cells of: {scope}", scope=label(translated(answer.understood), 300)))
        names = {row.document.id: row.document.name for row in rows}
        for at, statement in enumerate(one for one in answer.statements if one.calculated):
            _show_calculated(statement, names, on_open, at)
        shown = {cell.key for one in answer.statements if one.calculated for cell in one.cells}
        told = [cell for one in answer.statements for cell in one.cells if cell.key not in shown]
        _show_cells(told, names, on_open, "grid-told")


def _answer(
    question: str, columns: Sequence[Column], rows: Sequence[DocumentRow], workspace: Workspace
) -> GridAnswer:
    """Return the answer; the last one is kept, so that a language model plans once for a question."""
    cells = tuple((cell.key, cell.value, cell.state) for row in rows for cell in row.cells)
    asked = question, tuple(columns), cells, language()
    kept = st.session_state.get(_ANSWERED)
    if kept is None or kept[0] != asked:
        with st.spinner(_("Reading…")):
            kept = asked, workspace.ask_grid(question, columns, rows)
        st.session_state[_ANSWERED] = kept
    return cast(GridAnswer, kept[1])


def _show_calculated(one: GridStatement, names: Mapping[str, str], on_open: Open, at: int) -> None:
    remarks = [_("Calculated"), *([_("Not confirmed")] if one.unconfirmed else [])]
    st.markdown(" · ".join([label(translated(one.text), 1000), *remarks]))
    _show_cells(one.cells, names, on_open, f"grid-said-{at}")


def _show_cells(cells: Sequence[DocumentCell], names: Mapping[str, str], on_open: Open, key: str) -> None:
    """Show buttons that open cells; of many the first ones."""
    with st.container(key=f"sources-{key}", horizontal=True, gap="xsmall"):
        for cell in cells[:MOST_CELLS]:
            value = "; ".join(shown_value(cell.value).splitlines())
            said = f"{SIGNS[mark(cell)]} {cell.column.name}: {value} · {names[cell.document_id]}".strip()
            open_key = f"{key}-{cell_id(cell)}"
            action(label(said, 120), "open_in_full", open_key, on_open, cell_id(cell), kind="secondary")
    if len(cells) > MOST_CELLS:
        st.caption(_("and {number} more", number=f"{len(cells) - MOST_CELLS:,}"))


def show_totals(rows: Sequence[DocumentRow], columns: Sequence[Column]) -> None:
    """Show the figures of the columns, calculated over these rows."""
    found = [(column, figures(rows, column)) for column in columns]
    st.caption(
        ngettext(
            "Calculated from the values of {count} document in the table above.",
            "Calculated from the values of {count} documents in the table above.",
            len(rows),
        )
    )
    names = {row.document.id: row.document.name for row in rows}
    st.markdown(_table_of([(column, of) for column, of in found if of], names))


def _table_of(found: Sequence[tuple[Column, Sequence[Figure]]], names: Mapping[str, str]) -> str:
    lines = [
        f"| {_('Column')} | {_('Figure')} | {_('Value')} | {_('Calculated from')} |",
        "|---|---|---|---|",
    ]
    for column, of in found:
        for at, figure in enumerate(of):
            name = "" if at else label(column.name, 60)
            cells = [
                name,
                _figure_name(figure),
                _line(shown_value(figure.value), 60),
                _figure_basis(figure, names),
            ]
            lines.append(f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |")
    return "\n".join(lines)


def _figure_name(figure: Figure) -> str:
    if figure.counted is not None:
        return _line(shown_value(figure.counted), 60)
    return translated(_OPERATIONS[figure.operation])


def _figure_basis(figure: Figure, names: Mapping[str, str]) -> str:
    """Return what a figure was calculated from, or where it stands, and what is doubtful about it."""
    said = [label(figure.calculation, 200)] if figure.calculation else []
    if figure.operation in _AT_A_DOCUMENT and len(figure.cells) <= MOST_NAMED:
        said.append(enumerated([label(names[document], 60) for document, _column in figure.cells]))
    elif figure.operation != "count" or figure.counted is not None:
        said.append(ngettext("{count} document", "{count} documents", len(figure.cells)))
    if figure.unconfirmed:
        said.append(ngettext("{count} not confirmed", "{count} not confirmed", figure.unconfirmed))
    if figure.operation == "count" and figure.counted is None and figure.left_out:
        said.append(ngettext("{count} without a value", "{count} without a value", figure.left_out))
    return " · ".join(said)


def _line(text: str, limit: int) -> str:
    """Return a value on one line, escaped; the items of a list with semicolons between them."""
    return label("; ".join(text.splitlines()), limit)


def show_comparison(rows: Sequence[DocumentRow], columns: Sequence[Column]) -> None:
    """Show two rows side by side, with what differs first."""
    if len(rows) != 2:
        st.markdown(_("Select two documents in the table to compare them."))
        return
    first, second = rows
    shown = {column.id for column in columns}
    compared = sorted(
        (one for one in compare(first, second) if one.column.id in shown), key=lambda one: one.same
    )
    names = [label(row.document.name, 60) for row in rows]
    lines = [f"| {_('Column')} | {names[0]} | {names[1]} | {_('Comparison')} |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(cell.replace('|', ' ') for cell in _compared(one))} |" for one in compared]
    st.markdown("\n".join(lines))


def _compared(one: Compared) -> list[str]:
    cells = [_value_with_mark(cell) for cell in (one.first, one.second)]
    return [label(one.column.name, 60), *cells, _difference(one)]


def _value_with_mark(cell: DocumentCell) -> str:
    value, known = _line(shown_value(cell.value), 200), label(state_words(cell), 60)
    return f"{value} ({known})" if value else known


def _difference(one: Compared) -> str:
    if one.same:
        return _("Same")
    if one.difference is None:
        return f"**{_('Different')}**"
    sign = "+" if one.difference.amount > 0 else ""
    shown = shown_value(Amount(one.difference.amount, one.difference.unit))
    return f"**{label(sign + shown, 60)}** ({_('calculated')})"


def show_disagreements(rows: Sequence[DocumentRow], columns: Sequence[Column], on_open: Open) -> None:
    """Show the cells that say another thing than most documents do, each with a button that opens it."""
    shown = {column.id for column in columns}
    found = [one for one in disagreements(rows) if one.column.id in shown]
    st.caption(_basis(comparable(rows, shown), any_differ=bool(found)))
    names = {row.document.id: row.document.name for row in rows}
    for one in found:
        _show_disagreement(one, names, on_open)


def can_be_compared(rows: Sequence[DocumentRow], columns: Sequence[Column]) -> bool:
    """Return True where a column has the values of two documents."""
    return comparable(rows, {column.id for column in columns}).columns > 0


def _basis(basis: Comparable, *, any_differ: bool) -> str:
    """Return the sentences that say what was compared, and where it shows no difference."""
    told = [
        _("{filled} of {cells} cells have a value.", filled=basis.filled, cells=basis.cells),
        ngettext(
            "{count} column has values of two or more documents to compare.",
            "{count} columns have values of two or more documents to compare.",
            basis.columns,
        ),
    ]
    if basis.split:
        told.append(
            ngettext(
                "In {count} of them no value is shared by most documents.",
                "In {count} of them no value is shared by most documents.",
                basis.split,
            )
        )
    if basis.split < basis.columns and not any_differ:
        told.append(_("Where most documents share a value, none differs from it."))
    return " ".join(told)


def _show_disagreement(one: Disagreement, names: dict[str, str], on_open: Open) -> None:
    st.markdown(
        ngettext(
            "**{column}**: {count} document says {value}. Others:",
            "**{column}**: {count} documents say {value}. Others:",
            one.agreeing,
            column=label(one.column.name, 60),
            value=_line(shown_value(one.usual), 100),
        )
    )
    _show_cells(one.cells, names, on_open, f"grid-differs-{one.column.id}")
