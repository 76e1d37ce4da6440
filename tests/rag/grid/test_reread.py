"""One cell read again, outside of a run."""

from decimal import Decimal

import pytest

from rag.errors import GridRefused
from rag.factory import make_cell_reader
from rag.grid.cells import Amount
from rag.grid.grids import Grids
from rag.grid.reread import read_again
from rag.ingest.library import Library
from storage.database import Database
from tests.rag.grid.test_grids import BEGIN, RENT, lease, put
from tests.rag.word_vectors import WordVectors


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


@pytest.fixture
def grids(database: Database, library: Library) -> Grids:
    return Grids(database, library, lambda sent: make_cell_reader(library, None))  # noqa: ARG005


def test_one_cell_is_read_and_no_other(grids: Grids, library: Library):
    document = put(library, "a.md", lease())
    grid = grids.create("Leases", [BEGIN, RENT])
    assert read_again(grids, grid.id, (document, "rent"))
    row = grids.row(grid.id, document)
    assert row.cell("rent").value == Amount(Decimal(1200), "EUR") and not row.cell("rent").due
    assert row.cell("begin").found is None


def test_a_locked_cell_stays_as_it_is(grids: Grids, library: Library):
    document = put(library, "a.md", lease())
    grid = grids.create("Leases", [RENT])
    grids.lock(grid.id, (document, "rent"))
    assert not read_again(grids, grid.id, (document, "rent"))
    assert grids.row(grid.id, document).cell("rent").found is None


def test_a_cell_of_no_column_is_refused(grids: Grids, library: Library):
    document = put(library, "a.md", lease())
    grid = grids.create("Leases", [RENT])
    with pytest.raises(GridRefused, match="no column"):
        read_again(grids, grid.id, (document, "begin"))
