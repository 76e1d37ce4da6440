"""The server killed while a grid is run: each cell is read once, and none is lost."""

import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from rag.grid.columns import Column
from rag.grid.grids import Grids
from rag.grid.run import LANES, GridRuns
from rag.ingest.library import Library
from rag.jobs import Jobs
from storage.database import Database
from tests.faults import victim
from tests.faults.test_many_kills import alive
from tests.rag.word_vectors import WordVectors

COLUMNS = (
    Column("begin", "Beginning of the lease", kind="date"),
    Column("rent", "Monthly rent", kind="money"),
    Column("pets", "Are pets allowed?", kind="yes_no"),
    Column("notice", "Period of notice", kind="number", unit="days"),
    Column("landlord", "Landlord"),
    Column("city", "City"),
    Column("end", "End of the lease", kind="date"),
    Column("deposit", "Deposit", kind="money"),
    Column("rooms", "Number of rooms", kind="number"),
    Column("law", "Governing law"),
)
FULL = pytest.param(
    100, 10, 10, marks=[pytest.mark.slow(reason="a thousand cells"), pytest.mark.timeout(1800)]
)


def lease(number: int) -> bytes:
    return (
        f"# Lease {number}\n\nThis lease begins on {number % 28 + 1} May 2024 and ends on 30 April 2026. The "
        f"monthly rent is EUR {900 + number}. The deposit is EUR {2 * (900 + number)}.\n\nThe landlord is "
        f"House {number} Ltd. The flat in Aldenburg has {number % 5 + 1} rooms. Pets are not allowed.\n\n"
        "The period of notice is 90 days. The governing law is that of Norway.\n"
    ).encode()


def begun(data: Path, documents: int, columns: int) -> str:
    """Make a library and a grid over it that is to run; return its id."""
    with closing(Database.open(data)) as database:
        library = Library(database, victim.OWNER, lambda: WordVectors("words"))
        for number in range(documents):
            record, _ = library.add(f"lease-{number}.md", lease(number))
            list(library.read(record.id))
        grids = victim.grids_of(database)
        grid = grids.create("Leases", COLUMNS[:columns])
        grids.store.begin_run(grid.id)
        library.close()
    return grid.id


def finish(grids: Grids, grid_id: str) -> int:
    """Go on with a run to its end; return the number of cells that were left."""
    left, jobs = len(grids.due(grid_id)), Jobs(LANES)
    runs = GridRuns(grids, victim.OWNER, jobs)
    runs.recover()
    if (job := runs.job(grid_id)) is not None:
        assert job.wait(600)
    jobs.close()
    return left


@pytest.mark.parametrize(("documents", "columns", "kills"), [pytest.param(8, 5, 4), FULL])
def test_each_cell_is_read_once_and_none_lost_however_often_the_server_is_killed(
    tmp_path: Path, documents: int, columns: int, kills: int
):
    grid_id, chance = begun(tmp_path / "data", documents, columns), random.Random(5)
    cells, kept, updated = documents * columns, Counter[tuple[str, str]](), {}
    for _ in range(kills):
        with alive(victim.run_grid, tmp_path / "data") as pipe:
            assert pipe.recv() == ("begun",)
            for _ in range(chance.randint(1, cells // (kills + 2))):
                kept[pipe.recv()[1:]] += 1
        with closing(Database.open(tmp_path / "data")) as database:
            store = victim.grids_of(database).store
            assert store.to_run() == [grid_id]
            now = {(cell.document_id, cell.column_id): cell.updated for cell in store.cells(grid_id)}
            assert kept.keys() <= now.keys()
            assert {key: now[key] for key in updated} == updated  # what was kept is not read again
            updated = now
    with closing(Database.open(tmp_path / "data")) as database:
        grids = victim.grids_of(database)
        assert finish(grids, grid_id) == cells - len(updated) > 0
        after = {(cell.document_id, cell.column_id): cell for cell in grids.store.cells(grid_id)}
        assert {key: after[key].updated for key in updated} == updated
        assert len(after) == cells
        assert {cell.found is None for cell in after.values()} == {False}
        assert set(kept.values()) == {1}
        assert grids.store.to_run() == []
        rents = [row.cell("rent").value for row in grids.rows(grid_id)]
        assert len(set(rents)) == documents


@pytest.mark.parametrize(("documents", "columns", "kills"), [pytest.param(8, 5, 4), FULL])
def test_each_cell_to_be_read_again_is_read_once_however_often_the_server_is_killed(
    tmp_path: Path, documents: int, columns: int, kills: int
):
    grid_id, chance = begun(tmp_path / "data", documents, columns), random.Random(6)
    with closing(Database.open(tmp_path / "data")) as database:
        grids = victim.grids_of(database)
        finish(grids, grid_id)
        there = sorted((cell.document_id, cell.column_id) for cell in grids.store.cells(grid_id))
        marked = set(chance.sample(there, len(there) // 2))
        assert all(grids.ask_again(grid_id, key) for key in sorted(marked))
        before = {(cell.document_id, cell.column_id): cell.updated for cell in grids.store.cells(grid_id)}
    kept, read = Counter[tuple[str, str]](), {}
    for _ in range(kills):
        with alive(victim.run_grid, tmp_path / "data") as pipe:
            assert pipe.recv() == ("begun",)
            for _ in range(chance.randint(1, len(marked) // (kills + 2))):
                kept[pipe.recv()[1:]] += 1
        with closing(Database.open(tmp_path / "data")) as database:
            store = victim.grids_of(database).store
            assert store.to_read_again() == [grid_id]
            cells = {(cell.document_id, cell.column_id): cell for cell in store.cells(grid_id)}
            now = {key: cell.updated for key, cell in cells.items() if key in marked and not cell.again}
            assert kept.keys() <= now.keys()
            assert {key: now[key] for key in read} == read  # what was read again is not read once more
            read = now
    with closing(Database.open(tmp_path / "data")) as database:
        grids = victim.grids_of(database)
        assert {cell.key for cell in grids.due(grid_id)} == marked - read.keys() != set()
        finish(grids, grid_id)
        after = {(cell.document_id, cell.column_id): cell for cell in grids.store.cells(grid_id)}
        assert {key: after[key].updated for key in read} == read
        assert {key for key, cell in after.items() if cell.updated != before[key]} == marked
        assert set(kept.values()) == {1}
        assert grids.store.to_read_again() == []
