"""Whether passages find themselves in a vector index, by their own words embedded again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.chunks import index_text
from rag.embeddings import Embedder
from rag.stores.index import VectorIndex
from storage.documents import Documents

SAMPLE = 100  # passages that must find themselves
NEAREST = 3  # among so many
MISSED = 0.01  # of the sample may be missed: no graph finds every one
BATCH = 8


@dataclass(frozen=True)
class Proof:
    """How many passages were looked for, of how many, and how many of them were missed."""

    done: int
    total: int
    missed: int

    @property
    def failed(self) -> bool:
        """Whether more are missed than a sound index misses: of 100 two, of 50 one."""
        return self.missed > MISSED * self.total


def prove(index: VectorIndex, documents: Documents, embedder: Embedder) -> Iterator[Proof]:
    """Look for a sample of the passages of an index; yield how far that is, at least once.

    Damage to a graph is often silent: it answers, with the wrong passages.
    """
    ids = sorted(index.ids())
    chunks = documents.chunks_by_id(ids[:: max(1, -(-len(ids) // SAMPLE))])
    texts = [index_text(chunk) for chunk in chunks.values()]
    proof = Proof(0, len(texts), 0)
    yield proof
    for positions, vectors in embedder.embed_batches(texts, batch=BATCH):
        near = zip(positions, vectors, strict=True)
        missed = sum(not _found(index, documents, vector.tolist(), texts[at]) for at, vector in near)
        proof = Proof(proof.done + len(positions), proof.total, proof.missed + missed)
        yield proof


def _found(index: VectorIndex, documents: Documents, vector: Sequence[float], text: str) -> bool:
    """Whether a text is among the nearest to its vector: itself, or another passage of the same words."""
    hits = index.similarity_search_by_vector(list(vector), NEAREST)
    found = documents.chunks_by_id([document.id or "" for document in hits])
    return any(index_text(chunk) == text for chunk in found.values())
