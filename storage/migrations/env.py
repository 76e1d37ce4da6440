"""Alembic's entry: run on the connection that was handed over; the caller commits."""

from alembic import context

from storage import tables as lab_tables  # noqa: F401 - declared with the others
from storage.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    transactional_ddl=True,  # SQLite's DDL is transactional once BEGIN is ours
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
