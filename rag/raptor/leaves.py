"""Leaves of the tree: sentences of a document's text, about 100 tokens together, none of them cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from rag.text.chunking import Splitting, split
from rag.text.document import LoadedDocument
from rag.text.sentences import sentences
from rag.text.text_budget import count_tokens

SIZE = 120  # by `count_tokens`, which counts rather too many: about 100 of a model's own
LONGEST = 400  # beyond it a sentence is a table or a text without full stops, and no model reads it whole
_LETTERS = 3.5  # of Latin script in a token, as `count_tokens` has it
_OF_LONG = Splitting(size=int(SIZE * _LETTERS), overlap=0)


class Stretch(Protocol):
    """What a chunk tells of its place: its span of the text, page and heading path."""

    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102
    @property
    def page(self) -> int | None: ...  # noqa: D102
    @property
    def heading(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Leaf:
    """``text[start:end]`` of a document's canonical text, on one page and under one heading."""

    start: int
    end: int
    page: int | None
    heading: str


def leaf_id(document_id: str, place: int) -> str:
    """Return the id of a document's leaf: ("22c1", 7) -> "22c1-l00007". Chunks have no letter there."""
    return f"{document_id}-l{place:05d}"


def is_leaf_id(passage_id: str) -> bool:
    """Whether a passage is a tree's leaf, told by its id.

    >>> is_leaf_id("22c1-l00007"), is_leaf_id("22c1-00007")
    (True, False)
    """
    return passage_id.rpartition("-")[2].startswith("l")


def leaves(text: str, chunks: Sequence[Stretch], size: int = SIZE) -> list[Leaf]:
    """Return the leaves of a document, in order: what its chunks cover, cut between sentences.

    A leaf is full once another sentence would take it above `size` tokens; a sentence longer than that is a
    leaf of its own. What chunks on one page and under one heading cover is cut anew, since chunks overlap.
    """
    found = []
    for (page, heading), run in groupby(chunks, key=lambda chunk: (chunk.page, chunk.heading)):
        together = list(run)
        for start, end in _filled(text, together[0].start, together[-1].end, size):
            found.append(Leaf(start, end, page, heading))
    return found


def _filled(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield spans of whole sentences, each as long as fits."""
    first: int | None = None
    last = held = 0
    for begin, stop in _sentences(text, start, end):
        length = count_tokens(text[begin:stop])
        if first is not None and held + length > size:
            yield first, last
            first, held = None, 0
        first, last, held = begin if first is None else first, stop, held + length
    if first is not None:
        yield first, last


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for begin, stop in sentences(text[start:end]):
        whole = text[start + begin : start + stop]
        if count_tokens(whole) <= LONGEST:
            yield start + begin, start + stop
            continue
        for piece in split(LoadedDocument(whole), _OF_LONG):
            yield start + begin + piece.start, start + begin + piece.end
