"""Rows of tables that a question picks out by the values of their cells: "invoices" that are "open".

A value is named where a question has all of a cell. What is left of the question must name the table: its
first column, its caption, its heading or its document; it may name other columns. A table with numbers of
the kind in a column counts it by itself, and its rows are not counted.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rag.passage import Passage
from rag.retrieval.items import NamedItem, counts_kind
from rag.text.facts import nouns
from rag.text.markdown import TableBlock, TableRow, read_tables, rows
from rag.text.tokenize import tokens

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class NamedTable:
    """Rows of a table within a passage, with its header and the words above it."""

    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    naming: str


def rows_with_values(kind: str, condition: str, passages: Sequence[Passage]) -> list[NamedItem]:
    r"""Return the rows of the tables of a kind that have the values that a question names, none twice.

    The `kind` may have values too: "open invoices".

    >>> text = "| Invoice | Status |\n|---|---|\n| A1 | open |\n| A2 | paid |\n| A3 | open |"
    >>> given = [Passage("c", "d", "a.csv", "", None, "", 0, len(text), text)]
    >>> [item.name for item in rows_with_values("invoices", "open", given)]
    ['A1', 'A3']
    """
    asked = plain(f"{kind} {condition}")
    found: dict[tuple[str, int], NamedItem] = {}
    for number, passage in enumerate(passages, 1):
        for table in tables_of(passage):
            for row in _matching(asked, frozenset(tokens(kind)), table):
                item = NamedItem(number, row.start, row.end, row.cells[0].strip())
                found.setdefault((passage.document_id, passage.start + row.start), item)
    return list(found.values())


def plain(text: str) -> str:
    """Return a text as questions and cells are compared: normalised, in lower case."""
    return unicodedata.normalize("NFKC", text).casefold()


def tables_of(passage: Passage) -> Iterator[NamedTable]:
    """Yield the tables of a passage; one that begins before it has its header at the end of the heading."""
    if "|" not in passage.text:
        return
    above = f"{passage.heading} {PurePath(passage.document).stem.replace('_', ' ')}"
    blocks = read_tables(passage.text)
    begun = tuple(rows(passage.text, 0, blocks[0].start if blocks else len(passage.text)))
    header = tuple(passage.heading.rpartition(" > ")[2].split(" | "))
    if begun and len(header) > 1:
        yield NamedTable(header, begun, above)
    for block in blocks:
        yield NamedTable(block.header, block.rows, f"{above} {_caption(passage.text, block)}")


def _caption(text: str, block: TableBlock) -> str:
    return text[block.caption : block.start]


def _matching(asked: str, kind: frozenset[str], table: NamedTable) -> Iterable[TableRow]:
    """Return the rows of a table with a named value in each column that has one of those named."""
    named, left = named_values(asked, table.rows)
    if not named or counts_kind(table.header, table.rows, kind) or not _names(left, table):
        return []
    return [row for row in table.rows if has_values(row, named)]


def has_values(row: TableRow, columns: Mapping[int, Collection[str]]) -> bool:
    """Return True for a row with one of the values of each column, as `named_values` gives them."""
    return all(at < len(row.cells) and plain(row.cells[at]).strip() in columns[at] for at in columns)


def named_values(asked: str, found: Sequence[TableRow]) -> tuple[dict[int, set[str]], str]:
    """Return the values of cells that a plain question has, by column, and the question without them.

    The longest are looked for first.
    """
    values = {plain(cell).strip() for row in found for cell in row.cells if _LETTER.search(cell)}
    values = {value for value in values if value in asked}
    named = set[str]()
    for value in sorted(values, key=lambda value: (-len(value), value)):
        whole = rf"(?<![a-z0-9]){re.escape(value)}(?![a-z0-9])"
        left = re.sub(whole, " ", asked)
        if left != asked:
            named.add(value)
            asked = left
    columns: dict[int, set[str]] = {}
    for row in found:
        for at, cell in enumerate(row.cells):
            if plain(cell).strip() in named:
                columns.setdefault(at, set()).add(plain(cell).strip())
    return columns, asked


def _names(left: str, table: NamedTable) -> bool:
    """Return True where the rest of a question names a table: its first column or what stands above it.

    >>> table = NamedTable(("거래처", "상태"), (), "")
    >>> [_names(left, table) for left in (" 상태인 거래처", " 상태", " 지역 거래처")]
    [True, False, False]
    """
    words = frozenset(tokens(" ".join(word for word in nouns(left) if not _says_column(word, table.header))))
    own = frozenset(tokens(f"{table.header[0]} {table.naming}"))
    return bool(words & own) and words <= own | frozenset(tokens(" ".join(table.header)))


def _says_column(word: str, header: Sequence[str]) -> bool:
    """Return True for a Korean or Japanese word that begins with a header but the first: "상태인"."""
    return any(not cell.isascii() and word.startswith(cell.strip()) for cell in header[1:] if cell.strip())
