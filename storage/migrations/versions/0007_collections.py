"""Collections of documents, what a conversation chose to search, and how each document was split."""

from alembic import op
from sqlalchemy import JSON, Column, DateTime, ForeignKeyConstraint, PrimaryKeyConstraint, Text, text

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "collections",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("folded", Text(), nullable=False),
        Column("splitting", JSON(), nullable=True),
        Column("created", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_collections_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_collections"),
    )
    op.create_index("ix_collections_owner_folded", "collections", ["owner", "folded"], unique=True)
    op.add_column("documents", Column("collection_id", Text(), nullable=True))
    op.create_index("ix_documents_collection_id", "documents", ["collection_id"])
    op.add_column("documents", Column("edition", Text(), nullable=False, server_default=text("''")))
    op.add_column("messages", Column("searched_in", Text(), nullable=True))
    _choices()


def _choices() -> None:
    op.create_table(
        "choices",
        Column("conversation_id", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("chosen_id", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name="fk_choices_conversation_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("conversation_id", "kind", "chosen_id", name="pk_choices"),
    )
    op.create_index("ix_choices_chosen_id", "choices", ["chosen_id"])
