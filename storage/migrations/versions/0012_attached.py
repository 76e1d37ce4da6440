"""Messages: the documents that were attached to a question."""

from alembic import op
from sqlalchemy import JSON, Column, text

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("messages", Column("attached", JSON(), nullable=False, server_default=text("'[]'")))
