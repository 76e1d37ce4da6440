"""The tables of a text: where each stands, and the header row that its later pieces are found by."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_TABLE = re.compile(r"^\|(.+)\|[ \t]*\n\|[ \t:|-]*-{3}[ \t:|-]*(?:\n\|.*)*", re.M)
_MAX_LABEL = 240


@dataclass(frozen=True)
class Table:
    """``text[start:end]``; ``header`` is its first row, `Ship | Year`, empty where it has one column."""

    start: int
    end: int
    header: str


def tables(text: str) -> list[Table]:
    """Return the tables of a text, in order."""
    return [Table(found.start(), found.end(), _header(found[1])) for found in _TABLE.finditer(text)]


def header_above(found: Sequence[Table], start: int) -> str:
    """Return the header of the table within which a piece starts, or nothing: it has its own, or none.

    A piece is an exact span of its document, so the header cannot be written into it: it ends the heading
    path, which is shown above the piece and indexed with it.
    """
    index = bisect_right(found, start - 1, key=lambda table: table.start) - 1
    return found[index].header if index >= 0 and start < found[index].end else ""


def _header(row: str) -> str:
    named = [cell.strip() for cell in row.split("|") if cell.strip()]
    cells = " | ".join(named) if len(named) > 1 else ""
    return cells if len(cells) <= _MAX_LABEL else cells[: _MAX_LABEL - 1] + "…"
