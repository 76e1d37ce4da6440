"""Messages: why an answer is not helpful, and a note on it."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("messages", Column("rating_reason", Text(), nullable=True))
    op.add_column("messages", Column("rating_note", Text(), nullable=True))
