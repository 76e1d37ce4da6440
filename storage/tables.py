"""The tables of the ledger, and how rows are written and turned into records.

Every row belongs to an owner, directly or through its parent, and is deleted with it; those of the audit
log alone stay, and name their owner by a hash.
"""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    JSON,
    DateTime,
    ForeignKey,
    Index,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    false,
    insert,
    select,
    text,
    true,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from storage.errors import AccountClosed, UnreadableValue
from storage.i18n import N_

BATCH = 400  # ids in one statement, below the 999 parameters that every SQLite allows even where used twice
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
R = TypeVar("R")


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """Return a random id of 16 hex digits."""
    return secrets.token_hex(8)


def storable(value: str) -> str:
    r"""Replace unstorable characters, one for one so that offsets stay valid: ``"a\x00" -> "a\ufffd"``."""
    return _UNSTORABLE.sub("\ufffd", value)


def fold(text: str) -> str:
    """Fold case, width and composition, as search compares text: ``"ＡBc ｶﾞ" -> "abc ガ"``."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tidy_name(name: str, limit: int) -> str:
    """Return a name on one line: ``"  HR   2024 " -> "HR 2024"``."""
    return " ".join(storable(unicodedata.normalize("NFC", name)).split())[:limit].strip()


class SafeText(TypeDecorator[str]):
    """Text column: NUL and lone surrogates become U+FFFD on the way in."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Replace characters that no database stores."""
        return None if value is None else storable(value)


class Moment(TypeDecorator[datetime]):
    """Time column, always aware and in UTC; SQLite itself drops the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """Return what reads the driver's value; a damaged one raises UnreadableValue."""
        process = super().result_processor(dialect, coltype)
        if process is None:
            return None

        def checked(value: object) -> datetime | None:
            try:
                return process(value)
            except ValueError as error:
                raise UnreadableValue("a value in it cannot be read") from error

        return checked

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Restore the zone; a server gives its own."""
        if value is None or value.tzinfo is not None:
            return value and value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Declarative base that names every constraint, so that a later migration can find it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012
        str: SafeText,
        datetime: Moment,
        dict[str, Any]: JSON,
        list[Any]: JSON,
    }


def part_of(column: str) -> ForeignKey:
    """Return a foreign key to the row that this one is deleted with."""
    return ForeignKey(column, ondelete="CASCADE")


def table_of(kind: type[Base]) -> Table:
    """Return the table of a class, whose rows cost a third of what objects of the class do."""
    return Base.metadata.tables[kind.__tablename__]


def insert_rows(session: Session, table: type[Base], values: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows in one statement; none is no error."""
    if values:
        session.execute(insert(table), values)


def batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the ids in parts that fit into one statement."""
    return (ids[first : first + BATCH] for first in range(0, len(ids), BATCH))


def to_record(kind: Callable[..., R], row: Any, **others: Any) -> R:
    """Make a record from the columns named like its fields; `others` gives the fields that differ."""
    return kind(**{name: getattr(row, name) for name in _column_names(kind, frozenset(others))}, **others)


@lru_cache(maxsize=64)
def _column_names(kind: Any, others: frozenset[str]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in others)


class Ledger(Base):
    """Number of acknowledged commits, in one row. Fewer than the lock file says means some were lost."""

    __tablename__ = "ledger"
    id: Mapped[int] = mapped_column(primary_key=True)
    commits: Mapped[int]


class UserRow(Base):
    """An owner, by the id that the sign-in gives. Sessions begun until ``not_before`` are signed out."""

    __tablename__ = "users"
    id: Mapped[str] = mapped_column(primary_key=True)
    created: Mapped[datetime]
    name: Mapped[str | None]
    email: Mapped[str | None]
    seen: Mapped[datetime | None]
    not_before: Mapped[datetime | None]
    removing: Mapped[datetime | None]
    limits: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    language: Mapped[str | None]
    index_version: Mapped[int] = mapped_column(default=0, server_default=text("0"))


class AccountRemoval(Base):
    """Time of an owner's removal: sessions that began before it are refused."""

    __tablename__ = "departures"
    id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


def owner_hash(owner: str) -> str:
    """Return the hash that stands for an owner where their id is not to outlive their removal."""
    return hashlib.sha256(storable(owner).encode()).hexdigest()


_ACCOUNT_STATE = select(
    select(UserRow.id).where(UserRow.id == bindparam("owner")).scalar_subquery(),
    select(UserRow.removing).where(UserRow.id == bindparam("owner")).scalar_subquery(),
    select(AccountRemoval.at).where(AccountRemoval.id == bindparam("departed")).scalar_subquery(),
)


