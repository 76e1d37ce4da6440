"""Vectors gathered on their way into an index: to write eight costs half of what thirty-two do."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from rag.errors import EmbeddingError
from rag.index.vector_index import VectorIndex
from rag.models.embeddings import Floats

AT_ONCE = 32
PATIENCE = 1.0  # seconds: what is embedded is lost with the process until it is written


class Gathered:
    """Entries for an index, written AT_ONCE together, or sooner where embedding them takes its time.

    As a context it writes the rest at its end, also where the model failed. What is stopped is not written:
    it is embedded again when it is gone on with.
    """

    def __init__(self, index: VectorIndex, clock: Callable[[], float] = time.monotonic):
        self._index, self._clock, self._written = index, clock, clock()
        self._ids: list[str] = []
        self._vectors: list[Floats] = []
        self._origins: list[Mapping[str, Any]] = []

    def add(self, ids: Sequence[str], vectors: Floats, origins: Sequence[Mapping[str, Any]]) -> None:
        """Take entries with their vectors [n, dimension]."""
        self._ids += ids
        self._vectors.append(vectors)
        self._origins += origins
        if len(self._ids) >= AT_ONCE or self._clock() - self._written >= PATIENCE:
            self.write()

    def write(self) -> None:
        """Write what is gathered."""
        if self._ids:
            self._index.add_vectors(self._ids, np.concatenate(self._vectors), self._origins)
            self._ids, self._vectors, self._origins = [], [], []
        self._written = self._clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, EmbeddingError):
            self.write()
