"""Markdown: headings, title and tables of a text, clean-up for quoting, and tables written from cells.

Header and rows of a table are read as cells, each with its exact span.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_TABLE = re.compile(
    r"^(?P<head>[ \t]*\|[^\n]*)\n(?P<rule>[ \t]*\|[ \t:|-]*-[ \t:|-]*)(?:\n[ \t]*\|[^\n]*)*", re.M
)
_CAPTION = re.compile(r"^(?![ \t]*[|#])[^\n]{1,200}(?<![.!?。！？\s])[ \t]*\n(?:[ \t]*\n)?\Z", re.M)
_ROW = re.compile(r"^[ \t]*\|[^\n]*", re.M)
_WRAPPED = 4  # lines above its last that a caption may begin on
_LONGEST_CAPTION = 204
BAR = re.compile(r"(?<!\\)\|")
"""Bar between two cells; one within a cell is written `\\|`."""

_SHEET = re.compile(r"^## .*\n\n", re.MULTILINE)
"""Heading of a sheet in the text of a spreadsheet."""


@dataclass(frozen=True)
class TableRow:
    """Row ``text[start:end]`` of a table, with its cells."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """Table ``text[start:end]``: its header, the rows below the rule, and the line above it that names it.

    The caption, with the unit of its figures if that is said there, is ``text[caption:start]``.
    """

    start: int
    end: int
    caption: int
    header: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def within(self, start: int, end: int) -> tuple[TableRow, ...]:
        """Return the rows that a span of the text holds as a whole."""
        return tuple(row for row in self.rows if start <= row.start and row.end <= end)


def read_tables(text: str) -> list[TableBlock]:
    r"""Return the tables of a text, in order.

    >>> read_tables("So:\n| ship | year |\n|---|---|\n| Ada | 1931 |")[0].rows
    (TableRow(start=30, end=44, cells=('Ada', '1931')),)
    """
    return [
        TableBlock(
            found.start(),
            found.end(),
            _caption(text, found.start()),
            cells(found["head"]),
            tuple(rows(text, found.end("rule"), found.end())),
        )
        for found in _TABLE.finditer(text)
    ]


def _caption(text: str, start: int) -> int:
    found = _CAPTION.search(text, max(0, start - _LONGEST_CAPTION), start)
    return found.start() if found else start


def whole_caption(text: str, table: TableBlock) -> str:
    r"""Return a table's caption with the lines above that its sentence began on.

    >>> text = "Net sales were as follows (in\nmillions):\n| Mac | iPad |\n|---|---|\n| 6,840 | 5,791 |"
    >>> whole_caption(text, read_tables(text)[0])
    'Net sales were as follows (in millions):'
    """
    caption = text[table.caption : table.start].strip()
    above = text[: table.caption].removesuffix("\n").split("\n")[-_WRAPPED:]
    while caption[:1].islower() and above and above[-1].strip() and above[-1].lstrip()[0] not in "#|":
        caption = f"{above.pop().strip()} {caption}"
    return caption


def rows(text: str, start: int, end: int) -> Iterator[TableRow]:
    """Yield the table rows of a span of a text."""
    for found in _ROW.finditer(text, start, end):
        yield TableRow(found.start(), found.end(), cells(found[0]))


def row_numbers(text: str, start: int, end: int) -> tuple[int, int] | None:
    r"""Return the first and the last row of a sheet, from 1, that a span of a spreadsheet's text lies in.

    None where it lies outside of the sheet's rows: in a comment, or in the figures of a chart.

    >>> text = "## Budget\n\n\n| item | sum |\n| --- | --- |\n| rent | 40 |\n\n| all | 40 |\n| --- | --- |"
    >>> row_numbers(text, text.index("rent"), text.index("40")), row_numbers(text, 12, len(text))
    ((3, 3), (2, 5))
    """
    sheet = next(reversed([found for found in _SHEET.finditer(text, 0, end) if found.start() <= start]), None)
    at = sheet.end() if sheet else 0
    number, place, found = 0, 0, list[int]()
    for line in text[at:].split("\n"):
        if at >= end:
            break
        place = place + 1 if line else 0  # in its table, whose second line is the rule
        if line and not line.startswith("|"):
            return None
        if place != 2:
            number += 1
            if place and at + len(line) > start:
                found.append(number)
        at += len(line) + 1
    return (found[0], found[-1]) if found else None


def cells(row: str) -> tuple[str, ...]:
    r"""Return the cells of a row, without the bars that escape none.

    >>> cells(r"| a \| b | |"), cells("a | b")
    (('a | b', ''), ('a', 'b'))
    """
    inner = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", row)
    return tuple(cell.strip().replace("\\|", "|") for cell in BAR.split(inner))


def cell_span(text: str, row: TableRow, column: int) -> tuple[int, int]:
    r"""Return the span of a cell of a row within its text, without the bars and the spaces around it.

    >>> told = "| May | 40 |"
    >>> [told[slice(*cell_span(told, one, 1))] for one in rows(told, 0, len(told))]
    ['40']
    """
    bars = [found.end() for found in BAR.finditer(text, row.start, row.end)]
    start, end = bars[column], (bars[column + 1] - 1 if column + 1 < len(bars) else row.end)
    cell = text[start:end]
    return start + len(cell) - len(cell.lstrip()), start + len(cell.rstrip())


def column_of(text: str, row: TableRow, start: int, end: int) -> int | None:
    r"""Return the column of a row that a span of its text lies in; None for one that is all of the row.

    >>> told = "| May | 40 |"
    >>> [column_of(told, one, *span) for one in rows(told, 0, len(told)) for span in ((8, 10), (0, 12))]
    [1, None]
    """
    spans = [cell_span(text, row, at) for at in range(len(row.cells))]
    return next((at for at, (first, last) in enumerate(spans) if first <= start and end <= last), None)


def markdown_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    r"""Return a table as Markdown; a header that is shorter than the rows begins in a later column.

    >>> print(markdown_table(["1931"], [["Ada", "7"]]))
    |  | 1931 |
    |---|---|
    | Ada | 7 |
    """
    width = max(map(len, body))
    head = [*[""] * (width - len(header)), *header][:width]
    return "\n".join([table_head(head), *map(table_row, body)])


def table_head(header: Sequence[str]) -> str:
    """Return the header of a table as Markdown, with the rule below it."""
    return f"{table_row(header)}\n|{'---|' * len(header)}"


def table_row(row: Sequence[str]) -> str:
    """Return a row of a table as Markdown."""
    return "| " + " | ".join(map(escape_bars, row)) + " |"


def escape_bars(cell: str) -> str:
    r"""Return the text of a cell with its bars escaped.

    >>> print(escape_bars("a|b"))
    a\|b
    """
    return BAR.sub(r"\\|", cell)


TABLE = "| "  # first characters of a block that is a table
_SPARSEST = 50  # places of a table for each of its cells


class Cell(NamedTuple):
    """Cell of a table with its blocks of text; rows and columns count from 0."""

    row: int
    column: int
    rows: int
    blocks: list[str]


def table_blocks(cells: Sequence[Cell]) -> Iterator[str]:
    r"""Yield a table in Markdown; one that only frames text or other tables is their blocks.

    A cell over several rows stands in each of them, one over several columns in the first.

    >>> list(table_blocks([Cell(0, 0, 2, ["배"]), Cell(0, 1, 1, ["1890"]), Cell(1, 1, 1, ["1901"])]))
    ['| 배 | 1890 |\n| --- | --- |\n| 배 | 1901 |']
    """
    rows, columns = sorted({cell.row for cell in cells}), sorted({cell.column for cell in cells})
    is_frame = len(cells) == 1 or any(block.startswith(TABLE) for cell in cells for block in cell.blocks)
    if is_frame or len(rows) * len(columns) > _SPARSEST * len(cells):
        yield from (block for cell in cells for block in cell.blocks)
    elif any(cell.blocks for cell in cells):
        yield "\n".join(_lines(_grid(cells, rows, columns)))


def _grid(cells: Sequence[Cell], rows: Sequence[int], columns: Sequence[int]) -> list[list[str]]:
    """Return the texts of a table's places; a span ends where another cell stands."""
    places: dict[tuple[int, int], str] = {}
    for cell in sorted(cells, key=lambda cell: (cell.row, cell.column), reverse=True):
        text = escape_bars(" ".join(" ".join(cell.blocks).split()))
        places[cell.row, cell.column] = text
        for below in range(bisect_right(rows, cell.row), len(rows)):
            row = rows[below]
            if row >= cell.row + cell.rows or (row, cell.column) in places:
                break
            places[row, cell.column] = text
    return [[places.get((row, column), "") for column in columns] for row in rows]


