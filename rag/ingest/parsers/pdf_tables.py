"""Tables of PDF pages, found by the alignment of figures in consecutive lines.

A row of a table is a line with gaps; its figures stand over one another in columns. Headers are the lines
above that stand over these columns.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rag.ingest.parsers.pdf_columns import STACKED, Rules, TableColumns
from rag.ingest.parsers.pdf_rows import TIGHT, Cell, Row, Word, is_blank, row_blocks, touch

_NEXT_ROW = 4.5  # greatest distance of two rows of a table
_PARAGRAPH = 1.7
_TITLE = 1.25  # a line so much larger is a heading
_HEADER_GAP = 3.1  # greatest distance of a header from what it stands over, in font sizes
_HEADER_LEADING = 2.3  # and of two of its lines without a rule between
_LINE = 0.9  # least distance of two lines, in font sizes
_SECTION_ROWS = 4  # rows without figures in succession
_HEADER_ROWS = 10
_MAX_COLUMNS = 60
_MIN_FILLED = 0.3  # share of the cells under figures' heads that hold one

_AMOUNT = re.compile(r"\d[\d.,]+\d|[$€£¥₩%원円—]")
_RELATIONS = frozenset("=≤≥≠≈≡∼≅⇒⇔→↦∈⊂⊆∪∩∀∃∑∫∏√:")
LEADERS = re.compile(r"(?:\.\s?){4,}|…{2,}|·{4,}|_{4,}")
_UPPER = re.compile(r"[^a-z($]")


@dataclass
class PdfTable:
    """Table of cells, its header first; ``lines`` are the page's lines that it consists of."""

    header: list[Cell]
    rows: list[list[Cell]]
    lines: frozenset[int]
    edges: list[tuple[float, float]]  # left and right of each column of figures, or of each ruled column
    ruled: bool = False
    marked: bool = False  # the header is bold or on a coloured ground


def find_tables(words: Sequence[Word], rules: Rules = list) -> list[PdfTable]:
    """Return the tables that the words of a page form; words are in the page's order.

    ``rules`` returns the left, right and height of the page's horizontal lines.
    """
    found: list[PdfTable] = []
    for rows in row_blocks(words):
        found += _tables_of(rows, rules)
    return found


# Regions: consecutive rows whose figures stand in the same columns


@dataclass
class _Region:
    first: int
    last: int
    columns: list[tuple[float, float]]


def _tables_of(rows: list[Row], rules: Rules) -> list[PdfTable]:
    tables, floor = [], 0
    for region in _joined(rows, _regions(rows)):
        table = _table(rows, region, floor, rules)
        if table:
            tables.append(table)
            floor = region.last + 1
    return tables


def _regions(rows: Sequence[Row]) -> Iterator[_Region]:
    region: _Region | None = None
    for number, row in enumerate(rows):
        if region and (number - region.last > _SECTION_ROWS + 1 or not _near(rows, number)):
            yield region
            region = None
        if row.is_data:
            columns = _with_columns(region.columns, row) if region else None
            if region and columns:
                region.last, region.columns = number, columns
                continue
            if region:
                yield region
            region = _Region(number, number, _with_columns([], row) or [])
        elif region and (_stands_apart(rows, number) or not _is_section(row, region.columns)):
            yield region
            region = None
    if region:
        yield region


