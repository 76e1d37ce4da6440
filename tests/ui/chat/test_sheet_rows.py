"""The row of a cited cell is the one that a spreadsheet program shows beside it, in every format."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from rag.ingest.parsers.old_office import PROGRAM
from rag.workspace import Workspace
from storage.records import CitationRecord, Message, PassageRecord
from tests.rag.ingest.parsers import makers
from ui.chat.citations import CitedPassage
from ui.chat.sheet_rows import row_cited, rows_cited

OFFICE = shutil.which(PROGRAM)
NO_OFFICE = pytest.mark.skipif(OFFICE is None, reason="needs LibreOffice")
_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
ROWS = [[], [], ["Item", "Price"], ["Rope", "3"], *[[]] * 60, ["Tar", "8"]]
"""Two rows above the table, and sixty within it."""


def xlsx(_folder: Path) -> bytes:
    from openpyxl import Workbook

    book, content = Workbook(), BytesIO()
    for number, row in enumerate(ROWS, 1):
        for column, cell in enumerate(row, 1):
            book.active.cell(number, column, cell)
    book.save(content)
    return content.getvalue()


def ods(folder: Path) -> bytes:
    def row(cells: list[str]) -> str:
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return f"<table:table-row>{inner or '<table:table-cell/>'}</table:table-row>"

    spaces = "".join(f' xmlns:{name}="{_OASIS}{name}:1.0"' for name in ("office", "text", "table"))
    table = f'<table:table table:name="Prices">{"".join(map(row, ROWS))}</table:table>'
    table = table.replace(row([]) * 60, '<table:table-row table:number-rows-repeated="60"/>')
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    parts = {
        "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": f"<office:document-content{spaces}>{body}</office:document-content>".encode(),
    }
    return makers.zipped(folder / "made", parts).read_bytes()


def csv(_folder: Path) -> bytes:
    return "\n".join(",".join(row) for row in ROWS).encode()


def xls(folder: Path) -> bytes:
    assert OFFICE is not None
    (folder / "made.xlsx").write_bytes(xlsx(folder))
    command = [OFFICE, f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "xls"]
    subprocess.run([*command, "--outdir", folder, folder / "made.xlsx"], check=True, timeout=60)
    return (folder / "made.xls").read_bytes()


def cited(document_id: str, name: str, text: str, words: str) -> CitedPassage:
    start = text.index(words)
    passage = PassageRecord(1, "1", document_id, name, "", None, "", 0, len(text), text, 1.0)
    citation = CitationRecord(1, 0, 7, "verified", start, start + len(words), words)
    empty = Message("m", "assistant", "It. [1]", "complete", "q", None, None, None, {}, datetime.now(UTC))
    return CitedPassage(replace(empty, passages=(passage,), citations=(citation,)), passage, citation)


@pytest.mark.parametrize("make", [xlsx, ods, csv, pytest.param(xls, marks=NO_OFFICE)])
def test_a_row_has_the_number_that_its_file_shows(
    here: Workspace, tmp_path: Path, make: Callable[[Path], bytes]
) -> None:
    record, _ = here.library.add(f"prices.{make.__name__}", make(tmp_path))
    list(here.library.index(record.id))
    text = here.library.documents.text(record.id)
    told = {words: row_cited(cited(record.id, record.name, text, words), here) for words in ("Rope", "Tar")}
    assert told == {"Rope": "Row 4", "Tar": "Row 65"}


def test_words_of_no_sheet_and_of_a_changed_sheet_have_no_row(here: Workspace, tmp_path: Path) -> None:
    record, _ = here.library.add("prices.csv", csv(tmp_path))
    list(here.library.index(record.id))
    text = here.library.documents.text(record.id)
    assert row_cited(cited(record.id, "prices.md", text, "Rope"), here) == ""
    assert row_cited(cited(record.id, record.name, f"{text} ", "Rope"), here) == "Row 4"
    assert row_cited(cited(record.id, record.name, f"| {text}", "Rope"), here) == ""
    assert rows_cited(cited(record.id, record.name, text, "Rope").message, here) == {"m-0": "Row 4"}
