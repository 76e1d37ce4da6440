"""Tags: words that an owner gives to documents, several to each."""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, PrimaryKeyConstraint, Text

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "tags",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("folded", Text(), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_tags_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_tags"),
    )
    op.create_index("ix_tags_owner_folded", "tags", ["owner", "folded"], unique=True)
    op.create_table(
        "document_tags",
        Column("document_id", Text(), nullable=False),
        Column("tag_id", Text(), nullable=False),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_document_tags_document_id", ondelete="CASCADE"
        ),
        ForeignKeyConstraint(["tag_id"], ["tags.id"], name="fk_document_tags_tag_id", ondelete="CASCADE"),
        PrimaryKeyConstraint("document_id", "tag_id", name="pk_document_tags"),
    )
    op.create_index("ix_document_tags_tag_id", "document_tags", ["tag_id"])
