"""RAPTOR trees of one owner: leaves, layers of summaries, cost estimate, and upkeep with the ledger."""

import hashlib
import logging
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from rag.errors import Cancelled, EmbeddingError, RetrievalError, TreeMissing
from rag.i18n import N_
from rag.index.vector_index import VectorIndex
from rag.jobs import Cancel, never
from rag.models.embeddings import Embedder, Floats
from rag.raptor.clustering import ClusteringOptions, Members, clusters
from rag.raptor.summarize import SIZE as SUMMARY
from rag.raptor.summarize import ExtractiveSummariser, Summariser, rarities
from rag.text.chunking import Splitting, split
from rag.text.document import LoadedDocument
from rag.text.prompt_parts import count_tokens
from rag.text.sentences import sentences
from storage.documents import Documents
from storage.records import ChunkRecord, ChunkSpan
from storage.trees import BranchRecord, NodeRecord, Trees

log = logging.getLogger(__name__)
FORMAT = 2  # version of the trees; after a change they are built again
DEPTH = 5  # layers of summaries, as in the paper
EMBED_BATCH = 8  # nodes; a question's embedding waits for one batch at most
SIZE = 100  # tokens of a leaf by the embedding model's tokenizer, as in the paper
LONGEST = 400  # tokens of a sentence; a longer one is a table or text without full stops, and is cut
SUMMARIES_A_LEAF = 0.2  # over 60 stories and meetings, 7,522 leaves: 1,430 summaries
SECONDS_A_NODE = 0.06  # on two cores, mostly for the embedding
CHEAP = 300.0  # seconds of a build that begins by itself
LEAST = 60_000  # characters of documents that are more than a prompt has room for
_LETTERS = 4.2  # Latin letters of a token
_OF_LONG = Splitting(size=int(SIZE * _LETTERS), overlap=0)
Keep = Callable[[Sequence[NodeRecord]], None]
CountTokens = Callable[[Sequence[str]], list[int]]


def estimated_tokens(texts: Sequence[str]) -> list[int]:
    """Return the tokens of each text, estimated without a tokenizer."""
    return [count_tokens(text) for text in texts]


@dataclass(frozen=True)
class LayerProgress:
    """Progress of a tree: `done` of `total` nodes of layer `level`; leaves are level 0."""

    level: int
    done: int
    total: int


@dataclass
class Build:
    """Build of one branch, of the nodes `known` from an earlier one: the same children need no new summary.

    `keep` stores nodes as they are made. `left_out` is the number of failed summaries.
    """

    embedder: Embedder
    vectors: VectorIndex
    summariser: Summariser
    rule: ClusteringOptions
    known: Mapping[str, NodeRecord]
    keep: Keep
    cancelled: Cancel
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    left_out: int = 0
    _rarity: Mapping[str, float] = field(default_factory=dict)

    def run(self, leaves: Sequence[NodeRecord]) -> Iterator[LayerProgress]:
        """Fill `nodes` with `leaves` and the layers above them; raises Cancelled."""
        self.nodes = {leaf.id: leaf for leaf in leaves}
        self._rarity = rarities(leaf.text for leaf in leaves)
        layer = list(leaves)
        yield from self._embed(layer, 0)
        for _ in range(DEPTH):
            above = yield from self._layer_above(layer)
            fresh = [node for node in above if node.id not in self.nodes]
            self.nodes |= {node.id: node for node in fresh}
            yield from self._embed(fresh, max((node.level for node in fresh), default=0))
            if not fresh or len(above) >= len(layer) or len(above) == 1:
                break
            layer = above

    def _layer_above(self, layer: Sequence[NodeRecord]) -> Generator[LayerProgress, None, list[NodeRecord]]:
        """Return the next layer: a summary of each cluster, or its only member."""
        rows = self.vectors.vectors_of([node.id for node in layer])
        vectors = np.array([rows[node.id] for node in layer], np.float32).reshape(len(layer), -1)
        found = clusters(vectors, [count_tokens(node.text) for node in layer], self.rule)
        level = 1 + max((node.level for node in layer), default=0)
        above: list[NodeRecord] = []
        for done, members in enumerate(found):
            _raise_if_cancelled(self.cancelled)
            yield LayerProgress(level, done, len(found))
            cluster = [layer[member] for member in nearest_first(vectors, members)]
            node = cluster[0] if len(cluster) == 1 else self._summary(cluster, level)
            if node is not None:
                above.append(node)
        return above

    def _summary(self, cluster: Sequence[NodeRecord], level: int) -> NodeRecord | None:
        """Return the stored node above a cluster; None where its summary failed."""
        children = sorted(node.id for node in cluster)
        node_id = identity(children, self.summariser.name)
        if node_id in self.known:
            return self.known[node_id]
        text = self.summariser.summarise([node.text for node in cluster], self._rarity, self.cancelled)
        if text is None:
            self.left_out += 1
            return None
        documents = {node.document_id for node in cluster}
        of_one = documents.pop() if len(documents) == 1 else None
        node = NodeRecord(node_id, level, text, tuple(children), document_id=of_one)
        self.keep([node])
        return node

    def _embed(self, nodes: Sequence[NodeRecord], level: int) -> Iterator[LayerProgress]:
        present = self.vectors.present([node.id for node in nodes])
        missing = [node for node in nodes if node.id not in present]
        done = len(nodes) - len(missing)
        texts = [node_text(node) for node in missing]
        for positions, vectors in self.embedder.embed_batches(texts, batch=EMBED_BATCH):
            _raise_if_cancelled(self.cancelled)
            batch = [missing[position] for position in positions]
            origins = [{"document_id": node.document_id or "", "level": node.level} for node in batch]
            self.vectors.add_vectors([node.id for node in batch], vectors, origins)
            done += len(batch)
            yield LayerProgress(level, done, len(nodes))


