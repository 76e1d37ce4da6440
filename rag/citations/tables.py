# ruff: noqa: E501
"""Tables of a passage as cells: Markdown tables, and rows of numbers that a PDF's text has without lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from rag.citations.quantities import (
    MONEY,
    Quantity,
    StatedTime,
    headed_unit,
    period_parts,
    periods,
    quantities,
    stated_scale,
)
from rag.text.markdown import BAR

MOST_CELLS = 4000  # of a passage
_HEAD_LINES = 24  # lines above loose rows that may hold their heading
_MOST_BETWEEN = 5  # lines between two rows of a table
_VALUE = r"(?:US\$|[$€£¥₩])?\s?[(\[]?[-−–△▲+]?\s?(?:US\$|[$€£¥₩])?\d(?:[\d,]*\d)?(?:\.\d+)?\s?[)\]]?\s?%?\s?\)?(?:\s?(?:years|months|days))?|(?<=\s)[—–-](?=\s|$)"
_ROW = re.compile(
    rf"^\s*(?P<label>\S.*?)[\s.:]+(?P<values>(?:(?:US\$|[$€£¥₩])\s?)?(?:{_VALUE})(?:\s+(?:{_VALUE}))*)\s*$"
)
_TURNED_ROW = re.compile(
    rf"^\s*(?P<values>{_VALUE})\s+(?P<label>[^\W\d_].*)$|^\s*(?P<values2>[$€£¥₩]\s?\(?\d[\d,.]*\)?)\s+(?P<label2>\S.*)$"
)
_VALUES = re.compile(_VALUE)
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_CHANGE = re.compile(
    r"(?:%\s*)?\bchange\b|증감률?|증가율|변동|(?:전년도?|전기)\s?(?:동기\s?)?(?:대비|비)|増減率?|前(?:年度?|年?同期|期)比|变化|增长",
    re.IGNORECASE,
)
_THIS_YEAR = frozenset(
    (
        "this year", "current year", "当期", "当年", "当年度", "今年", "今年度", "本年度", "当連結会計年度",
        "당기", "당해", "당년", "당해 연도", "당해연도", "금년", "금년도", "올해",
    )
)  # fmt: skip
_LAST_YEAR = frozenset(
    (
        "last year", "prior year", "previous year", "year earlier", "前期", "前年", "前年度", "昨年", "昨年度",
        "前連結会計年度", "전기", "전년", "전년도", "작년", "지난해",
    )
)  # fmt: skip
"""Headings that name a year without its number; what stands in brackets, such as a unit, does not count."""
_BACK = re.compile(r"\D+")
"""Period that only counts from another: "the year before"; one of its own has digits."""
_BRACKETED = re.compile(r"\s*[(（\[［].*?[)）\]］]\s*")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_FOOTNOTE = re.compile(r"\(\d\)")
_YEARS = re.compile(r"\b(?:19|20)\d\d\b")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"[.。!?]\s*$")
_BARE_MONTH = re.compile(
    r"\s*(?:(?:year|quarter|months|period)s? ended )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s*",
    re.I,
)
_OTHER_LETTERS = 45  # of a line of a heading besides its periods
_LINKS = re.compile(r"\b(?:of|and|the|for|in|year|ended|ending|as)\b|[,()]", re.IGNORECASE)
_UNENDED = re.compile(r"(?:&|,|\b(?:and|of|for|to|from|in))\s*\Z")
"""End of a line of a row's label that goes on in the next line."""
_LONGEST_LABEL = 90  # characters of the label of a single number
_UNSCALED = re.compile(
    r"per (?:\w+ )?share|percent|\bratio|\brate\b|%|주당|비율|1株|率|number of (?:employees|stores)|employees",
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


def cells(text: str, above: str = "", about: str = "") -> tuple[TableCell, ...]:
    r"""Return the cells of a passage's tables; `above` is the heading that stands over the passage.

    `about` is the line on its document, whose unit a table has that states none.

    >>> [(c.row, c.column, str(c.quantity.value)) for c in cells("In millions\n\n| | 2023 |\n|---|---|\n| Mac | 6,840 |")]
    [('Mac', '2023', '6840000000')]
    """
    lines = [_Line(match[0], match.start()) for match in re.finditer(r"[^\n]+|(?<=\n)(?=\n)", text)]
    head = _continued(lines, above)
    at = _rows_end(lines, 0) if head else 0
    found = list(_markdown(head, lines[:at], (), (above, about), 0))
    table = int(bool(found))
    while at < len(lines) and len(found) < MOST_CELLS:
        end = _markdown_end(lines, at)
        if end > at:
            head = [cell for cell, _ in split_row(lines[at].text)]
            before = lines[max(0, at - 4) : at]
            rows = list(_markdown(head, lines[at + 2 : end], before, (above, about), table))
        else:
            end, rows = _loose(lines, at, (above, about), table)
        found += _with_percents(rows)
        table += bool(rows)
        at = max(end, at + 1)
    return tuple(found[:MOST_CELLS])


MOST_PERCENT = 1000  # value below which a number without a sign may be one of per cent


def _with_percents(found: Sequence[TableCell]) -> Iterator[TableCell]:
    """Yield cells with the per cent sign that only the first number of a section's column has."""
    first: dict[tuple[str, str], bool] = {}
    for cell in found:
        written = cell.written
        is_percent = first.setdefault((cell.section, cell.column), written.unit == "%")
        if is_percent and cell.section and not written.unit and abs(written.value) < MOST_PERCENT:
            written = replace(written, unit="%")
            cell = replace(cell, quantity=written, written=written)
        yield cell


@dataclass(frozen=True)
class HeadedRow:
    """Row of a Markdown table, `text[start:end]` of its passage, with its header; `table` counts the tables."""

    head: tuple[str, ...]
    cells: tuple[str, ...]
    start: int
    end: int
    table: int


def rows(text: str, above: str = "") -> list[HeadedRow]:
    r"""Return the rows of a passage's Markdown tables; `above` is the heading that stands over the passage.

    >>> [(row.head, row.cells) for row in rows("| Shift | Leader |\n|---|---|\n| C | Ines |")]
    [(('Shift', 'Leader'), ('C', 'Ines'))]
    """
    lines = [_Line(match[0], match.start()) for match in re.finditer(r"[^\n]+|(?<=\n)(?=\n)", text)]
    head = _continued(lines, above)
    at = _rows_end(lines, 0) if head else 0
    found = [_table_row(head, line, 0) for line in lines[:at]]
    table = int(bool(found))
    while at < len(lines) and len(found) < MOST_CELLS:
        end = _markdown_end(lines, at)
        head = [cell for cell, _ in split_row(lines[at].text)] if end > at else []
        found += [_table_row(head, line, table) for line in lines[at + 2 : end]]
        table += end > at
        at = max(end, at + 1)
    return found


def _table_row(head: Sequence[str], line: _Line, table: int) -> HeadedRow:
    texts = tuple(cell for cell, _ in split_row(line.text))
    return HeadedRow(tuple(head), texts, line.start, line.start + len(line.text), table)


# Markdown tables
def _markdown_end(lines: Sequence[_Line], at: int) -> int:
    if at + 1 >= len(lines) or "|" not in lines[at].text or not _RULE.match(lines[at + 1].text):
        return at
    return _rows_end(lines, at + 2)


def _rows_end(lines: Sequence[_Line], at: int) -> int:
    return next((end for end in range(at, len(lines)) if "|" not in lines[end].text), len(lines))


def _continued(lines: Sequence[_Line], above: str) -> list[str]:
    """Return the head of the table that a passage begins within, none where its columns cannot be told.

    It is the last part of the heading path, without cells that are empty, as the first one often is.
    """
    if not lines or not lines[0].text.lstrip().startswith("|") or _markdown_end(lines, 0):
        return []
    head = above.rpartition(" > ")[2].split(" | ")
    width = len(split_row(lines[0].text))
    if len(head) not in (width, width - 1) or len(head) < 2 or head[-1].endswith("…"):
        return []
    return [*[""] * (width - len(head)), *head]


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


def _markdown(
    head: Sequence[str], lines: Sequence[_Line], before: Sequence[_Line], over: tuple[str, str], table: int
) -> Iterator[TableCell]:
    """Yield the cells of rows under a head; `before` are the lines above the table."""
    above, about = over
    caption = " ".join(line.text for line in before if "|" not in line.text)
    around = f"{above} {caption} {head[0] if head else ''}"
    columns = _in_years([_column(text) for text in head], around)
    section = ""
    for line in lines:
        row = split_row(line.text)
        values = [(cell, at) for cell, at in row[1:] if cell]
        if row and row[0][0] and not values:
            section = row[0][0]
        for number, (cell, at) in enumerate(row[1:], 1):
            column = columns[number] if number < len(columns) else _Column()
            made = _cell(
                row[0][0],
                cell,
                column,
                (section, around, _or(f"{around} {column.text}", about)),
                line,
                at,
                table,
            )
            if made is not None:
                yield made


def _or(told: str, about: str) -> str:
    """Return the text that states a table's unit: what is told with it, else the line on its document."""
    return told if stated_scale(told) else f"{told} {about}"


def _column(text: str) -> _Column:
    found = periods(text)
    stated = [one for one in found if not _BACK.fullmatch(text, one.start, one.end)] or found
    return _Column(text, stated[-1] if stated else None, bool(_CHANGE.search(text)))


def _in_years(columns: Sequence[_Column], around: str) -> list[_Column]:
    """Return columns headed "this year" and "prior year" with their years.

    The year is told by the nearest column before, by the only one after, or by what stands around the table.

    >>> [c.period and c.period.year for c in _in_years([_Column("当期"), _Column("前期")], "2024年度の決算")]
    [2024, 2023]
    """
    found = list(columns)
    for at, column in enumerate(columns):
        name = _BRACKETED.sub("", column.text).strip().casefold()
        if name not in _THIS_YEAR | _LAST_YEAR:
            continue
        back = int(name in _LAST_YEAR)
        before, after = _years(columns[:at]), _years(columns[at + 1 :])
        told = before[-1:] or after or [one.year for one in periods(around) if one.year]
        year = told[0] if len(set(told)) == 1 else 0
        if year or back:  # a "this year" that is not known has no period, as its neighbours have one
            found[at] = replace(column, period=StatedTime(year - back if year else 0, back=back))
    return found


def _years(columns: Sequence[_Column]) -> list[int]:
    """Return the years that columns state, in order."""
    return [c.period.year for c in columns if c.period and c.period.year and not c.period.back]


def _cell(
    row: str, cell: str, column: _Column, context: tuple[str, str, str], line: _Line, at: int, table: int
) -> TableCell | None:
    section, around, unit_text = context
    read = quantities(cell)
    if not row or len(read) != 1 or len(_LETTER.findall(cell)) > 14:
        return None
    quantity = _in_unit(read[0], cell, row, section, unit_text)
    quantity = replace(quantity, unit=quantity.unit or headed_unit(column.text))
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
_Row = tuple[str, list[tuple[str, int]]]


def _read_row(line: str) -> _Row | None:
    """Return label and values of a loose row, each value with its offset."""
    match = _ROW.match(line)
    turned = None if match else _TURNED_ROW.match(line)
    if turned is not None:
        name = "values" if turned["values"] else "values2"
        label = turned["label"] or turned["label2"] or ""
        value = turned[name].strip()
        labelled = _LETTER.search(label) and not _YEAR.fullmatch(value)
        return (label, [(value, turned.start(name))]) if labelled else None
    if match is None or _BARE_MONTH.fullmatch(match["label"]):
        return None
    base = match.start("values")
    values = [(v[0].strip(), base + v.start()) for v in _VALUES.finditer(match["values"])]
    while values and ")" in values[0][0] and "(" not in values[0][0]:  # "2023 (since March 31, 2023) 683"
        values = values[1:]
    label = line[: values[0][1]].strip(" .:$") if values else ""
    if not label:
        return None
    years = sum(bool(_YEAR.fullmatch(value)) for value, _ in values)
    if years == len(values) and any(True for _ in period_parts(label)):
        return None  # a heading: "Three Months Ended June 30, 2022 2021"
    if not _LETTER.search(label):
        return (label, values) if _YEAR.fullmatch(label) and not years else None
    long = len(label) > _LONGEST_LABEL
    return None if len(values) == 1 and (long or years) else (label, values)


def _loose(lines: Sequence[_Line], at: int, over: tuple[str, str], table: int) -> tuple[int, list[TableCell]]:
    """Return the end of the loose table that begins at a line, and its cells; nothing where there is none."""
    first = _row_at(lines, at)
    if first is None:
        return at, []
    width = len(first[1])
    end, rows, misses = at, [], 0
    while end < len(lines) and misses < _MOST_BETWEEN:
        row = _row_at(lines, end, width)
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
    return rows[-1] + 1, list(_loose_cells(lines, rows, width, over, table))


def _row_at(lines: Sequence[_Line], at: int, width: int = 0) -> _Row | None:
    """Return the row in a line, without the marks of footnotes that make it wider than the others."""
    text = lines[at].text
    row = None if len(text) > 200 or "|" in text else _read_row(text)
    while row is not None and len(row[1]) > width > 0 and _FOOTNOTE.fullmatch(row[1][0][0]):
        row = row[0], row[1][1:]
    return row


def _loose_cells(
    lines: Sequence[_Line], rows: Sequence[int], width: int, over: tuple[str, str], table: int
) -> Iterator[TableCell]:
    """Yield the cells of loose rows; lines between two rows are a section, or head the rows after them."""
    above, about = over
    top = _head(lines, rows[0])
    units = " ".join([above, *(line.text for line in top)])
    caption, columns, section, before = units, [_Column()] * width, "", rows[0] - len(top)
    percents = _percents(lines, rows, width)
    for number in rows:
        between = [line.text for line in lines[before:number] if line.text.strip()]
        label, values = _row_at(lines, number, width) or ("", [])
        if between and _UNENDED.search(between[-1]):
            label = f"{between.pop().strip()} {label}"
        head = _columns("\n".join(between), width, percents)
        if head is not None and (number == rows[0] or any(column.period for column in head)):
            titles = [line for line in between if not _heads_columns(line, head)]
            columns, caption = head, " ".join([above, *titles])
        section = _section(between, columns) if between else section
        before = number + 1
        for (cell, at), column in zip(values, columns, strict=False):
            made = _cell(
                label,
                cell,
                column,
                (section, caption, _or(f"{units} {caption}", about)),
                lines[number],
                at,
                table,
            )
            if made is not None:
                yield made


def _percents(lines: Sequence[_Line], rows: Sequence[int], width: int) -> list[bool]:
    """Return for each column of loose rows if it has a percentage and others have none."""
    told = [row[1] for number in rows if (row := _row_at(lines, number, width))]
    found = [any("%" in values[at][0] for values in told) for at in range(width)]
    return found if not all(found) else [False] * width


def _section(between: Sequence[str], columns: Sequence[_Column]) -> str:
    """Return the lines above a row that name its section: those after the last of a heading."""
    heads = [n for n, line in enumerate(between) if _heads_columns(line, columns)]
    after = [line for line in between[heads[-1] + 1 if heads else 0 :] if not stated_scale(line)]
    named = after[-1:] if heads else after[-2:]
    return " ".join(line for line in named if len(line) <= _LONGEST_LABEL and not _SENTENCE_END.search(line))


def _heads_columns(line: str, columns: Sequence[_Column]) -> bool:
    named = any(column.text and column.text.split()[-1] in line.split() for column in columns)
    return _is_part_of_head(line) and bool(named or list(period_parts(line)) or _CHANGE.search(line))


def _head(lines: Sequence[_Line], first: int) -> Sequence[_Line]:
    """Return the lines above loose rows that may head them: back to the last full sentence or row."""
    begin = first
    while begin > max(0, first - _HEAD_LINES) and not _SENTENCE_END.search(lines[begin - 1].text):
        if _row_at(lines, begin - 1) is not None:
            break
        begin -= 1
    return lines[begin:first]


# Headings of loose rows
def _columns(head: str, width: int, percents: Sequence[bool] = ()) -> list[_Column] | None:
    r"""Return the columns that a heading names, None where it names none.

    Where as many columns have percentages as the heading has changes, those are the changes.

    >>> [c.period.months for c in _columns("Three Months Ended Nine Months Ended\n2023 2022 2023 2022", 4)]
    [3, 3, 9, 9]
    >>> [c.text for c in _columns("As of May 31, 2023\nOperating Leases Finance Leases Total", 3)]
    ['May 31, 2023 Operating Leases', 'May 31, 2023 Finance Leases', 'May 31, 2023 Total']
    """
    kept = "\n".join(line for line in head.split("\n") if _is_part_of_head(line))
    parts = list(_head_parts(kept))
    leaves = [c for c in parts if c.is_change or (c.period is not None and c.period.year)]
    groups = [c.period for c in parts if c.period and c.period.months and not c.period.year]
    days = [c.period for c in parts if c.period and c.period.day and not c.period.year]
    for line in reversed(kept.split("\n")):
        words = _named_columns(line, width, len(leaves))
        if words and len(leaves) in (0, 1) and len(words) == width:
            leaves = [_named(word, leaves) for word in words]
            break
        if words and len(leaves) + len(words) == width and any(True for _ in period_parts(line)):
            leaves = [*leaves, *(_Column(word) for word in words)]
            break
    else:
        leaves = _laid_out(leaves, width)
    if len(leaves) == width and sum(c.is_change for c in leaves) == sum(percents) > 0:
        leaves = sorted(leaves, key=lambda c: c.is_change)
        plain = iter(leaves)
        changes = iter(leaves[width - sum(percents) :])
        leaves = [next(changes if percent else plain) for percent in percents]
    return _with_groups(_with_days(leaves), groups, days) if leaves and len(leaves) == width else None


def _with_days(leaves: Sequence[_Column]) -> list[_Column]:
    """Return columns with the day of an earlier one: the second of "June 30, 2022 2021"."""
    found: list[_Column] = []
    last: StatedTime | None = None
    for column in leaves:
        period = column.period
        if last and period and period.year and not (period.month or period.quarter or period.months):
            column = replace(column, period=replace(last, year=period.year))
        last = period if period and period.day and period.year else last
        found.append(column)
    return found


def _named(word: str, dated: Sequence[_Column]) -> _Column:
    return replace(dated[0], text=f"{dated[0].text} {word}") if dated else _Column(word)


def _is_part_of_head(line: str) -> bool:
    """Return True for a line that holds column headings: periods, "Change", or a few words, and no caption."""
    if line.rstrip().endswith((":", "：", ".", "。")) or line.isupper() or stated_scale(line):
        return False
    told = sum(p.end - p.start for p in period_parts(line))
    rest = _LINKS.sub("", line)
    return bool(told or _CHANGE.search(line) or rest.istitle()) and len(rest) - told <= _OTHER_LETTERS


def _named_columns(line: str, width: int, dated: int) -> list[str]:
    """Return the column names of a line besides its periods, as many as columns are left; else none."""
    for period in reversed(list(period_parts(line))):
        line = line[: period.start] + "\n" + line[period.end :]
    words = _LINKS.sub(" ", _CHANGE.sub("\n", line)).split()
    wanted = [n for n in (width - dated, width) if n > 0 and (n == width - dated or dated == 1)]
    for count in wanted:
        if count == len(words):
            return words
        again = next((word for word in words if words.count(word) > 1), "")
        cut = "".join(f"{word}\n" if word == again else f"{word} " for word in words)
        pieces = [piece.strip() for piece in cut.split("\n") if piece.strip()]
        if again and len(pieces) == count:
            return pieces
    return []


def _laid_out(leaves: Sequence[_Column], width: int) -> list[_Column]:
    """Return the years and changes of a heading in the order of the columns."""
    years, changes = [c for c in leaves if not c.is_change], [c for c in leaves if c.is_change]
    if len(years) + len(changes) > width:
        years = years[-(width - len(changes)) :] if len(changes) < width else []
        leaves = [c for c in leaves if c.is_change or c in years][-width:]
    if len(leaves) == width and len(changes) > 1 and leaves[0].is_change:
        size = len(years) // len(changes)
        return [c for n, change in enumerate(changes) for c in (*years[n * size : (n + 1) * size], change)]
    return list(leaves) * (width // len(leaves)) if leaves and width % len(leaves) == 0 else []


def _with_groups(
    leaves: Sequence[_Column], groups: Sequence[StatedTime], days: Sequence[StatedTime]
) -> list[_Column]:
    """Return columns with the spans and days that stand over several of them."""
    count = next((n for n in range(len(groups), 0, -1) if len(leaves) % n == 0), 0)
    found = [_spanned(c, groups[-count:], number * count // len(leaves)) for number, c in enumerate(leaves)]
    for over in {len(found), count, 1}:
        if over and len(days) == over:
            found = [_spanned(c, days, number * over // len(found)) for number, c in enumerate(found)]
            break
    return [_from_group(c, found, count) for c in found]


def _spanned(column: _Column, over: Sequence[StatedTime], at: int) -> _Column:
    if not over or column.period is None:
        return column if not over else replace(column, text=column.text, period=over[at])
    return replace(column, period=over[at].merged(column.period))


def _from_group(column: _Column, columns: Sequence[_Column], groups: int) -> _Column:
    """Return a column of changes with the period of the first column of its group."""
    if not column.is_change:
        return column
    at = next(n for n, one in enumerate(columns) if one is column)
    size = len(columns) // max(1, groups)
    first = next((c.period for c in columns[at // size * size :] if not c.is_change and c.period), None)
    return replace(column, period=first)


def _head_parts(head: str) -> Iterator[_Column]:
    """Yield the periods and changes of a heading in order; a day above a line of years is no part of the first."""
    found = [(m.start(), _Column(m[0], None, True)) for m in _CHANGE.finditer(head)]
    for part in period_parts(head):
        text = head[part.start : part.end]
        if part.back:
            continue
        break_ = text.rfind("\n")
        line = head[part.start + break_ + 1 :].partition("\n")[0]
        if part.day and part.year and break_ >= 0 and len(_YEARS.findall(line)) > 1:
            found.append((part.start, _Column(text[:break_], replace(part, year=0))))
            part = replace(part, month=0, day=0)
            text = text[break_ + 1 :]
        found.append((part.end, _Column(" ".join(text.split()), part)))
    joined: list[_Column] = []
    for _, column in sorted(found, key=lambda pair: pair[0]):
        last = joined[-1].period if joined else None
        if last and column.period and last.quarter and not last.year and column.period.start - last.end < 3:
            joined[-1] = _Column(f"{joined[-1].text} {column.text}", last.merged(column.period))
        else:
            joined.append(column)
    yield from joined
