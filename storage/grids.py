"""Grids of one owner: their columns, their scope, and the cells that were read or corrected by hand.

A cell is one row, written in one commit. The wish to run a grid is in the ledger from its beginning to its
end, so that a server that was killed in between goes on with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from storage.choices import Chosen, Filter, ScopedStore
from storage.errors import NameRefused, NotFound
from storage.events import add_audit_entry
from storage.i18n import N_
from storage.tables import (
    Document,
    GridCell,
    GridChoice,
    GridRow,
    ensure_user,
    new_id,
    now,
    storable,
    tidy_name,
    to_record,
)

MOST_GRIDS = 200  # of one owner
MAX_GRID_NAME = 120  # characters
CellKey = tuple[str, str]  # ids of document and column
_AGAIN = "again:"
"""Mark before the basis of a cell that is to be read again."""


@dataclass(frozen=True)
class GridRecord:
    """A grid; `run_begun` is set while it is to run, `run_note` says why the last run ended early."""

    id: str
    name: str
    columns: Sequence[Mapping[str, Any]]
    created: datetime
    updated: datetime
    run_begun: datetime | None = None
    run_note: str | None = None


@dataclass(frozen=True)
class FoundCell:
    """Result of reading a cell; `basis` names what it was read under.

    `only_searched` is true where no language model read the document in which nothing was found.
    """

    state: str
    value: Mapping[str, Any] | None
    quotes: Sequence[Mapping[str, Any]]
    read: int
    total: int
    calculated: bool
    note: str
    basis: str
    seconds: float = 0.0
    requests: int = 0
    only_searched: bool = False


@dataclass(frozen=True)
class CellRecord:
    """A cell: what was `found`, None before its first reading, and a value `corrected` by hand.

    It is to be read `again` where someone asked for it since it was read.
    """

    document_id: str
    column_id: str
    found: FoundCell | None
    corrected: Mapping[str, Any] | None
    locked: bool
    updated: datetime
    again: bool = False


@dataclass(frozen=True)
class GridScope:
    """Choice of documents as ids of collections, documents and tags, and filters; empty for everything."""

    collections: Sequence[str] = ()
    documents: Sequence[str] = ()
    tags: Sequence[str] = ()
    filters: Sequence[Filter] = ()


class GridStore(ScopedStore):
    """The grids of one owner."""

    def create(
        self, name: str, columns: Sequence[Mapping[str, Any]], scope: GridScope | None = None
    ) -> GridRecord:
        """Create a grid; NameRefused for one too many or no name, NotFound for a scope that is not there."""
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            counting = select(func.count()).where(GridRow.owner == storable(self._owner))
            if (session.scalar(counting) or 0) >= MOST_GRIDS:
                raise NameRefused(N_("There are {count} grids already. Delete one first.", count=MOST_GRIDS))
            row = GridRow(id=new_id(), owner=self._owner, name=_named(name), columns=list(columns))
            row.created = row.updated = now()
            session.add(row)
            session.flush()
            self._put_scope(session, row, scope or GridScope())
            return _grid(row)

    def get(self, grid_id: str) -> GridRecord:
        """Return a grid; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return _grid(self._own(session, GridRow, grid_id))

    def change(
        self,
        grid_id: str,
        *,
        name: str | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        scope: GridScope | None = None,
    ) -> GridRecord:
        """Change what is given; cells of columns that are gone go, too."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, GridRow, grid_id)
            if name is not None:
                row.name = _named(name)
            if columns is not None:
                row.columns = list(columns)
                kept = [str(column["id"]) for column in columns]
                gone = GridCell.grid_id == row.id, GridCell.column_id.not_in(kept)
                session.execute(delete(GridCell).where(*gone))
            if scope is not None:
                self._put_scope(session, row, scope)
            row.updated = now()
            return _grid(row)

    def delete(self, grid_id: str) -> None:
        """Delete a grid with its cells."""
        with self._database.writing(self._owner) as session:
            session.delete(self._own(session, GridRow, grid_id))
            add_audit_entry(session, self._owner, "grid_removed", grid=grid_id)

    def scope(self, grid_id: str) -> tuple[Chosen, ...]:
        """List what a grid's rows are chosen by; empty for all documents."""
        with self._database.reading() as session:
            row = self._own(session, GridRow, grid_id)
            chosen = select(GridChoice).where(GridChoice.grid_id == row.id)
            return self._present(session, session.scalars(chosen).all())

    def documents(self, grid_id: str) -> frozenset[str] | None:
        """Return the ids of a grid's documents, None for all; its filters are left to the caller."""
        with self._database.reading() as session:
            self._own(session, GridRow, grid_id)
            return self._among(session, GridChoice, GridChoice.grid_id == grid_id)

    def cells(self, grid_id: str) -> list[CellRecord]:
        """List the cells of a grid that were read, corrected or locked."""
        with self._database.reading() as session:
            row = self._own(session, GridRow, grid_id)
            mine = select(GridCell).where(GridCell.grid_id == row.id)
            ordered = mine.order_by(GridCell.document_id, GridCell.column_id)
            return [_cell(one) for one in session.scalars(ordered)]

    def cell(self, grid_id: str, key: CellKey) -> CellRecord:
        """Return one cell; NotFound where nothing was read or typed yet."""
        with self._database.reading() as session:
            row = self._own(session, GridRow, grid_id)
            found = session.get(GridCell, (row.id, *key))
            if found is None:
                raise NotFound(N_("There is no {noun} {id}.", noun="cell", id=repr("/".join(key))))
            return _cell(found)

    def keep(self, grid_id: str, key: CellKey, found: FoundCell) -> bool:
        """Keep what was read for a cell, in place of what was there; False where the cell is locked.

        NotFound where the grid, the document or the column was deleted meanwhile.
        """
        with self._database.writing(self._owner) as session:
            cell = self._cell_of(session, grid_id, key)
            if cell.locked:
                return False
            cell.state, cell.value, cell.quotes = found.state, _plain(found.value), list(found.quotes)
            cell.read, cell.total, cell.calculated = found.read, found.total, found.calculated
            cell.only_searched, cell.note, cell.basis = found.only_searched, found.note, found.basis
            cell.seconds, cell.requests, cell.updated = found.seconds, found.requests, now()
            return True

    def correct(self, grid_id: str, key: CellKey, value: Mapping[str, Any] | None) -> CellRecord:
        """Keep a value given by hand beside what was found, and lock the cell; None takes both back."""
        with self._database.writing(self._owner) as session:
            cell = self._cell_of(session, grid_id, key)
            cell.corrected, cell.locked, cell.updated = _plain(value), value is not None, now()
            session.flush()
            return _cell(cell)

    def lock(self, grid_id: str, key: CellKey, *, locked: bool) -> CellRecord:
        """Lock a cell, so that no run reads it again, or unlock it."""
        with self._database.writing(self._owner) as session:
            cell = self._cell_of(session, grid_id, key)
            cell.locked, cell.updated = locked, now()
            session.flush()
            return _cell(cell)

    def ask_again(self, grid_id: str, key: CellKey) -> bool:
        """Note that a cell is to be read again, until it is or `forget_again`; False where it is locked."""
        with self._database.writing(self._owner) as session:
            cell = self._cell_of(session, grid_id, key)
            if not cell.locked and not cell.basis.startswith(_AGAIN):
                cell.basis, cell.updated = _AGAIN + cell.basis, now()
            return not cell.locked

    def forget_again(self, grid_id: str) -> None:
        """Leave the cells that were to be read again as they are."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, GridRow, grid_id)
            asked = GridCell.grid_id == row.id, GridCell.basis.startswith(_AGAIN)
            for cell in session.scalars(select(GridCell).where(*asked)):
                cell.basis = cell.basis.removeprefix(_AGAIN)

    def begin_run(self, grid_id: str) -> None:
        """Note that a grid is to run, until `end_run`."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, GridRow, grid_id)
            row.run_begun, row.run_note = row.run_begun or now(), None

    def end_run(self, grid_id: str, note: str | None = None) -> None:
        """Note that a run has ended; `note` says why where cells are left."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, GridRow, grid_id)
            row.run_begun, row.run_note = None, note

    def to_run(self) -> list[str]:
        """List the ids of the grids that are to run, the first begun first."""
        mine = select(GridRow.id).where(GridRow.owner == self._owner, GridRow.run_begun.is_not(None))
        with self._database.reading() as session:
            return list(session.scalars(mine.order_by(GridRow.run_begun, GridRow.id)))

    def to_read_again(self) -> list[str]:
        """List the ids of the grids with cells that are to be read again."""
        asked = select(GridCell.grid_id).where(GridCell.basis.startswith(_AGAIN))
        mine = select(GridRow.id).where(GridRow.owner == self._owner, GridRow.id.in_(asked))
        with self._database.reading() as session:
            return list(session.scalars(mine.order_by(GridRow.id)))

    def list(self) -> list[GridRecord]:
        """List the grids, the one changed last first."""
        mine = select(GridRow).where(GridRow.owner == self._owner)
        with self._database.reading() as session:
            return [_grid(row) for row in session.scalars(mine.order_by(GridRow.updated.desc(), GridRow.id))]

    def _cell_of(self, session: Session, grid_id: str, key: CellKey) -> GridCell:
        """Return the row of a cell, made where there is none."""
        grid, document = self._own(session, GridRow, grid_id), self._own(session, Document, key[0])
        if not any(column.get("id") == key[1] for column in grid.columns):
            raise NotFound(N_("There is no {noun} {id}.", noun="column", id=repr(key[1])))
        cell = session.get(GridCell, (grid.id, document.id, key[1]))
        if cell is None:
            cell = GridCell(grid_id=grid.id, document_id=document.id, column_id=key[1], quotes=[], note="")
            cell.read = cell.total = cell.requests = 0
            cell.seconds, cell.calculated, cell.locked, cell.basis = 0.0, False, False, ""
            session.add(cell)
        return cell

    def _put_scope(self, session: Session, grid: GridRow, scope: GridScope) -> None:
        session.execute(delete(GridChoice).where(GridChoice.grid_id == grid.id))
        named = self._named(session, scope.collections, scope.documents, scope.tags)
        for kind, id_, name in (*named, *((kind, value, value) for kind, value in scope.filters)):
            session.merge(GridChoice(grid_id=grid.id, kind=kind, chosen_id=id_, name=name))


def _named(name: str) -> str:
    tidy = tidy_name(name, MAX_GRID_NAME)
    if not tidy:
        raise NameRefused(N_("A grid needs a name."))
    return tidy


def _plain(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def _grid(row: GridRow) -> GridRecord:
    return to_record(GridRecord, row, columns=tuple(row.columns))


def _cell(row: GridCell) -> CellRecord:
    basis, again = row.basis.removeprefix(_AGAIN), row.basis.startswith(_AGAIN)
    found = None if row.state is None else to_record(FoundCell, row, quotes=tuple(row.quotes), basis=basis)
    return to_record(CellRecord, row, found=found, again=again)
