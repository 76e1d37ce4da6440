"""The lab: question sets with frozen right passages, runs and their findings; ratings and gaps of answers."""

from typing import Any

from alembic import op
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    text,
)
from sqlalchemy.types import TypeEngine

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("messages", Column("rating", Text(), nullable=True))
    op.add_column("messages", Column("left_out", JSON(), nullable=False, server_default=text("'[]'")))
    _sets()
    _runs()
    _findings()


def _columns(kind: TypeEngine[Any], *names: str, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, kind, nullable=nullable) for name in names]


def _refers(table: str, column: str, target: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")


def _sets() -> None:
    op.create_table(
        "lab_sets",
        *_columns(Text(), "id", "owner", "name", "origin"),
        *_columns(DateTime(timezone=True), "created"),
        _refers("lab_sets", "owner", "users.id"),
        PrimaryKeyConstraint("id", name="pk_lab_sets"),
    )
    op.create_index("ix_lab_sets_owner_created", "lab_sets", ["owner", "created"])
    op.create_table(
        "lab_questions",
        *_columns(Text(), "id", "set_id"),
        *_columns(Integer(), "position"),
        *_columns(Text(), "text"),
        _refers("lab_questions", "set_id", "lab_sets.id"),
        PrimaryKeyConstraint("id", name="pk_lab_questions"),
    )
    op.create_index("ix_lab_questions_set_id_position", "lab_questions", ["set_id", "position"], unique=True)
    op.create_table(
        "lab_passages",
        *_columns(Text(), "question_id"),
        *_columns(Integer(), "number"),
        *_columns(Text(), "document_id", "document", "sha256", "chunk_id"),
        *_columns(Integer(), "start", "end"),
        *_columns(Text(), "quote"),
        _refers("lab_passages", "question_id", "lab_questions.id"),
        PrimaryKeyConstraint("question_id", "number", name="pk_lab_passages"),
    )


def _runs() -> None:
    op.create_table(
        "lab_runs",
        *_columns(Text(), "id", "set_id"),
        *_columns(DateTime(timezone=True), "created"),
        *_columns(Text(), "state"),
        *_columns(Text(), "error", nullable=True),
        *_columns(JSON(), "retrievers"),
        *_columns(Integer(), "k"),
        *_columns(Text(), "embedding", "mixture"),
        *_columns(Boolean(), "every_document"),
        *_columns(Integer(), "document_count"),
        *_columns(JSON(), "document_names"),
        *_columns(Text(), "fingerprint"),
        *_columns(Integer(), "chunks"),
        _refers("lab_runs", "set_id", "lab_sets.id"),
        PrimaryKeyConstraint("id", name="pk_lab_runs"),
    )
    op.create_index("ix_lab_runs_set_id_created", "lab_runs", ["set_id", "created"])
    op.create_table(
        "lab_results",
        *_columns(Text(), "run_id", "retriever"),
        *_columns(Integer(), "queries"),
        *_columns(JSON(), "metrics"),
        *_columns(Double(), "p50_ms", "p95_ms"),
        *_columns(Integer(), "errors"),
        _refers("lab_results", "run_id", "lab_runs.id"),
        PrimaryKeyConstraint("run_id", "retriever", name="pk_lab_results"),
    )


def _findings() -> None:
    op.create_table(
        "lab_asked",
        *_columns(Text(), "run_id"),
        *_columns(Integer(), "position"),
        *_columns(Text(), "question_id", "text", "status"),
        *_columns(JSON(), "right_ids"),
        _refers("lab_asked", "run_id", "lab_runs.id"),
        PrimaryKeyConstraint("run_id", "position", name="pk_lab_asked"),
    )
    op.create_table(
        "lab_findings",
        *_columns(Text(), "run_id"),
        *_columns(Integer(), "position"),
        *_columns(Text(), "retriever"),
        *_columns(JSON(), "found"),
        *_columns(Integer(), "first_right", nullable=True),
        *_columns(Double(), "ms"),
        *_columns(Text(), "error", nullable=True),
        _refers("lab_findings", "run_id", "lab_runs.id"),
        PrimaryKeyConstraint("run_id", "position", "retriever", name="pk_lab_findings"),
    )
