"""Workbook of a grid: typed cells with their quotes as comments, links to documents, a sheet of figures."""

import io
import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from rag.grid.cells import Amount, CellState, CellValue, Day
from rag.grid.exported import GridExport, NumberedQuote, numbered_quotes, remark
from rag.grid.grids import DocumentCell, DocumentRow
from rag.grid.value_text import value_text
from rag.i18n import _, translated
from rag.text.normalize import clean

_LONGEST_TEXT, _LONGEST_COMMENT = 32_000, 8_000  # characters; a sheet's cell holds 32,767
_UNITS = re.compile(r"[\"\[\]\\;]")
_SHADES: dict[CellState | None, str] = {
    "verified": "E2F0D9",
    "differs": "F8CBAD",
    "unconfirmed": "FFF2CC",
    "absent": "EDEDED",
    "failed": "F8CBAD",
}
_WIDE, _TALL = 420, 160  # pixels of a comment
_DIGITS = 15  # significant ones that a sheet keeps of a number


def to_xlsx(exported: GridExport) -> bytes:
    """Return a workbook; text is never a formula, and nothing is loaded when it is opened."""
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book, quotes = Workbook(), numbered_quotes(exported.rows)
    sheet = book.active
    sheet.title = _("Grid")
    heads = [_("Document"), *(column.name for column in exported.grid.columns)]
    for number, head in enumerate(heads, 1):
        _put_text(sheet.cell(1, number), head, bold=True)
        sheet.column_dimensions[sheet.cell(1, number).column_letter].width = 28
    for line, row in enumerate(exported.rows, 2):
        _put_row(sheet, line, row, exported, [quotes[cell.key] for cell in row.cells])
    sheet.freeze_panes = "B2"
    sheet.auto_filter.ref = sheet.dimensions
    _put_figures(book, exported)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _put_row(
    sheet: Any, line: int, row: DocumentRow, exported: GridExport, quotes: Sequence[Sequence[NumberedQuote]]
) -> None:
    name = sheet.cell(line, 1)
    _put_text(name, row.document.name)
    if exported.address:
        name.hyperlink = exported.link(row.document.id)
        name.style = "Hyperlink"
    for number, (cell, of_cell) in enumerate(zip(row.cells, quotes, strict=True), 2):
        _put_cell(sheet.cell(line, number), cell, of_cell)


def _put_cell(at: Any, cell: DocumentCell, quotes: Sequence[NumberedQuote]) -> None:
    from openpyxl.comments import Comment  # type: ignore[import-untyped]
    from openpyxl.styles import PatternFill  # type: ignore[import-untyped]

    _put_value(at, cell.value)
    shade = _SHADES.get("verified" if cell.corrected is not None else cell.state)
    if shade is not None:
        at.fill = PatternFill("solid", start_color=shade)
    said = [translated(remark(cell)), *(f"“{one.quote.text}” — {one.place}" for one in quotes)]
    at.comment = Comment(_storable("\n".join(said))[:_LONGEST_COMMENT], "Footnote", _TALL, _WIDE)


def _put_value(at: Any, value: CellValue | None) -> None:
    match value:
        case Amount(amount, unit) if len(amount.as_tuple().digits) <= _DIGITS:
            at.value = amount
            at.number_format = f'#,##0.##########" {_UNITS.sub("", unit)}"' if unit else "#,##0.##########"
            if amount == amount.to_integral_value():
                at.number_format = at.number_format.replace(".##########", "")
        case Day(label, first) if label == first.isoformat():
            at.value = date(first.year, first.month, first.day)
            at.number_format = "yyyy-mm-dd"
        case None:
            at.value = None
        case _:
            _put_text(at, value_text(value))


def _put_text(at: Any, text: str, *, bold: bool = False) -> None:
    from openpyxl.styles import Font

    at.value = _storable(text)[:_LONGEST_TEXT]
    at.data_type = "s"  # also where it begins like a formula
    at.quotePrefix = True
    if bold:
        at.font = Font(bold=True)


def _put_figures(book: Any, exported: GridExport) -> None:
    if not exported.figures:
        return
    sheet = book.create_sheet(_("Figures"))
    sheet.column_dimensions["A"].width = 100
    for line, figure in enumerate(exported.figures, 1):
        _put_text(sheet.cell(line, 1), figure.sentence)


def _storable(text: str) -> str:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE  # type: ignore[import-untyped]

    return str(ILLEGAL_CHARACTERS_RE.sub("", clean(text)))
