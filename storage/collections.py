"""Collections of one owner: documents grouped under a name, and their chunk sizes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, update
from sqlalchemy.orm import Session

from storage import audit_log
from storage.database import OwnerStore
from storage.documents import due_to_be_split
from storage.errors import NameRefused, NotFound
from storage.i18n import N_
from storage.tables import (
    CollectionRow,
    Document,
    batches,
    ensure_user,
    fold,
    new_id,
    now,
    storable,
    tidy_name,
    to_record,
)

LONGEST_NAME = 120  # characters
LONGEST_INSTRUCTIONS = 1000  # characters

Splitting = Mapping[str, Any]
"""Chunking of documents: "size", "overlap" and "minimum", in letters, and "splitter" where it is not the
app's own; see rag/text/chunking.py."""


@dataclass(frozen=True)
class CollectionRecord:
    """A collection as lists show it, with its number of documents; ``splitting`` is None for the default."""

    id: str
    name: str
    documents: int
    splitting: Splitting | None
    created: datetime
    instructions: str = ""


class Collections(OwnerStore):
    """The collections of one owner. A document is in one collection or in none."""

    def create(self, name: str, splitting: Splitting | None = None) -> CollectionRecord:
        """Create a collection without documents; NameRefused for a name that is taken or empty."""
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            row = CollectionRow(id=new_id(), owner=self._owner, splitting=_as_dict(splitting), created=now())
            self._name(session, row, name)
            session.add(row)
            session.flush()
            return to_record(CollectionRecord, row, documents=0)

    def list(self) -> list[CollectionRecord]:
        """List the collections by name; a pending replacement does not count as another document."""
        with self._database.reading() as session:
            rows = session.execute(self._counted().order_by(CollectionRow.folded, CollectionRow.id))
            return [to_record(CollectionRecord, row, documents=count) for row, count in rows]

    def get(self, collection_id: str) -> CollectionRecord:
        """Return one collection; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            found = _first(session, self._counted().where(CollectionRow.id == collection_id))
            if found is None:
                raise NotFound(
                    N_("There is no collection {collection_id}.", collection_id=repr(collection_id))
                )
            return found

    def named(self, name: str) -> CollectionRecord | None:
        """Find a collection by its name, whatever its case and width."""
        with self._database.reading() as session:
            return _first(
                session, self._counted().where(CollectionRow.folded == fold(tidy_name(name, LONGEST_NAME)))
            )

    def rename(self, collection_id: str, name: str) -> None:
        """Give a collection another name; NameRefused for one that is taken or empty."""
        with self._database.writing(self._owner) as session:
            self._name(session, self._own(session, CollectionRow, collection_id), name)

    def delete(self, collection_id: str) -> None:
        """Delete a collection; its documents stay, and are in none."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, CollectionRow, collection_id)
            inside = update(Document).where(Document.collection_id == row.id)
            session.execute(inside.values(collection_id=None))
            session.delete(row)
            audit_log.note(session, self._owner, "collection_removed", collection=collection_id)

    def put(self, document_ids: Iterable[str], collection_id: str | None) -> int:
        """Move documents to a collection, or out of any; return the number of those moved.

        Unknown ids are ignored: a document may have been deleted meanwhile.
        """
        moved = 0
        with self._database.writing(self._owner) as session:
            to = None if collection_id is None else self._own(session, CollectionRow, collection_id).id
            elsewhere = func.coalesce(Document.collection_id, "") != (to or "")
            for ids in batches(list(dict.fromkeys(document_ids))):
                either = Document.id.in_(ids) | Document.replaces.in_(ids)
                mine = select(Document.id).where(Document.owner == self._owner, either, elsewhere)
                found = session.scalars(mine).all()
                session.execute(update(Document).where(Document.id.in_(found)).values(collection_id=to))
                moved += len(set(found) & set(ids))
        return moved

    def documents_of(self, collection_ids: Collection[str]) -> set[str]:
        """Return the ids of all documents of these collections, pending replacements included."""
        mine = select(Document.id).where(Document.owner == self._owner)
        with self._database.reading() as session:
            return set(session.scalars(mine.where(Document.collection_id.in_(collection_ids))))

    def splitting_of(self, document_id: str) -> Splitting | None:
        """Return the chunking that a document should have: None for the default."""
        chosen = select(CollectionRow.splitting).join(Document, Document.collection_id == CollectionRow.id)
        with self._database.reading() as session:
            mine = chosen.where(Document.owner == self._owner, Document.id == document_id)
            return session.scalar(mine)

    def set_splitting(self, collection_id: str, splitting: Splitting | None) -> None:
        """Set the chunking of a collection's documents, None for the default; see `due`."""
        with self._database.writing(self._owner) as session:
            self._own(session, CollectionRow, collection_id).splitting = _as_dict(splitting)

    def instruct(self, collection_id: str, instructions: str) -> None:
        """Set how answers from a collection's documents are written, cut to LONGEST_INSTRUCTIONS."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, CollectionRow, collection_id)
            row.instructions = storable(instructions.strip()[:LONGEST_INSTRUCTIONS])

    def instructions_for(self, document_ids: Collection[str]) -> Sequence[tuple[str, str]]:
        """List the name and the instructions of these documents' collections that have some, by name."""
        chosen = (
            select(CollectionRow.name, CollectionRow.instructions, CollectionRow.folded)
            .join(Document, Document.collection_id == CollectionRow.id)
            .where(Document.owner == self._owner, Document.id.in_(document_ids))
            .where(CollectionRow.instructions != "")
        )
        with self._database.reading() as session:
            rows = session.execute(chosen.distinct().order_by(CollectionRow.folded, CollectionRow.name))
            return [(name, instructions) for name, instructions, _ in rows]

    def due(self) -> Sequence[str]:
        """List the ready documents whose chunking is not that of their collection, oldest first."""
        with self._database.reading() as session:
            return due_to_be_split(session, self._owner)

    def _counted(self) -> Select[CollectionRow, int]:
        inside = Document.collection_id == CollectionRow.id, Document.replaces.is_(None)
        count = select(func.count()).select_from(Document).where(*inside).scalar_subquery()
        return select(CollectionRow, count).where(CollectionRow.owner == self._owner)

    def _name(self, session: Session, row: CollectionRow, name: str) -> None:
        tidy = tidy_name(name, LONGEST_NAME)
        if not tidy:
            raise NameRefused(N_("A collection needs a name. Type one."))
        taken = select(CollectionRow.name).where(
            CollectionRow.owner == self._owner, CollectionRow.folded == fold(tidy), CollectionRow.id != row.id
        )
        with session.no_autoflush:
            other = session.scalar(taken)
        if other is not None:
            raise NameRefused(
                N_("There is a collection called {other} already. Choose another name.", other=other)
            )
        row.name, row.folded = tidy, fold(tidy)


def _first(session: Session, counted: Select[CollectionRow, int]) -> CollectionRecord | None:
    found = session.execute(counted).first()
    return None if found is None else to_record(CollectionRecord, found[0], documents=found[1])


def _as_dict(splitting: Splitting | None) -> dict[str, Any] | None:
    return None if splitting is None else dict(splitting)
