"""Runs of grids: a job of the server that reads the cells that are due, each in a commit of its own.

The wish to run is in the ledger until the run ends or is stopped, so that a server that was killed goes on
with what is due; so is the wish to read one cell again. Else a cell is read again only where that is needed.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

from rag.errors import Cancelled, EmbeddingError, FootnoteError, LLMBusy, LLMError, RetrievalError
from rag.grid.cells import CellResult, CellState
from rag.grid.grids import DocumentCell, Grids, basis_of
from rag.i18n import N_
from rag.ingest.leased import JobName, exclusive, is_done_elsewhere, stop_elsewhere, wait_for_stopped
from rag.jobs import Cancel, Job, Jobs
from rag.models.protocol import Sent
from storage.errors import NotFound
from storage.grids import CellKey

GRID = "grid"  # kind of the jobs, and their lane
LANES = {GRID: 2}
MOST_FAILURES = 5  # of the model, one after another, that end a run
BUSY_SECONDS: Sequence[float] = (5, 15, 30, 60, 120)
"""Seconds to wait for a busy server that does not say how long; the last one again and again."""
LONGEST_BUSY = 3600.0  # seconds of waiting without a cell in between, that end a run
ENDING_SECONDS = 20.0  # that a new run waits for a stopped one
_LOOK_SECONDS = 0.1

_Due = tuple[DocumentCell, str]
"""A cell with the basis that it is to be read under."""
STOPPED = N_("The run was stopped.")


@dataclass(frozen=True)
class GridProgress:
    """Event: `done` of `cells` are read; the last one is in `document_id`, `column_id`, with its state.

    While the model's server is busy, `waiting` are the seconds until it is asked again.
    """

    done: int
    cells: int
    document_id: str = ""
    column_id: str = ""
    state: CellState | None = None
    waiting: float = 0.0


class GridRuns:
    """Runs of one owner's grids; `jobs` must have the lanes in LANES."""

    def __init__(self, grids: Grids, owner: str, jobs: Jobs, busy_seconds: Sequence[float] = BUSY_SECONDS):
        self._grids, self._owner, self._jobs, self._busy_seconds = grids, owner, jobs, busy_seconds

    def start(self, grid_id: str) -> Job[GridProgress]:
        """Start to read what is due, unless that runs; a stopped run ends first. Raises NotFound."""
        self._wait_for_stopped(grid_id)
        self._grids.store.begin_run(grid_id)
        return self._job_of(grid_id)

    def read_again(self, grid_id: str, key: CellKey) -> Job[GridProgress] | None:
        """Start to read one cell again, and no other; a run reads it in passing. None where it is locked.

        Raises GridRefused for one of no column, and NotFound.
        """
        self._wait_for_stopped(grid_id)
        return self._job_of(grid_id) if self._grids.ask_again(grid_id, key) else None

    def _wait_for_stopped(self, grid_id: str) -> None:
        ending = self.job(grid_id)
        if ending is not None and ending.cancelled:
            ending.wait(ENDING_SECONDS)
        wait_for_stopped(self._grids.queue, self._name(grid_id), ENDING_SECONDS)

    def _job_of(self, grid_id: str) -> Job[GridProgress]:
        work = partial(self._work, grid_id)
        mine = partial(exclusive, self._grids.queue, self._name(grid_id), work, waits=False)
        return self._jobs.start(self._owner, key_of(grid_id), mine, lane=GRID)

    def _name(self, grid_id: str) -> JobName:
        return JobName(self._owner, GRID, grid_id)

    def job(self, grid_id: str) -> Job[GridProgress] | None:
        """Return the running or waiting job of a grid, if any."""
        return self._jobs.get(self._owner, key_of(grid_id))  # type: ignore[return-value]

    def stop(self, grid_id: str) -> None:
        """Stop a run; cells that were read stay, and the next run goes on from there."""
        self._grids.store.forget_again(grid_id)
        if self._grids.get(grid_id).running:
            self._grids.store.end_run(grid_id, str(STOPPED))
        if (job := self.job(grid_id)) is not None:
            job.cancel()
        stop_elsewhere(self._grids.queue, self._name(grid_id))

    def remove(self, grid_id: str) -> None:
        """Stop a grid's run and delete the grid."""
        self.stop(grid_id)
        self._grids.remove(grid_id)

    def recover(self) -> None:
        """Go on with the runs that the end of their process interrupted."""
        store = self._grids.store
        for grid_id in dict.fromkeys([*store.to_run(), *store.to_read_again()]):
            if not is_done_elsewhere(self._grids.queue, self._name(grid_id)):
                self._job_of(grid_id)

    def _work(self, grid_id: str, cancelled: Cancel) -> Iterator[GridProgress]:
        run = _Run(self._grids, grid_id, cancelled, self._busy_seconds)
        try:
            with suppress(NotFound):  # the grid was deleted meanwhile
                yield from run.events()
        except Cancelled:
            raise  # stopped, and noted; or the server stops, and the run goes on after its start
        except FootnoteError as error:
            with suppress(NotFound):
                self._grids.store.forget_again(grid_id)
                self._grids.store.end_run(grid_id, str(error))
            raise


