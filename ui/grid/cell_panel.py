"""Panel of a cell: its value and state, the quote in its document, correction, lock and another reading."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rag.grid.cells import CellQuote, CellResult, CellValue, Words, YesNo
from rag.grid.export import remark
from rag.grid.grids import DocumentCell, DocumentRow, Grid
from rag.i18n import N_, _, ngettext, translated
from rag.workspace import Workspace
from storage.records import CitationRecord, CitationStatus, DocumentRecord, PassageRecord
from ui.chat import evidence_panel
from ui.chat.citations import PANEL, CitedPassage
from ui.components.markdown import escape_text, label
from ui.components.messages import action, flash, flash_errors
from ui.components.side_panel import icon_button
from ui.grid.table import cell_id
from ui.grid.view import SIGNS, flags, mark, shown_value, typed_form, typed_value, value_hint

PARAMETER = "cell"
_QUOTE, _SHOWN = "grid-quote", "grid-cell-shown"
_CITED: dict[str, CitationStatus] = {"verified": "verified", "differs": "differs"}
_EXPLAINED = {
    "verified": N_("The quote below says it."),
    "differs": N_("The model gave this value, and the quote below says something else."),
    "unconfirmed": N_("The quote below is close, but does not say it beyond doubt. Check it."),
    "quoted": N_("The document has these words. Check whether they answer the column."),
    "absent": N_("Nothing that answers this column was found in the document."),
    "searched": N_("A connected model reads the whole text."),
    "corrected": N_("You gave this value. It stays, whatever is found later."),
}


def choose(cell_id: str) -> None:
    """Open a cell by its place in the address, which can be shared."""
    st.query_params[PARAMETER] = cell_id
    st.session_state.pop(_QUOTE, None)


def close(_: object = None) -> None:
    """Close the panel."""
    st.query_params.pop(PARAMETER, None)


def show_chosen(here: Workspace, grid: Grid) -> None:
    """Show the panel if the address names a cell of the grid."""
    document_id, _colon, column_id = st.query_params.get(PARAMETER, "").partition(":")
    if not document_id:
        return
    rows = here.grids.rows(grid.id)
    row = next((one for one in rows if one.document.id == document_id), None)
    cell = None if row is None else next((one for one in row.cells if one.column.id == column_id), None)
    if row is None or cell is None:
        st.toast(_("Cell not found. Its document or column may have been deleted."))
        close()
        return
    with (
        _panel(row.document.id),
        st.container(key=f"cell-{grid.id}-{cell_id(cell).replace(':', '-')}", gap="small"),
    ):
        _show_head(row, cell, rows)
        _show_cell(cell)
        _show_actions(here, grid, row, cell)
        _show_found(here, grid, cell)
        _show_quotes(here, row, cell)


def _panel(document_id: str) -> DeltaGenerator:
    """Return the panel, in one of two places by turns.

    Streamlit keeps what stood in a place until something else stands there: another document's words would
    stay under this one's name while its page is drawn. Within a document the focus stays where it is.
    """
    before, turn = st.session_state.get(_SHOWN, ("", 0))
    turn += before != document_id
    st.session_state[_SHOWN] = document_id, turn
    if turn % 2:
        st.empty()
        return st.container(key=PANEL, gap="small")
    panel = st.container(key=PANEL, gap="small")
    st.empty()
    return panel


def _show_head(row: DocumentRow, cell: DocumentCell, rows: Sequence[DocumentRow]) -> None:
    """Show the document's name, Close, and the cells before and after this one, by the grid's order."""
    cells = [cell_id(one) for other in rows for one in other.cells]
    at = cells.index(cell_id(cell))
    with st.container(
        key="source-head", horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False
    ):
        st.markdown(f"**{label(row.document.name, 80)}**", width="stretch")
        icon_button(_("Previous cell"), "arrow_back", choose, cells[at - 1] if at else None)
        after = cells[at + 1] if at + 1 < len(cells) else None
        icon_button(_("Next cell"), "arrow_forward", choose, after)
        icon_button(_("Close"), "close", close, "", shortcut="Esc")


def _show_cell(cell: DocumentCell) -> None:
    st.subheader(label(cell.column.name, 120), anchor=False)
    if cell.column.asked != cell.column.name:
        st.caption(label(cell.column.asked, 300))
    if cell.value is not None:
        st.markdown(f"**{escape_text(shown_value(cell.value))}**")
    state = mark(cell)
    known = label(translated(remark(cell)).rstrip(".。"), 600)
    ended = _("{sentence}.", sentence=known)
    st.markdown(f"{label(SIGNS[state])} {ended} {_explained(cell)}".strip())
    for note in _notes(cell):
        st.caption(note)


def _explained(cell: DocumentCell) -> str:
    """Return what a state means; a value in the words of its quote is only doubtful as an answer."""
    state, found = mark(cell), cell.found
    if state == "unconfirmed" and found is not None and isinstance(found.value, Words):
        said = " ".join(found.value.text.split())
        if any(said in " ".join(quote.text.split()) for quote in found.quotes):
            state = "quoted"
    if state == "absent" and found is not None and found.only_searched:
        state = "searched"
    return translated(_EXPLAINED.get(state, ""))


def _notes(cell: DocumentCell) -> list[str]:
    """Return how a cell was read and if it is outdated or locked; a corrected one needs no reading."""
    notes = [_("Reading…")] if cell.again else []
    if cell.found is not None and cell.corrected is None:
        notes += _of_reading(cell.found)
    if "outdated" in flags(cell):
        notes.append(_("Outdated: the document, the column or the model has changed since it was read."))
    if cell.locked:
        notes.append(_("Locked: no run reads this cell again."))
    return notes


def _of_reading(found: CellResult) -> list[str]:
    """Return what a reading says beside its state, which has the coverage and the note of an absent value."""
    notes = [_coverage(found.read, found.total)] if found.total and found.state != "absent" else []
    if found.note and found.state != "failed" and not found.only_searched:
        notes.append(label(translated(found.note), 400))
    return notes


def _coverage(read: int, total: int) -> str:
    """Return how much of a document a value was looked for in.

    >>> _coverage(4, 4), _coverage(1, 1), _coverage(20, 1400)
    ('Read all 4 passages.', 'Read its only passage.', 'Read 20 of 1,400 passages.')
    """
    if read == total:
        return ngettext("Read its only passage.", "Read all {count} passages.", total)
    return _("Read {read} of {total} passages.", read=f"{read:,}", total=f"{total:,}")


def _show_actions(here: Workspace, grid: Grid, row: DocumentRow, cell: DocumentCell) -> None:
    with st.container(key="document-actions", horizontal=True, gap="small"):
        if row.readable and not cell.locked and not cell.again:
            name = _("Read") if cell.found is None else _("Read again")
            action(name, "refresh", "grid-cell-again", here.grid_runs.read_again, grid.id, cell.key)
        # Another key once the cell was changed: the form that was saved closes.
        form = f"{_key('grid-correct', cell)}-{cell.updated}"
        with st.popover(_("Correct"), icon=":material/edit:", type="tertiary", key=form):
            _show_correction(here, grid, cell)
        if cell.locked:
            action(_("Unlock"), "lock_open", "grid-unlock", _lock, here, grid, cell, False)
        else:
            action(_("Lock"), "lock", "grid-lock", _lock, here, grid, cell, True)


def _key(name: str, cell: DocumentCell) -> str:
    return f"{name}-{cell.document_id}-{cell.column.id}"


def _lock(here: Workspace, grid: Grid, cell: DocumentCell, locked: bool) -> None:
    here.grids.lock(grid.id, cell.key, locked=locked)


def _show_correction(here: Workspace, grid: Grid, cell: DocumentCell) -> None:
    """Show a field for the value of the column's kind; saving locks the cell."""
    key = _key("grid-value", cell)
    _show_field(cell, key)
    st.caption(_("The value is kept beside what was found, and the cell is locked."))
    st.button(
        _("Save"),
        type="primary",
        key=_key("grid-correct-now", cell),
        on_click=flash_errors(_correct),
        args=(here, grid, cell, key),
    )


