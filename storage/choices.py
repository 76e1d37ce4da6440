"""Search scope of an owner's conversations: the chosen collections, tags and documents, or everything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import ColumnElement, bindparam, delete, select
from sqlalchemy.orm import Session

from storage.database import OwnerStore
from storage.tables import (
    ChoiceRow,
    CollectionRow,
    ConversationRow,
    Document,
    DocumentTag,
    GridChoice,
    TagRow,
    batches,
    fold,
    now,
)

Kind = Literal["collection", "document", "tag", "type", "since", "until"]
FILTERS: tuple[Kind, ...] = ("type", "since", "until")
"""Choices that name no row: a file type, ".pdf", and the first and last day, ISO, of documents' dates."""
Filter = tuple[Kind, str]
_CHOSEN = select(ChoiceRow).where(ChoiceRow.conversation_id == bindparam("id"))


@dataclass(frozen=True)
class Chosen:
    """A collection, a tag, a document or a filter that a conversation searches by, by its present name.

    A deleted one is not ``there``, and has the name that it had when it was chosen. A filter's id is
    its value.
    """

    kind: Kind
    id: str
    name: str
    there: bool = True


class ScopedStore(OwnerStore):
    """Base of the stores whose rows are scopes: chosen collections, tags, documents and filters."""

    def _named(
        self,
        session: Session,
        collections: Iterable[str],
        documents: Iterable[str],
        tags: Iterable[str] = (),
    ) -> list[tuple[Kind, str, str]]:
        """Return kind, id and name of choices; NotFound for what this owner does not have.

        A pending replacement counts as the document it replaces, see `Documents.promote`.
        """
        wanted: list[tuple[Kind, str, str]] = []
        for id_ in collections:
            collection = self._own(session, CollectionRow, id_)
            wanted.append(("collection", collection.id, collection.name))
        for id_ in documents:
            document = self._own(session, Document, id_)
            wanted.append(("document", document.replaces or document.id, document.name))
        for id_ in tags:
            tag = self._own(session, TagRow, id_)
            wanted.append(("tag", tag.id, tag.name))
        return wanted

    def _among(
        self, session: Session, table: type[ChoiceRow | GridChoice], scope: ColumnElement[bool]
    ) -> frozenset[str] | None:
        """Return the ids of the documents chosen by the rows of a scope; None where none names any."""
        kinds = set(session.scalars(select(table.kind).where(scope).distinct()))
        if kinds <= set(FILTERS):
            return None
        mine = select(Document.id).where(Document.owner == self._owner)
        itself = select(table.chosen_id).where(scope, table.kind == "document")
        inside = select(table.chosen_id).where(scope, table.kind == "collection")
        named = select(table.chosen_id).where(scope, table.kind == "tag")
        tagged = select(DocumentTag.document_id).where(DocumentTag.tag_id.in_(named))
        either = Document.id.in_(itself) | Document.collection_id.in_(inside) | Document.id.in_(tagged)
        return frozenset(session.scalars(mine.where(either)))

    def _present(self, session: Session, rows: Sequence[ChoiceRow | GridChoice]) -> tuple[Chosen, ...]:
        """Return rows of a scope by their present names, collections first."""
        there = self._names(session, [row.chosen_id for row in rows])
        return _sorted(_chosen(row, there.get((cast(Kind, row.kind), row.chosen_id))) for row in rows)

    def _names(self, session: Session, ids: Sequence[str]) -> dict[tuple[Kind, str], str]:
        found: dict[tuple[Kind, str], str] = {}
        tables: list[tuple[Kind, type[CollectionRow | Document | TagRow]]] = [
            ("collection", CollectionRow),
            ("document", Document),
            ("tag", TagRow),
        ]
        for kind, table in tables:
            for batch in batches(ids):
                named = select(table.id, table.name).where(table.id.in_(batch))
                mine = session.execute(named.where(table.owner == self._owner))
                found |= {(kind, id_): name for id_, name in mine}
        return found


