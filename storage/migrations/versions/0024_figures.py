"""Descriptions of figures by a model, how far documents are described, and which models take pictures."""

from alembic import op
from sqlalchemy import Boolean, Column, DateTime, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "figures",
        Column("id", Text(), nullable=False),
        Column("document_id", Text(), nullable=False),
        Column("number", Integer(), nullable=False),
        Column("page", Integer(), nullable=True),
        Column("label", Text(), nullable=False),
        Column("occurrence", Integer(), nullable=False),
        Column("start", Integer(), nullable=False),
        Column("end", Integer(), nullable=False),
        Column("text", Text(), nullable=False),
        Column("model", Text(), nullable=False),
        Column("created", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_figures_document_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_figures"),
    )
    op.create_index("ix_figures_document_id_number", "figures", ["document_id", "number"])
    op.create_table(
        "figure_readings",
        Column("document_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("again", Boolean(), nullable=False),
        Column("note", Text(), nullable=True),
        Column("updated", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_figure_readings_document_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("document_id", name="pk_figure_readings"),
    )
    op.create_table(
        "vision_models",
        Column("address", Text(), nullable=False),
        Column("model", Text(), nullable=False),
        Column("takes_pictures", Boolean(), nullable=False),
        Column("asked", DateTime(timezone=True), nullable=False),
        PrimaryKeyConstraint("address", "model", name="pk_vision_models"),
    )
