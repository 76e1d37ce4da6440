"""Tags of one owner: words given to documents, several to each, to find and to choose them by."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import Session

from storage.database import OwnerStore
from storage.errors import NameRefused
from storage.i18n import N_
from storage.tables import (
    Document,
    DocumentTag,
    TagRow,
    batches,
    ensure_user,
    fold,
    new_id,
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
