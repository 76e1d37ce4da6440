"""Grids of one owner: rows of documents, columns of questions, and which cells are due.

A cell is due when it was never read, failed, or was read under another column, document or reader. A locked
one never is.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from secrets import token_hex
from typing import Any, Protocol, cast

from rag.chat.scope import DocumentFilter
from rag.errors import GridRefused
from rag.grid.cells import CellQuote, CellResult, CellState, CellValue, value_from_json, value_to_json
from rag.grid.columns import Column
from rag.grid.document import RowLibrary
from rag.i18n import N_
from rag.jobs import Cancel, never
from rag.models.protocol import Sent
from storage.choices import Chosen
from storage.database import Database
from storage.documents import SEARCHABLE
from storage.grids import CellKey, CellRecord, FoundCell, GridRecord, GridScope, GridStore
from storage.records import DocumentRecord
from storage.tables import fold

MAX_COLUMNS = 60
SECONDS_A_CELL, SECONDS_A_REQUEST = 0.1, 5.0  # before a grid has cells to say better
LATEST = 100  # cells that an estimate is made from


class RowReader(Protocol):
    """Reader of cells, such as rag.grid.extraction.CellReader."""

    @property
    def fingerprint(self) -> str:
        """Name of what its results depend on besides document and column."""

    def read_row(
        self, document_id: str, columns: Sequence[Column], cancelled: Cancel
    ) -> Iterator[tuple[Column, CellResult]]:
        """Yield the results of a document's cells; raises Cancelled, NotFound and LLMError."""


OpenReader = Callable[[list[Sent]], RowReader]
"""Returns a reader by the present settings, which adds its requests to the list."""


@dataclass(frozen=True)
class Grid:
    """A grid; `running` from the wish for a run to its end, `note` why the last run ended early."""

    id: str
    name: str
    columns: tuple[Column, ...]
    created: datetime
    updated: datetime
    running: bool = False
    note: str = ""

    def column(self, column_id: str) -> Column:
        """Return a column by its id; raises GridRefused."""
        found = next((column for column in self.columns if column.id == column_id), None)
        if found is None:
            raise GridRefused(N_("“{grid}” has no column {id}.", grid=self.name, id=repr(column_id)))
        return found


@dataclass(frozen=True)
class DocumentCell:
    """A cell of a row: what was `found`, if it was read, beside a value `corrected` by hand.

    An `outdated` one was never read, or under another column, document or reader; a locked one stays. One
    is to be read `again` where someone asked for that.
    """

    document_id: str
    column: Column
    found: CellResult | None = None
    corrected: CellValue | None = None
    locked: bool = False
    outdated: bool = True
    updated: datetime | None = None
    seconds: float = 0.0
    requests: int = 0
    again: bool = False

    @property
    def key(self) -> CellKey:
        """Its place: ids of document and column."""
        return self.document_id, self.column.id

    @property
    def value(self) -> CellValue | None:
        """The value that counts: the corrected one, else what was found."""
        return self.corrected or (self.found.value if self.found is not None else None)

    @property
    def state(self) -> CellState | None:
        """State of what was found; None before the first reading."""
        return None if self.found is None else self.found.state

    @property
    def due(self) -> bool:
        """True where a run reads this cell."""
        return not self.locked and (self.outdated or self.again or self.state == "failed")


@dataclass(frozen=True)
class DocumentRow:
    """A document of a grid with its cells, in the order of the columns."""

    document: DocumentRecord
    cells: tuple[DocumentCell, ...]

    @property
    def readable(self) -> bool:
        """True where the document's passages can be read already."""
        return self.document.state in SEARCHABLE

    @property
    def refused(self) -> bool:
        """True where the document could not be read, so that nothing will fill its cells."""
        return self.document.state == "refused"

    def cell(self, column_id: str) -> DocumentCell:
        """Return the cell of a column."""
        return next(cell for cell in self.cells if cell.column.id == column_id)


@dataclass(frozen=True)
class Estimate:
    """Size of a run: cells that are due, requests of the language model, and seconds."""

    cells: int
    requests: int
    seconds: float


