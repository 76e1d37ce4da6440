"""RAPTOR trees of one owner: a branch over each document, and the layers above, stored as they are built."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, delete, exists, func, select, update
from sqlalchemy.orm import Session

from storage.database import OwnerStore
from storage.tables import (
    Document,
    DocumentText,
    TreeBranch,
    TreeEdge,
    TreeNode,
    batches,
    ensure_user,
    insert_rows,
    new_id,
    now,
    raise_index_version,
    to_record,
)

BranchState = Literal["building", "ready"]


@dataclass(frozen=True)
class BranchRecord:
    """A tree over a document, or over all documents where ``document_id`` is None.

    ``contents`` is a fingerprint of its leaves; ``left_out`` counts the summaries that could not be made.
    """

    id: str
    document_id: str | None
    state: BranchState
    made_with: Mapping[str, Any]
    contents: str
    left_out: int


@dataclass(frozen=True)
class NodeRecord:
    """A leaf, level 0, with ``text == canonical[start:end]``, or a summary with children and no span."""

    id: str
    level: int
    text: str
    children: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    page: int | None = None
    heading: str = ""
    document_id: str | None = None
    document: str = ""
    sha256: str = ""


def _known_ids(session: Session, ids: Sequence[str]) -> set[str]:
    found = (session.scalars(select(TreeNode.id).where(TreeNode.id.in_(batch))) for batch in batches(ids))
    return {id_ for batch in found for id_ in batch}


def _node_records(session: Session, rows: Sequence[Any]) -> list[NodeRecord]:
    ids = [node.id for node, *_ in rows if node.level > 0]
    below: dict[str, list[str]] = {}
    edges = select(TreeEdge.parent_id, TreeEdge.child_id).order_by(TreeEdge.parent_id, TreeEdge.position)
    for batch in batches(ids):
        for parent, child in session.execute(edges.where(TreeEdge.parent_id.in_(batch))):
            below.setdefault(parent, []).append(child)
    return [
        to_record(
            NodeRecord,
            node,
            children=tuple(below.get(node.id, ())),
            start=node.start or 0,
            end=node.end or 0,
            document_id=document_id,
            document=name or "",
            sha256=sha256 or "",
        )
        for node, document_id, name, sha256 in rows
    ]


def _node_values(branch_id: str, position: int, node: NodeRecord) -> dict[str, Any]:
    values = {"branch_id": branch_id, "position": position, "weight": 0.0, **asdict(node)}
    for name in ("children", "document_id", "document", "sha256"):
        del values[name]
    return values if node.level == 0 else {**values, "start": None, "end": None}


class Trees(OwnerStore):
    """The RAPTOR trees of one owner."""

    def begin(self, document_id: str | None, made_with: Mapping[str, Any], contents: str) -> BranchRecord:
        """Return the branch to build, with the nodes it has; NotFound for an unknown document.

        A branch made with other settings is deleted; one with other contents is to be built further.
        """
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            if document_id is not None:
                self._own(session, Document, document_id)
            row = session.scalar(self._branches().where(_over(document_id)))
            if row is not None and row.made_with != dict(made_with):
                session.delete(row)
                session.flush()
                row = None
            if row is None:
                row = TreeBranch(id=new_id(), owner=self._owner, document_id=document_id, left_out=0)
                row.made_with, row.contents, row.state = dict(made_with), contents, "building"
            if row.contents != contents:
                row.contents, row.state = contents, "building"
            row.updated = now()
            session.add(row)
            session.flush()
            return to_record(BranchRecord, row)

    def keep(self, branch_id: str, nodes: Sequence[NodeRecord]) -> None:
        """Add nodes to a branch in one commit. NotFound when the branch was deleted meanwhile."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, TreeBranch, branch_id)
            there = _known_ids(session, [node.id for node in nodes])
            fresh = [(at, node) for at, node in enumerate(nodes) if node.id not in there]
            insert_rows(session, TreeNode, [_node_values(row.id, at, node) for at, node in fresh])
            edges = [
                {"parent_id": node.id, "position": position, "child_id": child}
                for _, node in fresh
                for position, child in enumerate(node.children)
            ]
            insert_rows(session, TreeEdge, edges)

    def finish(self, branch_id: str, node_ids: Iterable[str], left_out: int = 0) -> list[str]:
        """Mark a branch as ready with these nodes, in one commit; return the ids of the others, deleted."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, TreeBranch, branch_id)
            kept = set(node_ids)
            there = session.scalars(select(TreeNode.id).where(TreeNode.branch_id == row.id)).all()
            gone = [id_ for id_ in there if id_ not in kept]
            for batch in batches(gone):
                session.execute(delete(TreeNode).where(TreeNode.id.in_(batch)))
            row.state, row.left_out, row.updated = "ready", left_out, now()
            raise_index_version(session, self._owner)
            return gone

    def drop(self, document_id: str | None) -> None:
        """Delete the branch over a document, or the layers above all; none is no error."""
        with self._database.writing(self._owner) as session:
            session.execute(delete(TreeBranch).where(TreeBranch.owner == self._owner, _over(document_id)))

    def reopen(self, *, incomplete: bool = False) -> None:
        """Mark branches as being built: their nodes stay, and are not searched until `finish`.

        All of them, or only the `incomplete` ones, whose summaries could not all be made.
        """
        with self._database.writing(self._owner) as session:
            mine = update(TreeBranch).where(TreeBranch.owner == self._owner)
            chosen = mine.where(TreeBranch.left_out > 0) if incomplete else mine
            session.execute(chosen.values(state="building", contents=""))

    def drop_stale(self) -> list[str]:
        """Delete every summary of a deleted node, and the summaries above it; return their ids.

        Their branches are marked as being built, and searched again after `finish`.
        """
        gone: list[str] = []
        with self._database.writing(self._owner) as session:
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
            return None if row is None else to_record(BranchRecord, row)

    def nodes(self, branch_id: str) -> list[NodeRecord]:
        """List the nodes of one branch, leaves first, ready or not; NotFound when there is no such branch."""
        with self._database.reading() as session:
            mine = self._nodes().where(TreeBranch.id == self._own(session, TreeBranch, branch_id).id)
            ordered = mine.order_by(TreeNode.level, TreeNode.position, TreeNode.id)
            return _node_records(session, session.execute(ordered).all())

    def tops(self, branch_id: str) -> list[NodeRecord]:
        """List the nodes of a branch that have no parent in it; leaves where it has no summaries.

        NotFound when there is no such branch.
        """
        with self._database.reading() as session:
            mine = self._nodes().where(TreeBranch.id == self._own(session, TreeBranch, branch_id).id)
            inside = select(TreeNode.id).where(TreeNode.branch_id == branch_id)
            above = exists().where(TreeEdge.child_id == TreeNode.id, TreeEdge.parent_id.in_(inside))
            highest = session.scalar(select(func.max(TreeNode.level)).where(TreeNode.branch_id == branch_id))
            chosen = mine.where(~above.correlate(TreeNode), TreeNode.level >= min(1, highest or 0))
            ordered = chosen.order_by(TreeNode.level, TreeNode.position, TreeNode.id)
            return _node_records(session, session.execute(ordered).all())

    def leaves_at(self, document_id: str, start: int, end: int) -> list[str]:
        """Return the ids of the leaves that overlap ``text[start:end]`` of a document."""
        mine = self._in_branches(select(TreeNode.id), TreeBranch.document_id == document_id)
        overlap = TreeNode.level == 0, TreeNode.start < end, TreeNode.end > start
        with self._database.reading() as session:
            return list(session.scalars(mine.where(*overlap).order_by(TreeNode.position)))

    def levels(self, document_id: str | None = None) -> dict[int, int]:
        """Count the nodes of each level, of one document's branch or of all that are ready."""
        counts = select(TreeNode.level, func.count()).group_by(TreeNode.level).order_by(TreeNode.level)
        mine = self._in_branches(counts, TreeBranch.state == "ready")
        chosen = mine if document_id is None else mine.where(TreeBranch.document_id == document_id)
        with self._database.reading() as session:
            return {row[0]: row[1] for row in session.execute(chosen)}

    def characters(self, document_ids: Collection[str]) -> int:
        """Return the total length of the texts of documents."""
        length = select(func.sum(func.length(DocumentText.text))).join(
            Document, Document.id == DocumentText.document_id
        )
        mine = length.where(Document.owner == self._owner)
        with self._database.reading() as session:
            parts = batches(sorted(document_ids))
            return sum(session.scalar(mine.where(Document.id.in_(part))) or 0 for part in parts)

    def nodes_by_id(self, ids: Iterable[str]) -> dict[str, NodeRecord]:
        """Return nodes by id, in the order of the ids; unknown ones and those being built are absent."""
        wanted = list(dict.fromkeys(ids))
        with self._database.reading() as session:
            ready = self._nodes().where(TreeBranch.state == "ready")
            rows = [
                row
                for batch in batches(wanted)
                for row in session.execute(ready.where(TreeNode.id.in_(batch)))
            ]
            found = {node.id: node for node in _node_records(session, rows)}
        return {id_: found[id_] for id_ in wanted if id_ in found}

    def parents(self, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the ready nodes that summarise each of these; ids without any are absent."""
        found: dict[str, list[str]] = {}
        with self._database.reading() as session:
            edges = select(TreeEdge.child_id, TreeEdge.parent_id).order_by(TreeEdge.parent_id)
            mine = self._in_branches(
                edges.join(TreeNode, TreeNode.id == TreeEdge.parent_id), TreeBranch.state == "ready"
            )
            for batch in batches(list(ids)):
                for child, parent in session.execute(mine.where(TreeEdge.child_id.in_(batch))):
                    found.setdefault(child, []).append(parent)
        return {child: tuple(above) for child, above in found.items()}

    def node_ids(self, *, ready: bool = False) -> set[str]:
        """Return the ids of all nodes, or only of those whose branch is `ready`."""
        chosen = [TreeBranch.state == "ready"] if ready else []
        with self._database.reading() as session:
            return set(session.scalars(self._in_branches(select(TreeNode.id), *chosen)))

    def list(self) -> list[BranchRecord]:
        """List the branches, those over documents first."""
        with self._database.reading() as session:
            ordered = self._branches().order_by(TreeBranch.document_id.is_(None), TreeBranch.document_id)
            return [to_record(BranchRecord, row) for row in session.scalars(ordered)]

    def _branches(self) -> Select[TreeBranch]:
        return select(TreeBranch).where(TreeBranch.owner == self._owner)

    def _nodes(self) -> Select[*tuple[Any, ...]]:
        nodes = select(TreeNode, TreeBranch.document_id, Document.name, Document.sha256)
        return self._in_branches(nodes).outerjoin(Document, Document.id == TreeBranch.document_id)

    def _in_branches(
        self, nodes: Select[*tuple[Any, ...]], *where: ColumnElement[bool]
    ) -> Select[*tuple[Any, ...]]:
        joined = nodes.join(TreeBranch, TreeBranch.id == TreeNode.branch_id)
        return joined.where(TreeBranch.owner == self._owner, *where)

    def _stale(self) -> Select[*tuple[str, str]]:
        child = select(TreeNode.id).where(TreeNode.id == TreeEdge.child_id).exists()
        nodes = self._in_branches(select(TreeNode.id, TreeNode.branch_id))
        parents = nodes.join(TreeEdge, TreeEdge.parent_id == TreeNode.id)
        return parents.where(~child.correlate(TreeEdge)).distinct()


def _over(document_id: str | None) -> ColumnElement[bool]:
    return TreeBranch.document_id.is_(None) if document_id is None else TreeBranch.document_id == document_id
