"""Document of a grid's row: its passages, its text and its facts, each read once for all columns."""

from functools import cached_property

from rag.grid.cells import CellQuote
from rag.ingest.document_profile import DocumentProfile
from rag.ingest.library import Library
from rag.passage import Passage

SEARCHED = 12
"""Passages that a search within the document returns."""
SHORT = 24
"""Passages of a document that is read as a whole for every column."""


class RowDocument:
    """Document of one owner, with a search among its own passages."""

    def __init__(self, library: Library, document_id: str):
        self.id = document_id
        self._library = library
        record = library.documents.get(document_id)
        self.name = record.name
        self.profile = DocumentProfile(document_id, record.name, library.facts_of(document_id))

    @cached_property
    def passages(self) -> list[Passage]:
        """All passages, in the order of the text."""
        return [
            Passage(
                chunk.id, self.id, chunk.document, chunk.sha256, chunk.page, chunk.heading,
                chunk.start, chunk.end, chunk.text, about=self.profile.about,
            )
            for chunk in self._library.documents.chunks(self.id)
        ]  # fmt: skip

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return self._library.documents.text(self.id)

    def search(self, question: str, k: int = SEARCHED) -> list[Passage]:
        """Return the `k` passages that fit a question best by their words; all of a short document."""
        if len(self.passages) <= SHORT:
            return self.passages
        found = self._library.retriever("bm25", k, document_ids=[self.id]).invoke(question)
        by_id = {passage.id: passage for passage in self.passages}
        return [by_id[one.id] for one in found if one.id in by_id]

    def quote(self, start: int, end: int) -> CellQuote:
        """Return `text[start:end]` as a quote, in the passage that holds the most of it."""
        return quote_within(self.passages, self.text, start, end)


def quote_within(passages: list[Passage], text: str, start: int, end: int) -> CellQuote:
    """Return `text[start:end]` as a quote of the passage that holds the most of it."""
    best = max(passages, key=lambda one: min(one.end, end) - max(one.start, start))
    return CellQuote(best.id, start, end, text[start:end], best.page)