class Grids:
    """The grids of one owner over their library."""

    def __init__(
        self,
        database: Database,
        library: RowLibrary,
        open_reader: OpenReader,
        hidden: Callable[[], Collection[str]] = frozenset,
        with_model: Callable[[], bool] = never,
    ):
        """Read cells with `open_reader`; documents that are `hidden`, being deleted, are no rows.

        `with_model` says whether a language model reads, for an estimate.
        """
        self.store, self.queue = GridStore(database, library.owner), database.queue
        self.open_reader = open_reader
        self._library, self._hidden, self._with_model = library, hidden, with_model

    def create(self, name: str, columns: Sequence[Column], scope: GridScope | None = None) -> Grid:
        """Create a grid; columns without an id get one. Raises GridRefused, NameRefused, NotFound."""
        return _grid(self.store.create(name, _stored(columns), scope))

    def change(
        self,
        grid_id: str,
        *,
        name: str | None = None,
        columns: Sequence[Column] | None = None,
        scope: GridScope | None = None,
    ) -> Grid:
        """Change what is given; a column with a known id keeps its cells, which may be outdated then."""
        stored = None if columns is None else _stored(columns)
        return _grid(self.store.change(grid_id, name=name, columns=stored, scope=scope))

    def remove(self, grid_id: str) -> None:
        """Delete a grid with its cells."""
        self.store.delete(grid_id)

    def get(self, grid_id: str) -> Grid:
        """Return a grid; raises NotFound."""
        return _grid(self.store.get(grid_id))

    def scope(self, grid_id: str) -> tuple[Chosen, ...]:
        """List what the rows are chosen by; empty for all documents."""
        return self.store.scope(grid_id)

    def documents(self, grid_id: str) -> list[DocumentRecord]:
        """List the documents that are the rows now, by name."""
        among = self.store.documents(grid_id)
        narrowed = DocumentFilter.of(self.store.scope(grid_id))
        if narrowed != DocumentFilter():
            among = frozenset(narrowed.passing(self._library.profiles().values(), among))
        hidden = self._hidden()
        there = [
            record
            for record in self._library.documents.list()
            if record.replaces is None and record.id not in hidden and (among is None or record.id in among)
        ]
        return sorted(there, key=lambda record: (fold(record.name), record.created, record.id))

    def rows(self, grid_id: str) -> list[DocumentRow]:
        """List the rows with their cells, those to be read included."""
        columns, fingerprint = self.get(grid_id).columns, self.open_reader([]).fingerprint
        kept = {(cell.document_id, cell.column_id): cell for cell in self.store.cells(grid_id)}
        return [
            DocumentRow(document, tuple(_cell(document, column, kept, fingerprint) for column in columns))
            for document in self.documents(grid_id)
        ]

    def row(self, grid_id: str, document_id: str) -> DocumentRow:
        """Return the row of a document; raises GridRefused for one that is none."""
        found = next((row for row in self.rows(grid_id) if row.document.id == document_id), None)
        if found is None:
            raise GridRefused(N_("The grid has no row {id}.", id=repr(document_id)))
        return found

    def due(self, grid_id: str) -> list[DocumentCell]:
        """List the cells that a run would read, row by row, of documents that can be read."""
        return [cell for row in self.rows(grid_id) if row.readable for cell in row.cells if cell.due]

    def estimate(self, grid_id: str) -> Estimate:
        """Return the size of a run, by what the latest cells took."""
        rows = self.rows(grid_id)
        due = sum(cell.due for row in rows if row.readable for cell in row.cells)
        read = [cell for row in rows for cell in row.cells if cell.found is not None and not cell.outdated]
        return estimated(due, read, with_model=self._with_model())

    def keep(
        self, grid_id: str, key: CellKey, result: CellResult, basis: str, took: tuple[float, int]
    ) -> bool:
        """Keep what was read for a cell in `took` seconds and requests; False where it is locked."""
        seconds, requests = took
        return self.store.keep(grid_id, key, _found(result, basis, seconds, requests))

    def ask_again(self, grid_id: str, key: CellKey) -> bool:
        """Note that a cell is to be read again; False where it is locked. Raises GridRefused and NotFound."""
        self.get(grid_id).column(key[1])
        return self.store.ask_again(grid_id, key)

    def correct(self, grid_id: str, key: CellKey, value: CellValue | None) -> CellRecord:
        """Keep a value given by hand beside what was found, and lock the cell; None takes both back."""
        self.get(grid_id).column(key[1])
        return self.store.correct(grid_id, key, value_to_json(value))

    def lock(self, grid_id: str, key: CellKey, *, locked: bool = True) -> CellRecord:
        """Lock a cell, so that no run reads it again, or unlock it."""
        self.get(grid_id).column(key[1])
        return self.store.lock(grid_id, key, locked=locked)

    def list(self) -> list[Grid]:
        """List the grids, the one changed last first."""
        return [_grid(record) for record in self.store.list()]