def _lines(grid: list[list[str]]) -> Iterator[str]:
    for place, row in enumerate(grid):
        yield f"| {' | '.join(row)} |"
        if place == 0:
            yield f"|{' --- |' * len(row)}"


_FRONT_MATTER = re.compile(r"---\n(?:.*\n){1,100}?---\n")
_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.M)
_ANCHOR = re.compile(r"[ \t]*\{[^{}]*\}$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_CODE = r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|`[^`\n]+`"
_TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
_NOISE = re.compile(rf"(?P<code>{_CODE})|<!--.*?-->|</?u>|!\[(?P<words>[^\]]*)\]{_TARGET}", re.S | re.M)
_LINK = re.compile(rf"(?P<code>{_CODE})|(?<!!)\[(?P<words>[^\[\]]*)\]{_TARGET}", re.S | re.M)
_NO_ALT = re.compile(r"(?:picture|image|graphic|placeholder|object|그림|図)?[\s\d_]*", re.I)
_BLANKS = re.compile(r"\n(?:[ \t]*\n){2,}")
_TRAILING = re.compile(r"[ \t]+(?=\n)")
_EMPHASIS = re.compile(r"[*_`]{1,3}")
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+[\s:-]*")
_MARKED = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`\n]+)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>[^*\n]+)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=\S)(?P<italic>[^*\n]+)(?<=\S)\*(?![\w*])"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
)


def headings(text: str) -> tuple[tuple[int, int, str], ...]:
    r"""Return (start, level, heading) of each heading outside code fences.

    >>> headings("# A\ntext\n\nB\n---\n")
    ((0, 1, 'A'), (10, 2, 'B'))
    """
    found: list[tuple[int, int, str]] = []
    matter = _FRONT_MATTER.match(text)
    fence, start, previous = "", matter.end() if matter else 0, ""
    for line in text[start:].split("\n"):
        fenced = _FENCE.match(line)
        if fenced and (not fence or fenced[1].startswith(fence)):
            fence = "" if fence else fenced[1]
        elif not fence:
            heading = _HEADING.match(line)
            under = _UNDERLINE.match(line)
            if heading:
                found.append((start, len(heading[1]), _plain(heading[2])))
            elif under and _may_be_underlined(previous):
                found.append((start - len(previous) - 1, 1 if "=" in under[1] else 2, _plain(previous)))
        previous, start = line, start + len(line) + 1
    return tuple(entry for entry in found if entry[2])


def _may_be_underlined(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "|", "-", "*", ">", "+", "```"))


def _plain(heading: str) -> str:
    return _EMPHASIS.sub("", tidy(_ANCHOR.sub("", heading))).strip()


def title(text: str) -> str:
    """Return the title that Markdown's front matter names, or the first heading, or nothing."""
    matter = _FRONT_MATTER.match(text)
    named = _TITLE.search(matter[0]) if matter else None
    if named:
        return named[1]
    first = headings(text[:20_000])
    return first[0][2] if first else ""


def tidy(text: str) -> str:
    """Return Markdown without images, link targets, comments and runs of blank lines; code is left as it is.

    >>> tidy("![a map](data:image/png;base64,AAAA) [b](c) `![x](y)`<!-- z -->")
    'a map b `![x](y)`'
    """
    text = _LINK.sub(_kept, _NOISE.sub(_kept, text))
    return _BLANKS.sub("\n\n", _TRAILING.sub("", text)).strip("\n")


def plain_words(text: str, *, marks: bool = True) -> str:
    r"""Return Markdown as words to read: without marks, the cells of a row with tabs between them.

    Without `marks` only rows are changed, as in text that is no Markdown. Code in fences stays as it is.

    >>> plain_words("# Sales\n\n**Up** to \\$5.\n\n| a | b |\n|---|---|\n| 1 | \\$2 |")
    'Sales\n\nUp to $5.\n\na\tb\n1\t$2'
    """
    return "\n".join(_plain_lines(text, marks=marks))


def _plain_lines(text: str, *, marks: bool) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        fenced = _FENCE.match(line) if marks else None
        if fenced and (not fence or fenced[1].startswith(fence)):
            fence = "" if fence else fenced[1]
        elif fence:
            yield line
        elif line.lstrip().startswith("|"):
            if not _RULE.fullmatch(line):
                yield "\t".join(_unmarked(cell) if marks else cell for cell in cells(line)).strip("\t")
        else:
            heading = _HEADING.match(line) if marks else None
            yield _unmarked(heading[2] if heading else line) if marks else line


def plain_cell(cell: str) -> str:
    r"""Return a table's cell as words to read, in one line.

    >>> plain_cell("**Up** to \\$5")
    'Up to $5'
    """
    return " ".join(_unmarked(cell).split())


def _unmarked(line: str) -> str:
    return _MARKED.sub(lambda found: found[found.lastgroup or "code"], line)


def _kept(noise: re.Match[str]) -> str:
    if noise["code"]:
        return noise["code"]
    return description(noise["words"] or "")


def description(alternative: str) -> str:
    """Return an image's alternative text; empty where it is a placeholder.

    >>> description("Picture 3"), description("The harbour")
    ('', 'The harbour')
    """
    return "" if _NO_ALT.fullmatch(alternative) else " ".join(alternative.split())