def require_open_account(session: Session, owner: str, since: datetime | None = None) -> bool:
    """Raise AccountClosed for an owner who is being removed, or was and has not signed in ``since``.

    Return False for an owner without a row: they have never stored anything, and are let in.
    """
    given = {"owner": owner, "departed": owner_hash(owner)}
    known, removing, left = session.execute(_ACCOUNT_STATE, given).one()
    if removing is not None:
        raise AccountClosed(N_("This account is being removed with all that is in it."))
    if left is not None and (since is None or since <= left):
        raise AccountClosed(
            N_("This account was removed with all that was in it. Sign in again to begin anew.")
        )
    return known is not None


def ensure_user(session: Session, owner: str) -> None:
    """Create an owner's row, the first time they store anything; AccountClosed for a removed owner."""
    if not require_open_account(session, owner):
        session.add(UserRow(id=owner, created=now()))
        session.flush()


def raise_index_version(session: Session, owner: str) -> None:
    """Raise an owner's number in the commit that changes what their searches find.

    Another process whose indexes are older than that looks at them again before it searches.
    """
    session.connection().execute(_RAISE, {"owner": owner})


_RAISE = update(table_of(UserRow)).where(table_of(UserRow).c.id == bindparam("owner"))
_RAISE = _RAISE.values(index_version=UserRow.index_version + 1)


