"""Users: the language of the interface that a person chose; none where the browser's is taken."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("users", Column("language", Text(), nullable=True))
