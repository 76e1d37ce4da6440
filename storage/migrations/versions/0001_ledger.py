"""The first ledger: users, conversations with frozen evidence, documents with text, pages and chunks."""

from typing import Any

from alembic import op
from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.bulk_insert(
        op.create_table(
            "ledger", *_columns(Integer(), "id", "commits"), PrimaryKeyConstraint("id", name="pk_ledger")
        ),
        [{"id": 1, "commits": 0}],
    )
    op.create_table(
        "users",
        *_columns(Text(), "id"),
        *_columns(DateTime(timezone=True), "created"),
        PrimaryKeyConstraint("id", name="pk_users"),
    )
    _conversations()
    _evidence()
    _documents()
    _texts()


def _columns(kind: TypeEngine[Any], *names: str, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, kind, nullable=nullable) for name in names]


def _refers(table: str, column: str, target: str, ondelete: str = "CASCADE") -> ForeignKeyConstraint:
    return ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete=ondelete)


def _conversations() -> None:
    op.create_table(
        "conversations",
        *_columns(Text(), "id", "owner", "title", "folded"),
        *_columns(DateTime(timezone=True), "created", "updated"),
        _refers("conversations", "owner", "users.id"),
        PrimaryKeyConstraint("id", name="pk_conversations"),
    )
    op.create_index("ix_conversations_owner_updated", "conversations", ["owner", "updated"])
    op.create_table(
        "messages",
        *_columns(Text(), "id", "conversation_id"),
        *_columns(Integer(), "position"),
        *_columns(Text(), "role", "content", "folded", "state"),
        *_columns(Text(), "question_id", "standalone_question", "model", "error", nullable=True),
        *_columns(JSON(), "timings_ms"),
        *_columns(DateTime(timezone=True), "created"),
        _refers("messages", "conversation_id", "conversations.id"),
        _refers("messages", "question_id", "messages.id"),
        PrimaryKeyConstraint("id", name="pk_messages"),
        UniqueConstraint("question_id", name="uq_messages_question_id"),
    )
    op.create_index(
        "ix_messages_conversation_id_position", "messages", ["conversation_id", "position"], unique=True
    )
    pending = text("state = 'pending'")
    op.create_index(
        "ix_messages_pending",
        "messages",
        ["conversation_id"],
        unique=True,
        sqlite_where=pending,
        postgresql_where=pending,
    )


def _evidence() -> None:
    op.create_table(
        "message_passages",
        *_columns(Text(), "message_id"),
        *_columns(Integer(), "number"),
        *_columns(Text(), "chunk_id", "document_id", "document", "sha256"),
        *_columns(Integer(), "page", nullable=True),
        *_columns(Text(), "heading"),
        *_columns(Integer(), "start", "end"),
        *_columns(Text(), "text"),
        *_columns(Double(), "score"),
        *_columns(JSON(), "found_by"),
        _refers("message_passages", "message_id", "messages.id"),
        PrimaryKeyConstraint("message_id", "number", name="pk_message_passages"),
    )
    op.create_table(
        "citations",
        *_columns(Text(), "message_id"),
        *_columns(Integer(), "position", "marker", "answer_start", "answer_end"),
        *_columns(Text(), "status"),
        *_columns(Integer(), "quote_start", "quote_end"),
        *_columns(Text(), "quote"),
        _refers("citations", "message_id", "messages.id"),
        PrimaryKeyConstraint("message_id", "position", name="pk_citations"),
    )


def _documents() -> None:
    op.create_table(
        "documents",
        *_columns(Text(), "id", "owner", "name", "sha256"),
        *_columns(Integer(), "size"),
        *_columns(Text(), "state"),
        *_columns(Text(), "reason", nullable=True),
        *_columns(Integer(), "page_count", nullable=True),
        *_columns(Integer(), "chunk_count"),
        *_columns(Text(), "replaces", nullable=True),
        *_columns(DateTime(timezone=True), "created", "updated"),
        _refers("documents", "owner", "users.id"),
        _refers("documents", "replaces", "documents.id", "SET NULL"),
        PrimaryKeyConstraint("id", name="pk_documents"),
    )
    op.create_index("ix_documents_owner_sha256", "documents", ["owner", "sha256"], unique=True)
    op.create_index("ix_documents_owner_created", "documents", ["owner", "created"])
    op.create_index("ix_documents_replaces", "documents", ["replaces"])
    op.create_table(
        "index_states",
        *_columns(Text(), "owner", "name"),
        *_columns(JSON(), "state"),
        _refers("index_states", "owner", "users.id"),
        PrimaryKeyConstraint("owner", "name", name="pk_index_states"),
    )


def _texts() -> None:
    op.create_table(
        "document_texts",
        *_columns(Text(), "document_id", "text"),
        _refers("document_texts", "document_id", "documents.id"),
        PrimaryKeyConstraint("document_id", name="pk_document_texts"),
    )
    op.create_table(
        "pages",
        *_columns(Text(), "document_id"),
        *_columns(Integer(), "number", "start", "end"),
        _refers("pages", "document_id", "documents.id"),
        PrimaryKeyConstraint("document_id", "number", name="pk_pages"),
    )
    op.create_table(
        "chunks",
        *_columns(Text(), "id", "document_id"),
        *_columns(Integer(), "position", "start", "end"),
        *_columns(Integer(), "page", nullable=True),
        *_columns(Text(), "heading", "text"),
        _refers("chunks", "document_id", "documents.id"),
        PrimaryKeyConstraint("id", name="pk_chunks"),
    )
    op.create_index(
        "ix_chunks_document_id_position_id", "chunks", ["document_id", "position", "id"], unique=True
    )
