# ruff: noqa: E501
"""Tables of a passage as cells: Markdown tables, and rows of numbers that a PDF's text has without lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from rag.citations.periods import StatedTime, period_parts, periods
from rag.citations.quantities import MONEY, Quantity, quantities, stated_scale
from rag.text.tables import BAR

MOST_CELLS = 4000  # of a passage
_HEAD_LINES = 12  # lines above loose rows that may hold their heading
_VALUE = r"(?:US\$|[$€£¥₩])?\s?[(\[]?[-−–△▲+]?\s?(?:US\$|[$€£¥₩])?\d(?:[\d,]*\d)?(?:\.\d+)?\s?[)\]]?\s?%?\s?\)?|(?<=\s)[—–-](?=\s|$)"
_ROW = re.compile(
    rf"^\s*(?P<label>\S.*?)[\s.:]+(?P<values>(?:(?:US\$|[$€£¥₩])\s?)?(?:{_VALUE})(?:\s+(?:{_VALUE}))*)\s*$"
)
_TURNED_ROW = re.compile(
    rf"^\s*(?P<values>{_VALUE})\s+(?P<label>[^\W\d_].*)$|^\s*(?P<values2>[$€£¥₩]\s?\(?\d[\d,.]*\)?)\s+(?P<label2>\S.*)$"
)
_VALUES = re.compile(_VALUE)
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_CHANGE = re.compile(r"(?:%\s*)?\bchange\b|증감률?|증가율|변동|増減率?|前年比|变化|增长", re.IGNORECASE)
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"[.。!?]\s*$")
_BARE_MONTH = re.compile(
    r"\s*(?:(?:year|quarter|months|period)s? ended )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s*",
    re.I,
)
_OTHER_LETTERS = 30  # of a line of a heading besides its periods
_LONGEST_LABEL = 90  # characters of the label of a single number
_UNSCALED = re.compile(
    r"per (?:\w+ )?share|percent|ratio|rate\b|%|주당|비율|1株|率|number of (?:employees|stores)|employees",
    re.I,
)
_PER_SHARE = re.compile(r"except[^)]*per[- ]share", re.IGNORECASE)


@dataclass(frozen=True)
class TableCell:
    """Number of a table, `text[start:end]` of its passage, with the labels that say what it is.

    `around` is the caption, the title and the section above the row; `table` counts the passage's tables.
    """

    row: str
    column: str
    section: str
    around: str
    quantity: Quantity
    written: Quantity
    periods: tuple[StatedTime, ...]
    start: int
    end: int
    row_start: int
    row_end: int
    table: int
    is_change: bool = False


@dataclass(frozen=True)
class _Line:
    text: str
    start: int


@dataclass(frozen=True)
class _Column:
    text: str = ""
    period: StatedTime | None = None
    is_change: bool = False


def cells(text: str, above: str = "") -> tuple[TableCell, ...]:
    r"""Return the cells of a passage's tables; `above` is the heading that stands over the passage.

    >>> [(c.row, c.column, str(c.quantity.value)) for c in cells("In millions\n\n| | 2023 |\n|---|---|\n| Mac | 6,840 |")]
    [('Mac', '2023', '6840000000')]
    """
    lines = [_Line(match[0], match.start()) for match in re.finditer(r"[^\n]+|(?<=\n)(?=\n)", text)]
    found: list[TableCell] = []
    at = table = 0
    while at < len(lines) and len(found) < MOST_CELLS:
        end = _markdown_end(lines, at)
        rows = list(_markdown(lines[at:end], lines[max(0, at - 4) : at], above, table)) if end > at else []
        if end == at:
            end, rows = _loose(lines, at, above, table)
        found += rows
        table += bool(rows)
        at = max(end, at + 1)
    return tuple(found[:MOST_CELLS])


# Markdown tables
def _markdown_end(lines: Sequence[_Line], at: int) -> int:
    if at + 1 >= len(lines) or "|" not in lines[at].text or not _RULE.match(lines[at + 1].text):
        return at
    end = at + 2
    while end < len(lines) and "|" in lines[end].text:
        end += 1
    return end


def split_row(line: str) -> list[tuple[str, int]]:
    r"""Return the cells of a Markdown row, stripped, each with its offset in the line.

    >>> split_row(r"| a \| b | c |")
    [('a \\| b', 2), ('c', 11)]
    """
    found: list[tuple[str, int]] = []
    begin = len(line) - len(line.lstrip(" |")) if line.lstrip().startswith("||") else 0
    begin = line.index("|") + 1 if line.lstrip().startswith("|") else begin
    body = line.rstrip()
    end = len(body) - 1 if body.endswith("|") and not body.endswith("\\|") else len(body)
    for piece in BAR.split(body[begin:end]):
        found.append((piece.strip(), begin + len(piece) - len(piece.lstrip())))
        begin += len(piece) + 1
    return found


def _markdown(lines: Sequence[_Line], before: Sequence[_Line], above: str, table: int) -> Iterator[TableCell]:
    head = [cell for cell, _ in split_row(lines[0].text)]
    caption = " ".join(line.text for line in before if "|" not in line.text)
    around = f"{above} {caption} {' '.join(head)}"
    columns = [_column(text) for text in head]
    units = f"{above} {caption} {head[0] if head else ''}"
    section = ""
    for line in lines[2:]:
        row = split_row(line.text)
        values = [(cell, at) for cell, at in row[1:] if cell]
        if row and row[0][0] and not values:
            section = row[0][0]
        for number, (cell, at) in enumerate(row[1:], 1):
            column = columns[number] if number < len(columns) else _Column()
            made = _cell(
                row[0][0], cell, column, (section, around, f"{units} {column.text}"), line, at, table
            )
            if made is not None:
                yield made


def _column(text: str) -> _Column:
    found = periods(text)
    return _Column(text, found[-1] if found else None, bool(_CHANGE.search(text)))


def _cell(
    row: str, cell: str, column: _Column, context: tuple[str, str, str], line: _Line, at: int, table: int
) -> TableCell | None:
    section, around, unit_text = context
    read = quantities(cell)
    if not row or len(read) != 1 or len(_LETTER.findall(cell)) > 14:
        return None
    quantity = _in_unit(read[0], cell, row, section, unit_text)
    told = [p for p in (column.period, *periods(row)) if p is not None]
    start = line.start + at
    return TableCell(
        row, column.text, section, around, quantity, _signed(read[0], cell), tuple(told), start, start + len(cell),
        line.start, line.start + len(line.text), table, column.is_change,
    )  # fmt: skip


def _in_unit(read: Quantity, cell: str, row: str, section: str, unit_text: str) -> Quantity:
    """Return a cell's quantity in the unit and scale that the table states."""
    scale = stated_scale(f"{row} {section}") or stated_scale(unit_text)
    exempt = (
        read.unit not in ("", *MONEY)
        or _UNSCALED.search(f"{row} {section}")
        or (read.step != 1 and _PER_SHARE.search(unit_text))
    )
    if scale is None or exempt or read.step > 1:
        return _signed(read, cell)
    power, unit = scale
    return replace(
        read,
        value=_signed(read, cell).value * 10**power,
        step=read.step * Decimal(10) ** power,
        unit=read.unit or unit,
    )


