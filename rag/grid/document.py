"""Document of a grid's row: its text, passages, tables and facts, each read once for all columns."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, lru_cache
from itertools import islice
from typing import Protocol

from langchain_core.retrievers import BaseRetriever

from rag.citations.tables import TableCell, cells
from rag.grid.cells import Amount, CellQuote
from rag.grid.columns import Column
from rag.grid.labelled import LabelledValue, labelled_values
from rag.grid.values import CURRENCY, amount_of, find_values
from rag.ingest.document_facts import DocumentProfile
from rag.passage import Passage
from rag.text.sentences import sentences
from storage.documents import Documents
from storage.records import DocumentFact

SEARCHED = 12
"""Passages that a search within the document returns."""
SHORT = 24
"""Passages of a document that is searched as a whole."""
MOST_TEXT = 1_500_000
"""Characters of a document whose tables and labels are read; what follows is searched only."""
MOST_LABELLED = 5_000
"""Labelled values of a document that are compared with a column."""
MOST_WRAPPED = 3
"""Lines of a title."""
_MARKUP = re.compile(r"[|:：]|^---", re.MULTILINE)
_LONGEST_SENTENCE = 1200  # characters


class RowLibrary(Protocol):
    """Library of one owner whose documents are rows."""

    @property
    def owner(self) -> str:
        """The owner's id."""

    @property
    def documents(self) -> Documents:
        """The documents in the ledger."""

    def profiles(self) -> Mapping[str, DocumentProfile]:
        """Return the profile of every document by its id."""

    def facts_of(self, document_id: str) -> Sequence[DocumentFact]:
        """Return the facts of a document; raises NotFound."""

    def rarity(self, token: str) -> float:
        """Return the inverse document frequency of a token."""

    def retriever(self, name: str, k: int, *, document_ids: Collection[str] | None = None) -> BaseRetriever:
        """Return the retriever of that name over all documents, or some of them."""


class RowDocument:
    """Document of one owner, with a search among its own passages."""

    def __init__(self, library: RowLibrary, document_id: str):
        self.id = document_id
        self._library = library
        self.name = library.documents.get(document_id).name
        self.profile = DocumentProfile(document_id, self.name, library.facts_of(document_id))
        self.sentence_at = lru_cache(maxsize=4_096)(self._sentence_at)

    @cached_property
    def passages(self) -> list[Passage]:
        """All passages, in the order of the text."""
        about = self.profile.about
        return [
            Passage(
                chunk.id,
                self.id,
                chunk.document,
                chunk.sha256,
                chunk.page,
                chunk.heading,
                chunk.start,
                chunk.end,
                chunk.text,
                about=about,
            )
            for chunk in self._library.documents.chunks(self.id)
        ]

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return self._library.documents.text(self.id)

    @cached_property
    def read_text(self) -> str:
        """The part of the text whose tables, labels and terms are looked at."""
        return self.text[:MOST_TEXT]

    @cached_property
    def cells(self) -> tuple[TableCell, ...]:
        """The numbers of its tables."""
        return cells(self.read_text)

    @cached_property
    def rows_of_figures(self) -> frozenset[int]:
        """Starts of the rows with numbers of its tables."""
        return frozenset(cell.row_start for cell in self.cells)

    @cached_property
    def labelled(self) -> tuple[LabelledValue, ...]:
        """Its labelled values."""
        return tuple(islice(labelled_values(self.read_text), MOST_LABELLED))

    @cached_property
    def currency(self) -> str:
        """The currency that its tables name most often; empty where they name none."""
        named = [cell.quantity.unit for cell in self.cells if cell.quantity.unit.isupper()]
        return max(sorted(set(named)), key=named.count, default="")

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day that it covers."""
        return self.profile.days

    def facts(self, kind: str) -> Iterator[DocumentFact]:
        """Yield its facts of a kind, those that its text states first."""
        yield from sorted(
            (fact for fact in self.profile.facts if fact.kind == kind), key=lambda fact: fact.start is None
        )

    def rarity(self, token: str) -> float:
        """Return the inverse document frequency of a token in its library."""
        return self._library.rarity(token)

    def search(self, question: str, k: int = SEARCHED) -> list[Passage]:
        """Return the `k` passages that fit a question best by their words; all of a short document."""
        if len(self.passages) <= SHORT:
            return self.passages
        found = self._library.retriever("bm25", k, document_ids=[self.id]).invoke(question)
        by_id = {passage.id: passage for passage in self.passages}
        return [by_id[one.id] for one in found if one.id in by_id]

    def _sentence_at(self, place: int) -> tuple[int, int]:
        """Return the span of the sentence, row or line that a place of the text is in."""
        blank = self.text.rfind("\n\n", max(0, place - _LONGEST_SENTENCE), place)
        begin = blank + 2 if blank >= 0 else max(0, place - _LONGEST_SENTENCE)
        end = self.text.find("\n\n", place, place + _LONGEST_SENTENCE)
        end = end if end >= 0 else min(len(self.text), place + _LONGEST_SENTENCE)
        spans = ((begin + a, begin + b) for a, b in sentences(self.text[begin:end]))
        return next((span for span in spans if span[0] <= place < span[1]), (place, end))

    def holds_one_option(self, column: Column) -> bool:
        """Return True where the text has only one of a column's options."""
        return len({one.value for one in find_values(self.read_text, column)}) == 1

    def line_at(self, place: int) -> tuple[int, int]:
        """Return the span of the line that a place of the text is in."""
        end = self.text.find("\n", place)
        return self.text.rfind("\n", 0, place) + 1, end if end >= 0 else len(self.text)

    def block_at(self, start: int, end: int) -> tuple[int, int]:
        """Return a span widened by the lines below it, up to a blank line, where these are few."""
        blank = self.text.find("\n\n", end)
        more = self.text[end : blank if blank >= 0 else end]
        wrapped = (
            more.strip() and more.startswith("\n") and more.count("\n") < MOST_WRAPPED and "\n#" not in more
        )
        return (start, end + len(more.rstrip())) if wrapped and not _MARKUP.search(more) else (start, end)

    def amount(self, cell: TableCell, column: Column) -> Amount:
        """Return the number of a cell of a table as the value of a column."""
        code = CURRENCY.search(self.text, cell.start, cell.end) if column.kind == "money" else None
        own = code[0] if code else self.currency if column.kind == "money" else ""
        return amount_of(cell.quantity, column.unit or own)

    def passage_at(self, place: int) -> Passage:
        """Return the passage that holds a place of the text."""
        return self._passage_of(place, place + 1)

    def quote(self, start: int, end: int) -> CellQuote:
        """Return `text[start:end]` as a quote of the passage that holds it, or the most of it."""
        best = self._passage_of(start, end)
        return CellQuote(start, end, self.text[start:end], best.page)

    def _passage_of(self, start: int, end: int) -> Passage:
        at = bisect_right(self._starts, start)
        near = self.passages[max(0, at - 3) : at + 2]
        return max(near, key=lambda one: min(one.end, end) - max(one.start, start))

    @cached_property
    def _starts(self) -> list[int]:
        return [passage.start for passage in self.passages]
