"""Export of a grid as XLSX, CSV, Markdown, HTML and JSON, with the quotes behind its values.

The JSON has the form of rag/chat/verify.py, which checks its quotes against the original files.

An export holds a grid with its rows at one moment, its quotes numbered, and remarks on its cells. The
workbook has typed cells with their quotes as comments, links to documents, and a sheet of figures. Corrected
cells become cases for `footnote eval citations`: a claim, its quotes, and whether it is right.
"""

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from html import escape
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from rag.chat.export import PAGE, STYLE, FeedbackCase, escaped, exported_on
from rag.chat.verify import GRID_FORM, GRID_VERSION
from rag.errors import GridRefused
from rag.grid.cells import (
    Amount,
    CellQuote,
    CellResult,
    CellState,
    CellValue,
    Day,
    value_from_json,
    value_key,
    value_text,
    value_to_json,
)
from rag.grid.columns import Column
from rag.grid.figures import Figure, figures
from rag.grid.grids import DocumentCell, DocumentRow, Grid
from rag.i18n import N_, _, quoted, translated
from rag.i18n import language as current_language
from rag.text.document import OPEN_XML
from rag.text.language import language
from rag.text.normalize import clean
from storage.grids import CellKey, CellRecord, GridStore
from storage.records import DocumentRecord


@dataclass(frozen=True)
class GridExport:
    """A grid with its rows at one moment; `address` is that of the server, for links, empty for none."""

    grid: Grid
    rows: Sequence[DocumentRow]
    at: datetime
    address: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Figures of all columns."""
        return tuple(one for column in self.grid.columns for one in figures(self.rows, column))

    def link(self, document_id: str) -> str:
        """Return the page of a document."""
        return f"{self.address}/?{urlencode({'document': document_id})}"


@dataclass(frozen=True)
class NumberedQuote:
    """A quote with its number in the export, from 1, and the row that it is of."""

    number: int
    row: DocumentRow
    quote: CellQuote

    @property
    def place(self) -> str:
        """Document and page: "report.pdf, page 3"."""
        name = self.row.document.name
        if self.quote.page is None:
            return name
        return _("{document}, page {page}", document=name, page=self.quote.page)


def remark(cell: DocumentCell) -> str:
    """Return how far a cell's value is confirmed, as a sentence."""
    if cell.corrected is not None:
        return N_("Corrected by hand")
    if cell.found is None:
        return N_("Not read yet")
    return _of_found(cell.found)


def _of_found(found: CellResult) -> str:
    if found.state == "verified":
        return N_("Verified, calculated") if found.calculated else N_("Verified")
    if found.state == "differs":
        return N_("The source differs")
    if found.state == "unconfirmed":
        return N_("Not confirmed")
    if found.state == "failed":
        return N_("Failed. {reason}", reason=found.note)
    if found.only_searched:
        return N_(
            "Not found by search alone ({read} of {total} passages searched)",
            read=found.read,
            total=found.total,
        )
    return N_(
        "Not found in this document ({read} of {total} passages read)", read=found.read, total=found.total
    )


def numbered_quotes(rows: Sequence[DocumentRow]) -> dict[CellKey, list[NumberedQuote]]:
    """Return the quotes of each cell, numbered through the grid from 1."""
    found: dict[CellKey, list[NumberedQuote]] = {}
    number = 0
    for row in rows:
        for cell in row.cells:
            quotes = cell.found.quotes if cell.found is not None else ()
            found[cell.key] = [NumberedQuote(number + n, row, one) for n, one in enumerate(quotes, 1)]
            number += len(quotes)
    return found


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
    said = [translated(remark(cell)), *(f"{quoted(one.quote.text)} — {one.place}" for one in quotes)]
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


def cell_cases(grids: GridStore) -> Iterator[FeedbackCase]:
    """Yield a case for each corrected cell: a claim of what was found, judged by the correction.

    A correction to the same value says that what was found is right.
    """
    for grid in grids.list():
        names = {column.id: column.name for column in map(Column.from_json, grid.columns)}
        for cell in grids.cells(grid.id):
            if (case := _case(cell, names.get(cell.column_id, ""))) is not None:
                yield case


def _case(cell: CellRecord, column: str) -> FeedbackCase | None:
    right = value_from_json(cell.corrected)
    found = None if cell.found is None else value_from_json(cell.found.value)
    if cell.found is None or found is None or right is None or not cell.found.quotes:
        return None
    passages = tuple(str(quote["text"]) for quote in cell.found.quotes)
    return FeedbackCase(f"{column}: {value_text(found)}", passages, value_key(found) == value_key(right))


