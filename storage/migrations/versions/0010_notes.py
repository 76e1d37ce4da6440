"""Documents tell what of them could not be read."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("documents", Column("note", Text(), nullable=True))
