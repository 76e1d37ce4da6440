"""Items of sources that could not be had: at which version, how often in a row, and when to try again."""

from alembic import op
from sqlalchemy import Column, DateTime, Integer, Text, text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("source_items", Column("wanted", Text(), nullable=True))
    op.add_column("source_items", Column("tries", Integer(), nullable=False, server_default=text("0")))
    op.add_column("source_items", Column("due", DateTime(timezone=True), nullable=True))
