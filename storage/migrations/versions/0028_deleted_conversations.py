"""Conversations: when one was deleted that can still be restored."""

from alembic import op
from sqlalchemy import Column, DateTime

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.add_column("conversations", Column("deleted", DateTime(timezone=True), nullable=True))
