"""Views of a forest: nodes with their similarity to one question, and navigation from the top down."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from langchain_core.documents import Document

from rag.index import chunks
from rag.text.prompt_parts import count_tokens
from storage.records import ChunkRecord

if TYPE_CHECKING:
    from rag.raptor.tree import Forest
    from storage.trees import NodeRecord
DescribedLeaf = tuple[
    "NodeRecord", float, list["NodeRecord"]
]  # a leaf, its similarity, and the summaries above it


class QueryView:
    """View of a forest for one question, over the chosen documents or all, that reads each node once.

    Not thread-safe.
    """

    def __init__(self, forest: "Forest", query: str, document_ids: Collection[str] | None):
        self._forest = forest
        self._query = query
        self._document_ids = document_ids
        self._nodes: dict[str, NodeRecord] = {}
        self._near: dict[str, float] = {}

    def roots(self) -> list[str]:
        """Return the ids of the topmost nodes; raises RetrievalError where there is no tree."""
        found = self._forest.roots(self._document_ids)
        self._nodes |= {node.id: node for node in found}
        return [node.id for node in found]

    def nearest(self, count: int) -> dict[str, float]:
        """Return the nodes nearest the question with their similarity, -1 to 1, the nearest first.

        Raises RetrievalError where there is no tree.
        """
        self._forest.check()
        hits = self._forest.nearest(self._vector, count, self._document_ids)
        there = self._read_nodes(hits)
        found = {id_: near for id_, near in hits.items() if id_ in there}
        self._near |= found
        return found

    def similarities(self, ids: Sequence[str]) -> dict[str, float]:
        """Return the nodes' similarities to the question, -1 for a node without a vector."""
        missing = [id_ for id_ in ids if id_ not in self._near]
        vectors = self._forest.vectors.vectors_of(missing) if missing else {}
        question = np.asarray(self._vector, np.float32)
        self._near |= {
            id_: float(np.asarray(vectors[id_]) @ question) if id_ in vectors else -1.0 for id_ in missing
        }
        return {id_: self._near[id_] for id_ in ids}

    def children(self, node_id: str) -> list[str]:
        """Return the ids of a node's existing children."""
        return list(self._read_nodes(self._nodes[node_id].children))

    def is_leaf(self, node_id: str) -> bool:
        """Return whether a node is a leaf, a passage of a document."""
        return self._nodes[node_id].level == 0

    def leaves_among(self, ids: Iterable[str]) -> list[str]:
        """Return the leaves among the nodes, in their order."""
        return [id_ for id_ in ids if self.is_leaf(id_)]

    def weight(self, leaf_id: str) -> float:
        """Return how informative a leaf is about its document."""
        return self._nodes[leaf_id].weight

    def size(self, leaf_id: str) -> int:
        """Return a leaf's length in tokens."""
        return count_tokens(self._nodes[leaf_id].text)

    def ancestors(self, leaf_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of all summaries above each leaf, the lowest first."""
        parents = self._parents(leaf_ids)
        return {leaf: _all_ancestors(leaf, parents) for leaf in leaf_ids}

    def described(self, leaf_ids: Sequence[str]) -> list[DescribedLeaf]:
        """Return leaves with their similarity and one path from each to the root."""
        parents = self._parents(leaf_ids)
        ways = {leaf: _path_up(leaf, parents) for leaf in leaf_ids}
        self._read_nodes({id_ for way in ways.values() for id_ in way})
        near = self.similarities(leaf_ids)
        return [
            (self._nodes[leaf], near[leaf], [self._nodes[id_] for id_ in ways[leaf] if id_ in self._nodes])
            for leaf in leaf_ids
        ]

    @cached_property
    def _vector(self) -> list[float]:
        return self._forest.embedder.embed_query(self._query)

    def _read_nodes(self, ids: Iterable[str]) -> dict[str, "NodeRecord"]:
        wanted = list(ids)
        self._nodes |= self._forest.trees.nodes_by_id([id_ for id_ in wanted if id_ not in self._nodes])
        return {id_: self._nodes[id_] for id_ in wanted if id_ in self._nodes}

    def _parents(self, leaf_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the parents of the leaves, of their parents, and so on."""
        found: dict[str, tuple[str, ...]] = {}
        layer = list(leaf_ids)
        while layer:
            above = self._forest.trees.parents(layer)
            found |= above
            layer = sorted({id_ for parents in above.values() for id_ in parents} - found.keys())
        return found


def to_document(leaf: "NodeRecord", score: float, path: Sequence["NodeRecord"]) -> Document:
    """Return a leaf as a LangChain document with its similarity and the summaries above it."""
    above = [{"id": node.id, "level": node.level, "text": node.text} for node in path]
    place = (
        leaf.document_id or "",
        leaf.document,
        leaf.sha256,
        0,
        leaf.start,
        leaf.end,
        leaf.page,
        leaf.heading,
    )
    return chunks.to_document(ChunkRecord(leaf.id, *place, leaf.text), score=score, path=above)


def _all_ancestors(leaf: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    layer = list(parents.get(leaf, ()))
    while layer:
        found.update(dict.fromkeys(layer))
        layer = [id_ for below in layer for id_ in parents.get(below, ()) if id_ not in found]
    return list(found)


def _path_up(leaf: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    way: list[str] = []
    at = leaf
    while parents.get(at):
        at = parents[at][0]
        way.append(at)
    return way


@dataclass(frozen=True)
class OpenedPath:
    """Path from the top to an open node: ``way[n]`` is one of ``layers[n]``.

    The last layer has the open node's children, unless it is a leaf.
    """

    way: tuple["NodeRecord", ...]
    layers: tuple[tuple["NodeRecord", ...], ...]

    @property
    def node(self) -> "NodeRecord | None":
        """The open node; None where there are several tops and none is open."""
        return self.way[-1] if self.way else None

    @property
    def below(self) -> tuple["NodeRecord", ...]:
        """The children of the open node."""
        return self.layers[-1] if len(self.layers) > len(self.way) else ()


def open_tree(forest: "Forest", document_id: str | None, way: Sequence[str]) -> OpenedPath:
    """Open a document's tree, or the one over all, along `way`, ids from the top.

    An unknown `way` opens a single top. A node may have several parents, so that the path is needed.
    Raises RetrievalError where there is no tree.
    """
    layers = [tuple(forest.roots(None if document_id is None else {document_id}))]
    wanted = list(way) if way and way[0] in {node.id for node in layers[0]} else []
    if not wanted and len(layers[0]) == 1:
        wanted = [layers[0][0].id]
    opened: list[NodeRecord] = []
    for node_id in wanted:
        node = next((node for node in layers[-1] if node.id == node_id), None)
        if node is None:
            break
        opened.append(node)
        if not node.children:
            break
        layers.append(tuple(forest.trees.nodes_by_id(node.children).values()))
    return OpenedPath(tuple(opened), tuple(layers))


def numbers_above(forest: "Forest", numbers: Mapping[str, Collection[int]]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of leaves by node, also for all ancestors: each number once, in order."""
    given = {leaf: set(those) for leaf, those in numbers.items()}
    for leaf, above in QueryView(forest, "", None).ancestors(list(numbers)).items():
        for node_id in above:
            given.setdefault(node_id, set()).update(numbers[leaf])
    return {node_id: tuple(sorted(those)) for node_id, those in given.items()}
