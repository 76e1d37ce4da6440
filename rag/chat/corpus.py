"""Corpus view: the documents behind a RAG pipeline's retriever."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rag.passage import Passage

History = Sequence[tuple[str, str]]
"""Messages before a question as (role, content), oldest first."""
Rarity = Callable[[str], float]
"""Inverse document frequency of a token."""
CorpusStatus = Literal["searchable", "reading", "empty", "gone"]
"""Documents can be searched, or soon; there are none, or none of those that were chosen."""


@dataclass(frozen=True)
class UnsearchedFile:
    """File that could not be searched, or not completely, with its state in the ledger."""

    name: str
    state: str


class CorpusView(Protocol):
    """Documents that a pipeline searches, read afresh at each call."""

    def status(self) -> CorpusStatus:
        """Return the status of the corpus."""
        ...

    def names(self) -> Sequence[str]:
        """Return the names of the documents."""
        ...

    def unsearched(self) -> Sequence[UnsearchedFile]:
        """Return the files that are not searched, and those that only word search finds."""
        ...

    def still_valid(self, passages: Sequence[Passage]) -> Sequence[Passage]:
        """Keep earlier passages that are unchanged and in scope."""
        ...

    @property
    def rarity(self) -> Rarity | None:
        """Inverse document frequency of a token; None where the corpus has no word statistics."""
        ...


@dataclass(frozen=True)
class PlainCorpus:
    """CorpusView of a plain LangChain retriever, of which at most the rarity of tokens is known."""

    rarity: Rarity | None = None

    def status(self) -> CorpusStatus:
        """Return "searchable"."""
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
