"""Extraction of cells: the value of a column in one document, with the quote that says it.

Without a language model the value is read by rules from the best sentence or cell of a table.
"""

from collections.abc import Iterator, Sequence

from rag.errors import Cancelled
from rag.grid.cells import CellResult
from rag.grid.columns import Column
from rag.grid.document import RowDocument
from rag.grid.rules import read_by_rules
from rag.i18n import N_
from rag.ingest.library import Library
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel

RULES = 1
"""Version of the rules; results of another one are out of date."""


class CellReader:
    """Reads cells from the documents of one library, by a language model where there is one."""

    def __init__(self, library: Library, llm: LanguageModel | None):
        self._library, self._llm = library, llm

    @property
    def fingerprint(self) -> str:
        """What results depend on besides document and column: the model, and the version of the rules."""
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
            yield column, self._cell(document, column)

    def _cell(self, document: RowDocument, column: Column) -> CellResult:
        return read_by_rules(document, column)