def identity(children: Sequence[str], summariser: str) -> str:
    """Return the id of the summary of these nodes by this summariser, a hash of both."""
    return hashlib.sha256("\n".join([summariser, *sorted(children)]).encode()).hexdigest()[:24]


def nearest_first(vectors: Floats, members: Members) -> list[int]:
    """Return the members of a cluster, the one nearest its centre first.

    >>> nearest_first(np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32), (0, 1, 2))
    [1, 2, 0]
    """
    rows = vectors[list(members)]
    near = rows @ rows.mean(axis=0)
    return [members[at] for at in np.argsort(-near, kind="stable")]


def node_text(node: NodeRecord) -> str:
    """Return the text that is embedded for a node: its heading path, if any, then its text."""
    return "\n".join(part for part in (node.heading, node.text) if part)


def fingerprint(parts: Sequence[ChunkRecord] | Sequence[NodeRecord]) -> str:
    """Return a hash of the ids and texts that a branch is built on."""
    return hashlib.sha256("\n".join(f"{part.id} {part.text}" for part in parts).encode()).hexdigest()


def _raise_if_cancelled(cancelled: Cancel) -> None:
    if cancelled():
        raise Cancelled(N_("Building the tree was stopped. It goes on where it was when it is built again."))


def leaf_id(document_id: str, place: int) -> str:
    """Return the id of a document's leaf: ("22c1", 7) -> "22c1-l00007". Ids of chunks have no "l"."""
    return f"{document_id}-l{place:05d}"


def is_leaf_id(passage_id: str) -> bool:
    """Return whether an id is that of a tree's leaf.

    >>> is_leaf_id("22c1-l00007"), is_leaf_id("22c1-00007")
    (True, False)
    """
    return passage_id.rpartition("-")[2].startswith("l")


def leaves(
    text: str,
    chunks: Sequence[ChunkSpan | ChunkRecord],
    count: CountTokens = estimated_tokens,
) -> list[ChunkSpan]:
    """Return the leaves of a document, in order: the text of its chunks, cut between sentences.

    Text on one page and under one heading is cut as a whole, since chunks overlap. A sentence that does not
    fit begins the next leaf; one longer than SIZE tokens is a leaf of its own.
    """
    found = []
    for (page, heading), run in groupby(chunks, key=lambda chunk: (chunk.page, chunk.heading)):
        together = list(run)
        spans = list(_sentences(text, together[0].start, together[-1].end))
        lengths = count([text[start:end] for start, end in spans])
        for start, end in _pack_sentences(spans, lengths):
            found.append(ChunkSpan(start, end, page, heading))
    return found


