"""The tables of the ledger. Everything hangs on its owner and goes when what it hangs on goes."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, bindparam, select, text, true
from sqlalchemy.orm import Mapped, Session, mapped_column

from storage.columns import Base as Base
from storage.columns import Moment as Moment
from storage.columns import SafeText as SafeText
from storage.columns import part_of as part_of
from storage.columns import storable as storable
from storage.errors import AccountClosed


class Ledger(Base):
    """One row: how many commits were acknowledged. Fewer than the lock file says means some were lost."""

    __tablename__ = "ledger"
    id: Mapped[int] = mapped_column(primary_key=True)
    commits: Mapped[int]


class UserRow(Base):
    """An owner; the id is what the sign-in calls them. Signed in until ``not_before`` is signed out."""

    __tablename__ = "users"
    id: Mapped[str] = mapped_column(primary_key=True)
    created: Mapped[datetime]
    name: Mapped[str | None]
    email: Mapped[str | None]
    seen: Mapped[datetime | None]
    not_before: Mapped[datetime | None]
    removing: Mapped[datetime | None]
    limits: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class Departure(Base):
    """That someone was removed, and when: who signed in before has nothing more to do here."""

    __tablename__ = "departures"
    id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


def departed(owner: str) -> str:
    """Return what a removed person is remembered by: not their name."""
    return hashlib.sha256(storable(owner).encode()).hexdigest()


_STANDING = select(
    select(UserRow.id).where(UserRow.id == bindparam("owner")).scalar_subquery(),
    select(UserRow.removing).where(UserRow.id == bindparam("owner")).scalar_subquery(),
    select(Departure.at).where(Departure.id == bindparam("departed")).scalar_subquery(),
)


def confirm_open(session: Session, owner: str, since: datetime | None = None) -> bool:
    """Raise AccountClosed for one who is being removed, or was and has not signed in ``since``.

    Returns whether they have a row: one who never kept anything has none, and is let in.
    """
    given = {"owner": owner, "departed": departed(owner)}
    known, removing, left = session.execute(_STANDING, given).one()
    if removing is not None:
        raise AccountClosed("This account is being removed with all that is in it.")
    if left is not None and (since is None or since <= left):
        raise AccountClosed("This account was removed with all that was in it. Sign in again to begin anew.")
    return known is not None


def ensure_user(session: Session, owner: str) -> None:
    """Give an owner their row, the first time they keep anything; AccountClosed for one who was removed."""
    if not confirm_open(session, owner):
        session.add(UserRow(id=owner, created=datetime.now(UTC)))
        session.flush()


class ConversationRow(Base):
    """A chat. ``folded`` is the title as search compares it, ``tip_id`` the message that it shows last."""

    __tablename__ = "conversations"
    __table_args__ = (Index(None, "owner", "updated"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    title: Mapped[str]
    folded: Mapped[str]
    created: Mapped[datetime]
    updated: Mapped[datetime]
    tip_id: Mapped[str | None]


class MessageRow(Base):
    """A question or its answer. Indexes see to it: one answer a question, one pending a conversation.

    ``parent_id`` is what it follows: an answer its question, a question the answer before it. Several may
    follow one answer. A question's ``standalone_question`` is what its asker wants to be searched.
    """

    __tablename__ = "messages"
    __table_args__ = (
        Index(None, "conversation_id", "position", unique=True),
        Index(
            "ix_messages_pending",
            "conversation_id",
            unique=True,
            sqlite_where=text("state = 'pending'"),
            postgresql_where=text("state = 'pending'"),
        ),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(part_of("conversations.id"))
    position: Mapped[int]
    role: Mapped[str]
    content: Mapped[str]
    folded: Mapped[str]
    state: Mapped[str]
    question_id: Mapped[str | None] = mapped_column(part_of("messages.id"), unique=True)
    # No foreign key: it would be followed from message to message, a thousand deep, when a chat is deleted.
    parent_id: Mapped[str | None] = mapped_column(index=True)
    standalone_question: Mapped[str | None]
    model: Mapped[str | None]
    error: Mapped[str | None]
    timings_ms: Mapped[dict[str, Any]]
    created: Mapped[datetime]
    rating: Mapped[str | None]
    left_out: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    searched_in: Mapped[str | None]


class MessagePassage(Base):
    """Evidence as it was when the answer was made: no reference to documents, so it outlives them."""

    __tablename__ = "message_passages"
    message_id: Mapped[str] = mapped_column(part_of("messages.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    chunk_id: Mapped[str]
    document_id: Mapped[str]
    document: Mapped[str]
    sha256: Mapped[str]
    page: Mapped[int | None]
    heading: Mapped[str]
    start: Mapped[int]
    end: Mapped[int]
    text: Mapped[str]
    score: Mapped[float]
    found_by: Mapped[dict[str, Any]]


class CitationRow(Base):
    """A sentence of an answer and the words it rests on."""

    __tablename__ = "citations"
    message_id: Mapped[str] = mapped_column(part_of("messages.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    marker: Mapped[int]
    answer_start: Mapped[int]
    answer_end: Mapped[int]
    status: Mapped[str]
    quote_start: Mapped[int]
    quote_end: Mapped[int]
    quote: Mapped[str]
    feedback: Mapped[str | None]


class TraceRow(Base):
    """How an answer was made. Apart from its message, so that conversations open without it."""

    __tablename__ = "traces"
    message_id: Mapped[str] = mapped_column(part_of("messages.id"), primary_key=True)
    settings: Mapped[dict[str, Any]]
    sent: Mapped[list[Any]]
    cut: Mapped[int]
    unsearched: Mapped[list[Any]]
    unsearched_count: Mapped[int]


class CollectionRow(Base):
    """A group of documents. ``folded`` tells names apart, ``splitting`` is None where it is the usual."""

    __tablename__ = "collections"
    __table_args__ = (Index(None, "owner", "folded", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    folded: Mapped[str]
    splitting: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    created: Mapped[datetime]


class Document(Base):
    """A file of an owner and how far it has come. ``replaces`` is set until it takes the other's place.

    One that was not ``uploaded`` came from a source, and goes when no source has it any more. ``edition`` is
    the way in which it was split, ``note`` says what of it could not be read.
    """

    __tablename__ = "documents"
    __table_args__ = (
        Index(None, "owner", "sha256", unique=True),
        Index(None, "owner", "created"),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    sha256: Mapped[str]
    size: Mapped[int]
    state: Mapped[str]
    reason: Mapped[str | None]
    page_count: Mapped[int | None]
    chunk_count: Mapped[int]
    replaces: Mapped[str | None] = mapped_column(ForeignKey("documents.id", ondelete="SET NULL"), index=True)
    created: Mapped[datetime]
    updated: Mapped[datetime]
    url: Mapped[str | None]
    uploaded: Mapped[bool] = mapped_column(server_default=true())
    # No foreign key: SQLite adds none to a table that is there. Who deletes a collection empties it first.
    collection_id: Mapped[str | None] = mapped_column(index=True)
    edition: Mapped[str] = mapped_column(server_default=text("''"))
    note: Mapped[str | None]


class DocumentText(Base):
    """The canonical text, apart from its document so that lists stay fast."""

    __tablename__ = "document_texts"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    text: Mapped[str]


class PageRow(Base):
    """A page as a span of code points of the canonical text."""

    __tablename__ = "pages"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    start: Mapped[int]
    end: Mapped[int]


class Chunk(Base):
    """A span of the canonical text with its words, so that a thousand are read without their documents."""

    __tablename__ = "chunks"
    __table_args__ = (Index(None, "document_id", "position", "id", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    document_id: Mapped[str] = mapped_column(part_of("documents.id"))
    position: Mapped[int]
    start: Mapped[int]
    end: Mapped[int]
    page: Mapped[int | None]
    heading: Mapped[str]
    text: Mapped[str]


class IndexState(Base):
    """What a derived index of an owner was made with."""

    __tablename__ = "index_states"
    owner: Mapped[str] = mapped_column(part_of("users.id"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[dict[str, Any]]
