"""XLSX: each sheet is a heading, a table of the values its cells show, its charts and its comments."""

import datetime
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.ingest.parsers import ooxml as archive
from rag.ingest.parsers.ooxml import attribute, chart, comments, named, parsed, related
from rag.ingest.parsers.tables import markdown_table
from rag.text.document import OPEN_XML, LoadedDocument, clean
from rag.text.markdown import headings

_WORKBOOK = "xl/workbook.xml"


def read_xlsx(path: Path) -> LoadedDocument:
    """Read a workbook, its sheets of charts among the others."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    archive.inspect(path)
    with path.open("rb") as file, zipfile.ZipFile(path) as container:
        book = load_workbook(file, read_only=True, data_only=True)
        tables = {sheet.title: sheet for sheet in book.worksheets}
        parts = _parts(container)
        sheets = [
            [*_table(tables.get(title)), *_beside(container, parts.get(title, ""))]
            for title in book.sheetnames
        ]
        found = zip(book.sheetnames, sheets, strict=True)
        text = clean("\n\n".join("\n\n".join([f"## {title}", *said]) for title, said in found if said))
    return LoadedDocument(text, (), "", OPEN_XML + "spreadsheetml.sheet", headings(text))


def _parts(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the part in which each sheet is kept, by its title."""
    kept = related(container, _WORKBOOK)
    sheets = named(parsed(container, _WORKBOOK), "sheet")
    return {attribute(sheet, "name"): kept.get(_reference(sheet), "") for sheet in sheets}


def _reference(sheet: Any) -> str:
    """Return the id by which the workbook refers to a sheet; its own number has the name without a prefix."""
    return next((str(value) for key, value in sheet.items() if key.endswith("}id")), "")


def _table(sheet: Any) -> Iterator[str]:
    if sheet is None:  # it holds charts only
        return
    sheet.reset_dimensions()  # what the file says of its size may be absurd
    lines = list(markdown_table([_shown(cell) for cell in row] for row in sheet.iter_rows()))
    if lines:
        yield "\n".join(lines)


def _beside(container: zipfile.ZipFile, part: str) -> Iterator[str]:
    """Yield a sheet's charts and comments."""
    for drawing in related(container, part, "/drawing").values():
        for kept in related(container, drawing, "/chart").values():
            yield from chart(parsed(container, kept))
    yield from comments(container, part)


def _shown(cell: Any) -> str:
    """Write a value as the sheet shows it: dates without midnight, whole numbers, per cents."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    if isinstance(value, float):
        return f"{round(value * 100, 10):.10g}%" if "%" in (cell.number_format or "") else f"{value:.15g}"
    return str(value)