def _joined(rows: Sequence[Row], regions: Iterable[_Region]) -> Iterator[_Region]:
    """Join regions of the same columns that nothing but the names of sections stands between."""
    last: _Region | None = None
    for region in regions:
        if last and _goes_on(rows, last, region):
            columns = [
                (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(last.columns, region.columns, strict=True)
            ]
            last = _Region(last.first, region.last, columns)
            continue
        if last:
            yield last
        last = region
    if last:
        yield last


def _goes_on(rows: Sequence[Row], above: _Region, below: _Region) -> bool:
    between = rows[above.last + 1 : below.first]
    return (
        len(between) <= _SECTION_ROWS
        and all(_near(rows, number) for number in range(above.last + 1, below.first + 1))
        and all(len(row.segments) == 1 and _is_section(row, below.columns) for row in between)
        and _same_columns(above.columns, below.columns)
    )


def _same_columns(some: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> bool:
    """Return whether columns stand over one another one by one."""
    return len(some) == len(others) and all(
        [place for place, other in enumerate(others) if touch(one, other)] == [number]
        for number, one in enumerate(some)
    )


def _stands_apart(rows: Sequence[Row], number: int) -> bool:
    """Return whether a row is a paragraph of its own, as between two tables."""
    around = rows[number - 1 : number + 2]
    gaps = [above.middle - below.middle for above, below in pairwise(around)]
    return min(gaps) > _PARAGRAPH * max(row.size for row in around)


def _near(rows: Sequence[Row], number: int) -> bool:
    above, row = rows[number - 1], rows[number]
    return above.middle - row.middle <= _NEXT_ROW * row.size


def _with_columns(columns: list[tuple[float, float]], row: Row) -> list[tuple[float, float]] | None:
    """Return columns widened by a row's figures, or None where they stand across the columns."""
    first = row.segments[0]
    kept = list(columns)
    touched = False
    for segment in row.figures:
        hits = [place for place, column in enumerate(kept) if touch(column, segment.core)]
        if segment is first and not hits:
            continue
        if len(hits) > 1:
            return None
        if hits:
            left, right = kept[hits[0]]
            kept[hits[0]] = min(left, segment.core[0]), max(right, segment.core[1])
            touched = True
        else:
            kept.append(segment.core)
    return sorted(kept) if touched or not columns else None


def _is_section(row: Row, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row without figures keeps out of their columns."""
    if all(segment.right <= columns[0][0] + row.size for segment in row.segments):
        return True
    alone = len(row.segments) == 1 and row.left < columns[0][0]
    return alone and row.segments[0].text.endswith(":") and row.segments[0].right < columns[-1][0]


# Headers


def _table(rows: Sequence[Row], region: _Region, floor: int, rules: Rules) -> PdfTable | None:
    data = [row for row in rows[region.first : region.last + 1] if row.is_data]
    figures = _supported(region.columns, data)
    if not 0 < len(figures) <= _MAX_COLUMNS:
        return None
    columns = TableColumns(data, figures, rules)
    header, first = _header_rows(rows, region, floor, columns)
    body = rows[first : region.last + 1]
    if not _is_table(body, header, figures):
        return None
    lines = frozenset(word.line for row in (*header, *body) for cell in row.segments for word in cell.words)
    return PdfTable(columns.heads(header), _merged(body, columns), lines, figures)


def _supported(columns: Sequence[tuple[float, float]], data: Sequence[Row]) -> list[tuple[float, float]]:
    """Return the columns without those of stray dashes."""
    kept = []
    for column in columns:
        texts = [cell.text for row in data for cell in row.figures if touch(column, cell.core)]
        if 3 * len(texts) > len(data) or not all(map(is_blank, texts)):
            kept.append(column)
    return kept


def _header_rows(
    rows: Sequence[Row], region: _Region, floor: int, columns: TableColumns
) -> tuple[list[Row], int]:
    """Return the rows that stand over a region's columns, and the number of its first other row."""
    header: list[int] = []
    number = region.first
    while number > floor and len(header) < _HEADER_ROWS and region.first - number < 2 * _HEADER_ROWS:
        row, below = rows[number - 1], rows[number]
        gap = (row.middle - below.middle) / below.size
        if gap > _HEADER_GAP or row.size > _TITLE * below.size:
            break
        if header and gap > _HEADER_LEADING and not columns.has_rule_between(row, below):
            break
        kind = columns.header_kind(row)
        if kind is None and header and header[-1] == number and _is_stacked(row, below):
            kind = True
        if kind is None:
            break
        number -= 1
        if kind:
            header.append(number)
    if not header:
        return [], _first_line(rows, region.first, floor)
    return list(rows[header[-1] : header[0] + 1]), header[0] + 1


def _is_stacked(row: Row, below: Row) -> bool:
    """Return whether a line stands closely over the middle of one of several headers, as a part of it."""
    [alone, *others] = row.segments
    if others or len(below.segments) == 1 or row.middle - below.middle >= TIGHT * row.size:
        return False
    middles = [abs(alone.left + alone.right - one.left - one.right) / 2 for one in below.segments]
    return min(middles) <= STACKED * row.size


def _first_line(rows: Sequence[Row], first: int, floor: int) -> int:
    """Return the number of the row in which the first label begins."""
    row = rows[first]
    if first > floor and not _UPPER.match(row.segments[0].text):
        above = rows[first - 1]
        if len(above.segments) == 1 and above.middle - row.middle < TIGHT * row.size:
            return first - 1
    return first


def _is_table(body: Sequence[Row], header: Sequence[Row], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether rows of figures are a table, not a list of contents, a chart or scattered numbers."""
    data = [row for row in body if row.is_data]
    labelled = sum(not row.segments[0].is_figure or row.segments[0].is_year for row in data)
    filled = sum(len(row.figures) for row in data) / (len(data) * len(columns))
    if (
        _is_formula(data)
        or filled < _MIN_FILLED
        or any(LEADERS.search(s.text) for row in body for s in row.segments)
    ):
        return False
    if len(data) == 1:
        amounts = [_AMOUNT.search(cell.text) for cell in data[0].figures]
        return bool(header) and len(columns) > 1 and labelled == 1 and all(amounts)
    if len(columns) == 1:
        counted = _is_contents(data) and (not header or len(data) > 3)
        return labelled == len(data) and not counted and (bool(header) or len(data) > 2)
    return labelled >= len(data) / 2 or (bool(header) and len(data) > 2)


def _is_formula(data: Sequence[Row]) -> bool:
    """Return whether rows stand closer than lines do, as indices of formulas, or hold signs of relation."""
    close = sum(above.middle - below.middle < _LINE * below.size for above, below in pairwise(data))
    related = sum(any(_relates(cell.text) for cell in row.segments) for row in data)
    return 3 * max(close, related) >= len(data)


def _relates(text: str) -> bool:
    return text[0] in _RELATIONS or (text[-1] in _RELATIONS and text[-1] != ":")


def _is_contents(data: Sequence[Row]) -> bool:
    """Return whether the only figures are numbers of pages or equations, which never fall."""
    texts = [row.figures[-1].text.strip("()") for row in data]
    if not all(text.isdigit() and len(text) < 5 for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return numbers == sorted(numbers)


# Rows whose cells run over lines


def _merged(body: Sequence[Row], columns: TableColumns) -> list[list[Cell]]:
    """Return the rows of cells; lines of one cell are joined."""
    gaps = [above.middle - below.middle for above, below in pairwise(body) if below.is_data]
    pitch = median(gaps) if gaps else 0.0
    done: list[tuple[Row, list[Cell]]] = []
    for row in body:
        cells = columns.cells(row)
        if done and _continues(done[-1], (row, cells), columns, pitch):
            above, upper = done[-1]
            joined = [[*a, *b] for a, b in zip(upper, cells, strict=True)]
            done[-1] = (Row([*above.segments, *row.segments], row.middle, row.size), joined)
        else:
            done.append((row, cells))
    return [cells for _, cells in done]


def _continues(
    above: tuple[Row, list[Cell]], below: tuple[Row, list[Cell]], columns: TableColumns, pitch: float
) -> bool:
    """Return whether a row continues the one above it."""
    (upper, a), (lower, b) = above, below
    gap = upper.middle - lower.middle
    values = [any(cells[1:]) for cells in (a, b)]
    if all(values):
        only_words = not b[0] and all(not cell or columns.is_word[place] for place, cell in enumerate(b[1:]))
        return only_words and gap < TIGHT * lower.size
    if not a[0] or not b[0]:  # figures at half height of a label of two lines
        return gap < 0.8 * lower.size
    tight = gap < TIGHT * lower.size
    if not tight or a[0][-1].text.endswith(":"):
        return False
    return not _UPPER.match(b[0][0].text) or gap < 0.85 * pitch
