"""A copy of an index's vectors, kept in step with it, for exact search in a few documents."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import NamedTuple, Protocol

from numpy.typing import ArrayLike

from rag.index.columns import batches
from rag.index.relevance import Space
from rag.index.rows import Floats, VectorRows


class Entries(NamedTuple):
    """Entries of an index: ids, the document each comes from, if it says, and vectors [n, dimension]."""

    ids: Sequence[str]
    document_ids: Sequence[str | None]
    vectors: ArrayLike


class Copied(Protocol):
    """The index that is copied."""

    def ids(self) -> set[str]:
        """Return the id of every entry."""

    def count(self) -> int:
        """Return how many there are."""

    def entries(self, ids: Sequence[str]) -> Entries:
        """Return those of the ids that are there."""


class ExactCopy:
    """Vectors of an index as `rows`, which every search finds in step with it.

    Ids are announced, then the index changes, then the copy. What fails or is cut off between the two is
    copied again before the next search; so is everything where the rows are new or were damaged.
    """

    def __init__(self, index: Copied, rows: VectorRows):
        self._index = index
        self._rows = rows
        self._changing = RLock()
        self._in_step = False
        self._being_changed = False
        self.searched = False  # the first search of the index reads its graph, for seconds where it is large

    @property
    def at_rest(self) -> bool:
        """Whether nothing changes the index now, and nothing is to be mended."""
        return self._in_step and not self._being_changed

    @contextmanager
    def changing(self, ids: Sequence[str]) -> Iterator[VectorRows]:
        """Change entries of the index, then put them into or delete them from the rows given."""
        with self._changing:
            self._being_changed = True
            try:
                self._rows.announce(ids)
                yield self._rows
            except BaseException:
                self._in_step = False
                raise
            finally:
                self._being_changed = False

    def nearest(
        self, vector: ArrayLike, k: int, document_ids: Sequence[str], space: Space
    ) -> list[tuple[str, float]] | None:
        """Return the `k` closest (id, distance) of some documents, or None where the index must tell."""
        self.mend()
        return self._rows.nearest(vector, k, document_ids, space)

    def vectors(self, ids: Sequence[str]) -> tuple[list[str], Floats]:
        """Return those of the ids that are there, in order, and their vectors [n, dimension]."""
        self.mend()
        return self._rows.vectors(ids)

    def mend(self) -> None:
        """Copy again what is in doubt; where nothing is, it takes no time."""
        if self._in_step:
            return
        with self._changing:
            doubtful = self._rows.announced()
            if self._rows.count() != self._index.count():
                doubtful |= self._rows.ids() ^ self._index.ids()
            for batch in batches(sorted(doubtful)):
                self._rows.delete(batch)
                there = self._index.entries(batch)
                if there.ids:
                    self._rows.put(*there)
            self._in_step = True

    def close(self) -> None:
        """Let go of the files."""
        self._rows.close()
