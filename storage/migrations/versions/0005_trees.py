"""RAPTOR's tree: branches, nodes with level and place, and which node summarises which."""

from alembic import op
from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
)

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    _branches()
    _nodes()
    _edges()


def _branches() -> None:
    op.create_table(
        "tree_branches",
        Column("id", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("document_id", Text(), nullable=True),
        Column("state", Text(), nullable=False),
        Column("made_with", JSON(), nullable=False),
        Column("contents", Text(), nullable=False),
        Column("left_out", Integer(), nullable=False),
        Column("updated", DateTime(timezone=True), nullable=False),
        ForeignKeyConstraint(["owner"], ["users.id"], name="fk_tree_branches_owner", ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_tree_branches_document_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_tree_branches"),
    )
    op.create_index(
        "ix_tree_branches_owner_document_id", "tree_branches", ["owner", "document_id"], unique=True
    )
    op.create_index("ix_tree_branches_document_id", "tree_branches", ["document_id"])


def _nodes() -> None:
    op.create_table(
        "tree_nodes",
        Column("id", Text(), nullable=False),
        Column("branch_id", Text(), nullable=False),
        Column("level", Integer(), nullable=False),
        Column("position", Integer(), nullable=False),
        Column("start", Integer(), nullable=True),
        Column("end", Integer(), nullable=True),
        Column("page", Integer(), nullable=True),
        Column("heading", Text(), nullable=False),
        Column("weight", Double(), nullable=False),
        Column("text", Text(), nullable=False),
        ForeignKeyConstraint(
            ["branch_id"], ["tree_branches.id"], name="fk_tree_nodes_branch_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_tree_nodes"),
    )
    op.create_index(
        "ix_tree_nodes_branch_id_level_position", "tree_nodes", ["branch_id", "level", "position"]
    )


def _edges() -> None:
    op.create_table(
        "tree_edges",
        Column("parent_id", Text(), nullable=False),
        Column("position", Integer(), nullable=False),
        Column("child_id", Text(), nullable=False),
        ForeignKeyConstraint(
            ["parent_id"], ["tree_nodes.id"], name="fk_tree_edges_parent_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("parent_id", "position", name="pk_tree_edges"),
    )
    op.create_index("ix_tree_edges_child_id", "tree_edges", ["child_id"])