def _show_field(cell: DocumentCell, key: str) -> None:
    column, value = cell.column, cell.value
    name = label(column.name, 60)
    match column.kind:
        case "yes_no":
            at = None if not isinstance(value, YesNo) else 0 if value.yes else 1
            words = {"yes": _("Yes"), "no": _("No")}
            st.radio(name, list(words), at, format_func=words.__getitem__, horizontal=True, key=key)
        case "choice":
            form = typed_form(value)
            at = column.options.index(form) if form in column.options else None
            st.selectbox(name, column.options, at, key=key)
        case "text" | "list":
            st.text_area(name, typed_form(value), placeholder=value_hint(column), height=100, key=key)
        case _:
            st.text_input(name, typed_form(value), placeholder=value_hint(column), key=key)


def _correct(here: Workspace, grid: Grid, cell: DocumentCell, key: str) -> None:
    here.grids.correct(grid.id, cell.key, _typed(cell, st.session_state.get(key)))
    flash(_("Corrected and locked."), ":material/check:")


def _typed(cell: DocumentCell, given: object) -> CellValue:
    if cell.column.kind == "yes_no" and given is not None:
        return YesNo(given == "yes")
    return typed_value(cell.column, str(given or ""))


def _show_found(here: Workspace, grid: Grid, cell: DocumentCell) -> None:
    """Show what was found beside a correction, which can be taken back."""
    if cell.corrected is None:
        return
    found = cell.found
    value = _("nothing") if found is None or found.value is None else shown_value(found.value)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(_("Found before: {value}", value=f"**{label(value, 300)}**"), width="content")
        action(
            _("Take the correction back"),
            "undo",
            "grid-uncorrect",
            here.grids.correct,
            grid.id,
            cell.key,
            None,
        )


