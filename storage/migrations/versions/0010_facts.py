"""Facts that documents state of themselves, and what an answer's search was narrowed to by its question."""

from alembic import op
from sqlalchemy import JSON, Column, ForeignKeyConstraint, PrimaryKeyConstraint, Text

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "document_facts",
        Column("document_id", Text(), nullable=False),
        Column("facts", JSON(), nullable=False),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_document_facts_document_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("document_id", name="pk_document_facts"),
    )
    op.add_column("messages", Column("narrowed_to", Text(), nullable=True))
