"""XLSX: each sheet is a heading, a table of the values its cells show, its charts and its comments."""

import datetime
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.ingest.parsers import ooxml
from rag.ingest.parsers.plain_text import table_text
from rag.text.document import OPEN_XML, LoadedDocument

_WORKBOOK = "xl/workbook.xml"


def read_xlsx(path: Path) -> LoadedDocument:
    """Read a workbook, its sheets of charts among the others."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    ooxml.inspect(path)
    with path.open("rb") as file, zipfile.ZipFile(path) as container:
        book = load_workbook(file, read_only=True, data_only=True)
        tables = {sheet.title: sheet for sheet in book.worksheets}
        parts = _sheet_parts(container)
        sheets = [
            (name, list(_sheet(tables.get(name), container, parts.get(name, "")))) for name in book.sheetnames
        ]
    return ooxml.sheets_document(sheets, OPEN_XML + "spreadsheetml.sheet")


def _sheet_parts(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the part of each sheet by its title; an `id` without a namespace is only its number."""
    parts = ooxml.related_parts(container, _WORKBOOK)
    return {
        ooxml.attribute(sheet, "name"): parts.get(
            next((str(value) for key, value in sheet.items() if key.endswith("}id")), ""), ""
        )
        for sheet in ooxml.descendants(ooxml.parse_part(container, _WORKBOOK), "sheet")
    }


def _sheet(sheet: Any, container: zipfile.ZipFile, part: str) -> Iterator[str]:
    """Yield a sheet's table, charts and comments; `sheet` is None where it holds charts only."""
    if sheet is not None:
        sheet.reset_dimensions()  # the size that the file states may be absurd
        rows = ([_cell_text(cell) for cell in row] for row in sheet.iter_rows())
        if table := table_text(rows, counted=True):
            yield table
    for drawing in ooxml.related_parts(container, part, "/drawing").values():
        for chart in ooxml.related_parts(container, drawing, "/chart").values():
            blocks = list(ooxml.chart_blocks(ooxml.parse_part(container, chart)))
            yield from blocks if not blocks or blocks[0].startswith("#") else ["### Chart", *blocks]
    yield from ooxml.comments(container, part)


def _cell_text(cell: Any) -> str:
    """Return a value as the sheet shows it: dates without midnight, whole numbers, per cents."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    if isinstance(value, float):
        return f"{round(value * 100, 10):.10g}%" if "%" in (cell.number_format or "") else f"{value:.15g}"
    return str(value)
