"""Corrected cells as cases for `footnote eval citations`: a claim, its quotes, and whether it is right."""

from collections.abc import Iterator

from rag.chat.export import FeedbackCase
from rag.grid.cells import value_from_json
from rag.grid.columns import Column
from rag.grid.value_text import value_key, value_text
from storage.grids import CellRecord, GridStore


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
