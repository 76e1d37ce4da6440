"""Staged index (blue/green): built beside the index in use, verified, and exchanged in one commit."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag.errors import IndexUnusable
from rag.index.chunks import index_text
from rag.index.exact import evenly
from rag.index.folders import ON_DISK, IndexFolders
from rag.jobs import Cancel
from storage.documents import Documents, IndexStates
from storage.errors import DiskFull
from storage.records import ChunkRecord

SAMPLE = 100  # chunks that are searched for by their own text

Step = Literal["words", "embedding", "trees", "verifying"]
Hits = Mapping[int, Sequence[str]]


@dataclass(frozen=True)
class ReindexProgress:
    """Progress of a step: `done` of `total` chunks, or nodes of trees."""

    step: Step
    done: int
    total: int


@dataclass(frozen=True)
class IndexPair:
    """Ledger states of an index in use and of one staged beside it, each with its folder.

    The staged one has a state from the beginning of its build, so that the build can be resumed.
    """

    documents: Documents
    states: IndexStates
    directory: Path
    answering: str
    staged: str
    folders: IndexFolders = ON_DISK

    def resume(self, resumable: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any] | None:
        """Return the state of a staged index; give up one that cannot be resumed."""
        state = self.documents.index_state(self.staged)
        if state is None or resumable(state):
            return state
        self.give_up()
        return None

    def begin(self, **made_with: Any) -> dict[str, Any]:
        """Record a staged index in a fresh folder; return its state, or that of one begun meanwhile."""
        return self.states.begin(self.staged, {**made_with, "folder": fresh_folder(self.answering)})

    def exchange(self) -> None:
        """Make the staged index the one in use, in one commit."""
        self.states.replace(self.answering, self.staged)

    def give_up(self) -> None:
        """Forget the staged index, where there is one, and remove its folders."""
        if self.documents.index_state(self.staged):
            self.documents.set_index_state(self.staged, None)
        self.sweep()

    def sweep(self) -> None:
        """Remove the folders that neither index uses; the very first index has no state: ``"words"``."""
        there = self.folders.names(self.directory)  # first: a folder is made after the ledger has its name
        first = {"folder": self.answering}
        states = self.documents.index_state(self.answering) or first, self.documents.index_state(self.staged)
        used = {state["folder"] for state in states if state}
        for name in there:
            if name.startswith(self.answering) and name.removesuffix("-tree") not in used:
                self.folders.remove(self.directory / name)


class StagedIndex(ABC):
    """Index built beside the one in use; `stop_writers` stops those that write only to that one."""

    stop_writers: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, pair: IndexPair):
        self.pair = pair
        self.documents = pair.documents

    def rebuild(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Fill the index, verify it, and put it to use; the index in use stays as it is until then.

        Raises Cancelled, after which the build can be resumed; DiskFull and IndexUnusable, after which it
        cannot.
        """
        try:
            self.open()
            yield from self.fill(cancelled)
            yield from self.verify()
            self.stop_writers()
            while not self.exchange():
                yield from self.fill(cancelled)
        except (DiskFull, IndexUnusable):
            self.give_up()
            raise

    def open(self) -> None:  # noqa: B027 - may be open already
        """Open the index; raises IndexUnusable."""

    @abstractmethod
    def fill(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Add the chunks of the ledger that are missing; raises Cancelled."""

    @abstractmethod
    def verify(self) -> Iterator[ReindexProgress]:
        """Raise IndexUnusable where chunks do not find themselves."""

    @abstractmethod
    def exchange(self) -> bool:
        """Put the index to use; return False where chunks were added that it lacks."""

    @abstractmethod
    def give_up(self) -> None:
        """Close the index and forget the build."""


def fresh_folder(name: str) -> str:
    """Name a folder for an index: ``"vectors-5f0c22c1"``."""
    return f"{name}-{secrets.token_hex(4)}"


def sample_chunks(documents: Documents, ids: Collection[str]) -> list[ChunkRecord]:
    """Return at most SAMPLE chunks, evenly spread over the ids."""
    return list(documents.chunks_by_id(evenly(sorted(ids), SAMPLE)).values())


def verify_index(
    documents: Documents, sample: Sequence[ChunkRecord], search: Callable[[Sequence[str]], Iterator[Hits]]
) -> Iterator[tuple[int, int]]:
    """Search for each chunk by its own text; yield how many were done and missed so far, at least once.

    `search` yields ids of hits by the position of the text, batch by batch. Another chunk of the same text
    counts as a hit. Damage to an index is often silent: it answers, with the wrong passages.
    """
    texts = [index_text(chunk) for chunk in sample]
    done = missed = 0
    yield done, missed
    for hits in search(texts):
        done += len(hits)
        for at, found in hits.items():
            missed += not _finds_itself(documents, sample[at].id, texts[at], found)
        yield done, missed


def _finds_itself(documents: Documents, id_: str, text: str, hits: Sequence[str]) -> bool:
    return id_ in hits or any(index_text(chunk) == text for chunk in documents.chunks_by_id(hits).values())