def _pack_sentences(spans: Sequence[tuple[int, int]], lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    first: int | None = None
    last = held = 0
    for (begin, stop), length in zip(spans, lengths, strict=True):
        if first is not None and held + length > SIZE:
            yield first, last
            first, held = None, 0
        first, last, held = begin if first is None else first, stop, held + length
    if first is not None:
        yield first, last


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for begin, stop in sentences(text[start:end]):
        whole = text[start + begin : start + stop]
        if count_tokens(whole) <= LONGEST:
            yield start + begin, start + stop
            continue
        for piece in split(LoadedDocument(whole), _OF_LONG):
            yield start + begin + piece.start, start + begin + piece.end


@dataclass(frozen=True)
class Cost:
    """Estimate of a build: `tokens` that a model reads and writes, and `seconds` here without the model's."""

    leaves: int
    summaries: int
    tokens: int
    seconds: float

    def __str__(self) -> str:
        minutes = max(1, round(self.seconds / 60))
        return (
            f"{self.leaves:,} passages, about {self.summaries:,} summaries; about {minutes:,} "
            f"minute{'s' if minutes > 1 else ''} of this computer"
        )


def estimate(characters: int, *, by_model: bool) -> Cost:
    """Return the cost of a tree over this much text; without a model it has no tokens.

    >>> estimate(420_000, by_model=True)
    Cost(leaves=1000, summaries=200, tokens=164000, seconds=72.0)
    """
    leaves = round(characters / (_LETTERS * SIZE))
    summaries = round(leaves * SUMMARIES_A_LEAF)
    tokens = leaves * SIZE + 2 * summaries * SUMMARY if by_model else 0
    return Cost(leaves, summaries, tokens, (leaves + summaries) * SECONDS_A_NODE)


@dataclass(frozen=True)
class ForestProgress:
    """Progress of all trees: the current document, "" above all, and `done` of `total` documents."""

    document: str
    done: int
    total: int
    step: LayerProgress


@dataclass(eq=False)
class Forest:
    """Trees over `documents`: one branch for each, and the layers above all."""

    documents: Documents
    trees: Trees
    open_embedder: Callable[[], Embedder]
    open_vectors: Callable[[], VectorIndex]
    open_summariser: Callable[[], Summariser] = ExtractiveSummariser
    rule: ClusteringOptions = field(default_factory=ClusteringOptions)

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of all nodes; raises EmbeddingError and RetrievalError."""
        return self.open_vectors()

    @property
    def embedder(self) -> Embedder:
        """The embedding model of the nodes."""
        return self.open_embedder()

    @property
    def summariser(self) -> Summariser:
        """The summariser of new summaries; those by others stay."""
        return self.open_summariser()

    def build_branch(self, document_id: str, cancelled: Cancel = never) -> Iterator[LayerProgress]:
        """Build or resume the branch of a document, unless it is ready; raises Cancelled and NotFound."""
        chunks = self.documents.chunks(document_id)
        branch = self.trees.begin(document_id, self._made_with(), fingerprint(chunks))
        if branch.state != "ready":
            yield from self._build(branch, self._leaves(document_id), cancelled)

    def build_top(self, cancelled: Cancel = never) -> Iterator[LayerProgress]:
        """Build the layers above all branches; unchanged clusters keep their summaries."""
        self.forget()
        self._sweep()
        tops = [node for branch in self._ready_branches() for node in self.trees.tops(branch.id)]
        if len({node.document_id for node in tops}) < 2:
            self.trees.drop(None)
            self._sweep()
            return
        branch = self.trees.begin(None, self._made_with(), fingerprint(tops))
        if branch.state != "ready":
            yield from self._build(branch, tops, cancelled)

    def build_due(
        self, cancelled: Cancel = never, *, rewrite_summaries: bool = False
    ) -> Iterator[ForestProgress]:
        """Build the branches that are `due`, then the layers above all."""
        done = 0
        while due := self.due(rewrite_summaries=rewrite_summaries):
            record = self.documents.get(due[0])
            for step in self.build_branch(record.id, cancelled):
                yield ForestProgress(record.name, done, done + len(due), step)
            done += 1
        for step in self.build_top(cancelled):
            yield ForestProgress("", done, done, step)

    def cost(self, *, rewrite_summaries: bool = False, by_model: bool | None = None) -> Cost:
        """Return the cost of the branches that are due, by the present summariser or as `by_model` says."""
        model = self.summariser.name != ExtractiveSummariser.name if by_model is None else by_model
        return estimate(self.trees.characters(self.due(rewrite_summaries=rewrite_summaries)), by_model=model)

    def worth_building(self) -> bool:
        """Return True where the documents are more than a prompt has room for, and trees take minutes."""
        made = {branch.document_id for branch in self.trees.list()}
        ready = [record.id for record in self.documents.list() if record.state == "ready"]
        missing = self.trees.characters([id_ for id_ in ready if id_ not in made])
        return (bool(made) or missing >= LEAST) and estimate(missing, by_model=False).seconds <= CHEAP

    def due(self, *, rewrite_summaries: bool = False) -> list[str]:
        """Return the ids of the ready documents whose branch is missing, or was built with other settings.

        Summaries by another model stay, unless `rewrite_summaries`.
        """
        asked = {} if rewrite_summaries else {"summaries": None}
        now = {**self._made_with(), **asked}
        made = {b.document_id for b in self._ready_branches() if {**b.made_with, **asked} == now}
        records = self.documents.list()
        return [record.id for record in records if record.state == "ready" and record.id not in made]

    def unfinished(self) -> bool:
        """Return True where a branch is due, or the layers above all are."""
        if self.due():
            return True
        over_all = self.trees.branch(None)
        built = over_all is not None and over_all.state == "ready"
        return len(self._ready_branches()) > 1 and not built

    def nodes_of(self, document_id: str) -> list[str]:
        """Return the ids of the nodes of a document's branch; none where it has no branch."""
        branch = self.trees.branch(document_id)
        return [] if branch is None else [node.id for node in self.trees.nodes(branch.id)]

    def forget(self, node_ids: Sequence[str] = ()) -> None:
        """Remove summaries of removed documents, with their vectors and those of `node_ids`."""
        gone = [*node_ids, *self.trees.drop_stale()]
        if gone:
            self.vectors.delete(gone)

    def recover(self) -> None:
        """Bring ledger and vectors in step; branches that lost vectors become due.

        A branch that is being built, maybe by another process, has nodes that get their vectors next.
        """
        if not self.trees.list():
            return
        try:
            self.forget()
            expected = self.trees.node_ids(ready=True)
            self.vectors.refresh()
            if expected - self.vectors.ids():
                self.trees.reopen()
        except (EmbeddingError, RetrievalError) as error:
            log.warning("%s", error)

    def roots(self, document_ids: Collection[str] | None = None) -> list[NodeRecord]:
        """Return the topmost nodes over the chosen documents, or over all; raises RetrievalError."""
        self.check()
        over_all = self.trees.branch(None)
        if document_ids is None and over_all is not None and over_all.state == "ready":
            return self.trees.tops(over_all.id)
        chosen = [b for b in self._ready_branches() if document_ids is None or b.document_id in document_ids]
        return [node for branch in chosen for node in self.trees.tops(branch.id)]

    def path(self, leaf_id: str) -> list[NodeRecord]:
        """Return the summaries above a passage, the topmost last: one way, where there are several."""
        way = path_up(leaf_id, self.parents([leaf_id]))
        nodes = self.trees.nodes_by_id(way)
        return [nodes[id_] for id_ in way if id_ in nodes]

    def parents(self, ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the parents of nodes, of their parents, and so on."""
        found: dict[str, tuple[str, ...]] = {}
        layer = list(ids)
        while layer:
            above = self.trees.parents(layer)
            found |= above
            layer = sorted({id_ for parents in above.values() for id_ in parents} - found.keys())
        return found

    def ancestors(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of all summaries above each node, the lowest first."""
        parents = self.parents(ids)
        return {id_: _all_ancestors(id_, parents) for id_ in ids}

    def check(self) -> None:
        """Raise RetrievalError where there is no tree yet."""
        if not self._ready_branches():
            raise TreeMissing(
                N_(
                    "There is no tree over these documents yet. Build one, or choose another way of "
                    "searching."
                )
            )

    def nearest(
        self, vector: Sequence[float], count: int, document_ids: Collection[str] | None
    ) -> dict[str, float]:
        """Return the nodes nearest a vector with their cosine, for chosen documents of their branches."""
        limits = {"document_id": {"$in": sorted(document_ids)}} if document_ids is not None else None
        hits = self.vectors.similarity_search_by_vector_with_score(vector, count, filter=limits)
        return {document.id or "": 1.0 - distance for document, distance in hits}

    def _build(
        self, branch: BranchRecord, base: Sequence[NodeRecord], cancelled: Cancel
    ) -> Iterator[LayerProgress]:
        known = {node.id: node for node in self.trees.nodes(branch.id)}
        own = [node for node in base if branch.document_id is not None]
        keep = partial(self.trees.keep, branch.id)
        keep(own)
        build = Build(self.embedder, self.vectors, self.summariser, self.rule, known, keep, cancelled)
        yield from build.run(base)
        below = {node.id for node in base} - {node.id for node in own}
        gone = self.trees.finish(branch.id, build.nodes.keys() - below, build.left_out)
        self.vectors.delete(gone)

    def _leaves(self, document_id: str) -> list[NodeRecord]:
        text, record = self.documents.text(document_id), self.documents.get(document_id)
        cut = leaves(text, self.documents.chunks(document_id), count=self.embedder.count_tokens)
        texts = [text[leaf.start : leaf.end] for leaf in cut]
        return [
            NodeRecord(
                id=leaf_id(document_id, at),
                level=0,
                text=texts[at],
                start=leaf.start,
                end=leaf.end,
                page=leaf.page,
                heading=leaf.heading,
                document_id=document_id,
                document=record.name,
                sha256=record.sha256,
            )
            for at, leaf in enumerate(cut)
        ]

    def _ready_branches(self) -> list[BranchRecord]:
        return [b for b in self.trees.list() if b.document_id is not None and b.state == "ready"]

    def _sweep(self) -> None:
        there = self.vectors.ids()
        self.vectors.delete(sorted(there - self.trees.node_ids()))

    def _made_with(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "summaries": self.summariser.name,
            "model": self.embedder.fingerprint,
            "seed": self.rule.seed,
        }


def _all_ancestors(leaf: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    layer = list(parents.get(leaf, ()))
    while layer:
        found.update(dict.fromkeys(layer))
        layer = [id_ for below in layer for id_ in parents.get(below, ()) if id_ not in found]
    return list(found)


def path_up(leaf: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids of one path from a leaf to the top."""
    way: list[str] = []
    at = leaf
    while parents.get(at):
        at = parents[at][0]
        way.append(at)
    return way


@dataclass(frozen=True)
class OpenedPath:
    """Path from the top to an open node: ``way[n]`` is one of ``layers[n]``, then the node's children."""

    way: tuple[NodeRecord, ...]
    layers: tuple[tuple[NodeRecord, ...], ...]

    @property
    def node(self) -> NodeRecord | None:
        """The open node; None where there are several tops and none is open."""
        return self.way[-1] if self.way else None

    @property
    def below(self) -> tuple[NodeRecord, ...]:
        """The children of the open node."""
        return self.layers[-1] if len(self.layers) > len(self.way) else ()


def open_tree(forest: Forest, document_id: str | None, way: Sequence[str]) -> OpenedPath:
    """Open a document's tree, or the one over all, along `way`, ids from the top.

    An unknown `way` opens a single top. Raises RetrievalError where there is no tree.
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


def numbers_above(forest: Forest, numbers: Mapping[str, Collection[int]]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of leaves by node, also for all ancestors: each number once, in order."""
    given = {leaf: set(those) for leaf, those in numbers.items()}
    for leaf, above in forest.ancestors(list(numbers)).items():
        for node_id in above:
            given.setdefault(node_id, set()).update(numbers[leaf])
    return {node_id: tuple(sorted(those)) for node_id, those in given.items()}
