"""Webhooks, and the events that are still to be delivered to them."""

from alembic import op
from sqlalchemy import JSON, Column, DateTime, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text

revision = "0025"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "webhooks",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("url", Text(), nullable=False),
        Column("events", JSON(), nullable=False),
        Column("secret", Text(), nullable=False),
        Column("created", DateTime(timezone=True), nullable=False),
        Column("delivered", DateTime(timezone=True), nullable=True),
        Column("disabled", DateTime(timezone=True), nullable=True),
        Column("reason", Text(), nullable=True),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_webhooks_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_index("ix_webhooks_owner_created", "webhooks", ["owner", "created"])
    op.create_table(
        "webhook_deliveries",
        Column("id", Text(), nullable=False),
        Column("webhook_id", Text(), nullable=False),
        Column("event", Text(), nullable=False),
        Column("data", JSON(), nullable=False),
        Column("created", DateTime(timezone=True), nullable=False),
        Column("tries", Integer(), nullable=False),
        Column("due", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name="fk_webhook_deliveries_webhook_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
    )
    op.create_index("ix_webhook_deliveries_webhook_id_due", "webhook_deliveries", ["webhook_id", "due"])
    op.create_index("ix_webhook_deliveries_due", "webhook_deliveries", ["due"])
