"""Branches and nodes of trees as rows and as records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from storage.tree_tables import TreeBranch, TreeEdge, TreeNode

BranchState = Literal["building", "ready"]
BATCH = 900  # below the 999 parameters that every SQLite allows


@dataclass(frozen=True)
class BranchRecord:
    """The tree over a document, or over all documents where ``document_id`` is None.

    ``contents`` is equal for equal things below it; ``left_out`` is how many summaries could not be made.
    """

    id: str
    document_id: str | None
    state: BranchState
    made_with: Mapping[str, Any]
    contents: str
    left_out: int


@dataclass(frozen=True)
class NodeRecord:
    """A node: of a leaf, level 0, ``text == canonical[start:end]``; a summary has children and no place.

    ``weight`` is how much a leaf tells of what its document is about, against the document's other leaves.
    """

    id: str
    level: int
    text: str
    children: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    page: int | None = None
    heading: str = ""
    weight: float = 0.0
    document_id: str | None = None
    document: str = ""
    sha256: str = ""


def batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Part ids into as many as one query takes."""
    return (ids[first : first + BATCH] for first in range(0, len(ids), BATCH))


def known_ids(session: Session, ids: Sequence[str]) -> set[str]:
    """Return those of the ids that are nodes already, of whichever branch."""
    found = (session.scalars(select(TreeNode.id).where(TreeNode.id.in_(batch))) for batch in batches(ids))
    return {id_ for batch in found for id_ in batch}


def with_children(session: Session, rows: Sequence[Any]) -> list[NodeRecord]:
    """Make records of rows, in their order, with one query for the children of all."""
    ids = [node.id for node, *_ in rows if node.level > 0]
    below: dict[str, list[str]] = {}
    edges = select(TreeEdge.parent_id, TreeEdge.child_id).order_by(TreeEdge.parent_id, TreeEdge.position)
    for batch in batches(ids):
        for parent, child in session.execute(edges.where(TreeEdge.parent_id.in_(batch))):
            below.setdefault(parent, []).append(child)
    return [_node(row, below.get(row[0].id, ())) for row in rows]


def _node(row: Any, children: Sequence[str]) -> NodeRecord:
    node, document_id, name, sha256 = row
    return NodeRecord(
        id=node.id,
        level=node.level,
        text=node.text,
        children=tuple(children),
        start=node.start or 0,
        end=node.end or 0,
        page=node.page,
        heading=node.heading,
        weight=node.weight,
        document_id=document_id,
        document=name or "",
        sha256=sha256 or "",
    )


def as_branch(row: TreeBranch) -> BranchRecord:
    """Return a branch as it is handed out."""
    return BranchRecord(
        row.id, row.document_id, cast(BranchState, row.state), row.made_with, row.contents, row.left_out
    )


def node_values(branch_id: str, position: int, node: NodeRecord) -> dict[str, Any]:
    """Return a node as the row of its table; a summary has no place."""
    leaf = node.level == 0
    return {
        "id": node.id,
        "branch_id": branch_id,
        "level": node.level,
        "position": position,
        "start": node.start if leaf else None,
        "end": node.end if leaf else None,
        "page": node.page,
        "heading": node.heading,
        "weight": node.weight,
        "text": node.text,
    }


def edge_values(parent_id: str, position: int, child_id: str) -> dict[str, Any]:
    """Return the row that says which node summarises which."""
    return {"parent_id": parent_id, "position": position, "child_id": child_id}
