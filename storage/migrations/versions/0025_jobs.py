"""Jobs: work that any process may take, with its lease. Unfinished documents get theirs."""

from alembic import op
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    text,
)

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "jobs",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("key", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("attempt", Integer(), nullable=False),
        Column("worker", Text(), nullable=True),
        Column("leased_until", DateTime(timezone=True), nullable=True),
        Column("run_at", DateTime(timezone=True), nullable=False),
        Column("progress", JSON(), nullable=True),
        Column("stop", Boolean(), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_jobs_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_owner_kind_key", "jobs", ["owner", "kind", "key"], unique=True)
    op.create_index("ix_jobs_state_run_at", "jobs", ["state", "run_at"])
    op.execute(
        text(
            "INSERT INTO jobs (id, owner, kind, key, state, attempt, run_at, stop) "
            "SELECT id, owner, CASE WHEN state IN ('queued', 'reading') THEN 'read' ELSE 'embed' END, id, "
            "'waiting', 0, created, false FROM documents "
            "WHERE state IN ('queued', 'reading', 'searchable_by_words', 'searchable_by_meaning')"
        )
    )
