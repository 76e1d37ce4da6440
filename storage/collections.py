"""Collections and tags of one owner: documents under a name, with chunk sizes, or under words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.orm import Session

from storage.database import OwnerStore
from storage.documents import due_to_be_split
from storage.errors import NameRefused, NotFound
from storage.events import add_audit_entry
from storage.i18n import N_
from storage.tables import (
    CollectionRow,
    Document,
    DocumentTag,
    TagRow,
    batches,
    ensure_user,
    fold,
    new_id,
    now,
    storable,
    tidy_name,
    to_record,
)

LONGEST_TAG = 40  # characters


@dataclass(frozen=True)
class TagRecord:
    """A tag with its number of documents."""

    id: str
    name: str
    documents: int


class Tags(OwnerStore):
    """The tags of one owner. A tag exists from its first document on, until it is taken from its last."""

    def list(self) -> list[TagRecord]:
        """List the tags that documents have, by name; a pending replacement is not another document."""
        counted = (
            select(TagRow, func.count())
            .join(DocumentTag, DocumentTag.tag_id == TagRow.id)
            .join(Document, Document.id == DocumentTag.document_id)
            .where(TagRow.owner == self._owner, Document.replaces.is_(None))
            .group_by(TagRow.id)
            .order_by(TagRow.folded, TagRow.id)
        )
        with self._database.reading() as session:
            return [to_record(TagRecord, row, documents=count) for row, count in session.execute(counted)]

    def of_documents(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the tags of each document that has any, by its id."""
        named = (
            select(DocumentTag.document_id, TagRow.name)
            .join(TagRow, TagRow.id == DocumentTag.tag_id)
            .where(TagRow.owner == self._owner)
            .order_by(TagRow.folded)
        )
        found: dict[str, list[str]] = {}
        with self._database.reading() as session:
            for document_id, name in session.execute(named):
                found.setdefault(document_id, []).append(name)
        return found

    def documents_of(self, tag_ids: Collection[str]) -> set[str]:
        """Return the ids of the documents that have one of these tags."""
        tagged = (
            select(DocumentTag.document_id)
            .join(TagRow, TagRow.id == DocumentTag.tag_id)
            .where(TagRow.owner == self._owner, TagRow.id.in_(tag_ids))
        )
        with self._database.reading() as session:
            return set(session.scalars(tagged))

    def add(self, document_ids: Iterable[str], name: str) -> int:
        """Give a tag to documents, made where there is none of the name; return how many had it not.

        Unknown ids are ignored: a document may have been deleted meanwhile. NameRefused for an empty name.
        """
        tidy, added = tidy_name(name, LONGEST_TAG), 0
        if not tidy:
            raise NameRefused(N_("A tag needs a name. Type one."))
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            mine = self._among(session, document_ids)
            if not mine:
                return 0
            tag_id = self._find_or_make(session, tidy).id
            for document_id in mine:
                if session.get(DocumentTag, (document_id, tag_id)) is None:
                    session.add(DocumentTag(document_id=document_id, tag_id=tag_id))
                    added += 1
        return added

    def remove(self, document_ids: Iterable[str], name: str) -> int:
        """Take a tag from documents; return how many had it. A tag without documents is deleted."""
        with self._database.writing(self._owner) as session:
            row = session.scalar(self._called(tidy_name(name, LONGEST_TAG)))
            if row is None:
                return 0
            mine, removed = self._among(session, document_ids), 0
            for ids in batches(mine):
                gone = delete(DocumentTag).where(DocumentTag.tag_id == row.id)
                had = gone.where(DocumentTag.document_id.in_(ids)).returning(DocumentTag.document_id)
                removed += len(session.scalars(had).all())
            if (
                session.scalar(select(DocumentTag.tag_id).where(DocumentTag.tag_id == row.id).limit(1))
                is None
            ):
                session.delete(row)
            return removed

    def _find_or_make(self, session: Session, name: str) -> TagRow:
        row = session.scalar(self._called(name))
        if row is None:
            row = TagRow(id=new_id(), owner=self._owner, name=name, folded=fold(name))
            session.add(row)
            session.flush()
        return row

    def _called(self, name: str) -> Select[TagRow]:
        return select(TagRow).where(TagRow.owner == self._owner, TagRow.folded == fold(name))

    def _among(self, session: Session, document_ids: Iterable[str]) -> Sequence[str]:
        found: list[str] = []
        for ids in batches(list(dict.fromkeys(document_ids))):
            mine = select(Document.id).where(Document.owner == self._owner, Document.id.in_(ids))
            found += session.scalars(mine)
        return found


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
            add_audit_entry(session, self._owner, "collection_removed", collection=collection_id)

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
