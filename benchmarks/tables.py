"""Cells of PDF tables with the right row and column header, against a truth typed from the pages.

    python benchmarks/tables.py FOLDER TRUTH.json
    python benchmarks/tables.py FOLDER --times 3

The truth is a list of `{"file", "page", "columns": [header, ...], "rows": [[label, cell, ...], ...]}`.
A cell is right if a table of that page holds it in a row of that label and a column of that header. Files are
found by name anywhere in the folder. Without a truth the tables of each file are counted by page. `--times`
reads all files with and without tables, so many times, and prints the processor time of both.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.errors import DocumentRefused
from rag.ingest.parsers import load, pdf
from rag.text.chunking import tables
from rag.text.document import LoadedDocument

_SPACES = re.compile(r"\s+")
_APART = re.compile(r"[\s$€£¥₩]")


def cells(row: str) -> list[str]:
    """Return the cells of a Markdown row.

    >>> cells("| Mac |  | $7 |")
    ['Mac', '', '$7']
    """
    return [
        _SPACES.sub(" ", cell).strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")
    ]


def tables_of(document: LoadedDocument, page: int) -> list[list[list[str]]]:
    """Return the rows of each table of a page, from 1, the header's first."""
    _, start, end = document.pages[page - 1]
    text = document.text[start:end]
    return [
        [cells(row) for number, row in enumerate(text[table.start : table.end].split("\n")) if number != 1]
        for table in tables(text)
    ]


def right_cells(
    truth: Mapping[str, Any], found: list[list[list[str]]]
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield label, header and text of each cell of a table, and whether it was found so."""
    for label, *values in truth["rows"]:
        for header, value in zip(truth["columns"], values, strict=True):
            yield label, header, value, any(_holds(rows, label, header, value) for rows in found)


def _holds(rows: list[list[str]], label: str, header: str, value: str) -> bool:
    places = [place for place, head in enumerate(rows[0]) if place and head == header]
    same = _plain(value)
    return any(row[0] == label and _plain(row[place]) == same for row in rows[1:] for place in places)


def _plain(value: str) -> str:
    """Return a figure without what may stand apart from it: spaces and a currency sign."""
    return _APART.sub("", value)


def main() -> None:
    """Print each wrong cell, then the share of right ones."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("truth", type=Path, nargs="?")
    options.add_argument("--times", type=int, default=0, metavar="RUNS")
    given = options.parse_args()
    if given.times:
        _time(given.folder, given.times)
        return
    if given.truth is None:
        _count(given.folder)
        return

    @cache
    def document(name: str) -> LoadedDocument:
        return load(next(given.folder.rglob(name)), name)

    results = []
    expected = json.loads(given.truth.read_text("utf-8"))
    for table in expected:
        for label, header, value, right in right_cells(
            table, tables_of(document(table["file"]), table["page"])
        ):
            results.append(right)
            if not right:
                print(f"{table['file']}, page {table['page']}: {label} | {header} | {value}")
    print(
        f"{sum(results)} of {len(results)} cells of {len(expected)} tables "
        f"({sum(results) / max(len(results), 1):.3f})"
    )


def _count(folder: Path) -> None:
    pages = with_tables = 0
    for path in sorted(folder.rglob("*.pdf")):
        started = time.perf_counter()
        try:
            document = load(path, path.name)
        except DocumentRefused as error:
            print(f"{path.name}: {error}")
            continue
        counts = {page: len(tables_of(document, page)) for page, _, _ in document.pages}
        pages += len(counts)
        with_tables += sum(map(bool, counts.values()))
        shown = {page: count for page, count in counts.items() if count}
        print(f"{path.name}: {len(counts)} pages, {time.perf_counter() - started:.2f} s, tables {shown}")
    print(f"{with_tables} of {pages} pages with tables")


def _time(folder: Path, runs: int) -> None:
    paths = sorted(folder.rglob("*.pdf"))
    _seconds(paths)
    for _ in range(runs):
        with patch.object(pdf, "tables_of", lambda _sheet, _page, lines, *_, **__: (lines, [])):
            without = _seconds(paths)
            with patch.object(pdf, "doubt", lambda *_: 0.0):
                bare = _seconds(paths)
        whole = _seconds(paths)
        print(
            f"{whole:.2f} s, {whole / without:.2f} of {without:.2f} s without tables, "
            f"{whole / bare:.2f} of {bare:.2f} s without tables and check of the text layer"
        )


def _seconds(paths: list[Path]) -> float:
    started = time.process_time()
    for path in paths:
        with suppress(DocumentRefused):
            pdf.read_pdf(path)
    return time.process_time() - started


if __name__ == "__main__":
    main()
