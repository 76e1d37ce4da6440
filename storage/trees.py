"""RAPTOR's trees of one owner: a branch over each document, and the layers above, kept as they are built."""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from sqlalchemy import ColumnElement, Select, delete, exists, func, insert, select, update
from sqlalchemy.orm import Session

from storage import tables
from storage.database import Database
from storage.errors import NotFound
from storage.tables import Document, DocumentText, TreeBranch, TreeEdge, TreeNode

# Branches and nodes of trees as rows and as records.
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


class Trees:
    """The trees of one owner; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def begin(self, document_id: str | None, made_with: Mapping[str, Any], contents: str) -> BranchRecord:
        """Return the branch to build, with the nodes it has; NotFound for a document that is not there.

        What was made in another way goes. What has other contents now is to be built on.
        """
        with self._database.writing() as session:
            tables.ensure_user(session, self._owner)
            if document_id is not None and session.scalar(self._document(document_id)) is None:
                raise NotFound(f"There is no document {document_id!r}.")
            row = session.scalar(self._branches().where(_over(document_id)))
            if row is not None and row.made_with != dict(made_with):
                session.delete(row)
                session.flush()
                row = None
            if row is None:
                row = TreeBranch(
                    id=secrets.token_hex(8), owner=self._owner, document_id=document_id, left_out=0
                )
                row.made_with, row.contents, row.state = dict(made_with), contents, "building"
            if row.contents != contents:
                row.contents, row.state = contents, "building"
            row.updated = datetime.now(UTC)
            session.add(row)
            session.flush()
            return as_branch(row)

    def keep(self, branch_id: str, nodes: Sequence[NodeRecord]) -> None:
        """Add nodes to a branch in one commit; those it has stay. NotFound when it was dropped meanwhile."""
        with self._database.writing() as session:
            row = self._row(session, branch_id)
            there = known_ids(session, [node.id for node in nodes])
            fresh = [(at, node) for at, node in enumerate(nodes) if node.id not in there]
            if fresh:
                session.execute(insert(TreeNode), [node_values(row.id, at, node) for at, node in fresh])
            edges = [edge_values(node.id, *child) for _, node in fresh for child in enumerate(node.children)]
            if edges:
                session.execute(insert(TreeEdge), edges)

    def finish(self, branch_id: str, node_ids: Iterable[str], left_out: int = 0) -> list[str]:
        """Call a branch ready with these nodes, in one commit; returns the ids of the others, which go."""
        with self._database.writing() as session:
            row = self._row(session, branch_id)
            kept = set(node_ids)
            there = session.scalars(select(TreeNode.id).where(TreeNode.branch_id == row.id)).all()
            gone = [id_ for id_ in there if id_ not in kept]
            for batch in batches(gone):
                session.execute(delete(TreeNode).where(TreeNode.id.in_(batch)))
            row.state, row.left_out, row.updated = "ready", left_out, datetime.now(UTC)
            return gone

    def drop(self, document_id: str | None) -> None:
        """Remove the branch over a document, or the layers above all; none is no error."""
        with self._database.writing() as session:
            session.execute(delete(TreeBranch).where(TreeBranch.owner == self._owner, _over(document_id)))

    def reopen(self, *, incomplete: bool = False) -> None:
        """Call branches such as are to be built on: their nodes stay, and are not searched until then.

        All of them, or only the `incomplete`, whose summaries could not all be made.
        """
        with self._database.writing() as session:
            mine = update(TreeBranch).where(TreeBranch.owner == self._owner)
            chosen = mine.where(TreeBranch.left_out > 0) if incomplete else mine
            session.execute(chosen.values(state="building", contents=""))

    def drop_stale(self) -> list[str]:
        """Remove every summary of what is gone, and what stands above it; returns their ids.

        Their branches are to be built on: they are searched again when that is done.
        """
        gone: list[str] = []
        with self._database.writing() as session:
            while stale := session.execute(self._stale()).all():
                gone += [id_ for id_, _ in stale]
                for batch in batches([id_ for id_, _ in stale]):
                    session.execute(delete(TreeNode).where(TreeNode.id.in_(batch)))
                branches = {branch for _, branch in stale}
                session.execute(
                    update(TreeBranch)
                    .where(TreeBranch.id.in_(branches), TreeBranch.owner == self._owner)
                    .values(state="building", contents="")
                )
        return gone

    def branch(self, document_id: str | None) -> BranchRecord | None:
        """Return the branch over a document, or the layers above all; None where there is none."""
        with self._database.reading() as session:
            row = session.scalar(self._branches().where(_over(document_id)))
            return None if row is None else as_branch(row)

    def nodes(self, branch_id: str) -> list[NodeRecord]:
        """List the nodes of one branch, leaves first, ready or not; NotFound when there is no such branch."""
        with self._database.reading() as session:
            mine = self._nodes().where(TreeBranch.id == self._row(session, branch_id).id)
            ordered = mine.order_by(TreeNode.level, TreeNode.position, TreeNode.id)
            return with_children(session, session.execute(ordered).all())

    def tops(self, branch_id: str) -> list[NodeRecord]:
        """List the nodes of a branch that nothing in it stands above; leaves where it has nothing else.

        NotFound when there is no such branch.
        """
        with self._database.reading() as session:
            mine = self._nodes().where(TreeBranch.id == self._row(session, branch_id).id)
            inside = select(TreeNode.id).where(TreeNode.branch_id == branch_id)
            above = exists().where(TreeEdge.child_id == TreeNode.id, TreeEdge.parent_id.in_(inside))
            highest = session.scalar(select(func.max(TreeNode.level)).where(TreeNode.branch_id == branch_id))
            chosen = mine.where(~above.correlate(TreeNode), TreeNode.level >= min(1, highest or 0))
            ordered = chosen.order_by(TreeNode.level, TreeNode.position, TreeNode.id)
            return with_children(session, session.execute(ordered).all())

    def leaves_at(self, document_id: str, start: int, end: int) -> list[str]:
        """Return the ids of the leaves that have a part of ``text[start:end]`` of a document."""
        mine = (
            select(TreeNode.id)
            .join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
            .where(TreeBranch.owner == self._owner, TreeBranch.document_id == document_id)
            .where(TreeNode.level == 0, TreeNode.start < end, TreeNode.end > start)
            .order_by(TreeNode.position)
        )
        with self._database.reading() as session:
            return list(session.scalars(mine))

    def levels(self, document_id: str | None = None) -> dict[int, int]:
        """Count the nodes of each level: of one document's branch, or of all that stands."""
        mine = (
            select(TreeNode.level, func.count())
            .join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
            .where(TreeBranch.owner == self._owner, TreeBranch.state == "ready")
            .group_by(TreeNode.level)
            .order_by(TreeNode.level)
        )
        chosen = mine if document_id is None else mine.where(TreeBranch.document_id == document_id)
        with self._database.reading() as session:
            return {row[0]: row[1] for row in session.execute(chosen)}

    def characters(self, document_ids: Collection[str]) -> int:
        """Return how long the texts of documents are together."""
        length = select(func.sum(func.length(DocumentText.text))).join(
            Document, Document.id == DocumentText.document_id
        )
        mine = length.where(Document.owner == self._owner)
        with self._database.reading() as session:
            parts = batches(sorted(document_ids))
            return sum(session.scalar(mine.where(Document.id.in_(part))) or 0 for part in parts)

    def nodes_by_id(self, ids: Iterable[str]) -> dict[str, NodeRecord]:
        """Look nodes up, in the order of the ids; unknown ones and those being built are absent."""
        wanted = list(dict.fromkeys(ids))
        with self._database.reading() as session:
            ready = self._nodes().where(TreeBranch.state == "ready")
            rows = [
                row
                for batch in batches(wanted)
                for row in session.execute(ready.where(TreeNode.id.in_(batch)))
            ]
            found = {node.id: node for node in with_children(session, rows)}
        return {id_: found[id_] for id_ in wanted if id_ in found}

    def parents(self, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Tell which ready nodes summarise each of these; those that none does are absent."""
        found: dict[str, list[str]] = {}
        with self._database.reading() as session:
            mine = (
                select(TreeEdge.child_id, TreeEdge.parent_id)
                .join(TreeNode, TreeNode.id == TreeEdge.parent_id)
                .join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
                .where(TreeBranch.owner == self._owner, TreeBranch.state == "ready")
                .order_by(TreeEdge.parent_id)
            )
            for batch in batches(list(ids)):
                for child, parent in session.execute(mine.where(TreeEdge.child_id.in_(batch))):
                    found.setdefault(child, []).append(parent)
        return {child: tuple(above) for child, above in found.items()}

    def node_ids(self) -> set[str]:
        """Every node there is, ready or not."""
        mine = select(TreeNode.id).join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
        with self._database.reading() as session:
            return set(session.scalars(mine.where(TreeBranch.owner == self._owner)))

    def list(self) -> list[BranchRecord]:
        """Every branch, those over documents first."""
        with self._database.reading() as session:
            ordered = self._branches().order_by(TreeBranch.document_id.is_(None), TreeBranch.document_id)
            return [as_branch(row) for row in session.scalars(ordered)]

    def _branches(self) -> Select[TreeBranch]:
        return select(TreeBranch).where(TreeBranch.owner == self._owner)

    def _document(self, document_id: str) -> Select[str]:
        return select(Document.id).where(Document.id == document_id, Document.owner == self._owner)

    def _nodes(self) -> Select[*tuple[Any, ...]]:
        return (
            select(TreeNode, TreeBranch.document_id, Document.name, Document.sha256)
            .join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
            .join(Document, Document.id == TreeBranch.document_id, isouter=True)
            .where(TreeBranch.owner == self._owner)
        )

    def _stale(self) -> Select[*tuple[str, str]]:
        """Select nodes, with their branch, that have a child which is gone."""
        child = select(TreeNode.id).where(TreeNode.id == TreeEdge.child_id).exists()
        return (
            select(TreeNode.id, TreeNode.branch_id)
            .join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
            .join(TreeEdge, TreeEdge.parent_id == TreeNode.id)
            .where(TreeBranch.owner == self._owner, ~child.correlate(TreeEdge))
            .distinct()
        )

    def _row(self, session: Session, branch_id: str) -> TreeBranch:
        row = session.scalar(self._branches().where(TreeBranch.id == branch_id))
        if row is None:
            raise NotFound(f"There is no branch {branch_id!r}.")
        return row


def _over(document_id: str | None) -> ColumnElement[bool]:
    return TreeBranch.document_id.is_(None) if document_id is None else TreeBranch.document_id == document_id