def _show_quotes(here: Workspace, row: DocumentRow, cell: DocumentCell) -> None:
    quotes = cell.found.quotes if cell.found is not None else ()
    if not quotes:
        return
    at = min(int(st.session_state.get(_QUOTE, 0)), len(quotes) - 1)
    if len(quotes) > 1:
        with st.container(key="source-quotes", horizontal=True, gap="xsmall", vertical_alignment="center"):
            icon_button(_("Previous quote"), "arrow_upward", _turn, at - 1 if at else None)
            st.caption(_("Quote {at} of {total}", at=at + 1, total=len(quotes)), width="content")
            icon_button(_("Next quote"), "arrow_downward", _turn, at + 1 if at + 1 < len(quotes) else None)
    quote = quotes[at]
    text = here.library.documents.text(row.document.id)
    if text[quote.start : quote.end] == quote.text:
        evidence_panel.show_source(as_evidence(row.document, cell, quote), here)
        return
    st.warning(_("The document has changed since. These are its earlier words:"), icon=":material/history:")
    st.markdown(escape_text(quote.text))


def _turn(at: int) -> None:
    st.session_state[_QUOTE] = at


def as_evidence(document: DocumentRecord, cell: DocumentCell, quote: CellQuote) -> CitedPassage:
    """Return a quote of a cell as the source panel shows it; its message is not stored and has no id."""
    passage = PassageRecord(
        number=1,
        chunk_id="",  # spans outlive another splitting of the document
        document_id=document.id,
        document=document.name,
        sha256=document.sha256,
        page=quote.page,
        heading="",
        start=quote.start,
        end=quote.end,
        text=quote.text,
        score=1.0,
    )
    status = _CITED.get(cell.state or "", "related")
    citation = CitationRecord(1, 0, 0, status, quote.start, quote.end, quote.text)
    return CitedPassage.outside("", passage, citation)