GridForm = Literal["xlsx", "csv", "md", "html", "json"]
GRID_FORMS: tuple[GridForm, ...] = get_args(GridForm)
GRID_MEDIA_TYPES: dict[GridForm, str] = {
    "xlsx": OPEN_XML + "spreadsheetml.sheet",
    "csv": "text/csv",
    "md": "text/markdown",
    "html": "text/html",
    "json": "application/json",
}
STATE_SIGNS: dict[CellState | None, str] = {
    "verified": "✓",
    "differs": "≠",
    "unconfirmed": "?",
    "absent": "–",
    "failed": "!",
    None: "",
}
_FORMULA = re.compile(r"^[\s]*[=+\-@\t\r|%]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?\Z")
_LONGEST_NAME = 60  # characters of a file's name


def export_grid(exported: GridExport, form: GridForm) -> bytes:
    """Return a grid as a file; raises GridRefused for a form that is none."""
    if form not in GRID_FORMS:
        raise GridRefused(
            N_(
                "A grid is not exported as {form}. Choose one of: {forms}.",
                form=form,
                forms=", ".join(GRID_FORMS),
            )
        )
    if form == "xlsx":
        return to_xlsx(exported)
    return {"csv": to_csv, "md": to_markdown, "html": to_html, "json": to_json}[form](exported).encode()


def file_name_of(grid: Grid, form: GridForm) -> str:
    """Return a name for a grid's file, of letters and digits of any writing."""
    words = re.sub(r"[\W_]+", "-", grid.name)[:_LONGEST_NAME].strip("-")
    return f"{words or 'grid'}.{form}"


# CSV


def to_csv(exported: GridExport) -> str:
    """Return CSV: for each column its value, the unit of amounts, and its state; no cell is a formula."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\r\n")
    lines.writerow(map(not_a_formula, _csv_head(exported.grid.columns)))
    for row in exported.rows:
        fields = (field for cell in row.cells for field in _csv_cell(cell))
        lines.writerow(map(not_a_formula, [row.document.name, *fields]))
    return "\ufeff" + written.getvalue()  # the mark by which Excel knows the encoding


def not_a_formula(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: a quote goes before what could be one.

    >>> not_a_formula("=1+1"), not_a_formula("-5.5"), not_a_formula("plain")
    ("'=1+1", '-5.5', 'plain')
    """
    cleaned = clean(text)
    return f"'{cleaned}" if _FORMULA.match(cleaned) and not _NUMBER.match(cleaned) else cleaned


def _csv_head(columns: Sequence[Column]) -> Iterator[str]:
    yield _("Document")
    for column in columns:
        yield column.name
        if column.kind in ("money", "number"):
            yield _("{column} (unit)", column=column.name)
        yield _("{column} (state)", column=column.name)


def _csv_cell(cell: DocumentCell) -> Iterator[str]:
    value = cell.value
    yield f"{value.amount:f}" if isinstance(value, Amount) else value_text(value)
    if cell.column.kind in ("money", "number"):
        yield value.unit if isinstance(value, Amount) else ""
    yield translated(remark(cell))


# Markdown


def to_markdown(exported: GridExport) -> str:
    """Return a table of the values, the figures, and the quotes; no text of a document is active."""
    quotes = numbered_quotes(exported.rows)
    heads = [_("Document"), *(column.name for column in exported.grid.columns)]
    table = [
        f"| {' | '.join(map(escaped, heads))} |",
        f"|{' --- |' * len(heads)}",
        *(_markdown_row(row, quotes) for row in exported.rows),
    ]
    told = [f"- {escaped(figure.sentence)}" for figure in exported.figures]
    listed = [
        f"- \\[{one.number}\\] {quoted(escaped(one.quote.text))} — {escaped(one.place)} "
        f"(sha256 {escaped(one.row.document.sha256)})"
        for of_cell in quotes.values()
        for one in of_cell
    ]
    blocks = [f"# {escaped(exported.grid.name)}", exported_on(exported.at), "\n".join(table)]
    blocks += ["## " + _("Figures"), "\n".join(told)] * bool(told)
    blocks += ["## " + _("Quotes"), "\n".join(listed)] * bool(listed)
    return "\n\n".join(blocks) + "\n"


def _markdown_row(row: DocumentRow, quotes: Mapping[tuple[str, str], Sequence[NumberedQuote]]) -> str:
    cells = [escaped(row.document.name)]
    for cell in row.cells:
        marks = "".join(f" \\[{one.number}\\]" for one in quotes[cell.key])
        cells.append(f"{escaped(value_text(cell.value))} *({escaped(translated(remark(cell)))})*{marks}")
    return f"| {' | '.join(cells)} |"


# HTML


def to_html(exported: GridExport) -> str:
    """Return one HTML page; its text is escaped, and a browser fetches nothing for it."""
    quotes = numbered_quotes(exported.rows)
    heads = "".join(f'<th scope="col">{_text(column.name)}</th>' for column in exported.grid.columns)
    rows = "\n".join(_html_row(row, quotes) for row in exported.rows)
    told = "".join(f"<li>{_text(figure.sentence)}</li>" for figure in exported.figures)
    listed = "\n".join(_html_quote(one) for of_cell in quotes.values() for one in of_cell)
    first, calculated, quoted = (_text(title) for title in (_("Document"), _("Figures"), _("Quotes")))
    body = (
        f'<table><thead><tr><th scope="col">{first}</th>{heads}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table>\n"
        f"<h2>{calculated}</h2>\n<ul>{told}</ul>\n"
        f'<h2>{quoted}</h2>\n<ol class="quotes">\n{listed}\n</ol>'
    )
    return PAGE.format(
        hash=base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode(),
        title=_text(exported.grid.name),
        style=STYLE,
        exported=_text(exported_on(exported.at)),
        code=current_language(),
        turns=body,
    )


