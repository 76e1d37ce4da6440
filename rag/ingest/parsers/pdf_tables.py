"""Tables of PDF pages, found by the alignment of figures in consecutive lines.

A row of a table is a line with gaps; its figures stand over one another in columns. Headers are the lines
above that stand over these columns.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rag.ingest.parsers.pdf_alignment import rows_apart
from rag.ingest.parsers.pdf_lines import TIGHT, Cell, Row, Segment, Word, is_blank, overlap, row_blocks, touch

STACKED = 0.35  # how far lines of one header may be from their common edge or middle, in font sizes
_OUTDENT = 5.0  # a section's name stands so far before labels
_UNDER = 0.3  # least distance of a line from the middle of the words above it
_ONE_COLUMN = 8.0  # greatest width of a word over one column
_DIGIT = re.compile(r"\d")

Rules = Callable[[], Sequence[tuple[float, float, float]]]


class TableColumns:
    """Columns of a table: the labels', and those of words and of figures beside them."""

    def __init__(self, data: Sequence[Row], figures: Sequence[tuple[float, float]], rules: Rules) -> None:
        self.rules = rules
        words = list(_columns_of_words(data, figures))
        self.edges = sorted([*figures, *words])
        self.is_word = [edge in words for edge in self.edges]
        self.left = min(row.left for row in data)
        self.right = max(row.segments[-1].right for row in data)
        labels = [row.segments[0] for row in data if row.left < self.edges[0][0]]
        self.labels_right = max((label.right for label in labels), default=self.left)
        self.extents = [self._extent(data, edge) for edge in self.edges]

    @staticmethod
    def _extent(data: Sequence[Row], edge: tuple[float, float]) -> tuple[float, float]:
        """Return a column's edges with the currency signs in it."""
        signs = [cell.left for row in data for cell in row.figures if touch(edge, cell.core)]
        return min([edge[0], *signs]), edge[1]

    def __len__(self) -> int:
        return 1 + len(self.edges)

    def cells(self, row: Row) -> list[Cell]:
        """Return the cells of a row, the label first.

        Words before all figures of a row are its label, also where they stand under the head of figures.
        """
        cells: list[Cell] = [[] for _ in range(len(self))]
        for place, segment in enumerate(row.segments):
            column = self._column(segment, place == 0)
            names = place == 0 and row.is_data and not segment.is_figure
            cells[0 if names and column and not self.is_word[column - 1] else column].append(segment)
        return cells

    def _column(self, segment: Segment, first: bool) -> int:
        start = self.edges[0][0]
        if segment.right <= start or (first and not segment.is_figure and segment.left < start - 1):
            return 0
        overlaps = [overlap(edge, segment.core) for edge in self.edges]
        return 1 + max(range(len(overlaps)), key=overlaps.__getitem__)

    def has_rule_between(self, above: Row, below: Row) -> bool:
        """Return whether a line is drawn between two rows over some of the columns."""
        start, end = self.extents[0][0], self.extents[-1][1]
        return any(
            below.middle < height < above.middle and touch((left, right), (start, end))
            for left, right, height in self.rules()
        )

    def header_kind(self, row: Row) -> bool | None:
        """Return True for a row above figures, False for one above their labels only, None for others."""
        if row.is_data or row.left < self.left - _OUTDENT * row.size:
            return None
        start = self.extents[0][0]
        over = [segment for segment in row.segments if self._is_over(segment)]
        aside = [segment for segment in row.segments if segment not in over]
        if any(segment.right > start + row.size for segment in aside):
            return None
        if any(segment.right > self.right + 4 * row.size for segment in over):
            return None
        if not over:
            return False
        return self._alone_kind(row) if len(row.segments) == 1 else True

    def _alone_kind(self, row: Row) -> bool | None:
        """Return the kind of a row of one segment: captions and prose stand over the labels, too."""
        start, end = self.extents[0][0], self.extents[-1][1]
        alone = row.segments[0]
        crosses, middle = alone.right > start + row.size, alone.left + alone.right
        if alone.left >= start - row.size:
            return True
        if crosses and alone.left < self.left + 2 * row.size:
            return None
        over_one = any(2 * left <= middle <= 2 * right for left, right in self.extents)
        if over_one and alone.right - alone.left < _ONE_COLUMN * row.size:
            return True
        if abs(middle - self.left - self.right) < min(abs(middle - start - end), 4 * row.size):
            return None if crosses else False
        return True

    def _is_over(self, segment: Segment) -> bool:
        start, end = self.extents[0][0], self.extents[-1][1]
        width = segment.right - segment.left
        beside = segment.left >= self.labels_right - segment.words[0].size
        return beside or 2 * overlap((segment.left, segment.right), (start, end)) >= width

    def heads(self, rows: Sequence[Row]) -> list[Cell]:
        """Return the stacked headers of each column, from the top down.

        Where two columns would have the same, headers also span the columns that have none beside them.
        """
        heads = self._heads(rows)
        for upper, lowest in ((True, False), (True, True)):
            if not _repeated(heads):
                break
            filled = self._heads(rows, upper=upper, lowest=lowest)
            if _repeated(filled) < _repeated(heads):
                heads = filled
        return heads

    def _heads(self, rows: Sequence[Row], *, upper: bool = False, lowest: bool = False) -> list[Cell]:
        """Return the headers of each column; upper or lowest lines may fill the columns beside them."""
        remarks = self._remarks(rows)
        blocks = _header_blocks(rows, remarks, self.rules)
        extents = list(self.extents)
        placed: list[tuple[_Block, list[int]]] = []
        for block in sorted(blocks, key=lambda block: -block.last):
            rivals = [other for other in blocks if other is not block and other.beside(block)]
            has_lower = any(other.first > block.last for other in blocks)
            share = self._share(block, blocks) if has_lower else []
            places = share or self._spanned(block, rivals, extents, upper if has_lower else lowest)
            if len(places) == 1 and places[0]:
                left, right = extents[places[0] - 1]
                extents[places[0] - 1] = min(left, block.left), max(right, block.right)
            placed.append((block, places))
        heads: list[Cell] = [[] for _ in range(len(self))]
        for block, places in sorted(placed, key=lambda pair: pair[0].first):
            for place in places:
                heads[place] += block.segments
        heads[0] += remarks
        return heads

    def _remarks(self, rows: Sequence[Row]) -> list[Segment]:
        """Return the remarks of a header, as of units, which hold for all columns and not for one of them."""
        found = []
        for above, row in zip([None, *rows], rows, strict=False):
            *aside, remark = row.segments
            if len(aside) > 1 or any(segment.right > self.extents[0][0] for segment in aside):
                continue
            text = remark.text
            if text[0] in "(（" and text[-1] in ")）" and not (above and self._is_of_one(remark, row, above)):
                found.append(remark)
        return found

    def _is_of_one(self, remark: Segment, row: Row, above: Row) -> bool:
        """Return whether a remark stands right under the header of one of several columns."""
        if len(above.segments) == 1 or above.middle - row.middle >= TIGHT * row.size:
            return False
        under = [one for one in above.segments if touch(_box(one), _box(remark))]
        return len(under) == 1 and _misalignment(remark, _box(under[0])) <= STACKED * row.size

    def _spanned(
        self,
        block: "_Block",
        rivals: Sequence["_Block"],
        extents: Sequence[tuple[float, float]],
        fill: bool,
    ) -> list[int]:
        """Return the columns that a header stands over; 0 is the labels'."""
        box = block.left, block.right
        hits = [place for place, edge in enumerate(extents) if touch(edge, box)]
        if not hits:
            if block.left < self.labels_right and block.right <= extents[0][0]:
                return [0]
            hits = [max(range(len(extents)), key=lambda place: overlap(extents[place], box))]
        free = [not any(touch(edge, (rival.left, rival.right)) for rival in rivals) for edge in extents]
        low, high = hits[0], hits[-1]
        if any(free[max(low - 1, 0) : low] + free[high + 1 : high + 2]):
            ruled = self._ruled(block, extents)
            if ruled and all(free[place] for place in ruled):
                hits, fill = ruled, False
        spanned = _filled(block, hits, free, extents) if fill else _widened(block, hits, free, extents)
        return [1 + place for place in spanned]

    def _share(self, block: "_Block", blocks: Sequence["_Block"]) -> list[int]:
        """Return the columns of a header that is one of several, each centred over as many columns."""
        level = sorted((other for other in blocks if other.first == block.first), key=lambda b: b.left)
        count, odd = divmod(len(self.extents), len(level))
        if len(level) < 2 or count < 2 or odd:
            return []
        size = block.segments[0].words[0].size
        for place, other in enumerate(level):
            left, right = self.extents[place * count][0], self.extents[(place + 1) * count - 1][1]
            if abs(left + right - other.left - other.right) > 2 * size:
                return []
        first = 1 + level.index(block) * count
        return list(range(first, first + count))

    def _ruled(self, block: "_Block", extents: Sequence[tuple[float, float]]) -> list[int]:
        """Return the columns above which the line under a header is drawn."""
        below, size = block.segments[-1].words[0].middle, block.segments[-1].words[0].size
        for left, right, height in self.rules():
            if (
                _UNDER * size < below - height < 1.3 * size
                and left <= block.left + size
                and right >= block.right - size
            ):
                return [place for place, edge in enumerate(extents) if left < sum(edge) / 2 < right]
        return []


