"""How a library weighs words against meaning: found from its passages, kept, and found again in time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from rag.index.chunks import index_text
from rag.index.indexes import Indexes
from rag.jobs import Cancel, never
from rag.retrieval.tuning import FEWEST, RULE, Tuned, sample, tune
from rag.retrieval.weights import Mixture
from storage.documents import Documents

_NAME = "mixture"
GROWTH = 1.5  # times as many chunks as last time, or fewer by as much: the collection is another one


@dataclass(frozen=True)
class Weighed:
    """A mixture: when it was found, from how many chunks, for which embedding model, and by which rule."""

    mixture: Mixture
    found: datetime
    chunks: int
    fingerprint: str
    rule: int


class Weighing:
    """The mixture of one owner's search; a default until enough passages are embedded."""

    def __init__(self, documents: Documents, indexes: Indexes):
        self._documents = documents
        self._indexes = indexes

    @property
    def latest(self) -> Weighed | None:
        """What was found last, for whichever embedding model; None when nothing was."""
        state = self._documents.index_state(_NAME)
        if state is None:
            return None
        found = datetime.fromisoformat(state["found"])
        mixture, rule = Mixture.from_dict(state["mixture"]), state.get("rule", 0)
        return Weighed(mixture, found, state["chunks"], state["fingerprint"], rule)

    @property
    def mixture(self) -> Mixture:
        """The mixture to search with now: the one found for the vectors that are searched, or the default."""
        latest, made_with = self.latest, self._documents.index_state("vectors") or {}
        if latest is None or latest.fingerprint != made_with.get("fingerprint"):
            return Mixture()
        return latest.mixture

    def due(self) -> bool:
        """Whether there are enough chunks, and what was weighed last differs much, or was by another rule."""
        made_with = self._documents.index_state("vectors")
        chunks = sum(record.chunks for record in self._documents.list() if record.state == "ready")
        if made_with is None or chunks < FEWEST:
            return False
        latest = self.latest
        if latest is None or (latest.fingerprint, latest.rule) != (made_with["fingerprint"], RULE):
            return True
        return not latest.chunks / GROWTH < chunks < latest.chunks * GROWTH

    def find(self, cancelled: Cancel = never) -> Iterator[Tuned]:
        """Find the mixture and keep it; raises Cancelled, EmbeddingError or RetrievalError."""
        ids, embedder = self._documents.chunk_ids(), self._indexes.embedder
        vectors = self._indexes.vectors.vectors_of(sample(ids))
        chunks = self._documents.chunks_by_id(vectors).values()
        texts = [index_text(chunk) for chunk in chunks]
        rows = np.array([vectors[chunk.id] for chunk in chunks], np.float32)
        for tuned in tune(texts, rows, embedder, analysers=self._indexes.analysers, cancelled=cancelled):
            if tuned.mixture is not None:
                self._keep(Weighed(tuned.mixture, datetime.now(UTC), len(ids), embedder.fingerprint, RULE))
            yield tuned

    def _keep(self, weighed: Weighed) -> None:
        state = {
            "mixture": weighed.mixture.as_dict(),
            "found": weighed.found.isoformat(),
            "chunks": weighed.chunks,
            "fingerprint": weighed.fingerprint,
            "rule": weighed.rule,
        }
        self._documents.set_index_state(_NAME, state)
