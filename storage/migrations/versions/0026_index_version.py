"""Users: a number that is raised whenever what their indexes hold, or which they use, was changed."""

from alembic import op
from sqlalchemy import Column, Integer, text

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("users", Column("index_version", Integer(), nullable=False, server_default=text("0")))
