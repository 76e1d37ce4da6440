"""Messages: the offer to read all of a scope, with its cost."""

from alembic import op
from sqlalchemy import JSON, Column

revision = "0021"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("messages", Column("reading_offer", JSON(), nullable=True))
