"""Parsing and chunking of one document, before anything is stored or indexed."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from rag.errors import DocumentRefused
from rag.ingest.parsers import OCR_SECONDS, load_steps
from rag.jobs import never
from rag.text.chunking import Splitting, split
from storage.documents import Documents, chunk_records
from storage.errors import NotFound
from storage.files import Files
from storage.records import ChunkRecord, ChunkSpan, DocumentRecord, PageSpan


@dataclass(frozen=True)
class ParsedDocument:
    """A document's text; its pages and pieces are spans of it. `splitting` is None for the default.

    `note` names the parts of the document that could not be read.
    """

    text: str
    pages: Sequence[PageSpan]
    pieces: Sequence[ChunkSpan]
    splitting: Mapping[str, int] | None
    note: str | None = None

    def save(self, documents: Documents, document_id: str) -> None:
        """Save it as a document's text, pages and chunks, in one commit."""
        documents.save_chunks(
            document_id, self.text, self.pages, self.pieces, splitting=self.splitting, note=self.note
        )

    def chunks_of(self, record: DocumentRecord) -> list[ChunkRecord]:
        """Return the chunks that the pieces become once they are saved."""
        return chunk_records(record, self.splitting, self.text, self.pieces)


def parse_document(
    files: Files,
    record: DocumentRecord,
    splitting: Mapping[str, int] | None,
    recognition: float = OCR_SECONDS,
    cancelled: Callable[[], bool] = never,
) -> Generator[tuple[int, int], None, ParsedDocument]:
    """Read a document's original and split it; yield (done, all) of the pages to recognise.

    The recognition of all pages takes about `recognition` seconds at most. Raises DocumentRefused.
    """
    try:
        original = files.path(record.sha256)
    except NotFound as error:
        raise DocumentRefused(f"The original of {record.name} is gone. Add the file again.") from error
    loaded = yield from load_steps(original, record.name, recognition=recognition, cancelled=cancelled)
    pieces = split(loaded, Splitting(**splitting) if splitting else Splitting())
    if not pieces:
        raise DocumentRefused(f"{record.name} holds no text to search. Add a file that has text.")
    return ParsedDocument(
        text=loaded.text,
        pages=[PageSpan(*page) for page in loaded.pages],
        pieces=[ChunkSpan(piece.start, piece.end, piece.page, piece.heading) for piece in pieces],
        splitting=splitting,
        note=loaded.note or None,
    )