def _signed(read: Quantity, cell: str) -> Quantity:
    negative = re.match(r"\s*(?:[-−–△▲(\[]|[$€£¥₩]\s?[(-])", cell) is not None
    return replace(read, value=-abs(read.value) if negative else read.value)


# Loose rows
def _read_row(line: str) -> tuple[str, list[tuple[str, int]]] | None:
    """Return label and values of a loose row, each value with its offset."""
    match = _ROW.match(line)
    turned = None if match else _TURNED_ROW.match(line)
    if turned is not None:
        name = "values" if turned["values"] else "values2"
        label = turned["label"] or turned["label2"] or ""
        return (label, [(turned[name].strip(), turned.start(name))]) if _LETTER.search(label) else None
    if match is None or not _LETTER.search(match["label"]) or _BARE_MONTH.fullmatch(match["label"]):
        return None
    base = match.start("values")
    values = [(v[0].strip(), base + v.start()) for v in _VALUES.finditer(match["values"])]
    alone = len(values) == 1 and (values[0][0].isdigit() or len(match["label"]) > _LONGEST_LABEL)
    return (
        None
        if alone and (len(match["label"]) > _LONGEST_LABEL or _YEAR.fullmatch(values[0][0]))
        else (match["label"], values)
    )


def _loose(lines: Sequence[_Line], at: int, above: str, table: int) -> tuple[int, list[TableCell]]:
    """Return the end of the loose table that begins at a line, and its cells; nothing where there is none."""
    first = _row_at(lines, at)
    if first is None:
        return at, []
    width = len(first[1])
    end, rows, misses = at, [], 0
    while end < len(lines) and misses < 3:
        row = _row_at(lines, end)
        if row is not None and len(row[1]) == width:
            rows.append(end)
            misses = 0
        elif len(lines[end].text) > 160 or "|" in lines[end].text:
            break
        else:
            misses += 1
        end += 1
    if len(rows) < (2 if width > 1 else 3):
        return at, []
    return rows[-1] + 1, list(_loose_cells(lines, rows, width, above, table))


def _row_at(lines: Sequence[_Line], at: int) -> tuple[str, list[tuple[str, int]]] | None:
    text = lines[at].text
    return None if len(text) > 200 or "|" in text else _read_row(text)


