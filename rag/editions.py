"""A document as it is read and split in one way: what there is of it before anything is kept or indexed."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rag.errors import DocumentRefused
from rag.jobs import Cancel, never
from rag.loaders import LoadedDocument, Reading, drained, reading
from rag.splitters import Splitting, split
from storage import chunks
from storage.errors import NotFound
from storage.files import Files
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, PageSpan

T = TypeVar("T")


@dataclass(frozen=True)
class Edition:
    """A document's text; its pages and pieces are spans of it. `splitting` is None where it is the usual."""

    text: str
    pages: Sequence[PageSpan]
    pieces: Sequence[ChunkSpan]
    splitting: Mapping[str, int] | None

    def chunks_of(self, record: DocumentRecord) -> list[ChunkRecord]:
        """Return the pieces as the chunks that they become once the edition is kept."""
        return chunks.records(record, self.splitting, self.text, self.pieces)


def read_edition(files: Files, record: DocumentRecord, splitting: Mapping[str, int] | None) -> Edition:
    """Read a document's original and split it; raises DocumentRefused where that cannot be done."""
    return drained(reading_edition(files, record, splitting, lambda _done, _all: None, never))


def reading_edition(
    files: Files,
    record: DocumentRecord,
    splitting: Mapping[str, int] | None,
    tell: Callable[[int, int], T],
    cancelled: Cancel,
) -> Generator[T, None, Edition]:
    """Do as `read_edition`; `tell` makes what is yielded of how many pages are recognised, of all."""
    try:
        original = files.path(record.sha256)
    except NotFound as error:
        raise DocumentRefused(f"The original of {record.name} is gone. Add the file again.") from error
    loaded = yield from _told(reading(original, record.name, cancelled=cancelled), tell)
    pieces = split(loaded, Splitting(**splitting) if splitting else Splitting())
    if not pieces:
        raise DocumentRefused(f"{record.name} holds no text to search. Add a file that has text.")
    return Edition(
        text=loaded.text,
        pages=[PageSpan(*page) for page in loaded.pages],
        pieces=[ChunkSpan(piece.start, piece.end, piece.page, piece.heading) for piece in pieces],
        splitting=splitting,
    )


def _told(steps: Reading, tell: Callable[[int, int], T]) -> Generator[T, None, LoadedDocument]:
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            loaded: LoadedDocument = end.value
            return loaded
        yield tell(*step)
