"""Corpus view: what a RAG pipeline knows of the documents behind its retriever."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rag.passage import Passage

CorpusStatus = Literal["searchable", "reading", "empty", "gone"]
"""Something can be searched, or soon; there is no document, or none of those that were chosen."""


@dataclass(frozen=True)
class UnsearchedFile:
    """A file that could not be searched, or not wholly, with its state in the ledger."""

    name: str
    state: str


class CorpusView(Protocol):
    """The documents that a pipeline searches, looked at anew at each call."""

    def status(self) -> CorpusStatus:
        """Return whether there is anything to search."""
        ...

    def names(self) -> Sequence[str]:
        """Return the names of the documents."""
        ...

    def unsearched(self) -> Sequence[UnsearchedFile]:
        """Return the files that no search sees, and those that only words find."""
        ...

    def still_valid(self, passages: Sequence[Passage]) -> Sequence[Passage]:
        """Keep earlier passages that are unchanged and in scope."""
        ...

    @property
    def rarity(self) -> Callable[[str], float] | None:
        """Inverse document frequency of a token; None where the corpus has no word statistics."""
        ...


@dataclass(frozen=True)
class PlainCorpus:
    """The documents of any retriever, of which nothing more is known than perhaps how rare words are."""

    rarity: Callable[[str], float] | None = None

    def status(self) -> CorpusStatus:
        """Return that there is something to search."""
        return "searchable"

    def names(self) -> Sequence[str]:
        """Return no name: a plain retriever does not list its documents."""
        return ()

    def unsearched(self) -> Sequence[UnsearchedFile]:
        """Return no file."""
        return ()

    def still_valid(self, passages: Sequence[Passage]) -> Sequence[Passage]:
        """Keep every passage."""
        return passages
