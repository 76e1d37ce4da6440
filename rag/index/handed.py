"""Vectors handed to a store that embeds by itself: it asks its model, and gets what is there already."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langchain_core.embeddings import Embeddings


class HandedEmbeddings(Embeddings):
    """An embedding model that first gives what was handed to it; one thread at a time may hand over.

    Stores embed what they are given. Here it is embedded before, in batches that show their progress and
    can be stopped, so while texts are added their vectors are handed over; anything else is embedded.
    """

    def __init__(self, embeddings: Embeddings):
        self._embeddings = embeddings
        self._passages: dict[str, deque[list[float]]] = {}
        self._question: list[float] | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the handed vectors of these texts, in order; equal texts have each their own."""
        return [self._taken(text) or self._embeddings.embed_documents([text])[0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the handed vector, whatever the question."""
        return self._question or self._embeddings.embed_query(text)

    @contextmanager
    def passages(self, texts: Sequence[str], vectors: Sequence[list[float]]) -> Iterator[None]:
        """Hand over the vectors of texts."""
        for text, vector in zip(texts, vectors, strict=True):
            self._passages.setdefault(text, deque()).append(vector)
        try:
            yield
        finally:
            self._passages = {}

    @contextmanager
    def question(self, vector: Sequence[float]) -> Iterator[None]:
        """Hand over the vector of a question."""
        self._question = list(vector)
        try:
            yield
        finally:
            self._question = None

    def _taken(self, text: str) -> list[float] | None:
        """Return a text's next vector, and keep it as the last: a store may ask twice."""
        vectors = self._passages.get(text)
        if not vectors:
            return None
        vectors.rotate(-1)
        return vectors[-1]
