"""A tree grown layer by layer: clusters, their summaries, the summaries' clusters. Kept as it goes."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag.errors import Cancelled
from rag.index.vector_index import VectorIndex
from rag.jobs import Cancel
from rag.models.embeddings import Embedder, Floats
from rag.raptor.clustering import Members, Rule, clusters
from rag.raptor.extracts import rarities
from rag.raptor.summarize import Summariser
from rag.text.text_budget import count_tokens
from storage.records import ChunkRecord
from storage.tree_rows import NodeRecord

DEPTH = 5  # layers of summaries, as in the paper
EMBED_BATCH = 8  # nodes: a question's own embedding waits behind one batch at most

Keep = Callable[[Sequence[NodeRecord]], None]


@dataclass(frozen=True)
class Grown:
    """How far a tree is: `done` of `total` nodes of layer `level` are made; leaves are level 0."""

    level: int
    done: int
    total: int


@dataclass
class Growth:
    """What a build has made so far: every node of its branch, and how many summaries could not be had."""

    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    left_out: int = 0


@dataclass(frozen=True)
class _Work:
    """What one build goes by: summaries that are there already, rare words, and who is told."""

    there: Mapping[str, NodeRecord]
    rarity: Mapping[str, float]
    keep: Keep
    cancelled: Cancel
    growth: Growth


@dataclass(frozen=True)
class Builder:
    """Grows branches with one embedder, one summariser and one rule."""

    embedder: Embedder
    vectors: VectorIndex
    summariser: Summariser
    rule: Rule

    def grow(
        self, leaves: Sequence[NodeRecord], known: Sequence[NodeRecord], keep: Keep, cancelled: Cancel
    ) -> Iterator[Grown | Growth]:
        """Yield how far it is, at the end the growth: the layers above `leaves`, and they themselves.

        Leaves of one document make a branch of that document; the tops of several make what is above all.
        `known` are nodes that an earlier build has kept: the same children need no new summary. `keep` is
        given nodes as they are made. Raises Cancelled.
        """
        growth = Growth({leaf.id: leaf for leaf in leaves})
        rarity = rarities(leaf.text for leaf in leaves)
        work = _Work({node.id: node for node in known}, rarity, keep, cancelled, growth)
        layer = list(leaves)
        yield from self._embed(layer, 0, cancelled)
        for _ in range(DEPTH):
            above: list[NodeRecord] = []
            yield from self._raise(layer, above, work)
            fresh = [node for node in above if node.id not in growth.nodes]
            growth.nodes |= {node.id: node for node in fresh}
            yield from self._embed(fresh, max((node.level for node in fresh), default=0), cancelled)
            if not fresh or len(above) >= len(layer) or len(above) == 1:
                break
            layer = above
        yield growth

    def _raise(self, layer: Sequence[NodeRecord], above: list[NodeRecord], work: _Work) -> Iterator[Grown]:
        """Fill `above` with the next layer: a summary of each cluster, or its only member."""
        rows = self.vectors.vectors_of([node.id for node in layer])
        vectors = np.array([rows[node.id] for node in layer], np.float32).reshape(len(layer), -1)
        found = clusters(vectors, [count_tokens(node.text) for node in layer], self.rule)
        level = 1 + max((node.level for node in layer), default=0)
        for done, members in enumerate(found):
            _stop_if(work.cancelled)
            yield Grown(level, done, len(found))
            cluster = [layer[member] for member in nearest_first(vectors, members)]
            node = cluster[0] if len(cluster) == 1 else self._summary(cluster, level, work)
            if node is not None:
                above.append(node)

    def _summary(self, cluster: Sequence[NodeRecord], level: int, work: _Work) -> NodeRecord | None:
        """Return the node above a cluster, kept; None where no summary can be had."""
        children = sorted(node.id for node in cluster)
        node_id = identity(children, self.summariser.name)
        if node_id in work.there:
            return work.there[node_id]
        text = self.summariser.summarise([node.text for node in cluster], work.rarity, work.cancelled)
        if text is None:
            work.growth.left_out += 1
            return None
        documents = {node.document_id for node in cluster}
        of_one = documents.pop() if len(documents) == 1 else None
        node = NodeRecord(node_id, level, text, tuple(children), document_id=of_one)
        work.keep([node])
        return node

    def _embed(self, nodes: Sequence[NodeRecord], level: int, cancelled: Cancel) -> Iterator[Grown]:
        """Give nodes their vectors, those that have none."""
        present = self.vectors.present([node.id for node in nodes])
        missing = [node for node in nodes if node.id not in present]
        done = len(nodes) - len(missing)
        for positions, vectors in self.embedder.embed_batches(
            [index_text(node) for node in missing], batch=EMBED_BATCH
        ):
            _stop_if(cancelled)
            batch = [missing[position] for position in positions]
            origins = [{"document_id": node.document_id or "", "level": node.level} for node in batch]
            self.vectors.add_vectors([node.id for node in batch], vectors, origins)
            done += len(batch)
            yield Grown(level, done, len(nodes))


def identity(children: Sequence[str], summariser: str) -> str:
    """Return the id of the summary of these nodes by this summariser: equal for equal ones."""
    return hashlib.sha256("\n".join([summariser, *sorted(children)]).encode()).hexdigest()[:24]


def nearest_first(vectors: Floats, members: Members) -> list[int]:
    """Return the members of a cluster, the one nearest its centre first.

    >>> nearest_first(np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32), (0, 1, 2))
    [1, 2, 0]
    """
    rows = vectors[list(members)]
    near = rows @ rows.mean(axis=0)
    return [members[at] for at in np.argsort(-near, kind="stable")]


def index_text(node: NodeRecord) -> str:
    """Return what is embedded for a node: its heading path where it has one, then its text."""
    return "\n".join(part for part in (node.heading, node.text) if part)


def fingerprint(parts: Sequence[ChunkRecord] | Sequence[NodeRecord]) -> str:
    """Return a hash of what a branch stands on: equal for equal contents."""
    return hashlib.sha256("\n".join(f"{part.id} {part.text}" for part in parts).encode()).hexdigest()


def _stop_if(cancelled: Cancel) -> None:
    if cancelled():
        raise Cancelled("Building the tree was stopped. It goes on where it was when it is built again.")
