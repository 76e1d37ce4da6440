"""Content of an export: a grid with its rows at one moment, its quotes numbered, and remarks on its cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from rag.grid.cells import CellQuote, CellResult
from rag.grid.figures import Figure, figures
from rag.grid.grids import DocumentCell, DocumentRow, Grid
from rag.i18n import N_, _
from storage.grids import CellKey


@dataclass(frozen=True)
class GridExport:
    """A grid with its rows at one moment; `address` is that of the server, for links, empty for none."""

    grid: Grid
    rows: Sequence[DocumentRow]
    at: datetime
    address: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Figures of all columns."""
        return tuple(one for column in self.grid.columns for one in figures(self.rows, column))

    def link(self, document_id: str) -> str:
        """Return the page of a document."""
        return f"{self.address}/?{urlencode({'document': document_id})}"


@dataclass(frozen=True)
class NumberedQuote:
    """A quote with its number in the export, from 1, and the row that it is of."""

    number: int
    row: DocumentRow
    quote: CellQuote

    @property
    def place(self) -> str:
        """Document and page: "report.pdf, page 3"."""
        name = self.row.document.name
        if self.quote.page is None:
            return name
        return _("{document}, page {page}", document=name, page=self.quote.page)


def remark(cell: DocumentCell) -> str:
    """Return how far a cell's value is confirmed, as a sentence."""
    if cell.corrected is not None:
        return N_("Corrected by hand")
    if cell.found is None:
        return N_("Not read yet")
    return _of_found(cell.found)


def _of_found(found: CellResult) -> str:
    if found.state == "verified":
        return N_("Verified, calculated") if found.calculated else N_("Verified")
    if found.state == "differs":
        return N_("The source differs")
    if found.state == "unconfirmed":
        return N_("Not confirmed")
    if found.state == "failed":
        return N_("Failed. {reason}", reason=found.note)
    if found.only_searched:
        return N_(
            "Not found by search alone ({read} of {total} passages searched)",
            read=found.read,
            total=found.total,
        )
    return N_(
        "Not found in this document ({read} of {total} passages read)", read=found.read, total=found.total
    )


def numbered_quotes(rows: Sequence[DocumentRow]) -> dict[CellKey, list[NumberedQuote]]:
    """Return the quotes of each cell, numbered through the grid from 1."""
    found: dict[CellKey, list[NumberedQuote]] = {}
    number = 0
    for row in rows:
        for cell in row.cells:
            quotes = cell.found.quotes if cell.found is not None else ()
            found[cell.key] = [NumberedQuote(number + n, row, one) for n, one in enumerate(quotes, 1)]
            number += len(quotes)
    return found
