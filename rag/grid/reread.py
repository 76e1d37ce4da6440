"""Another reading of one cell, outside of a run."""

import time

from rag.grid.grids import Grids, basis_of
from rag.models.protocol import Sent
from storage.grids import CellKey


def read_again(grids: Grids, grid_id: str, key: CellKey) -> bool:
    """Read a cell and keep its result; False where it is locked. Raises GridRefused, NotFound, LLMError."""
    document_id, column_id = key
    row = grids.row(grid_id, document_id)
    column = grids.get(grid_id).column(column_id)
    if row.cell(column_id).locked:
        return False
    sent: list[Sent] = []
    reader = grids.open_reader(sent)
    basis = basis_of(column, row.document.sha256, reader.fingerprint)
    began = time.monotonic()
    results = [result for _, result in reader.read_row(document_id, [column], lambda: False)]
    return grids.keep(grid_id, key, results[0], basis, (time.monotonic() - began, len(sent)))
