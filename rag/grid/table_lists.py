"""Lists read from tables: labels of rows under a kind, such as "Net sales by reportable segment"."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from rag.citations.tables import TableCell
from rag.grid.candidates import Candidate
from rag.grid.cells import Items
from rag.grid.document import RowDocument
from rag.grid.terms import ColumnTerms

SCORE = 0.9
_BY = re.compile(r"\b(?:by|of each|for each)\s+(?:\w+\s+){0,2}\Z|별\s*\Z", re.IGNORECASE)
_TOTAL = re.compile(
    r"\b(?:total|all other|other|corporate|reconcil\w+|eliminations?)\b|합계|총계|소계|合計|総計|計\Z", re.I
)


def list_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the labels of rows, or of their sections, in the tables by the kind that a column asks for."""
    for _, table in groupby(document.cells, key=attrgetter("table")):
        found = list(table)
        under = [cell for cell in found if cell.section and _is_by(terms, cell.section)]
        if not under and not _is_by(terms, found[0].around):
            continue
        labels = _labels(under) if under else _labels(found) if _one_each(found) else _sections(found)
        items = tuple(dict.fromkeys(label for label in labels if label and not _TOTAL.search(label)))
        if len(items) > 1:
            rows = under or found
            yield Candidate(Items(items), rows[0].row_start, rows[-1].row_end, SCORE, sure=bool(under))


def _is_by(terms: ColumnTerms, text: str) -> bool:
    return any(_BY.search(text[: mention.start]) for mention in terms.mentions(text))


def _labels(found: list[TableCell]) -> list[str]:
    return [cell.row.strip(" :：") for cell in found]


def _sections(found: list[TableCell]) -> list[str]:
    return [cell.section.strip(" :：") for cell in found]


def _one_each(found: list[TableCell]) -> bool:
    rows = list(dict.fromkeys((cell.row, cell.section) for cell in found))
    return len({row for row, _ in rows}) == len(rows)
