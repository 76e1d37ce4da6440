"""Markdown tables, one line a row, and the CSV parser."""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rag.ingest.parsers.plain_text import decode
from rag.text.document import LoadedDocument, clean

_DELIMITERS = ",;\t|"


def read_csv(path: Path) -> LoadedDocument:
    """Read a table of values separated by commas, semicolons, tabs or bars."""
    text = clean(decode(path.read_bytes()))
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=_delimiter(text), strict=False)
    return LoadedDocument(table_text(rows), media_type="text/csv")


def table_text(rows: Iterable[Sequence[str]]) -> str:
    """Return the lines of `markdown_table` as one text."""
    return "\n".join(markdown_table(rows))


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
    """Return the delimiter that splits most of the first lines into equally many fields."""
    lines = [line for line in text[:20_000].split("\n")[:20] if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in _DELIMITERS}
    return max(_DELIMITERS, key=lambda mark: min(counts[mark], default=0) * 1000 + sum(counts[mark]))
