"""Usage: the seconds of embedding that a person's documents took on a day."""

from alembic import op
from sqlalchemy import Column, Double, text

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("usage", Column("embedding_seconds", Double(), nullable=False, server_default=text("0")))
