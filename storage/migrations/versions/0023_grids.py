"""Grids: tables of documents and columns, and their cells."""

from alembic import op
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
)

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "grids",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("columns", JSON(), nullable=False),
        Column("run_begun", DateTime(timezone=True), nullable=True),
        Column("run_note", Text(), nullable=True),
        Column("created", DateTime(timezone=True), nullable=False),
        Column("updated", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_grids_owner", ondelete="CASCADE"),
        PrimaryKeyConstraint("id", name="pk_grids"),
    )
    op.create_index("ix_grids_owner_created", "grids", ["owner", "created"])
    op.create_table(
        "grid_choices",
        Column("grid_id", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("chosen_id", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        ForeignKeyConstraint(["grid_id"], ["grids.id"], name="fk_grid_choices_grid_id", ondelete="CASCADE"),
        PrimaryKeyConstraint("grid_id", "kind", "chosen_id", name="pk_grid_choices"),
    )
    op.create_index("ix_grid_choices_chosen_id", "grid_choices", ["chosen_id"])
    op.create_table(
        "grid_cells",
        Column("grid_id", Text(), nullable=False),
        Column("document_id", Text(), nullable=False),
        Column("column_id", Text(), nullable=False),
        Column("state", Text(), nullable=True),
        Column("value", JSON(), nullable=True),
        Column("quotes", JSON(), nullable=False),
        Column("read", Integer(), nullable=False),
        Column("total", Integer(), nullable=False),
        Column("calculated", Boolean(), nullable=False),
        Column("note", Text(), nullable=False),
        Column("basis", Text(), nullable=False),
        Column("seconds", Double(), nullable=False),
        Column("requests", Integer(), nullable=False),
        Column("corrected", JSON(), nullable=True),
        Column("locked", Boolean(), nullable=False),
        Column("updated", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(["grid_id"], ["grids.id"], name="fk_grid_cells_grid_id", ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_grid_cells_document_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("grid_id", "document_id", "column_id", name="pk_grid_cells"),
    )
    op.create_index("ix_grid_cells_document_id", "grid_cells", ["document_id"])
