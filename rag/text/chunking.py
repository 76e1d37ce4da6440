"""Documents into chunks that keep their page, heading path and exact place in the text.

A chunk never crosses a page or a heading's section, and is cut at the best place near its size: prose
between paragraphs, rows or list items, then sentences, then lines, then words; code between definitions.
A table that fits is never cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.errors import DocumentRefused
from rag.text.cutting import cut
from rag.text.document import LoadedDocument
from rag.text.sections import sections
from rag.text.separators import separators
from rag.text.splitting import OVERLAP, SIZE, Splitting
from rag.text.tables import header_above, tables

__all__ = ["OVERLAP", "SIZE", "Piece", "Splitting", "check", "split"]

_USUAL = Splitting()


@dataclass(frozen=True)
class Piece:
    """A chunk: ``text[start:end]``, its page from 1 if there are pages, its heading path."""

    start: int
    end: int
    page: int | None
    heading: str


def split(document: LoadedDocument, splitting: Splitting = _USUAL) -> list[Piece]:
    """Split a document into pieces.

    Every piece begins and ends with a visible character; nothing but white space is left out. Raises
    DocumentRefused where a piece is no such span, which no document should bring about.
    """
    found, places = tables(document.text), separators(document.media_type)
    whole = [(table.start, table.end) for table in found]
    pieces = []
    for section in sections(document, splitting.minimum):
        for start, end in cut(document.text, section.start, section.end, splitting, places, whole):
            path = (*section.path, header_above(found, start))
            pieces.append(Piece(start, end, section.page, " > ".join(filter(None, path))))
    check(document, pieces)
    return pieces


def check(document: LoadedDocument, pieces: Sequence[Piece]) -> None:
    """Refuse a document of which a piece is not words of its text, on its page: citations stand on that."""
    spans = {number: (start, end) for number, start, end in document.pages}
    for piece in pieces:
        first, last = spans.get(piece.page or 0, (0, len(document.text)))
        words = document.text[piece.start : piece.end]
        exact = len(words) == piece.end - piece.start and bool(words) and words == words.strip()
        if not (exact and first <= piece.start <= piece.end <= last):
            raise DocumentRefused(
                "The document could not be split into exact passages of its text, so nothing of it could be "
                "cited. Save it in another format and add it again."
            )