class Choices(ScopedStore):
    """Search scope of one owner's conversations.

    Where nothing is chosen everything is searched. A deleted document stays chosen, so that a scope never
    becomes everything by itself.
    """

    def of(self, conversation_id: str) -> tuple[Chosen, ...]:
        """List the choices of a conversation, collections first, by name; empty for everything."""
        with self._database.reading() as session:
            return self._present(
                session, _rows(session, self._own(session, ConversationRow, conversation_id).id)
            )

    def would_be(
        self,
        collections: Iterable[str],
        documents: Iterable[str],
        tags: Iterable[str] = (),
        filters: Iterable[Filter] = (),
    ) -> tuple[Chosen, ...]:
        """List these as `of` does, for a conversation that has not begun; unknown ids are left out."""
        wanted = {
            *(("collection", id_) for id_ in collections),
            *(("document", id_) for id_ in documents),
            *(("tag", id_) for id_ in tags),
        }
        with self._database.reading() as session:
            there = self._names(session, [id_ for _, id_ in wanted])
            named = [Chosen(kind, id_, name) for (kind, id_), name in there.items() if (kind, id_) in wanted]
            return _sorted([*named, *(Chosen(kind, value, value) for kind, value in filters)])

    def choose(
        self,
        conversation_id: str,
        collections: Iterable[str] = (),
        documents: Iterable[str] = (),
        tags: Iterable[str] = (),
        filters: Iterable[Filter] = (),
    ) -> None:
        """Set the scope of a conversation to these; without any, to all documents.

        Raises NotFound for a collection, a document or a tag that this owner does not have.
        """
        with self._database.writing(self._owner) as session:
            row = self._own(session, ConversationRow, conversation_id)
            session.execute(delete(ChoiceRow).where(ChoiceRow.conversation_id == row.id))
            self._add(session, row, collections, documents, tags)
            for kind, value in filters:
                session.merge(ChoiceRow(conversation_id=row.id, kind=kind, chosen_id=value, name=value))

    def drop(self, conversation_id: str, chosen: Chosen) -> None:
        """Take one choice, there or deleted, out of a conversation's scope; without any it is everything."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, ConversationRow, conversation_id)
            one = ChoiceRow.kind == chosen.kind, ChoiceRow.chosen_id == chosen.id
            session.execute(delete(ChoiceRow).where(ChoiceRow.conversation_id == row.id, *one))
            row.updated = now()

    def add(self, conversation_id: str, documents: Iterable[str]) -> None:
        """Add documents to the scope of a conversation, unless it searches all documents or all that pass."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, ConversationRow, conversation_id)
            if any(one.kind not in FILTERS for one in _rows(session, row.id)):
                self._add(session, row, (), documents)

    def documents(self, conversation_id: str) -> frozenset[str] | None:
        """Return the ids of the documents that a conversation searches: None for all, empty for none left.

        Its filters are left to those who know the documents' dates.
        """
        with self._database.reading() as session:
            self._own(session, ConversationRow, conversation_id)
            return self._among(session, ChoiceRow, ChoiceRow.conversation_id == conversation_id)

    def _add(
        self,
        session: Session,
        conversation: ConversationRow,
        collections: Iterable[str],
        documents: Iterable[str],
        tags: Iterable[str] = (),
    ) -> None:
        """Add choices."""
        for kind, id_, name in self._named(session, collections, documents, tags):
            session.merge(ChoiceRow(conversation_id=conversation.id, kind=kind, chosen_id=id_, name=name))
        conversation.updated = now()


def _rows(session: Session, conversation_id: str) -> list[ChoiceRow]:
    return list(session.scalars(_CHOSEN, {"id": conversation_id}))


def _sorted(chosen: Iterable[Chosen]) -> tuple[Chosen, ...]:
    return tuple(sorted(chosen, key=lambda one: (one.kind, fold(one.name), one.id)))


def _chosen(row: ChoiceRow | GridChoice, name: str | None) -> Chosen:
    there = name is not None or row.kind in FILTERS
    return Chosen(cast(Kind, row.kind), row.chosen_id, name or row.name, there=there)
