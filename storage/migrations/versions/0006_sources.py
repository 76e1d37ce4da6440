"""Sources and what is at each; documents tell their address, and whether they were added by hand."""

from alembic import op
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    true,
)

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("documents", Column("url", Text(), nullable=True))
    op.add_column("documents", Column("uploaded", Boolean(), nullable=False, server_default=true()))
    _sources()
    _items()


def _sources() -> None:
    op.create_table(
        "sources",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("settings", JSON(), nullable=False),
        Column("every", Integer(), nullable=True),
        Column("cursor", Text(), nullable=True),
        Column("round", Integer(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("reason", Text(), nullable=True),
        Column("began", DateTime(timezone=True), nullable=True),
        Column("ended", DateTime(timezone=True), nullable=True),
        Column("created", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_sources_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_sources"),
    )
    op.create_index("ix_sources_owner_created", "sources", ["owner", "created"])


def _items() -> None:
    op.create_table(
        "source_items",
        Column("source_id", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("url", Text(), nullable=True),
        Column("version", Text(), nullable=True),
        Column("document_id", Text(), nullable=True),
        Column("reason", Text(), nullable=True),
        Column("round", Integer(), nullable=False),
        Column("updated", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name="fk_source_items_source_id", ondelete="CASCADE"
        ),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_source_items_document_id", ondelete="SET NULL"
        ),
        PrimaryKeyConstraint("source_id", "id", name="pk_source_items"),
    )
    op.create_index("ix_source_items_document_id", "source_items", ["document_id"])
