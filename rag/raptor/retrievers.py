"""RAPTOR retrievers: collapsed tree and tree traversal. They return leaves with the summaries above."""

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from math import fsum, sqrt
from typing import Any, Literal

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.index.chunks import to_document
from rag.raptor.tree import Forest, path_up
from rag.retrieval.question_type import asks_for_overview
from rag.text.prompt_parts import count_tokens
from rag.text.tokenize import tokens
from storage.records import ChunkRecord
from storage.trees import NodeRecord

PER_SUMMARY = 3  # leaves that a summary found adds
HELD_BACK = (
    1.0  # standard deviations of leaves that a summary loses: on many subjects, it is near any question
)
BUDGET = 2000  # tokens, as in the paper
SUMMARIES = 1000  # tokens of the summaries that come with the leaves, beside their budget
CANDIDATES = 200  # nodes nearest the question
TOP_K = 5  # of each layer, as in the paper
TOLD_AGAIN = 0.85  # share of its worth that a word keeps each time it is said again, for overview questions
SAME_DOCUMENT = 0.9  # factor of a leaf for each one of its document before it
SHORTEST = 20  # tokens


def order_collapsed(
    similarity: Mapping[str, float], leaves: Sequence[str], above: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return leaves, best first, each by its own similarity or that of a summary above it.

    `similarity` is of all nodes found; a summary adds its three leaves among those nearest the question.

    >>> near = {"a": 0.9, "b": 0.8, "c": 0.2, "sum": 1.3}
    >>> order_collapsed(near, ["a", "b", "c"], {"b": ["sum"], "c": ["sum"]})
    ['b', 'c', 'a']
    """
    held = HELD_BACK * statistics.pstdev([similarity[id_] for id_ in leaves]) if leaves else 0.0
    nearest = sorted(leaves, key=lambda id_: (-similarity[id_], id_))
    below: dict[str, list[str]] = {}
    for leaf in nearest:
        for ancestor in above.get(leaf, ()):
            below.setdefault(ancestor, []).append(leaf)
    worth = {id_: value - (0.0 if id_ in nearest else held) for id_, value in similarity.items()}
    order: dict[str, None] = {}
    for id_ in sorted(worth, key=lambda id_: (-worth[id_], id_)):
        fresh = [id_] if id_ in nearest else [leaf for leaf in below.get(id_, []) if leaf not in order]
        order.update(dict.fromkeys(fresh[:PER_SUMMARY]))
    return list(order)


def fill_budget(ids: Iterable[str], size: Callable[[str], int], budget: int) -> list[str]:
    """Return ids in their order whose sizes fit into a budget; after four that do not fit it ends.

    >>> fill_budget("abcd", {"a": 5, "b": 9, "c": 4, "d": 1}.__getitem__, 10)
    ['a', 'c', 'd']
    """
    taken: list[str] = []
    left, missed = budget, 0
    for id_ in ids:
        if size(id_) <= left:
            taken.append(id_)
            left -= size(id_)
        elif (missed := missed + 1) > PER_SUMMARY:
            break
    return taken


DescribedLeaf = tuple[NodeRecord, float, list[NodeRecord]]  # leaf, its similarity, summaries above it


class QueryView:
    """View of a forest for one question, which reads each node once. Not thread-safe."""

    def __init__(self, forest: Forest, query: str, document_ids: Collection[str] | None):
        self._forest = forest
        self._query = query
        self._document_ids = document_ids
        self._nodes: dict[str, NodeRecord] = {}
        self._near: dict[str, float] = {}
        self.passed: dict[str, None] = {}
        """The summaries that the search came through, the first first."""

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

    def pass_by(self, ids: Iterable[str]) -> None:
        """Note the summaries among the nodes as passed."""
        self.passed.update(dict.fromkeys(id_ for id_ in ids if not self.is_leaf(id_)))

    def summaries_above(self, leaf_ids: Sequence[str], budget: int) -> dict[str, list[NodeRecord]]:
        """Return those of the passed summaries that fit into a budget, by each leaf that they are above."""
        above = self._forest.ancestors(leaf_ids)
        there = {id_ for ids in above.values() for id_ in ids}
        passed = [id_ for id_ in self.passed if id_ in there]
        kept = fill_budget(passed, lambda id_: count_tokens(self.node(id_).text), budget)
        return {leaf: [self.node(id_) for id_ in kept if id_ in ids] for leaf, ids in above.items()}

    def node(self, node_id: str) -> NodeRecord:
        """Return a node that was read before."""
        return self._nodes[node_id]

    def described(self, leaf_ids: Sequence[str]) -> list[DescribedLeaf]:
        """Return leaves with their similarity and one path from each to the root."""
        parents = self._forest.parents(leaf_ids)
        ways = {leaf: path_up(leaf, parents) for leaf in leaf_ids}
        self._read_nodes({id_ for way in ways.values() for id_ in way})
        near = self.similarities(leaf_ids)
        return [
            (self._nodes[leaf], near[leaf], [self._nodes[id_] for id_ in ways[leaf] if id_ in self._nodes])
            for leaf in leaf_ids
        ]

    @cached_property
    def _vector(self) -> list[float]:
        return self._forest.embedder.embed_query(self._query)

    def _read_nodes(self, ids: Iterable[str]) -> dict[str, NodeRecord]:
        wanted = list(ids)
        self._nodes |= self._forest.trees.nodes_by_id([id_ for id_ in wanted if id_ not in self._nodes])
        return {id_: self._nodes[id_] for id_ in wanted if id_ in self._nodes}


def leaf_document(
    leaf: NodeRecord, score: float, path: Sequence[NodeRecord], passed: Sequence[NodeRecord] = ()
) -> Document:
    """Return a leaf as a LangChain document with its similarity and the summaries above it."""
    place = ChunkRecord(
        leaf.id,
        leaf.document_id or "",
        leaf.document,
        leaf.sha256,
        0,
        leaf.start,
        leaf.end,
        leaf.page,
        leaf.heading,
        leaf.text,
    )
    return to_document(place, score=score, path=_told(path), tree_summaries=_told(passed))


def summary_document(node: NodeRecord, score: float) -> Document:
    """Return a summary as a LangChain document, with its level from 1."""
    metadata = {"document_id": node.document_id or "", "document": node.document, "level": node.level}
    return Document(id=node.id, page_content=node.text, metadata={**metadata, "score": score})


def _told(nodes: Sequence[NodeRecord]) -> list[dict[str, Any]]:
    return [{"id": node.id, "level": node.level, "text": node.text} for node in nodes]


class TreeRetriever(BaseRetriever):
    """Retriever of at most `k` leaves that fill a budget of `tokens`, of the chosen documents or of all.

    Metadata have the similarity as "score", the summaries above as "path", and those of them that the search
    found or passed as "tree_summaries": context for a model, within SUMMARIES tokens. With
    `summaries="documents"` all nodes are documents, as in the paper, in the order in which they are found;
    those of summaries have a "level" and no place in a document. Raises RetrievalError.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    forest: Any  # a Forest, which pydantic must not validate
    tokens: int = BUDGET
    k: int | None = None
    document_ids: Collection[str] | None = None
    summaries: Literal["context", "documents"] = "context"

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        view = QueryView(self.forest, query, self.document_ids)
        with_nodes = self.summaries == "documents"
        order = self._nodes(query, view) if with_nodes else self._ordered(query, view)
        chosen = fill_budget(order, lambda id_: count_tokens(view.node(id_).text), self.tokens)[: self.k]
        leaves = view.leaves_among(chosen)
        above = {} if with_nodes else view.summaries_above(leaves, SUMMARIES)
        documents = {
            leaf.id: leaf_document(leaf, near, path, above.get(leaf.id, ()))
            for leaf, near, path in view.described(leaves)
        }
        inner = [id_ for id_ in chosen if id_ not in documents]
        near = view.similarities(inner)
        documents |= {id_: summary_document(view.node(id_), near[id_]) for id_ in inner}
        return [documents[id_] for id_ in chosen]

    def _ordered(self, query: str, view: QueryView) -> Iterator[str]:
        """Yield the ids of leaves, best first."""
        raise NotImplementedError

    def _nodes(self, query: str, view: QueryView) -> Iterator[str]:
        """Yield the ids of nodes of all levels, in the order in which they are found."""
        yield from self._ordered(query, view)


class CollapsedTreeRetriever(TreeRetriever):
    """Collapsed tree search: all nodes at once, nearest first; a summary stands for the leaves under it.

    An overview question is answered by the leaves that together say most.
    """

    def _ordered(self, query: str, view: QueryView) -> Iterator[str]:
        if asks_for_overview(query):
            yield from overview(view)
            return
        near = view.nearest(CANDIDATES)
        view.pass_by(near)
        leaves = view.leaves_among(near)
        yield from order_collapsed(near, leaves, self.forest.ancestors(leaves))

    def _nodes(self, query: str, view: QueryView) -> Iterator[str]:  # noqa: ARG002 - the view knows it
        yield from view.nearest(CANDIDATES)


class TreeTraversalRetriever(TreeRetriever):
    """Tree traversal: from the root down, into the `top_k` nearest nodes of each layer."""

    top_k: int = TOP_K

    def _ordered(self, query: str, view: QueryView) -> Iterator[str]:  # noqa: ARG002 - the view knows it
        layer, found = view.roots(), dict[str, float]()
        while layer:
            near = view.similarities(layer)
            found |= {id_: near[id_] for id_ in near if view.is_leaf(id_)}
            inner = sorted((id_ for id_ in near if not view.is_leaf(id_)), key=lambda id_: (-near[id_], id_))
            view.pass_by(inner[: self.top_k])
            layer = [child for id_ in inner[: self.top_k] for child in view.children(id_)]
        yield from sorted(found, key=lambda id_: (-found[id_], id_))

    def _nodes(self, query: str, view: QueryView) -> Iterator[str]:
        leaves = list(self._ordered(query, view))
        yield from view.passed
        yield from leaves


class LeavesRetriever(TreeRetriever):
    """Baseline without a tree: the leaves, nearest first."""

    def _ordered(self, query: str, view: QueryView) -> Iterator[str]:  # noqa: ARG002 - the view knows it
        near = view.nearest(CANDIDATES)
        yield from view.leaves_among(near)


def overview(view: QueryView) -> Iterator[str]:
    """Yield the leaves under the roots that together say most of the documents; see `cover`."""
    leaves: dict[str, None] = {}
    layer = view.roots()
    while layer:
        view.pass_by(layer)
        leaves.update(dict.fromkeys(view.leaves_among(layer)))
        below = (child for id_ in layer if not view.is_leaf(id_) for child in view.children(id_))
        layer = [id_ for id_ in dict.fromkeys(below) if id_ not in leaves]
    yield from cover([view.node(id_) for id_ in sorted(leaves)])


def cover(leaves: Sequence[NodeRecord]) -> Iterator[str]:
    """Yield the ids of leaves, each the one that adds most to those before it for its length.

    A submodular coverage (Lin and Bilmes 2011): a word is worth the root of the number of leaves with it,
    less each time that it is said again.
    """
    words = {leaf.id: Counter(tokens(leaf.text)) for leaf in leaves}
    having = Counter(word for found in words.values() for word in found)
    size = {leaf.id: max(SHORTEST, count_tokens(leaf.text)) for leaf in leaves}
    document = {leaf.id: leaf.document_id for leaf in leaves}
    told, used = Counter[str](), Counter[str | None]()

    def gain(id_: str) -> float:
        worth = fsum(
            sqrt(having[word]) * TOLD_AGAIN ** told[word] * (1 - TOLD_AGAIN**count)
            for word, count in words[id_].items()
            if having[word] > 1
        )
        return SAME_DOCUMENT ** used[document[id_]] * worth / size[id_]

    queue = [(-gain(id_), id_) for id_ in words]
    heapify(queue)
    while queue:
        best = queue[0][1]
        now = (-gain(best), best)
        if len(queue) > 1 and now > min(queue[1:3]):  # a gain only falls: the others' are at most as noted
            heapreplace(queue, now)
            continue
        heappop(queue)
        told.update(words[best])
        used[document[best]] += 1
        yield best


TREES: Mapping[str, type[TreeRetriever]] = {  # by name
    "raptor-collapsed": CollapsedTreeRetriever,
    "raptor-traversal": TreeTraversalRetriever,
}
