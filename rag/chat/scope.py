"""What a question is searched in: all documents, or the collections and documents that are chosen for it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rag.errors import QuestionRefused
from rag.passage import Passage
from storage.choices import Choices, Chosen
from storage.collections import CollectionRecord, Collections

NAMED = 4  # of what is chosen, by name; the others are counted
LONGEST = 48  # characters of a name


@dataclass(frozen=True)
class SearchedIn:
    """Told of an answer that was not searched in all documents: what was chosen, in words."""

    said: str


@dataclass(frozen=True)
class Scope:
    """The documents a question is searched in, by id, None for all; `said` is what was chosen, in words."""

    document_ids: frozenset[str] | None = None
    said: str = ""

    @property
    def empty(self) -> bool:
        """Whether something was chosen, and no document of it is there."""
        return self.document_ids is not None and not self.document_ids

    def has(self, document_id: str) -> bool:
        """Whether a document is searched."""
        return self.document_ids is None or document_id in self.document_ids

    def told(self) -> Iterator[SearchedIn]:
        """Yield what is told of an answer that is searched in this; nothing where that is everything."""
        if self.said and not self.empty:
            yield SearchedIn(self.said)


EVERYTHING = Scope()


def scope_of(choices: Choices, conversation_id: str) -> Scope:
    """Return what a conversation searches; raises NotFound."""
    chosen = choices.of(conversation_id)
    return Scope(choices.documents(conversation_id), in_words(chosen)) if chosen else EVERYTHING


def scope_within(collections: Collections, names: Sequence[str]) -> Scope:
    """Return the documents of the collections of these names, of which there must be each; all without any.

    Raises QuestionRefused.
    """
    if not names:
        return EVERYTHING
    records = {record.id: record for record in (_called(collections, name) for name in names)}
    chosen = [Chosen("collection", id_, record.name) for id_, record in records.items()]
    return Scope(frozenset(collections.documents_of(list(records))), in_words(chosen))


def in_words(chosen: Sequence[Chosen]) -> str:
    """Name what is chosen, what was deleted last; the first few by name.

    >>> in_words([Chosen("collection", "1", "HR"), Chosen("document", "2", "a.pdf", there=False)])
    'HR (collection), a.pdf (deleted)'
    """
    ordered = sorted(chosen, key=lambda one: not one.there)
    named = ", ".join(map(_name, ordered[:NAMED]))
    more = len(ordered) - NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def counted(chosen: Sequence[Chosen]) -> str:
    """Count what is chosen and there: "2 collections, 1 document"; nothing where all of it is gone."""
    kinds = Counter(one.kind for one in chosen if one.there)
    return ", ".join(f"{kinds[kind]:,} {kind}{'s' * (kinds[kind] != 1)}" for kind in sorted(kinds))


def _called(collections: Collections, name: str) -> CollectionRecord:
    found = collections.named(name)
    if found is None:
        there = ", ".join(record.name for record in collections.list())
        raise QuestionRefused(
            f"There is no collection {name!r}. {f'There are: {there}.' if there else 'There is none yet.'}"
        )
    return found


def _name(one: Chosen) -> str:
    name = one.name if len(one.name) <= LONGEST else one.name[: LONGEST - 1] + "…"
    notes = ["collection"] * (one.kind == "collection") + ["deleted"] * (not one.there)
    return f"{name} ({', '.join(notes)})" if notes else name


# Corpus view
History = Sequence[tuple[str, str]]
"""Messages before a question as (role, content), oldest first."""
Rarity = Callable[[str], float]
"""Inverse document frequency of a token."""
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
    def rarity(self) -> Rarity | None:
        """Inverse document frequency of a token; None where the corpus has no word statistics."""
        ...


@dataclass(frozen=True)
class PlainCorpus:
    """The documents of any retriever, of which nothing more is known than perhaps how rare words are."""

    rarity: Rarity | None = None

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
