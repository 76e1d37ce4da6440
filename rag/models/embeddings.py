"""Embedding models: texts to vectors of length 1."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from rag.errors import EmbeddingError

Floats = NDArray[np.float32]
Role = Literal["query", "passage"]
Told = Callable[[Role, float], None]
"""Hears what was embedded, a question or a batch of passages, and how many seconds that took."""

OPENAI = "openai:"
TEXT_CHARS = 32_768
"""More than the 512 tokens any of the models reads, little enough to tokenize at once."""


def untold(role: Role, seconds: float) -> None:
    """Tell nobody."""
    del role, seconds


class Embedder(Embeddings):
    """An embedding model. Safe to share between threads.

    `name` is what it was asked for by; `fingerprint` a sha256 of its weights, or of address and name
    where a server has them: vectors of different fingerprints must not be mixed. Every vector is
    float32 [dimension] of length 1; a vector without a direction is an EmbeddingError, never returned.
    `told` hears of each embedding that succeeded. A model that is `local` asks no server.
    """

    name: str
    dimension: int
    fingerprint: str
    local: bool = True
    told: Told = staticmethod(untold)

    @property
    def spec(self) -> str:
        """What `open_embedder` takes to open this model again."""
        return self.name

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each passage, in order."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for positions, batch in self.embed_batches(texts):
            vectors[positions] = batch
        documents: list[list[float]] = vectors.tolist()
        return documents

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        vector: list[float] = self._embed([text], "query")[0].tolist()
        return vector

    def embed_batches(self, texts: Sequence[str], *, batch: int = 16) -> Iterator[tuple[list[int], Floats]]:
        """Yield positions in `texts` with their passages' vectors, long texts first and like with like.

        Texts of one batch are padded to the longest: equal lengths waste nothing. Length is counted in
        UTF-8 bytes, which follows the number of tokens over English, Korean and Japanese alike.
        """
        order = sorted(
            range(len(texts)), key=lambda i: len(texts[i].encode("utf-8", "replace")), reverse=True
        )
        for start in range(0, len(order), batch):
            positions = order[start : start + batch]
            yield positions, self._embed([texts[i] for i in positions], "passage")

    def _embed(self, texts: Sequence[str], role: Role) -> Floats:
        begun = time.monotonic()
        cut = [_speakable(text[:TEXT_CHARS]) for text in texts]
        vectors = unit(self._vectors(cut, role), len(texts), self.dimension, self.name)
        self.told(role, time.monotonic() - begun)
        return vectors

    @abstractmethod
    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        """Return float32 [texts, dimension], of any length."""


def unit(vectors: Floats, count: int, dimension: int, name: str) -> Floats:
    """Return the vectors at length 1: [[3, 4]] -> [[0.6, 0.8]].

    Raises EmbeddingError when there are not `count` of `dimension`, or one is not finite or is zero.
    """
    if vectors.shape != (count, dimension):
        found = " x ".join(map(str, vectors.shape))
        raise EmbeddingError(
            f"{name} gave vectors of shape {found} where {count} x {dimension} were expected. "
            "The index was left as it is; choose another embedding model."
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise EmbeddingError(
            f"{name} gave a vector that is zero or not a number, so nothing was stored of this batch. "
            "Try again, or choose another embedding model."
        )
    return np.asarray(vectors / lengths, np.float32)


def _speakable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
