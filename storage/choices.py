"""What the conversations of one owner search: the collections and documents chosen for each, or all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.orm import Session

from storage import messages, tables
from storage.database import Database
from storage.errors import NotFound
from storage.tables import ChoiceRow, CollectionRow, Document

Kind = Literal["collection", "document"]
_BATCH = 500  # ids in one statement
_CONVERSATION = select(tables.ConversationRow).where(
    tables.ConversationRow.owner == bindparam("owner"), tables.ConversationRow.id == bindparam("id")
)
_CHOSEN = select(ChoiceRow).where(ChoiceRow.conversation_id == bindparam("id"))


@dataclass(frozen=True)
class Chosen:
    """A collection or a document that a conversation searches, by its present name.

    One that was deleted is not ``there``, and goes by the name that it had when it was chosen.
    """

    kind: Kind
    id: str
    name: str
    there: bool = True


class Choices:
    """What one owner's conversations search; anyone else's id is an id that does not exist.

    Where nothing is chosen everything is searched. What was deleted stays chosen, so that this never comes
    about by itself.
    """

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def of(self, conversation_id: str) -> tuple[Chosen, ...]:
        """Tell what is chosen for a conversation, collections first, by name; nothing where that is all."""
        with self._database.reading() as session:
            rows = _rows(session, self._conversation(session, conversation_id).id)
            there = self._names(session, [row.chosen_id for row in rows])
            return _sorted(_chosen(row, there.get((cast(Kind, row.kind), row.chosen_id))) for row in rows)

    def would_be(self, collections: Iterable[str], documents: Iterable[str]) -> tuple[Chosen, ...]:
        """Tell of these as `of` does, for a conversation that has not begun; those not there are left out."""
        wanted = {*(("collection", id_) for id_ in collections), *(("document", id_) for id_ in documents)}
        with self._database.reading() as session:
            there = self._names(session, [id_ for _, id_ in wanted])
            return _sorted(
                Chosen(kind, id_, name) for (kind, id_), name in there.items() if (kind, id_) in wanted
            )

    def choose(
        self, conversation_id: str, collections: Iterable[str] = (), documents: Iterable[str] = ()
    ) -> None:
        """Have a conversation search these, and no others; without any, all documents.

        Raises NotFound for a collection or a document that this owner does not have.
        """
        with self._database.writing() as session:
            row = self._conversation(session, conversation_id)
            session.execute(delete(ChoiceRow).where(ChoiceRow.conversation_id == row.id))
            self._add(session, row, collections, documents)

    def add(self, conversation_id: str, documents: Iterable[str]) -> None:
        """Have a conversation search these documents, too, where it does not search all of them."""
        with self._database.writing() as session:
            row = self._conversation(session, conversation_id)
            if _rows(session, row.id):
                self._add(session, row, (), documents)

    def documents(self, conversation_id: str) -> frozenset[str] | None:
        """Tell which documents, by id, a conversation searches: None for all, empty where none is left."""
        with self._database.reading() as session:
            rows = _rows(session, self._conversation(session, conversation_id).id)
            if not rows:
                return None
            chosen = ChoiceRow.conversation_id == conversation_id
            mine = select(Document.id).where(Document.owner == self._owner)
            itself = select(ChoiceRow.chosen_id).where(chosen, ChoiceRow.kind == "document")
            inside = select(ChoiceRow.chosen_id).where(chosen, ChoiceRow.kind == "collection")
            either = Document.id.in_(itself) | Document.collection_id.in_(inside)
            return frozenset(session.scalars(mine.where(either)))

    def _add(
        self,
        session: Session,
        conversation: tables.ConversationRow,
        collections: Iterable[str],
        documents: Iterable[str],
    ) -> None:
        wanted = [
            *self._collections(session, collections),
            *self._documents(session, documents),
        ]
        for kind, id_, name in wanted:
            session.merge(ChoiceRow(conversation_id=conversation.id, kind=kind, chosen_id=id_, name=name))
        conversation.updated = messages.now()

    def _collections(self, session: Session, ids: Iterable[str]) -> Iterator[tuple[Kind, str, str]]:
        for id_ in dict.fromkeys(ids):
            row = session.get(CollectionRow, id_)
            if row is None or row.owner != self._owner:
                raise NotFound(f"There is no collection {id_!r}.")
            yield "collection", row.id, row.name

    def _documents(self, session: Session, ids: Iterable[str]) -> Iterator[tuple[Kind, str, str]]:
        """Yield documents; for a replacement on its way the one that it replaces, which `follow` leads on."""
        for id_ in dict.fromkeys(ids):
            row = session.get(Document, id_)
            if row is None or row.owner != self._owner:
                raise NotFound(f"There is no document {id_!r}.")
            yield "document", row.replaces or row.id, row.name

    def _names(self, session: Session, ids: Sequence[str]) -> dict[tuple[Kind, str], str]:
        """Return the present names of what is there, by kind and id."""
        found: dict[tuple[Kind, str], str] = {}
        tables: list[tuple[Kind, type[CollectionRow | Document]]] = [
            ("collection", CollectionRow),
            ("document", Document),
        ]
        for kind, table in tables:
            for start in range(0, len(ids), _BATCH):
                named = select(table.id, table.name).where(table.id.in_(ids[start : start + _BATCH]))
                mine = session.execute(named.where(table.owner == self._owner))
                found |= {(kind, id_): name for id_, name in mine}
        return found

    def _conversation(self, session: Session, conversation_id: str) -> tables.ConversationRow:
        row = session.scalar(_CONVERSATION, {"owner": self._owner, "id": conversation_id})
        if row is None:
            raise NotFound(f"There is no conversation {conversation_id!r}.")
        return row


def follow(session: Session, gone: str, successor: str) -> None:
    """Have conversations that chose a document search the one that took its place."""
    both = ChoiceRow.conversation_id.in_(select(ChoiceRow.conversation_id).where(ChoiceRow.chosen_id == gone))
    session.execute(delete(ChoiceRow).where(ChoiceRow.chosen_id == successor, both))
    session.execute(update(ChoiceRow).where(ChoiceRow.chosen_id == gone).values(chosen_id=successor))


def _rows(session: Session, conversation_id: str) -> list[ChoiceRow]:
    return list(session.scalars(_CHOSEN, {"id": conversation_id}))


def _sorted(chosen: Iterable[Chosen]) -> tuple[Chosen, ...]:
    return tuple(sorted(chosen, key=lambda one: (one.kind, messages.fold(one.name), one.id)))


def _chosen(row: ChoiceRow, name: str | None) -> Chosen:
    return Chosen(cast(Kind, row.kind), row.chosen_id, name or row.name, there=name is not None)
