"""The trees of one owner: grown over each document and over all of them, and kept in step with the ledger."""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rag.errors import EmbeddingError, RetrievalError
from rag.index.chroma import ChromaVectorStore
from rag.jobs import Cancel, never
from rag.models.embeddings import Embedder
from rag.raptor.build import Builder, Grown, Growth, fingerprint
from rag.raptor.clustering import Rule
from rag.raptor.cost import Cost, estimate
from rag.raptor.extracts import rarities, weights
from rag.raptor.leaves import leaf_id, leaves
from rag.raptor.summarize import Extracting, Summariser
from storage.documents import Documents
from storage.tree_rows import BranchRecord, NodeRecord
from storage.trees import Trees

log = logging.getLogger(__name__)

FORMAT = 1  # of trees; a change of it builds them anew


@dataclass(frozen=True)
class Tended:
    """How far the trees are: the document whose branch grows, "" above all, `done` of `total` documents."""

    document: str
    done: int
    total: int
    step: Grown


class Forest:
    """What grows and forgets the trees over `documents`.

    `open_vectors` gives the index that has the nodes' vectors, and no chunk's among them.
    """

    def __init__(
        self,
        documents: Documents,
        trees: Trees,
        open_embedder: Callable[[], Embedder],
        open_vectors: Callable[[], ChromaVectorStore],
        open_summariser: Callable[[], Summariser] = Extracting,
        rule: Rule = Rule(),  # noqa: B008 - a frozen value
    ):
        self._documents = documents
        self._open_embedder = open_embedder
        self._open_vectors = open_vectors
        self.trees = trees
        self._open_summariser = open_summariser
        self.rule = rule

    @property
    def vectors(self) -> ChromaVectorStore:
        """The vectors of all nodes; raises EmbeddingError and RetrievalError."""
        return self._open_vectors()

    @property
    def embedder(self) -> Embedder:
        """The model that made them."""
        return self._open_embedder()

    @property
    def summariser(self) -> Summariser:
        """What writes summaries now; what others have written stays."""
        return self._open_summariser()

    def grow(self, document_id: str, cancelled: Cancel = never) -> Iterator[Grown]:
        """Build the branch over a document, going on where an earlier build ended; one that stands stays.

        Raises NotFound where the document goes meanwhile, and Cancelled.
        """
        chunks = self._documents.chunks(document_id)
        branch = self.trees.begin(document_id, self._made_with(), fingerprint(chunks))
        if branch.state != "ready":
            yield from self._build(branch, self._leaves(document_id), cancelled)

    def join(self, cancelled: Cancel = never) -> Iterator[Grown]:
        """Build the layers above all documents that have a branch; what is unchanged below keeps its summary.

        There are none over a single document.
        """
        self.forget()
        self._sweep()
        tops = [node for branch in self._standing() for node in self.trees.tops(branch.id)]
        if len({node.document_id for node in tops}) < 2:
            self.trees.drop(None)
            self._sweep()
            return
        branch = self.trees.begin(None, self._made_with(), fingerprint(tops))
        if branch.state != "ready":
            yield from self._build(branch, tops, cancelled)

    def tend(self, cancelled: Cancel = never, *, anew: bool = False) -> Iterator[Tended]:
        """Build what is due: a branch over each ready document that has none, then what stands above all.

        With `anew` those whose summaries another summariser wrote, too.
        """
        done = 0
        while due := self.due(anew=anew):
            record = self._documents.get(due[0])
            for step in self.grow(record.id, cancelled):
                yield Tended(record.name, done, done + len(due), step)
            done += 1
        for step in self.join(cancelled):
            yield Tended("", done, done, step)

    def cost(self, *, anew: bool = False, by_model: bool | None = None) -> Cost:
        """Return what building the branches that are due will take, by what writes summaries now or else."""
        model = self.summariser.name != Extracting.name if by_model is None else by_model
        return estimate(self.trees.characters(self.due(anew=anew)), by_model=model)

    def due(self, *, anew: bool = False) -> list[str]:
        """Return the ids of the ready documents whose branch is not built, or was built in another way.

        Summaries by another model stay, unless `anew`: whoever changes the model has not asked for all of
        them anew.
        """
        asked = {} if anew else {"summaries": None}
        now = {**self._made_with(), **asked}
        made = {b.document_id for b in self._standing() if {**b.made_with, **asked} == now}
        records = self._documents.list()
        return [record.id for record in records if record.state == "ready" and record.id not in made]

    def nodes_of(self, document_id: str) -> list[str]:
        """Return the ids of the nodes of a document's branch; none where it has no branch."""
        branch = self.trees.branch(document_id)
        return [] if branch is None else [node.id for node in self.trees.nodes(branch.id)]

    def forget(self, node_ids: Sequence[str] = ()) -> None:
        """Remove summaries that tell of documents which are gone, and vectors: theirs and those of nodes."""
        gone = [*node_ids, *self.trees.drop_stale()]
        if gone:
            self.vectors.delete(gone)

    def recover(self) -> None:
        """Bring ledger and vectors in step at a start: what lost its vectors is to be built on."""
        if not self.trees.list():
            return
        try:
            self.forget()
            if self.trees.node_ids() - self.vectors.ids():
                self.trees.reopen()
        except (EmbeddingError, RetrievalError) as error:
            log.warning("%s", error)

    def roots(self, document_ids: Collection[str] | None = None) -> list[NodeRecord]:
        """Return the topmost nodes over the chosen documents, or over all.

        Raises RetrievalError where there is no tree yet.
        """
        self.check()
        over_all = self.trees.branch(None)
        if document_ids is None and over_all is not None and over_all.state == "ready":
            return self.trees.tops(over_all.id)
        chosen = [b for b in self._standing() if document_ids is None or b.document_id in document_ids]
        return [node for branch in chosen for node in self.trees.tops(branch.id)]

    def path(self, leaf_id: str) -> list[NodeRecord]:
        """Return the summaries above a passage, the topmost last: one way, where there are several."""
        way: list[NodeRecord] = []
        at = leaf_id
        while above := self.trees.parents([at]).get(at):
            at = above[0]
            way += self.trees.nodes_by_id([at]).values()
        return way

    def check(self) -> None:
        """Raise RetrievalError where there is no tree yet."""
        if not self._standing():
            raise RetrievalError(
                "There is no tree over these documents yet. Build one, or choose another way of searching."
            )

    def nearest(
        self, vector: Sequence[float], count: int, document_ids: Collection[str] | None
    ) -> dict[str, float]:
        """Return the nodes nearest a vector and their cosine, the nearest first; all layers together.

        Of chosen documents their own branches are searched; the layers above tell of others too.
        """
        limits = {"document_id": {"$in": sorted(document_ids)}} if document_ids is not None else None
        hits = self.vectors.similarity_search_by_vector_with_score(vector, count, filter=limits)
        return {document.id or "": 1.0 - distance for document, distance in hits}

    def _build(self, branch: BranchRecord, base: Sequence[NodeRecord], cancelled: Cancel) -> Iterator[Grown]:
        known = self.trees.nodes(branch.id)
        own = [node for node in base if branch.document_id is not None]
        self.trees.keep(branch.id, own)
        builder = Builder(self.embedder, self.vectors, self.summariser, self.rule)
        growth = Growth()
        for step in builder.grow(base, known, lambda nodes: self.trees.keep(branch.id, nodes), cancelled):
            if isinstance(step, Growth):
                growth = step
            else:
                yield step
        below = {node.id for node in base} - {node.id for node in own}
        gone = self.trees.finish(branch.id, growth.nodes.keys() - below, growth.left_out)
        self.vectors.delete(gone)

    def _leaves(self, document_id: str) -> list[NodeRecord]:
        text, record = self._documents.text(document_id), self._documents.get(document_id)
        cut = leaves(text, self._documents.chunks(document_id))
        texts = [text[leaf.start : leaf.end] for leaf in cut]
        told = weights(texts, rarities(texts))
        return [
            NodeRecord(
                id=leaf_id(document_id, at),
                level=0,
                text=texts[at],
                start=leaf.start,
                end=leaf.end,
                page=leaf.page,
                heading=leaf.heading,
                weight=told[at],
                document_id=document_id,
                document=record.name,
                sha256=record.sha256,
            )
            for at, leaf in enumerate(cut)
        ]

    def _standing(self) -> list[BranchRecord]:
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
