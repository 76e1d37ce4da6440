"""Personal keys of the HTTP interface, by their hash."""

from alembic import op
from sqlalchemy import JSON, Column, DateTime, ForeignKeyConstraint, PrimaryKeyConstraint, Text

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "api_keys",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("sha256", Text(), nullable=False),
        Column("scopes", JSON(), nullable=False),
        Column("collections", JSON(), nullable=True),
        Column("created", DateTime(timezone=True), nullable=False),
        Column("expires", DateTime(timezone=True), nullable=True),
        Column("used", DateTime(timezone=True), nullable=True),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_api_keys_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_api_keys"),
    )
    op.create_index("ix_api_keys_owner_created", "api_keys", ["owner", "created"])
