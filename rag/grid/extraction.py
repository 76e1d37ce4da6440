"""Extraction of cells: the value of a column in one document, with the quote that says it.

Rules read what documents say in so many words. Where they are in doubt, and where a column has instructions
of its own, the connected language model is asked, and what it says is checked.
"""

from collections.abc import Iterator, Sequence

from rag.errors import Cancelled
from rag.grid.cells import CellResult
from rag.grid.columns import Column
from rag.grid.document import RowDocument, RowLibrary
from rag.grid.model_reading import read_by_model
from rag.grid.rules import find_candidates, read_by_rules
from rag.i18n import N_
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel

RULES = 4
"""Version of the rules; results of another one are out of date."""


class CellReader:
    """Reads cells from the documents of one library, by a language model where there is one."""

    def __init__(self, library: RowLibrary, llm: LanguageModel | None):
        self._library, self._llm = library, llm

    @property
    def fingerprint(self) -> str:
        """Model and version of the rules, on which results depend besides document and column."""
        model = self._llm.settings.model if self._llm is not None else ""
        return f"rules {RULES}, {model}" if model else f"rules {RULES}"

    def read(self, document_id: str, column: Column, cancelled: Cancel = never) -> CellResult:
        """Return the result of one cell; raises Cancelled, NotFound, and LLMError where the model fails."""
        return next(result for _, result in self.read_row(document_id, [column], cancelled))

    def read_row(
        self, document_id: str, columns: Sequence[Column], cancelled: Cancel = never
    ) -> Iterator[tuple[Column, CellResult]]:
        """Yield the results of a document's cells in the order of `columns`; errors as of `read`."""
        document = RowDocument(self._library, document_id)
        for column in columns:
            if cancelled():
                raise Cancelled(N_("Reading {name} was stopped.", name=document.name))
            yield column, self._cell(document, column, cancelled)

    def _cell(self, document: RowDocument, column: Column, cancelled: Cancel) -> CellResult:
        """Return the result of a cell; a model is asked where the rules are in doubt, or are not all."""
        candidates = find_candidates(document, column)
        ruled = read_by_rules(document, candidates)
        if self._llm is None or (ruled.state == "verified" and not column.instructions):
            return ruled
        return read_by_model(document, column, self._llm, candidates, ruled, cancelled)
