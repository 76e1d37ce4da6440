"""The tables of RAPTOR's tree: branches, their nodes, and which node summarises which."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables import Base, part_of


class TreeBranch(Base):
    """The tree over one document, or, without a document, the layers over all of an owner's."""

    __tablename__ = "tree_branches"
    __table_args__ = (Index(None, "owner", "document_id", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    document_id: Mapped[str | None] = mapped_column(part_of("documents.id"), index=True)
    state: Mapped[str]
    made_with: Mapped[dict[str, Any]]
    contents: Mapped[str]
    left_out: Mapped[int]
    updated: Mapped[datetime]


class TreeNode(Base):
    """A leaf, level 0, with its place in its document, or a summary of nodes of the level below."""

    __tablename__ = "tree_nodes"
    __table_args__ = (Index(None, "branch_id", "level", "position"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    branch_id: Mapped[str] = mapped_column(part_of("tree_branches.id"))
    level: Mapped[int]
    position: Mapped[int]
    start: Mapped[int | None]
    end: Mapped[int | None]
    page: Mapped[int | None]
    heading: Mapped[str]
    weight: Mapped[float]
    text: Mapped[str]


class TreeEdge(Base):
    """A node's child. The child may be another branch's, and gone: then what stands above it is stale."""

    __tablename__ = "tree_edges"
    parent_id: Mapped[str] = mapped_column(part_of("tree_nodes.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    child_id: Mapped[str] = mapped_column(index=True)
