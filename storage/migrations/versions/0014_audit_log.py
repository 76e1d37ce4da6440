"""Audit log: sign-ins, keys, removals, exports and changes of settings; triggers keep it append-only."""

from alembic import op
from sqlalchemy import JSON, Column, DateTime, Integer, PrimaryKeyConstraint, Text

revision = "0014"
down_revision = "0013"

SQLITE = (
    """CREATE TRIGGER audit_log_insert BEFORE INSERT ON audit_log
    WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log
    WHEN julianday(OLD.at) IS NULL OR julianday(OLD.at) > julianday('now') - 30
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
)
POSTGRESQL = (
    """CREATE FUNCTION audit_log_append_only() RETURNS trigger AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN IF OLD.at <= now() - interval '30 days' THEN RETURN OLD; END IF; END IF;
    RAISE EXCEPTION 'the audit log only grows'; END $$ LANGUAGE plpgsql""",
    """CREATE TRIGGER audit_log_change BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_append_only()""",
    """CREATE TRIGGER audit_log_truncate BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only()""",
)
TRIGGERS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def upgrade() -> None:
    op.create_table(
        "audit_log",
        Column("id", Integer(), nullable=False),
        Column("at", DateTime(timezone=True), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("detail", JSON(), nullable=False),
        PrimaryKeyConstraint("id", name="pk_audit_log"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_log_owner_id", "audit_log", ["owner", "id"])
    for trigger in TRIGGERS.get(op.get_bind().dialect.name, ()):
        op.execute(trigger)