def key_of(grid_id: str) -> str:
    """Return the key of a grid's job."""
    return f"{GRID}:{grid_id}"


def _attempt(cell: DocumentCell, basis: str) -> tuple[CellKey, str, datetime | None]:
    """Return the key of an attempt at a cell, which is another one each time it is asked for again."""
    return cell.key, basis, cell.updated if cell.again else None


class _Run:
    """One run: what is due, row by row, until nothing is left that it has not tried."""

    def __init__(self, grids: Grids, grid_id: str, cancelled: Cancel, busy_seconds: Sequence[float]):
        self._grids, self._grid_id, self._cancelled = grids, grid_id, cancelled
        self._busy_seconds = busy_seconds
        self._sent: list[Sent] = []
        self._reader = grids.open_reader(self._sent)
        self._fingerprint = self._reader.fingerprint
        self._tried: set[tuple[CellKey, str, datetime | None]] = set()
        self._done = self._cells = self._failures = self._waits = 0
        self._waited = 0.0

    def events(self) -> Iterator[GridProgress]:
        """Read what is due and yield the progress; raises Cancelled and the error that ends the run."""
        while True:
            running = self._grids.get(self._grid_id).running
            due = self._due(running=running)
            if not due and running:
                self._grids.store.end_run(self._grid_id, None)
            if not due:
                return
            self._cells = self._done + len(due)
            yield GridProgress(self._done, self._cells)
            for document_id, cells in groupby(due, key=lambda one: one[0].document_id):
                yield from self._row(document_id, list(cells))

    def _due(self, *, running: bool) -> list[_Due]:
        """Return the due cells that were not tried; documents may have come or changed meanwhile.

        Unless the whole grid is to run, they are those that are to be read again.
        """
        rows = [row for row in self._grids.rows(self._grid_id) if row.readable]
        due = [
            (cell, basis_of(cell.column, row.document.sha256, self._fingerprint))
            for row in rows
            for cell in row.cells
            if cell.due and (running or cell.again)
        ]
        return [(cell, basis) for cell, basis in due if _attempt(cell, basis) not in self._tried]

    def _row(self, document_id: str, left: list[_Due]) -> Iterator[GridProgress]:
        while left:
            try:
                yield from self._read(document_id, left)
            except NotFound:  # the document or the column was deleted meanwhile
                self._next(left)
            except LLMBusy as busy:
                yield from self._wait(busy)
            except (LLMError, RetrievalError, EmbeddingError) as error:
                yield self._failed(left, error)

    def _read(self, document_id: str, left: list[_Due]) -> Iterator[GridProgress]:
        columns = [cell.column for cell, _ in left]
        began, before = time.monotonic(), len(self._sent)
        for _column, result in self._reader.read_row(document_id, columns, self._cancelled):
            took = time.monotonic() - began, len(self._sent) - before
            self._failures = self._waits = 0
            self._waited = 0.0
            yield self._keep(left, result, took)
            began, before = time.monotonic(), len(self._sent)

    def _next(self, left: list[_Due]) -> _Due:
        cell, basis = left.pop(0)
        self._tried.add(_attempt(cell, basis))
        self._done += 1
        return cell, basis

    def _keep(self, left: list[_Due], result: CellResult, took: tuple[float, int]) -> GridProgress:
        cell, basis = left[0]
        self._grids.keep(self._grid_id, cell.key, result, basis, took)
        self._next(left)
        return GridProgress(self._done, self._cells, *cell.key, result.state)

    def _failed(self, left: list[_Due], error: FootnoteError) -> GridProgress:
        """Keep a failure, which the next run tries again; raises it where the model keeps failing.

        A cell that was read and is to be read again keeps what was found.
        """
        if left[0][0].again and left[0][0].found is not None:
            raise error
        progress = self._keep(left, CellResult("failed", note=str(error)), (0.0, 0))
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise error
        return progress

    def _wait(self, busy: LLMBusy) -> Iterator[GridProgress]:
        """Wait as long as the model's server asks for, or longer each time; raises after LONGEST_BUSY."""
        seconds = busy.wait or self._busy_seconds[min(self._waits, len(self._busy_seconds) - 1)]
        self._waits, self._waited = self._waits + 1, self._waited + seconds
        if self._waited > LONGEST_BUSY:
            raise busy
        yield GridProgress(self._done, self._cells, waiting=seconds)
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0:
            if self._cancelled():
                raise Cancelled(STOPPED)
            time.sleep(min(remaining, _LOOK_SECONDS))
