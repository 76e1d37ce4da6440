"""Messages: the coverage of an answer. Collections: instructions for answers."""

from alembic import op
from sqlalchemy import Column, Text, text

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("messages", Column("coverage", Text(), nullable=True))
    op.add_column("collections", Column("instructions", Text(), nullable=False, server_default=text("''")))
