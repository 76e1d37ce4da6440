"""Items of sources that could not be had: when to try again. Documents: what of them could not be read."""

from alembic import op
from sqlalchemy import Column, DateTime, Integer, Text, text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("source_items", Column("wanted", Text(), nullable=True))  # the version not had
    op.add_column("source_items", Column("tries", Integer(), nullable=False, server_default=text("0")))
    op.add_column("source_items", Column("due", DateTime(timezone=True), nullable=True))
    op.add_column("documents", Column("note", Text(), nullable=True))
