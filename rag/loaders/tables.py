"""XLSX and CSV as Markdown tables, one line a row."""

import csv
import datetime
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rag.loaders import archive
from rag.loaders.document import OPEN_XML, LoadedDocument, clean
from rag.loaders.markdown import headings
from rag.loaders.text import decode

_DELIMITERS = ",;\t|"


def read_csv(path: Path) -> LoadedDocument:
    """Read a table of values separated by commas, semicolons, tabs or bars."""
    text = clean(decode(path.read_bytes()))
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=_delimiter(text), strict=False)
    return LoadedDocument("\n".join(markdown_table(rows)), media_type="text/csv")


def read_xlsx(path: Path) -> LoadedDocument:
    """Read a workbook: each sheet a heading and a table of the values its cells show."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    archive.inspect(path)
    sheets = []
    with path.open("rb") as file:
        for sheet in load_workbook(file, read_only=True, data_only=True).worksheets:
            sheet.reset_dimensions()  # what the file says of its size may be absurd
            lines = list(markdown_table([_shown(cell) for cell in row] for row in sheet.iter_rows()))
            if lines:
                sheets.append("\n".join([f"## {sheet.title}", "", *lines]))
    text = clean("\n\n".join(sheets))
    return LoadedDocument(text, (), "", OPEN_XML + "spreadsheetml.sheet", headings(text))


def markdown_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a Markdown table; empty columns at a row's end are left out, and an empty row ends a table.

    >>> list(markdown_table([["a", "b"], ["1", "x|y"], ["", ""], ["c", ""]]))
    ['| a | b |', '| --- | --- |', '| 1 | x/y |', '', '| c |', '| --- |']
    """
    first, gap = True, False
    for row in rows:
        cells = [" ".join(cell.split()).replace("|", "/") for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            gap = not first
            continue
        if gap:
            yield ""
            first, gap = True, False
        yield f"| {' | '.join(cells)} |"
        if first:
            yield f"|{' --- |' * len(cells)}"
            first = False


def _delimiter(text: str) -> str:
    """Choose what splits most of the first lines into equally many fields."""
    lines = [line for line in text[:20_000].split("\n")[:20] if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in _DELIMITERS}
    return max(_DELIMITERS, key=lambda mark: min(counts[mark], default=0) * 1000 + sum(counts[mark]))


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