class ConversationRow(Base):
    """A chat. ``folded`` is the title as search compares it, ``tip_id`` the message that it shows last.

    One that was ``deleted`` can be restored until `conversations.KEPT` after that time.
    """

    noun: ClassVar[str] = "conversation"
    __tablename__ = "conversations"
    __table_args__ = (Index(None, "owner", "updated"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    title: Mapped[str]
    folded: Mapped[str]
    created: Mapped[datetime]
    updated: Mapped[datetime]
    deleted: Mapped[datetime | None]
    tip_id: Mapped[str | None]


class MessageRow(Base):
    """A question or its answer. Unique indexes allow one answer a question, one pending a conversation.

    ``parent_id`` is the message before: of an answer its question, of a question the answer before it.
    Several questions may follow one answer. A question's ``standalone_question`` is the search that its
    asker asked for, and its ``narrowed_to`` is empty where they asked that it names no scope.
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
    rating_reason: Mapped[str | None]
    rating_note: Mapped[str | None]
    left_out: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    searched_in: Mapped[str | None]
    narrowed_to: Mapped[str | None]
    coverage: Mapped[str | None]
    reading_offer: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    attached: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))


class MessagePassage(Base):
    """Passage that an answer was given, copied, so that it outlives its document."""

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
    """A sentence of an answer and the quote that supports it."""

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
    note: Mapped[str] = mapped_column(server_default="")
    feedback: Mapped[str | None]


class TraceRow(Base):
    """Trace of an answer. Apart from its message, so that conversations open without it."""

    __tablename__ = "traces"
    message_id: Mapped[str] = mapped_column(part_of("messages.id"), primary_key=True)
    settings: Mapped[dict[str, Any]]
    sent: Mapped[list[Any]]
    cut: Mapped[int]
    unsearched: Mapped[list[Any]]
    unsearched_count: Mapped[int]


class CollectionRow(Base):
    """A group of documents. ``folded`` is the name as it is compared, ``splitting`` None the default."""

    noun: ClassVar[str] = "collection"
    __tablename__ = "collections"
    __table_args__ = (Index(None, "owner", "folded", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    folded: Mapped[str]
    splitting: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    created: Mapped[datetime]
    instructions: Mapped[str] = mapped_column(server_default=text("''"))


class Document(Base):
    """A file of an owner and its state. ``replaces`` is set until it takes the other document's place.

    A document that was not ``uploaded`` came from a source, and is deleted when no source has it any more.
    ``edition`` names the chunking, ``note`` says which part could not be read.
    """

    noun: ClassVar[str] = "document"
    __tablename__ = "documents"
    __table_args__ = (Index(None, "owner", "sha256", unique=True), Index(None, "owner", "created"))
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
    # No foreign key: SQLite adds none to an existing table. `Collections.delete` empties a collection first.
    collection_id: Mapped[str | None] = mapped_column(index=True)
    edition: Mapped[str] = mapped_column(server_default=text("''"))
    note: Mapped[str | None]


class TagRow(Base):
    """A word that an owner gives to documents. ``folded`` is the name as it is compared."""

    noun: ClassVar[str] = "tag"
    __tablename__ = "tags"
    __table_args__ = (Index(None, "owner", "folded", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    folded: Mapped[str]


class DocumentTag(Base):
    """A tag of a document."""

    __tablename__ = "document_tags"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    tag_id: Mapped[str] = mapped_column(part_of("tags.id"), primary_key=True, index=True)


class DocumentText(Base):
    """Canonical text of a document, in a table of its own so that lists stay fast."""

    __tablename__ = "document_texts"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    text: Mapped[str]


class DocumentFactsRow(Base):
    """Facts that a document states of itself, as JSON; a document without a row has not been asked yet."""

    __tablename__ = "document_facts"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    facts: Mapped[list[Any]]


class PageRow(Base):
    """A page as a span of code points of the canonical text."""

    __tablename__ = "pages"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    start: Mapped[int]
    end: Mapped[int]


class Chunk(Base):
    """A span of the canonical text with its words, so that chunks are read without their documents."""

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


class FigureRow(Base):
    """A model's description of a figure, beside `text[start:end]`: its caption, or the line in its place.

    A figure is known by its page, its ``label`` and its number among equal ones, ``occurrence``.
    """

    __tablename__ = "figures"
    __table_args__ = (Index(None, "document_id", "number"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    document_id: Mapped[str] = mapped_column(part_of("documents.id"))
    number: Mapped[int]
    page: Mapped[int | None]
    label: Mapped[str]
    occurrence: Mapped[int]
    start: Mapped[int]
    end: Mapped[int]
    text: Mapped[str]
    model: Mapped[str]
    created: Mapped[datetime]


class FigureReadingRow(Base):
    """State of the description of a document's figures; with ``again`` those described are described anew."""

    __tablename__ = "figure_readings"
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True)
    state: Mapped[str]
    again: Mapped[bool]
    note: Mapped[str | None]
    updated: Mapped[datetime]


class VisionModelRow(Base):
    """Result of asking a model at a server's address about a picture."""

    __tablename__ = "vision_models"
    address: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    takes_pictures: Mapped[bool]
    asked: Mapped[datetime]


class IndexStateRow(Base):
    """Fingerprint of one of an owner's derived indexes: the model and settings it was made with."""

    __tablename__ = "index_states"
    owner: Mapped[str] = mapped_column(part_of("users.id"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[dict[str, Any]]


class ChoiceRow(Base):
    """A collection, tag or document that a conversation searches, by its id and its name when it was chosen.

    Without rows a conversation searches everything. No foreign key: a deleted document stays chosen, so
    that a conversation over one document does not become one over all of them.
    """

    __tablename__ = "choices"
    conversation_id: Mapped[str] = mapped_column(part_of("conversations.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    chosen_id: Mapped[str] = mapped_column(primary_key=True, index=True)
    name: Mapped[str]


class GridRow(Base):
    """A table of documents and columns. ``run_begun`` is set from the wish for a run until it ends."""

    noun: ClassVar[str] = "grid"
    __tablename__ = "grids"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    columns: Mapped[list[Any]]
    run_begun: Mapped[datetime | None]
    run_note: Mapped[str | None]
    created: Mapped[datetime]
    updated: Mapped[datetime]


class GridChoice(Base):
    """A collection, tag, document or filter that a grid's rows are chosen by, as ChoiceRow."""

    __tablename__ = "grid_choices"
    grid_id: Mapped[str] = mapped_column(part_of("grids.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    chosen_id: Mapped[str] = mapped_column(primary_key=True, index=True)
    name: Mapped[str]


class GridCell(Base):
    """A cell: what was read, under which ``basis``, and a person's ``corrected`` value beside it.

    ``state`` is None where nothing was read yet; ``seconds`` and ``requests`` are what reading took.
    ``only_searched``: absent for the rules, and no language model read the document.
    """

    __tablename__ = "grid_cells"
    grid_id: Mapped[str] = mapped_column(part_of("grids.id"), primary_key=True)
    document_id: Mapped[str] = mapped_column(part_of("documents.id"), primary_key=True, index=True)
    column_id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str | None]
    value: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    quotes: Mapped[list[Any]]
    read: Mapped[int]
    total: Mapped[int]
    calculated: Mapped[bool]
    only_searched: Mapped[bool] = mapped_column(server_default=false())
    note: Mapped[str]
    basis: Mapped[str]
    seconds: Mapped[float]
    requests: Mapped[int]
    corrected: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    locked: Mapped[bool]
    updated: Mapped[datetime]


class JobRow(Base):
    """Work that any process may take: ``waiting`` from ``run_at``, or ``running`` under a worker's lease.

    ``attempt`` counts how often it was taken, and is what a write of its worker is checked by. ``key`` names
    what is worked on, such as a document.
    """

    __tablename__ = "jobs"
    __table_args__ = (Index(None, "owner", "kind", "key", unique=True), Index(None, "state", "run_at"))
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    kind: Mapped[str]
    key: Mapped[str]
    state: Mapped[str]
    attempt: Mapped[int]
    worker: Mapped[str | None]
    leased_until: Mapped[datetime | None]
    run_at: Mapped[datetime]
    progress: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    stop: Mapped[bool]


class Usage(Base):
    """Usage of one owner on one day, ``2026-11-30`` in UTC; tokens are those read and written by a model.

    It outlives the conversations that it counts.
    """

    __tablename__ = "usage"
    owner: Mapped[str] = mapped_column(part_of("users.id"), primary_key=True)
    day: Mapped[str] = mapped_column(primary_key=True)
    answers: Mapped[int]
    tokens: Mapped[int]
    embedding_seconds: Mapped[float] = mapped_column(server_default=text("0"))


class ApiKeyRow(Base):
    """A key for programs. ``sha256`` is of its secret part; ``collections`` are ids, None for everything."""

    noun: ClassVar[str] = "key"
    __tablename__ = "api_keys"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    sha256: Mapped[str]
    scopes: Mapped[list[Any]]
    collections: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))
    created: Mapped[datetime]
    expires: Mapped[datetime | None]
    used: Mapped[datetime | None]


class WebhookRow(Base):
    """An address that is told of events; its ``secret`` signs them. ``reason`` is of the last failure."""

    noun: ClassVar[str] = "webhook"
    __tablename__ = "webhooks"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    url: Mapped[str]
    events: Mapped[list[Any]]
    secret: Mapped[str]
    created: Mapped[datetime]
    delivered: Mapped[datetime | None]
    disabled: Mapped[datetime | None]
    reason: Mapped[str | None]


class WebhookDelivery(Base):
    """An event that is still to be delivered to a webhook; ``due`` is the time of the next try."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (Index(None, "webhook_id", "due"), Index(None, "due"))
    id: Mapped[str] = mapped_column(primary_key=True)
    webhook_id: Mapped[str] = mapped_column(part_of("webhooks.id"))
    event: Mapped[str]
    data: Mapped[dict[str, Any]]
    created: Mapped[datetime]
    tries: Mapped[int]
    due: Mapped[datetime]


class IdempotentRequest(Base):
    """Answer to a request with an idempotency key; ``request`` is the request's hash."""

    __tablename__ = "idempotent_requests"
    owner: Mapped[str] = mapped_column(part_of("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request: Mapped[str]
    response: Mapped[dict[str, Any]]
    created: Mapped[datetime]


class SourceRow(Base):
    """A folder, a wiki, a drive, a list of pages. ``settings`` name a secret, they never hold one.

    ``round`` counts the syncs, ``cursor`` is where the next one begins, ``every`` the minutes between two
    scheduled syncs.
    """

    noun: ClassVar[str] = "source"
    __tablename__ = "sources"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    kind: Mapped[str]
    name: Mapped[str]
    settings: Mapped[dict[str, Any]]
    every: Mapped[int | None]
    cursor: Mapped[str | None]
    round: Mapped[int]
    state: Mapped[str]
    reason: Mapped[str | None]
    began: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    created: Mapped[datetime]


class SourceItem(Base):
    """An item of a source: the version taken last and its document, or the reason of a failure.

    Of an item that failed, ``wanted`` is its version, ``tries`` the failures in a row, and ``due`` the time
    of the next try, None for never.
    """

    __tablename__ = "source_items"
    source_id: Mapped[str] = mapped_column(part_of("sources.id"), primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    url: Mapped[str | None]
    version: Mapped[str | None]
    document_id: Mapped[str | None] = mapped_column(
        ForeignKey("documents.id", ondelete="SET NULL"), index=True
    )
    reason: Mapped[str | None]
    round: Mapped[int]
    updated: Mapped[datetime]
    wanted: Mapped[str | None]
    tries: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    due: Mapped[datetime | None]


class AuditRow(Base):
    """Entry of the audit log; ``owner`` is a hash, see `owner_hash`. Triggers refuse changes and removals."""

    __tablename__ = "audit_log"
    __table_args__ = (Index(None, "owner", "id"), {"sqlite_autoincrement": True})
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    owner: Mapped[str]
    kind: Mapped[str]
    detail: Mapped[dict[str, Any]]


# Tables of the lab. They hold copied text, not references to documents.


class LabSet(Base):
    """A set of questions whose right passages are known."""

    noun: ClassVar[str] = "question set"
    __tablename__ = "lab_sets"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    origin: Mapped[str]
    created: Mapped[datetime]


class LabQuestion(Base):
    """A question of a set."""

    __tablename__ = "lab_questions"
    __table_args__ = (Index(None, "set_id", "position", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    set_id: Mapped[str] = mapped_column(part_of("lab_sets.id"))
    position: Mapped[int]
    text: Mapped[str]


class LabPassage(Base):
    """A quote that answers a question, copied when it was marked."""

    __tablename__ = "lab_passages"
    question_id: Mapped[str] = mapped_column(part_of("lab_questions.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[str]
    document: Mapped[str]
    sha256: Mapped[str]
    chunk_id: Mapped[str]
    start: Mapped[int]
    end: Mapped[int]
    quote: Mapped[str]


class LabRun(Base):
    """Evaluation run of retrievers over a question set, with the settings that comparisons need."""

    __tablename__ = "lab_runs"
    __table_args__ = (Index(None, "set_id", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    set_id: Mapped[str] = mapped_column(part_of("lab_sets.id"))
    created: Mapped[datetime]
    state: Mapped[str]
    error: Mapped[str | None]
    retrievers: Mapped[list[Any]]
    k: Mapped[int]
    embedding: Mapped[str]
    mixture: Mapped[str]
    every_document: Mapped[bool]
    document_count: Mapped[int]
    document_names: Mapped[list[Any]]
    fingerprint: Mapped[str]
    chunks: Mapped[int]


class LabResult(Base):
    """Metrics of one retriever in a run, over the questions asked so far."""

    __tablename__ = "lab_results"
    run_id: Mapped[str] = mapped_column(part_of("lab_runs.id"), primary_key=True)
    retriever: Mapped[str] = mapped_column(primary_key=True)
    queries: Mapped[int]
    metrics: Mapped[dict[str, Any]]
    p50_ms: Mapped[float]
    p95_ms: Mapped[float]
    errors: Mapped[int]


class LabAsked(Base):
    """A question of a run, copied, so that it outlives its set's question."""

    __tablename__ = "lab_asked"
    run_id: Mapped[str] = mapped_column(part_of("lab_runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    question_id: Mapped[str]
    text: Mapped[str]
    status: Mapped[str]
    right_ids: Mapped[list[Any]]


class LabFinding(Base):
    """Chunks that one retriever found for one question of a run."""

    __tablename__ = "lab_findings"
    run_id: Mapped[str] = mapped_column(part_of("lab_runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    retriever: Mapped[str] = mapped_column(primary_key=True)
    found: Mapped[list[Any]]
    first_right: Mapped[int | None]
    ms: Mapped[float]
    error: Mapped[str | None]


class TreeBranch(Base):
    """RAPTOR tree over one document, or, without a document, the layers over all of an owner's."""

    noun: ClassVar[str] = "branch"
    __tablename__ = "tree_branches"
    __table_args__ = (Index(None, "owner", "document_id", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    document_id: Mapped[str | None] = mapped_column(part_of("documents.id"), index=True)
    state: Mapped[str]
    made_with: Mapped[dict[str, Any]]
    contents: Mapped[str]
    left_out: Mapped[int]
    updated: Mapped[datetime]


class TreeNode(Base):
    """A leaf, level 0, with its span of the document, or a summary of nodes of the level below."""

    __tablename__ = "tree_nodes"
    __table_args__ = (Index(None, "branch_id", "level", "position"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    branch_id: Mapped[str] = mapped_column(part_of("tree_branches.id"))
    level: Mapped[int]
    position: Mapped[int]
    start: Mapped[int | None]
    end: Mapped[int | None]
    page: Mapped[int | None]
    heading: Mapped[str]
    weight: Mapped[float]  # no longer used
    text: Mapped[str]


class TreeEdge(Base):
    """A node's child. The child may be of another branch, and deleted: then the nodes above it are stale."""

    __tablename__ = "tree_edges"
    parent_id: Mapped[str] = mapped_column(part_of("tree_nodes.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    child_id: Mapped[str] = mapped_column(index=True)
