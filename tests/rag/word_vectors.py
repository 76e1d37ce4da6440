"""Embedding models for tests that need several: words hashed into vectors, in no time."""

import hashlib
from collections.abc import Sequence

import numpy as np

from rag.models.embeddings import Embedder, Floats


class WordVectors(Embedder):
    """A model by its name: each word is a direction of its own, another one in each model."""

    def __init__(self, name: str, dimension: int = 128):
        self.name, self.dimension = name, dimension
        self.fingerprint = hashlib.sha256(f"{name} {dimension}".encode()).hexdigest()

    def _vectors(self, texts: Sequence[str], role: str) -> Floats:
        return np.array([np.sum([self._word(w) for w in text.lower().split() or [""]], 0) for text in texts])

    def _word(self, word: str) -> Floats:
        seed = int.from_bytes(hashlib.sha256(f"{self.name} {word}".encode()).digest()[:8], "big")
        return np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)


class Blurred(WordVectors):
    """A model that says the same of all texts, so that none finds itself."""

    def _vectors(self, texts: Sequence[str], role: str) -> Floats:
        noise = np.random.default_rng().normal(size=(len(texts), self.dimension))
        return noise.astype(np.float32)
