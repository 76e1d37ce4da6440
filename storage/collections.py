"""The collections of one owner: documents grouped under a name, and how those of each are split."""

import secrets
import unicodedata
from collections.abc import Collection as Several
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Select, func, select, update
from sqlalchemy.orm import Session

from storage.database import Database
from storage.documents import edition
from storage.errors import NameRefused, NotFound
from storage.messages import fold
from storage.tables import CollectionRow, Document, ensure_user, storable

LONGEST_NAME = 120  # characters
_BATCH = 500  # ids in one statement

Splitting = Mapping[str, int]
"""How documents are split: "size", "overlap" and "minimum", in letters; see rag/splitters.py."""


@dataclass(frozen=True)
class CollectionRecord:
    """A collection as lists show it; ``documents`` is how many it has, ``splitting`` None the usual."""

    id: str
    name: str
    documents: int
    splitting: Splitting | None
    created: datetime


class Collections:
    """What one owner may see and change; anyone else's id is an id that does not exist.

    A document is in one collection or in none.
    """

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def create(self, name: str, splitting: Splitting | None = None) -> CollectionRecord:
        """Begin a collection without documents; NameRefused for a name that is taken or empty."""
        with self._database.writing() as session:
            ensure_user(session, self._owner)
            row = CollectionRow(
                id=secrets.token_hex(8), owner=self._owner, splitting=_kept(splitting), created=_now()
            )
            self._name(session, row, name)
            session.add(row)
            session.flush()
            return _record(row, 0)

    def list(self) -> list[CollectionRecord]:
        """Every collection by name; a replacement on its way does not count as another document."""
        with self._database.reading() as session:
            rows = session.execute(self._counted().order_by(CollectionRow.folded, CollectionRow.id))
            return [_record(row, documents) for row, documents in rows]

    def get(self, collection_id: str) -> CollectionRecord:
        """Read one collection; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            found = _first(session, self._counted().where(CollectionRow.id == collection_id))
            if found is None:
                raise _unknown(collection_id)
            return found

    def named(self, name: str) -> CollectionRecord | None:
        """Find a collection by its name, as names are told apart: case and width do not matter."""
        with self._database.reading() as session:
            return _first(session, self._counted().where(CollectionRow.folded == fold(_tidy(name))))

    def rename(self, collection_id: str, name: str) -> None:
        """Give a collection another name; NameRefused for one that is taken or empty."""
        with self._database.writing() as session:
            self._name(session, self._row(session, collection_id), name)

    def delete(self, collection_id: str) -> None:
        """Remove a collection; its documents stay, and are in none."""
        with self._database.writing() as session:
            row = self._row(session, collection_id)
            inside = update(Document).where(Document.collection_id == row.id)
            session.execute(inside.values(collection_id=None))
            session.delete(row)

    def put(self, document_ids: Iterable[str], collection_id: str | None) -> int:
        """Have documents be in a collection and in no other, or in none; return how many are moved by it.

        Ids that this owner does not have are passed over: a document may have been deleted meanwhile.
        """
        moved = 0
        with self._database.writing() as session:
            to = None if collection_id is None else self._row(session, collection_id).id
            elsewhere = func.coalesce(Document.collection_id, "") != (to or "")
            wanted = list(dict.fromkeys(document_ids))
            for start in range(0, len(wanted), _BATCH):
                ids = wanted[start : start + _BATCH]
                either = Document.id.in_(ids) | Document.replaces.in_(ids)
                mine = select(Document.id).where(Document.owner == self._owner, either, elsewhere)
                found = session.scalars(mine).all()
                session.execute(update(Document).where(Document.id.in_(found)).values(collection_id=to))
                moved += len(set(found) & set(ids))
        return moved

    def documents_of(self, collection_ids: Several[str]) -> set[str]:
        """Tell the ids of all documents of these collections, replacements on their way among them."""
        mine = select(Document.id).where(Document.owner == self._owner)
        with self._database.reading() as session:
            return set(session.scalars(mine.where(Document.collection_id.in_(collection_ids))))

    def splitting_of(self, document_id: str) -> Splitting | None:
        """Tell how a document shall be split: None in the usual way, as one that is in no collection."""
        chosen = select(CollectionRow.splitting).join(Document, Document.collection_id == CollectionRow.id)
        with self._database.reading() as session:
            mine = chosen.where(Document.owner == self._owner, Document.id == document_id)
            return session.scalar(mine)

    def set_splitting(self, collection_id: str, splitting: Splitting | None) -> None:
        """Have a collection's documents be split in this way, None the usual; `due` tells which are not."""
        with self._database.writing() as session:
            self._row(session, collection_id).splitting = _kept(splitting)

    def due(self) -> Sequence[str]:
        """List the ready documents that are split in another way than they shall be, the oldest first."""
        ready = (
            select(Document.id, Document.edition, CollectionRow.splitting)
            .outerjoin(CollectionRow, CollectionRow.id == Document.collection_id)
            .where(Document.owner == self._owner, Document.state == "ready")
        )
        with self._database.reading() as session:
            rows = session.execute(ready.order_by(Document.created, Document.id))
            return [id_ for id_, split, wanted in rows if split != edition(wanted)]

    def _counted(self) -> Select[CollectionRow, int]:
        inside = Document.collection_id == CollectionRow.id, Document.replaces.is_(None)
        count = select(func.count()).select_from(Document).where(*inside).scalar_subquery()
        return select(CollectionRow, count).where(CollectionRow.owner == self._owner)

    def _row(self, session: Session, collection_id: str) -> CollectionRow:
        mine = select(CollectionRow).where(
            CollectionRow.owner == self._owner, CollectionRow.id == collection_id
        )
        row = session.scalar(mine)
        if row is None:
            raise _unknown(collection_id)
        return row

    def _name(self, session: Session, row: CollectionRow, name: str) -> None:
        """Name a row, unless another one of this owner has that name."""
        tidy = _tidy(name)
        if not tidy:
            raise NameRefused("A collection needs a name. Type one.")
        taken = select(CollectionRow.name).where(
            CollectionRow.owner == self._owner, CollectionRow.folded == fold(tidy), CollectionRow.id != row.id
        )
        with session.no_autoflush:
            other = session.scalar(taken)
        if other is not None:
            raise NameRefused(f"There is a collection called {other} already. Choose another name.")
        row.name, row.folded = tidy, fold(tidy)


def _first(session: Session, counted: Select[CollectionRow, int]) -> CollectionRecord | None:
    return next((_record(row, documents) for row, documents in session.execute(counted)), None)


def _unknown(collection_id: str) -> NotFound:
    return NotFound(f"There is no collection {collection_id!r}.")


def _tidy(name: str) -> str:
    """Return a name on one line: ``"  HR   2024 " -> "HR 2024"``."""
    return " ".join(storable(unicodedata.normalize("NFC", name)).split())[:LONGEST_NAME].strip()


def _kept(splitting: Splitting | None) -> dict[str, int] | None:
    return None if splitting is None else dict(splitting)


def _now() -> datetime:
    return datetime.now(UTC)


def _record(row: CollectionRow, documents: int) -> CollectionRecord:
    return CollectionRecord(
        id=row.id, name=row.name, documents=documents, splitting=row.splitting, created=row.created
    )