def estimated(due: int, read: Sequence[DocumentCell], *, with_model: bool = False) -> Estimate:
    """Return the size of a run of `due` cells, if they take what the cells read last took.

    >>> cell = DocumentCell("d", Column("c", "Fee"), seconds=0.5, requests=2)
    >>> estimated(10, [cell])
    Estimate(cells=10, requests=20, seconds=5.0)
    >>> estimated(10, [])
    Estimate(cells=10, requests=0, seconds=1.0)
    """
    latest = sorted(read, key=lambda cell: str(cell.updated))[-LATEST:]
    if not latest:
        requests = due if with_model else 0
        return Estimate(due, requests, due * (SECONDS_A_REQUEST if with_model else SECONDS_A_CELL))
    requests = round(due * sum(cell.requests for cell in latest) / len(latest))
    return Estimate(due, requests, due * sum(cell.seconds for cell in latest) / len(latest))


def basis_of(column: Column, sha256: str, fingerprint: str) -> str:
    """Return the hash of what a cell is read under: column, content of the document, reader.

    >>> fee = Column("c1", "Fee")
    >>> basis_of(fee, "a", "rules 1") == basis_of(replace(fee, id="c2"), "a", "rules 1")
    True
    """
    fields = {name: value for name, value in column.to_json().items() if name != "id"}
    named = json.dumps([fields, sha256, fingerprint], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _stored(columns: Sequence[Column]) -> list[Mapping[str, Any]]:
    if len(columns) > MAX_COLUMNS:
        raise GridRefused(N_("A grid has at most {count} columns.", count=MAX_COLUMNS))
    named = [column if column.id else replace(column, id=token_hex(4)) for column in columns]
    for column in named:
        column.check()
    if len({column.id for column in named}) < len(named):
        raise GridRefused(N_("Two columns have the same id. Leave the id of a new column out."))
    return [column.to_json() for column in named]


def _grid(record: GridRecord) -> Grid:
    columns = tuple(Column.from_json(fields) for fields in record.columns)
    running, note = record.run_begun is not None, record.run_note or ""
    return Grid(record.id, record.name, columns, record.created, record.updated, running, note)


def _cell(
    document: DocumentRecord, column: Column, kept: Mapping[CellKey, CellRecord], fingerprint: str
) -> DocumentCell:
    record = kept.get((document.id, column.id))
    if record is None:
        return DocumentCell(document.id, column)
    found = record.found
    return DocumentCell(
        document.id,
        column,
        None if found is None else _result(found),
        value_from_json(record.corrected),
        record.locked,
        found is None or found.basis != basis_of(column, document.sha256, fingerprint),
        record.updated,
        found.seconds if found else 0.0,
        found.requests if found else 0,
        record.again,
    )


def _result(found: FoundCell) -> CellResult:
    return CellResult(
        cast(CellState, found.state),
        value_from_json(found.value),
        tuple(CellQuote(q["start"], q["end"], q["text"], q["page"]) for q in found.quotes),
        found.read,
        found.total,
        found.calculated,
        found.note,
        found.only_searched,
    )


def _found(result: CellResult, basis: str, seconds: float, requests: int) -> FoundCell:
    quotes = [vars(quote) for quote in result.quotes]
    return FoundCell(
        result.state,
        value_to_json(result.value),
        quotes,
        result.read,
        result.total,
        result.calculated,
        result.note,
        basis,
        seconds,
        requests,
        result.only_searched,
    )