def _columns_of_words(
    body: Sequence[Row], figures: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Yield the extents of words that stand between labels and figures in more than one row."""
    between = [
        (segment.left, segment.right)
        for row in body
        if row.is_data
        for segment in row.segments[1:]
        if not segment.is_figure and all(not touch(edge, segment.core) for edge in figures)
    ]
    runs: list[list[float]] = []
    for left, right in sorted(between):
        if runs and left < runs[-1][1]:
            runs[-1][1] = max(runs[-1][1], right)
            runs[-1][2] += 1
        else:
            runs.append([left, right, 1])
    labels = [row.segments[0] for row in body if row.is_data and not row.segments[0].is_figure]
    for left, right, count in runs:
        crossed = sum(label.left < left < label.right for label in labels)
        if count > 1 and count > crossed:
            yield left, right


@dataclass
class _Block:
    """Lines of one header cell; ``first`` and ``last`` are the numbers of their rows."""

    segments: list[Segment]
    first: int
    last: int

    @property
    def left(self) -> float:
        """Left edge in points."""
        return min(segment.left for segment in self.segments)

    @property
    def right(self) -> float:
        """Right edge in points."""
        return max(segment.right for segment in self.segments)

    def beside(self, other: "_Block") -> bool:
        """Return whether two headers share a line."""
        return self.first <= other.last and other.first <= self.last


def _header_blocks(rows: Sequence[Row], remarks: Sequence[Segment], rules: Rules) -> list[_Block]:
    """Return the cells of a header: lines that stand closely over one another, one over one."""
    blocks: list[_Block] = []
    for number, row in enumerate(rows):
        above = [block for block in blocks if block.last == number - 1]
        tight = number > 0 and rows[number - 1].middle - row.middle < TIGHT * row.size
        fewer = number > 0 and len(rows[number - 1].segments) < len(row.segments)
        for segment in (one for one in row.segments if one not in remarks):
            over = [block for block in above if touch(_box(block.segments[-1]), _box(segment))]
            one = tight and len(over) == 1 and _alone_below(over[0], row) and _aligned(over[0], segment)
            if one and not (fewer and _rule_between(over[0], segment, rules)):
                over[0].segments.append(segment)
                over[0].last = number
            else:
                blocks.append(_Block([segment], number, number))
    return blocks


def _rule_between(block: _Block, segment: Segment, rules: Rules) -> bool:
    """Return whether a line wider than a header is drawn under it."""
    above, below = block.segments[-1].words[0].middle, segment.words[0].middle
    return any(
        below < height < above - _UNDER * segment.words[0].size and left < block.left and right > block.right
        for left, right, height in rules()
    )


def _box(segment: Segment) -> tuple[float, float]:
    return segment.left, segment.right


def _alone_below(block: _Block, row: Row) -> bool:
    return sum(touch((block.left, block.right), _box(segment)) for segment in row.segments) == 1


def _aligned(block: _Block, segment: Segment) -> bool:
    return _misalignment(segment, (block.left, block.right)) <= STACKED * segment.words[0].size


def _repeated(heads: Sequence[Cell]) -> int:
    """Return how many columns have the header of another, or only its end, such as another year."""
    texts = [" " + " ".join(segment.text for segment in head) for head in heads[1:] if head]
    alike = [_DIGIT.sub("0", text) for text in texts]
    return sum(
        any(
            texts[place] == text or (len(other) > len(text) and other.endswith(alike[number]))
            for place, other in enumerate(alike)
            if place != number
        )
        for number, text in enumerate(texts)
    )


def _filled(
    block: _Block, hits: list[int], free: Sequence[bool], edges: Sequence[tuple[float, float]]
) -> list[int]:
    """Return the columns that a header may span from the side at which it is aligned."""
    low, high = hits[0], hits[-1]
    if abs(edges[high][1] - block.right) <= block.segments[0].words[0].size:
        while low > 0 and free[low - 1]:
            low -= 1
    else:
        while high + 1 < len(edges) and free[high + 1]:
            high += 1
    return list(range(low, high + 1))


def _widened(
    block: _Block, hits: list[int], free: Sequence[bool], edges: Sequence[tuple[float, float]]
) -> list[int]:
    """Return the columns that a header spans: those it covers, or more where it is centred over more."""
    low, high = hits[0], hits[-1]
    size = block.segments[0].words[0].size
    if all(free) and abs(edges[0][0] + edges[-1][1] - block.left - block.right) <= 2 * size:
        return list(range(len(edges)))
    error = _misalignment(block, (edges[low][0], edges[high][1]))
    first, last = low, high
    while first > 0 and free[first - 1]:
        first -= 1
    while last + 1 < len(edges) and free[last + 1]:
        last += 1
    options = [(start, end) for start in range(low, first - 1, -1) for end in range(high, last + 1)]
    errors = [_misalignment(block, (edges[start][0], edges[end][1])) for start, end in options]
    best = min(range(len(options)), key=errors.__getitem__)
    if errors[best] > error - size / 2:
        return hits
    return list(range(options[best][0], options[best][1] + 1))


def _misalignment(header: Segment | _Block, edges: tuple[float, float]) -> float:
    left, right = edges
    centred = abs(left + right - header.left - header.right) / 2
    return min(centred, abs(right - header.right), abs(left - header.left))


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
    is_below: bool = False  # right below a table, in columns of its own


def _tables_of(rows: list[Row], rules: Rules) -> list[PdfTable]:
    tables, floor = [], 0
    for region in _parted(rows, _joined(rows, _regions(rows))):
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


def _parted(rows: Sequence[Row], regions: Iterable[_Region]) -> Iterator[_Region]:
    """Part the last rows of a region from it that stand in other columns, as the totals of an invoice."""
    for region in regions:
        data = [number for number in range(region.first, region.last + 1) if rows[number].is_data]
        count = rows_apart([rows[number] for number in data])
        if not count:
            yield region
            continue
        yield _region_of(rows, data[:-count])
        yield _region_of(rows, data[-count:], is_below=True)


def _region_of(rows: Sequence[Row], numbers: Sequence[int], *, is_below: bool = False) -> _Region:
    columns: list[tuple[float, float]] = []
    for number in numbers:
        columns = _with_columns(columns, rows[number]) or columns
    return _Region(numbers[0], numbers[-1], columns, is_below)


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
    if not _is_table(body, header, figures, is_below=region.is_below):
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


def _is_table(
    body: Sequence[Row],
    header: Sequence[Row],
    columns: Sequence[tuple[float, float]],
    *,
    is_below: bool,
) -> bool:
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
    if is_below:
        return labelled == len(data)
    if len(data) == 1:
        amounts = [_AMOUNT.search(cell.text) for cell in data[0].figures]
        return bool(header) and len(columns) > 1 and labelled == 1 and all(amounts)
    if len(columns) == 1:
        counted = _is_contents(data) and (not header or len(data) > 3)
        return labelled == len(data) and not counted and (bool(header) or len(data) > 2)
    named = all(any(not cell.is_figure for cell in row.segments) for row in data)
    return labelled >= len(data) / 2 or (bool(header) and (len(data) > 2 or named))


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
