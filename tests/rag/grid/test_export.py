"""Exports of a grid: nothing in them is active, and the JSON's quotes are checked against the files."""

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest

from rag.chat.verify import read_export, verify
from rag.errors import ExportRefused, GridRefused
from rag.grid.cells import Amount, CellQuote, CellResult, Day, Words, YesNo
from rag.grid.columns import Column
from rag.grid.export import GRID_FORMS, GridExport, export_grid, file_name_of
from rag.grid.grids import DocumentCell, DocumentRow, Grid, Grids
from rag.grid.run import GridRuns
from rag.i18n import in_language
from rag.ingest.library import Library
from storage.records import DocumentRecord
from tests.rag.grid.test_grids import BEGIN, RENT, grids, lease, library, put, run, runs

__all__ = ["grids", "library", "runs"]  # fixtures
NOW = datetime(2026, 5, 4, tzinfo=UTC)
HOSTILE = '=HYPERLINK("http://evil.example","x")<img src=x onerror=alert(1)>![i](http://evil.example/i)|**b**'
NAMES = ("Term", "Fee", "Begin", "Pets")


def hostile() -> GridExport:
    """A grid whose names, values and quotes would all like to be something else."""
    kinds = ("text", "money", "date", "yes_no")
    columns = tuple(
        Column(f"c{n}", f"{HOSTILE}{name}"[:120], kind=kind)  # type: ignore[arg-type]
        for n, (name, kind) in enumerate(zip(NAMES, kinds, strict=True))
    )
    document = DocumentRecord("d1", f"{HOSTILE}.md", "a" * 64, 1, "ready", None, 1, 1, None, NOW, NOW)
    quote = CellQuote(0, len(HOSTILE), HOSTILE, 3)
    values = (
        Words(HOSTILE),
        Amount(Decimal("-1200.50"), '"EUR"'),
        Day("2024-05-01", date(2024, 5, 1)),
        YesNo(True),
    )
    cells = tuple(
        DocumentCell("d1", column, CellResult("verified", value, (quote,), 1, 2), outdated=False)
        for column, value in zip(columns, values, strict=True)
    )
    grid = Grid("g1", HOSTILE, columns, NOW, NOW)
    return GridExport(grid, [DocumentRow(document, cells)], NOW, "http://127.0.0.1:8501")


def test_nothing_of_a_document_is_a_formula_in_a_csv():
    text = export_grid(hostile(), "csv").decode("utf-8-sig")
    lines = list(csv.reader(io.StringIO(text)))
    assert not [field for line in lines for field in line if field.startswith(("=", "+", "@", "|"))]
    assert lines[1][3:5] == ["-1200.50", '"EUR"']
    assert lines[1][6] == "2024-05-01"


def test_nothing_of_a_document_is_a_formula_in_a_workbook():
    book = openpyxl.load_workbook(io.BytesIO(export_grid(hostile(), "xlsx")))
    sheet = book["Grid"]
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} == {"s", "n", "d"}
    assert sheet["B2"].value.startswith("=HYPERLINK")
    assert sheet["C2"].value == -1200.5
    assert sheet["D2"].value == datetime(2024, 5, 1)
    assert "page 3" in sheet["B2"].comment.text and HOSTILE in sheet["B2"].comment.text
    assert sheet["B2"].comment.text.startswith("Verified")
    assert [cell.hyperlink.target for cell in cells if cell.hyperlink] == [
        "http://127.0.0.1:8501/?document=d1"
    ]
    assert sheet.freeze_panes == "B2"
    assert {cell.data_type for row in book["Figures"].iter_rows() for cell in row} == {"s"}


def test_nothing_of_a_document_is_active_in_html_and_markdown():
    page = export_grid(hostile(), "html").decode()
    assert "<img" not in page and "<script" not in page
    assert "default-src 'none'" in page
    assert page.count('href="') == page.count('href="#quote-')
    text = export_grid(hostile(), "md").decode()
    assert "\\<img" in text and "\\!\\[" not in text.replace("!\\[", "")
    assert "](http" not in text.replace("\\]", "")
    table = [line for line in text.split("\n") if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in table} == {6}


def test_the_quotes_of_the_json_are_checked_against_the_files(
    tmp_path: Path, grids: Grids, library: Library, runs: GridRuns
):
    files = tmp_path / "files"
    files.mkdir()
    for number in range(2):
        put(library, f"{number}.md", lease(number + 1))
        (files / f"{number}.md").write_text(lease(number + 1))
    grid = grids.create("Leases", [BEGIN, RENT])
    run(runs, grid.id)
    exported = GridExport(grids.get(grid.id), grids.rows(grid.id), NOW)
    path = tmp_path / "grid.json"
    path.write_bytes(export_grid(exported, "json"))
    quotes = read_export(path)
    assert len(quotes) >= 4
    assert {checked.verdict for checked in verify(quotes, files)} == {"exact"}
    told = json.loads(path.read_bytes())
    told["rows"][0]["cells"][1]["quotes"][0]["text"] = "The monthly rent is EUR 9."
    path.write_text(json.dumps(told))
    assert [one.stands for one in verify(read_export(path), files)].count(False) == 1
    path.write_text(json.dumps({**told, "version": 99}))
    with pytest.raises(ExportRefused, match="grid"):
        read_export(path)


def test_a_correction_is_told_beside_what_was_found():
    exported = hostile()
    (row,) = exported.rows
    corrected = DocumentCell("d1", row.cells[0].column, row.cells[0].found, Words("Mine"), locked=True)
    changed = GridExport(exported.grid, [DocumentRow(row.document, (corrected, *row.cells[1:]))], NOW)
    cell = json.loads(export_grid(changed, "json"))["rows"][0]["cells"][0]
    assert (cell["text"], cell["corrected"], cell["found"]) == ("Mine", {"text": "Mine"}, {"text": HOSTILE})
    assert "Corrected by hand" in export_grid(changed, "csv").decode()


@pytest.mark.parametrize("code", ["ko", "ja"])
def test_an_export_speaks_the_readers_language(code: str):
    with in_language(code):
        page, text = (export_grid(hostile(), form).decode() for form in ("html", "csv"))
    for english in ("Verified", "Document<", "Figures", "Quotes", "Calculated"):
        assert english not in page
    assert "Verified" not in text and "(state)" not in text


def test_an_empty_grid_is_exported_in_every_form():
    empty = GridExport(Grid("g", "Empty", (), NOW, NOW), [], NOW)
    assert all(export_grid(empty, form) for form in GRID_FORMS)
    with pytest.raises(GridRefused, match="docx"):
        export_grid(empty, "docx")  # type: ignore[arg-type]
    assert file_name_of(Grid("g", "계약: 2024/05", (), NOW, NOW), "csv") == "계약-2024-05.csv"
    assert file_name_of(Grid("g", "../..", (), NOW, NOW), "xlsx") == "grid.xlsx"