def _loose_cells(
    lines: Sequence[_Line], rows: Sequence[int], width: int, above: str, table: int
) -> Iterator[TableCell]:
    head = _head(lines, rows[0])
    around = " ".join([above, *(line.text for line in head)])
    columns = _columns("\n".join(line.text for line in head), width)
    section = head[-1].text if head and head[-1].text.rstrip().endswith(":") else ""
    for number in range(rows[0], rows[-1] + 1):
        line = lines[number]
        if number not in rows:
            section = line.text if line.text.rstrip().endswith((":", "：")) else section
            continue
        label, values = _read_row(line.text) or ("", [])
        if label.lower().startswith("total "):
            section = section if section else ""
        for (cell, at), column in zip(values, columns, strict=False):
            made = _cell(label, cell, column, (section, around, around), line, at, table)
            if made is not None:
                yield made


def _head(lines: Sequence[_Line], first: int) -> Sequence[_Line]:
    """Return the lines above loose rows that may head them: back to the last full sentence."""
    begin = first
    while begin > max(0, first - _HEAD_LINES) and not _SENTENCE_END.search(lines[begin - 1].text):
        if _row_at(lines, begin - 1) is not None and len(lines[begin - 1].text) > 40:
            break
        begin -= 1
    return lines[begin:first]


def _columns(head: str, width: int) -> list[_Column]:
    r"""Return the columns that a heading names; without names where their number is another.

    >>> [column.period.months for column in _columns("Three Months Ended Nine Months Ended\n2023 2022 2023 2022", 4)]
    [3, 3, 9, 9]
    """
    groups: list[StatedTime] = []
    leaves: list[_Column] = []
    for period in _head_parts(head):
        if isinstance(period, _Column):
            leaves.append(period)
        elif period.months and not period.year and not period.month:
            groups.append(period)
        else:
            leaves.append(_Column(head[period.start : period.end], period))
    every, leaves = leaves, _zipped(leaves, width)
    caption_end = max((c.period.end for c in every[: max(0, len(every) - width)] if c.period), default=0)
    groups = [g for g in groups if g.start >= caption_end and _is_head_line(head, g.start)]
    if not leaves or width % len(leaves):
        return [_Column()] * width
    leaves = leaves * (width // len(leaves))
    groups = groups[-_group_count(len(groups), width) :] if groups else []
    if not groups or width % len(groups):
        return leaves
    size = width // len(groups)
    return [
        _grouped(leaf, groups[number // size], leaves, number, size, head)
        for number, leaf in enumerate(leaves)
    ]


def _is_head_line(head: str, at: int) -> bool:
    """Return True where the line at an offset holds little but periods, so that it is no caption."""
    line = head[head.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    told = sum(p.end - p.start for p in period_parts(line))
    return len(line.strip()) - told <= _OTHER_LETTERS


def _grouped(
    leaf: _Column, group: StatedTime, leaves: Sequence[_Column], number: int, size: int, head: str
) -> _Column:
    begin = number // size * size
    dated = next((c.period for c in leaves[begin : begin + size] if c.period is not None), None)
    period = group.merged(leaf.period or dated or StatedTime())
    return replace(leaf, period=period, text=f"{head[group.start : group.end]} {leaf.text}")


def _group_count(found: int, width: int) -> int:
    return next((n for n in range(found, 0, -1) if width % n == 0 and n <= width), 1)


def _zipped(leaves: list[_Column], width: int) -> list[_Column]:
    """Return the last `width` leaves, days without a year joined with the years after them."""
    dated = [c for c in leaves if c.period and c.period.day and not c.period.year]
    years = [c for c in leaves if c.period and c.period.year and not c.period.month]
    if dated and len(dated) == len(years):
        return [
            _Column(f"{d.text} {y.text}", d.period.merged(y.period))
            for d, y in zip(dated, years, strict=True)
            if d.period and y.period
        ]
    return leaves[-width:] if len(leaves) >= width else leaves


def _head_parts(head: str) -> Iterator[StatedTime | _Column]:
    changes = [(m.start(), _Column(m[0], None, True)) for m in _CHANGE.finditer(head)]
    dated: list[tuple[int, StatedTime]] = []
    for part in period_parts(head):
        last = dated[-1][1] if dated else None
        if (
            last
            and last.quarter
            and not last.year
            and part.year
            and not part.month
            and part.start - last.end < 3
        ):
            dated[-1] = (last.start, last.merged(part))
        elif not part.back:
            dated.append((part.start, part))
    placed: list[tuple[int, StatedTime | _Column]] = [*changes, *dated]
    yield from (entry for _, entry in sorted(placed, key=lambda pair: pair[0]))


class TableText:
    """Cells of a passage's text, parsed on first use."""

    def __init__(self, text: str, above: str = ""):
        self._text, self._above = text, above

    @cached_property
    def cells(self) -> tuple[TableCell, ...]:
        """Cells of all tables, in order."""
        return cells(self._text, self._above)
