"""Answers of the HTTP interface to requests with an idempotency key."""

from alembic import op
from sqlalchemy import JSON, Column, DateTime, ForeignKeyConstraint, PrimaryKeyConstraint, Text

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "idempotent_requests",
        Column("owner", Text(), nullable=False),
        Column("key", Text(), nullable=False),
        Column("request", Text(), nullable=False),
        Column("response", JSON(), nullable=False),
        Column("created", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(
            ["owner"], ["users.id"], name="fk_idempotent_requests_owner", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("owner", "key", name="pk_idempotent_requests"),
    )
