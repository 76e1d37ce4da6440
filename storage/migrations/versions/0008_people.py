"""People: what each is called, when they were seen, limits and usage, and that one is being removed."""

from alembic import op
from sqlalchemy import JSON, Column, DateTime, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for name in ("name", "email"):
        op.add_column("users", Column(name, Text(), nullable=True))
    for name in ("seen", "not_before", "removing"):
        op.add_column("users", Column(name, DateTime(timezone=True), nullable=True))
    op.add_column("users", Column("limits", JSON(), nullable=True))
    op.create_table(
        "usage",
        Column("owner", Text(), nullable=False),
        Column("day", Text(), nullable=False),
        Column("answers", Integer(), nullable=False),
        Column("tokens", Integer(), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_usage_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("owner", "day", name="pk_usage"),
    )
    op.create_table(
        "departures",
        Column("id", Text(), nullable=False),
        Column("at", DateTime(timezone=True), nullable=False),
        PrimaryKeyConstraint("id", name="pk_departures"),
    )
