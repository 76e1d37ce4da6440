"""Cells of a grid against values typed by hand: right, shown as verified and wrong, processor time.

    python benchmarks/grid.py FOLDER TRUTH.json [--half reported] [--model] [--wrong]

FOLDER holds the documents. TRUTH.json is `{"columns": [...], "cells": {file: {column id: [value, ...]}},
"halves": {name: [file, ...]}}`: columns and values as grids store them, any of the values is right, and an
empty list means that the document does not say it. A file is read for the columns that it has truth for.
Nothing is embedded. With `--model` the language model of
the settings reads the cells.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.factory import make_cell_reader, make_library, make_llm
from rag.grid.cells import Amount, CellResult, CellValue, Day, Items, Words, value_from_json
from rag.grid.columns import Column
from rag.ingest.library import Library
from rag.settings import LOCAL_OWNER, load
from storage.database import Database


@dataclass(frozen=True)
class Outcome:
    """Result of one cell, and if its value is right."""

    file: str
    column: str
    result: CellResult
    right: bool
    seconds: float


def is_right(value: CellValue | None, truths: Sequence[CellValue]) -> bool:
    """Return True for a value that is one of the right ones; without any, for no value.

    Text is compared by its letters and digits; items as a set of those.

    >>> is_right(Words("APPLE INC"), [Words("Apple Inc.")]), is_right(None, []), is_right(Words("x"), [])
    (True, True, False)
    """
    if value is None or not truths:
        return value is None and not truths
    return any(_compared(value) == _compared(one) for one in truths)


def _compared(value: CellValue) -> object:
    match value:
        case Words(text):
            return _letters(text)
        case Items(items):
            return {_letters(item) for item in items}
        case Amount(amount, unit):
            return amount, unit
        case Day(label, _):
            return label
        case _:
            return value


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def measure(
    library: Library, reader: Any, truth: Mapping[str, Any], files: Sequence[str]
) -> Iterator[Outcome]:
    """Yield the outcome of every cell; the time of a row's shared work counts for its first cell."""
    columns = [Column.from_json(fields) for fields in truth["columns"]]
    ids = {record.name: record.id for record in library.documents.list()}
    for file in files:
        since = time.process_time()
        asked = [column for column in columns if column.id in truth["cells"][file]]
        for column, result in reader.read_row(ids[file], asked):
            now = time.process_time()
            known = [value_from_json(one) for one in truth["cells"][file][column.id]]
            right = is_right(result.value, [one for one in known if one is not None])
            yield Outcome(file, column.id, result, right, now - since)
            since = time.process_time()


def report(outcomes: Sequence[Outcome], *, wrong: bool) -> None:
    """Print the shares by field, where files share fields, else by file; and in all."""
    shared = len({one.column for one in outcomes}) < len(outcomes)
    for name in dict.fromkeys(one.column if shared else one.file for one in outcomes):
        _line(name, [one for one in outcomes if name in (one.column, one.file)])
    _line("all", outcomes)
    for one in outcomes:
        if wrong and not one.right:
            print(
                one.file,
                one.column,
                one.result.state,
                one.result.value,
                "|",
                *(q.text[:120] for q in one.result.quotes),
            )


def _line(name: str, some: Sequence[Outcome]) -> None:
    verified = [one for one in some if one.result.state == "verified"]
    wrong, right = sum(not one.right for one in verified), sum(one.right for one in some)
    print(
        f"{name[:40]:40} right {right:3} of {len(some):3} ({right / len(some):.3f}), "
        f"verified {len(verified):3}, of them wrong {wrong} ({wrong / len(some):.3f} of all), "
        f"{1000 * sum(one.seconds for one in some) / len(some):.0f} ms of the processor"
    )


def fill(library: Library, folder: Path) -> None:
    """Read the documents of a folder into a library, without embedding them."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        record, _ = library.add(path.name, path.read_bytes())
        for _ in library.read(record.id):
            pass


def main() -> None:
    """Print shares by field, for the files of one half or for all."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("truth", type=Path)
    options.add_argument("--data", type=Path, help="keep the library here, and use what is there")
    options.add_argument("--half", help="only the files of this half")
    options.add_argument("--model", action="store_true", help="read with the language model of the settings")
    options.add_argument("--wrong", action="store_true", help="list the wrong cells")
    given = options.parse_args()
    truth = json.loads(given.truth.read_text("utf-8"))
    files = truth["halves"][given.half] if given.half else list(truth["cells"])
    settings = load({})
    with TemporaryDirectory() as scratch:
        database = Database.open(given.data or Path(scratch))
        library = make_library(database, LOCAL_OWNER, lambda: (settings, None))
        fill(library, given.folder)
        reader = make_cell_reader(library, make_llm(settings) if given.model else None)
        report(list(measure(library, reader, truth, files)), wrong=given.wrong)
        database.close()


if __name__ == "__main__":
    main()
