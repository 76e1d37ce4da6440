"""Settings and requests of each answer, and the reader's feedback on single citations."""

from alembic import op
from sqlalchemy import JSON, Column, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("citations", Column("feedback", Text(), nullable=True))
    op.create_table(
        "traces",
        Column("message_id", Text(), nullable=False),
        Column("settings", JSON(), nullable=False),
        Column("sent", JSON(), nullable=False),
        Column("cut", Integer(), nullable=False),
        Column("unsearched", JSON(), nullable=False),
        Column("unsearched_count", Integer(), nullable=False),
        ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_traces_message_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("message_id", name="pk_traces"),
    )
