"""Columns of a PDF table: the cells of its rows, and the headers that stand over them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rag.ingest.parsers.pdf_rows import TIGHT, Cell, Row, Segment, overlap, touch

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
        labels = [row.segments[0] for row in data if not row.segments[0].is_figure]
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
        """Return the cells of a row, the label first."""
        cells: list[Cell] = [[] for _ in range(len(self))]
        for place, segment in enumerate(row.segments):
            cells[self._column(segment, place == 0)].append(segment)
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
    labels = [row.segments[0].right for row in body if row.is_data and not row.segments[0].is_figure]
    for left, right, count in runs:
        crossed = sum(edge > left for edge in labels)
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
