"""A document as it is read and split in one way: what there is of it before anything is kept or indexed."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rag.errors import DocumentRefused
from rag.ingest.parsers import LONGEST, LoadedDocument, Reading, drained, reading
from rag.jobs import Cancel, never
from rag.text.chunking import Splitting, split
from storage.documents import Documents, chunk_records
from storage.errors import NotFound
from storage.files import Files
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, PageSpan

T = TypeVar("T")


@dataclass(frozen=True)
class Edition:
    """A document's text; its pages and pieces are spans of it. `splitting` is None where it is the usual.

    `note` says what of the document could not be read.
    """

    text: str
    pages: Sequence[PageSpan]
    pieces: Sequence[ChunkSpan]
    splitting: Mapping[str, int] | None
    note: str | None = None

    def keep(self, documents: Documents, document_id: str) -> None:
        """Keep it as a document's text, pages and chunks, in one commit."""
        documents.save_chunks(
            document_id, self.text, self.pages, self.pieces, splitting=self.splitting, note=self.note
        )

    def chunks_of(self, record: DocumentRecord) -> list[ChunkRecord]:
        """Return the pieces as the chunks that they become once the edition is kept."""
        return chunk_records(record, self.splitting, self.text, self.pieces)


def read_edition(
    files: Files, record: DocumentRecord, splitting: Mapping[str, int] | None, recognition: float = LONGEST
) -> Edition:
    """Read a document's original and split it; raises DocumentRefused where that cannot be done."""
    return drained(reading_edition(files, record, splitting, lambda _done, _all: None, never, recognition))


def reading_edition(
    files: Files,
    record: DocumentRecord,
    splitting: Mapping[str, int] | None,
    tell: Callable[[int, int], T],
    cancelled: Cancel,
    recognition: float,
) -> Generator[T, None, Edition]:
    """Do as `read_edition`; `tell` makes what is yielded of how many pages are recognised, of all.

    The recognition of all pages takes about so many seconds at most.
    """
    try:
        original = files.path(record.sha256)
    except NotFound as error:
        raise DocumentRefused(f"The original of {record.name} is gone. Add the file again.") from error
    steps = reading(original, record.name, recognition=recognition, cancelled=cancelled)
    loaded = yield from _told(steps, tell)
    pieces = split(loaded, Splitting(**splitting) if splitting else Splitting())
    if not pieces:
        raise DocumentRefused(f"{record.name} holds no text to search. Add a file that has text.")
    return Edition(
        text=loaded.text,
        pages=[PageSpan(*page) for page in loaded.pages],
        pieces=[ChunkSpan(piece.start, piece.end, piece.page, piece.heading) for piece in pieces],
        splitting=splitting,
        note=loaded.note or None,
    )


def _told(steps: Reading, tell: Callable[[int, int], T]) -> Generator[T, None, LoadedDocument]:
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            loaded: LoadedDocument = end.value
            return loaded
        yield tell(*step)
