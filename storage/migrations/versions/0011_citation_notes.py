"""Citations: what the source says where it differs, or how a number was calculated."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("citations", Column("note", Text(), nullable=False, server_default=""))
