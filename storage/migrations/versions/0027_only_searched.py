"""Cells of grids: whether nothing but a search found none, which only a note told before."""

from alembic import op
from sqlalchemy import Boolean, Column, column, false, table, true

revision = "0027"
down_revision = "0026"

_TOLD = "Not found by search alone. A connected model reads the whole text."


def upgrade() -> None:
    op.add_column("grid_cells", Column("only_searched", Boolean(), nullable=False, server_default=false()))
    cells = table("grid_cells", column("state"), column("note"), column("only_searched"))
    told = cells.update().where(cells.c.state == "absent", cells.c.note == _TOLD)
    op.execute(told.values(only_searched=true()))