def _html_row(row: DocumentRow, quotes: Mapping[tuple[str, str], Sequence[NumberedQuote]]) -> str:
    cells = "".join(_html_cell(cell, quotes[cell.key]) for cell in row.cells)
    return f'<tr><th scope="row">{_text(row.document.name)}</th>{cells}</tr>'


def _html_cell(cell: DocumentCell, quotes: Sequence[NumberedQuote]) -> str:
    text = value_text(cell.value)
    marks = "".join(f' <a href="#quote-{one.number}">[{one.number}]</a>' for one in quotes)
    state = f'<span class="note">{_text(translated(remark(cell)))}</span>'
    return f"<td><span{_lang(text)}>{_text(text)}</span>{marks}<br>{state}</td>"


def _html_quote(one: NumberedQuote) -> str:
    words = f'<q class="text"{_lang(one.quote.text)}>{_text(one.quote.text)}</q>'
    sha256 = _text(one.row.document.sha256)
    return (
        f'<li id="quote-{one.number}">[{one.number}] {words}<br>{_text(one.place)}'
        f"<br><code>sha256 {sha256}</code></li>"
    )


def _lang(text: str) -> str:
    return f' lang="{escape(language(text[:5000]))}"'


def _text(text: str) -> str:
    return escape(clean(text))


# JSON


def to_json(exported: GridExport) -> str:
    """Return a grid as JSON, whose quotes `footnote verify` checks."""
    return json.dumps(as_json(exported), ensure_ascii=False, indent=2) + "\n"


def as_json(exported: GridExport) -> dict[str, Any]:
    """Return a grid as JSON's types."""
    quotes = numbered_quotes(exported.rows)
    grid = exported.grid
    return {
        "form": GRID_FORM,
        "version": GRID_VERSION,
        "id": grid.id,
        "name": grid.name,
        "exported": exported.at.isoformat(),
        "columns": [column.to_json() for column in grid.columns],
        "rows": [row_to_json(row, quotes) for row in exported.rows],
        "figures": [figure_to_json(figure) for figure in exported.figures],
    }


def row_to_json(
    row: DocumentRow, quotes: Mapping[tuple[str, str], Sequence[NumberedQuote]] | None = None
) -> dict[str, Any]:
    """Return a row as JSON's types; quotes are numbered through the row where no numbers are given."""
    numbered = numbered_quotes([row]) if quotes is None else quotes
    return {
        "document_id": row.document.id,
        "document": row.document.name,
        "sha256": row.document.sha256,
        "readable": row.readable,
        "cells": [cell_to_json(cell, numbered[cell.key]) for cell in row.cells],
    }


def cell_to_json(cell: DocumentCell, quotes: Sequence[NumberedQuote]) -> dict[str, Any]:
    """Return a cell as JSON's types: what was found, and what was corrected beside it."""
    found = cell.found
    return {
        "column_id": cell.column.id,
        "state": cell.state,
        "value": value_to_json(cell.value),
        "text": value_text(cell.value),
        "found": None if found is None else value_to_json(found.value),
        "corrected": value_to_json(cell.corrected),
        "locked": cell.locked,
        "outdated": cell.outdated,
        "calculated": found is not None and found.calculated,
        "read": 0 if found is None else found.read,
        "total": 0 if found is None else found.total,
        "note": "" if found is None else found.note,
        "updated": None if cell.updated is None else cell.updated.isoformat(),
        "quotes": [_json_quote(one) for one in quotes],
    }


def _json_quote(one: NumberedQuote) -> dict[str, Any]:
    return quote_to_json(one.number, one.row.document, one.quote)


def quote_to_json(number: int, document: DocumentRecord, quote: CellQuote) -> dict[str, Any]:
    """Return a quote as JSON's types, with all by which it is found again, in whatever chunks the text is."""
    return {
        "number": number,
        "document_id": document.id,
        "document": document.name,
        "sha256": document.sha256,
        **asdict(quote),
    }


def figure_to_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON's types; `cells` are ids of documents."""
    return {
        "operation": figure.operation,
        "column_id": figure.column.id,
        "value": value_to_json(figure.value),
        "counted": value_to_json(figure.counted),
        "sentence": figure.sentence,
        "calculation": figure.calculation,
        "documents": [document_id for document_id, _column in figure.cells],
        "unconfirmed": figure.unconfirmed,
        "left_out": figure.left_out,
    }
