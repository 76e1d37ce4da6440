"""A document as it is read and split in one way: what there is of it before anything is kept or indexed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.errors import DocumentRefused
from rag.loaders import load
from rag.splitters import Splitting, split
from storage import chunks
from storage.errors import NotFound
from storage.files import Files
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, PageSpan


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
    try:
        original = files.path(record.sha256)
    except NotFound as error:
        raise DocumentRefused(f"The original of {record.name} is gone. Add the file again.") from error
    loaded = load(original, record.name)
    pieces = split(loaded, Splitting(**splitting) if splitting else Splitting())
    if not pieces:
        raise DocumentRefused(f"{record.name} holds no text to search. Add a file that has text.")
    return Edition(
        text=loaded.text,
        pages=[PageSpan(*page) for page in loaded.pages],
        pieces=[ChunkSpan(piece.start, piece.end, piece.page, piece.heading) for piece in pieces],
        splitting=splitting,
    )
