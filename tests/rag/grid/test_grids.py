"""Grids over a library: rows that follow their scope, cells that are due, corrections, estimates."""

from datetime import date
from decimal import Decimal

import pytest

from rag.errors import GridRefused
from rag.factory import make_cell_reader
from rag.grid.cells import Amount, Day, Words
from rag.grid.columns import Column
from rag.grid.grids import MAX_COLUMNS, Grids
from rag.grid.run import LANES, GridRuns
from rag.ingest.library import Library
from rag.jobs import Jobs
from storage.collections import Collections
from storage.database import Database
from storage.errors import NotFound
from storage.grids import GridScope
from tests.rag.word_vectors import WordVectors

BEGIN, RENT = Column("begin", "Beginning of the lease", kind="date"), Column("rent", "Rent", kind="money")
LEASE = (
    "# Lease\n\nThis lease begins on {day} May 2024. The monthly rent is EUR {rent}. No pets are allowed.\n"
)


def lease(day: int = 1, rent: str = "1,200") -> str:
    return LEASE.format(day=day, rent=rent)


def put(library: Library, name: str, text: str) -> str:
    record, _ = library.add(name, text.encode())
    list(library.index(record.id))
    return record.id


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


@pytest.fixture
def grids(database: Database, library: Library) -> Grids:
    return Grids(database, library, lambda sent: make_cell_reader(library, None))  # noqa: ARG005


@pytest.fixture
def runs(grids: Grids):
    jobs = Jobs(LANES)
    yield GridRuns(grids, "ann", jobs)
    jobs.close()


def run(runs: GridRuns, grid_id: str) -> int:
    """Run a grid to its end; return the number of cells that were read."""
    job = runs.start(grid_id)
    assert job.wait(60)
    assert job.error is None
    return sum(bool(event.document_id) for event in job.since(0))


def test_rows_are_the_documents_of_the_scope_and_new_ones_join(
    grids: Grids, library: Library, database: Database
):
    first, second = put(library, "b.md", lease(1)), put(library, "a.md", lease(2))
    everything = grids.create("All", [BEGIN])
    collection = Collections(database, "ann").create("Leases")
    some = grids.create("Some", [BEGIN], GridScope([collection.id]))
    assert [row.document.id for row in grids.rows(everything.id)] == [second, first]
    assert grids.rows(some.id) == []
    Collections(database, "ann").put([first], collection.id)
    assert [row.document.id for row in grids.rows(some.id)] == [first]
    put(library, "note.txt", "Nothing of a lease.")
    assert len(grids.rows(everything.id)) == 3
    grids.change(everything.id, scope=GridScope(filters=[("type", ".txt")]))
    assert [row.document.name for row in grids.rows(everything.id)] == ["note.txt"]


def test_a_run_reads_each_cell_once_and_nothing_again(grids: Grids, library: Library, runs: GridRuns):
    put(library, "a.md", lease(1)), put(library, "b.md", lease(2, "900"))
    grid = grids.create("Leases", [BEGIN, RENT])
    assert grids.estimate(grid.id).cells == 4
    assert run(runs, grid.id) == 4
    first, second = grids.rows(grid.id)
    assert first.cell("begin").value == Day("2024-05-01", date(2024, 5, 1))
    assert second.cell("rent").value == Amount(Decimal(900), "EUR")
    quote = second.cell("rent").found.quotes[0]
    assert library.documents.text(second.document.id)[quote.start : quote.end] == quote.text
    assert not grids.get(grid.id).running
    assert run(runs, grid.id) == 0


def test_a_changed_document_is_read_again_and_no_other(grids: Grids, library: Library, runs: GridRuns):
    for number in range(4):
        put(library, f"{number}.md", lease(number + 1))
    grid = grids.create("Leases", [BEGIN, RENT])
    run(runs, grid.id)
    before = {row.document.name: row.cells for row in grids.rows(grid.id)}
    changed = put(library, "2.md", lease(28, "5,000"))
    assert {cell.document_id for cell in grids.due(grid.id)} == {changed}
    assert run(runs, grid.id) == 2
    after = {row.document.name: row.cells for row in grids.rows(grid.id)}
    assert after["2.md"][0].value == Day("2024-05-28", date(2024, 5, 28))
    assert {name for name in after if after[name] != before[name]} == {"2.md"}


def test_a_changed_column_is_read_again_and_a_moved_one_is_not(
    grids: Grids, library: Library, runs: GridRuns
):
    put(library, "a.md", lease())
    grid = grids.create("Leases", [BEGIN, RENT])
    run(runs, grid.id)
    pets = Column("begin", "Pets allowed", kind="yes_no")
    grids.change(grid.id, columns=[RENT, pets])
    assert [cell.column.id for cell in grids.due(grid.id)] == ["begin"]
    grids.change(grid.id, columns=[RENT])
    assert grids.due(grid.id) == []
    assert [column.id for column in grids.get(grid.id).columns] == ["rent"]


def test_a_correction_counts_and_stays_whatever_a_run_finds(grids: Grids, library: Library, runs: GridRuns):
    document = put(library, "a.md", lease())
    grid = grids.create("Leases", [RENT])
    run(runs, grid.id)
    grids.correct(grid.id, (document, "rent"), Amount(Decimal(1), "EUR"))
    newer = put(library, "a.md", lease(rent="7,000"))
    assert run(runs, grid.id) == 0
    cell = grids.row(grid.id, newer).cell("rent")
    assert cell.value == Amount(Decimal(1), "EUR")
    assert cell.found.value == Amount(Decimal(1200), "EUR")
    grids.correct(grid.id, (newer, "rent"), None)
    assert run(runs, grid.id) == 1
    assert grids.row(grid.id, newer).cell("rent").value == Amount(Decimal(7000), "EUR")


def test_a_locked_cell_is_not_due(grids: Grids, library: Library):
    document = put(library, "a.md", lease())
    grid = grids.create("Leases", [BEGIN, RENT])
    grids.lock(grid.id, (document, "rent"))
    assert [cell.column.id for cell in grids.due(grid.id)] == ["begin"]
    grids.lock(grid.id, (document, "rent"), locked=False)
    assert len(grids.due(grid.id)) == 2


def test_a_document_that_is_not_read_yet_is_a_row_without_due_cells(grids: Grids, library: Library):
    library.add("a.md", lease().encode())
    grid = grids.create("Leases", [BEGIN])
    (row,) = grids.rows(grid.id)
    assert not row.readable
    assert grids.due(grid.id) == []


def test_columns_get_ids_and_what_cannot_be_is_refused(grids: Grids, library: Library):
    put(library, "a.md", lease())
    grid = grids.create("Leases", [Column("", "Rent"), Column("", "Begin")])
    assert len({column.id for column in grid.columns} - {""}) == 2
    with pytest.raises(GridRefused, match="same id"):
        grids.create("Twice", [RENT, RENT])
    with pytest.raises(GridRefused, match=str(MAX_COLUMNS)):
        grids.create("Wide", [Column("", "x")] * (MAX_COLUMNS + 1))
    with pytest.raises(GridRefused, match="no column"):
        grids.correct(grid.id, ("d", "nothing"), Words("x"))
    with pytest.raises(GridRefused, match="no row"):
        grids.row(grid.id, "d")
    grids.remove(grid.id)
    with pytest.raises(NotFound):
        grids.rows(grid.id)
