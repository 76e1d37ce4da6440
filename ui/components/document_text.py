"""Text of a document as safe Markdown, with the words of a citation or of a search highlighted.

Markdown is shown as it is meant: headings, lists and tables, its wrapped lines joined, its marks left out.
Text of a PDF is wrapped by the width of its page. Other text keeps its lines.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import PurePath
from typing import Literal

from rag.ingest.parsers.plain_text import LANGUAGES
from rag.text.labels import begins_entry
from rag.text.markdown import TableBlock, markdown_table, read_tables
from ui.components.markdown import JOINER, clean, escape_line, join_inline, label

Form = Literal["markdown", "wrapped", "lines"]
Span = tuple[int, int]
_LINES = frozenset({".txt", ".csv", ".tsv", ".log", ".tex", ".rst", ".adoc", ".asciidoc", ".eml", ".msg"})
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]{2}")  # written without spaces
_LINE = re.compile(r"[^\n]+|\n(?=\n)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(?=\S)")
_BULLET = re.compile(r"\s*[•◦▪‣·–]\s*(?=\S)")  # of an item in a PDF
_ROW = re.compile(r"\s*\|")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?=\S)")
_QUOTE = re.compile(r"\s{0,3}>+\s?")
_RULE = re.compile(r"\s{0,3}([-*_=])(\s*\1){2,}\s*")
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`\n]+)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>[^*\n]+)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=\S)(?P<italic>[^*\n]+)(?<=\S)\*(?![\w*])"
    r"|!?\[(?P<link>[^\[\]\n]{1,500})\](?=\([^()\n]{0,2000}\))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
)


def form_of(name: str) -> Form:
    """Return the form of the text of a file with this name.

    >>> form_of("report.pdf"), form_of("notes.txt"), form_of("Paper.docx")
    ('wrapped', 'lines', 'markdown')
    """
    suffix = PurePath(name).suffix.lower()
    if suffix == ".pdf":
        return "wrapped"
    return "lines" if suffix in _LINES or suffix in LANGUAGES else "markdown"


def show_text(text: str, form: Form, start: int = 0, end: int = 0) -> str:
    r"""Return a text as safe Markdown with `text[start:end]` highlighted.

    >>> show_text("# Ships\n\nAda was\nbuilt in **Kobe**.", "markdown", 17, 34)
    '#### Ships\n\nAda was :yellow-background[built in **Kobe**]\u2060.'
    """
    shown: list[str] = []
    done = 0
    for table in read_tables(text):
        shown += _show_blocks(text, (done, table.start), form, (start, end))
        shown.append(_show_table(table, form, start, end))
        done = table.end
    shown += _show_blocks(text, (done, len(text)), form, (start, end))
    return "\n\n".join(filter(None, shown))


def running_words(text: str, form: Form) -> str:
    r"""Return a text with the wrapped lines of each paragraph joined; rows and items keep their lines.

    >>> running_words("It employed\n1,204 people.\n\n- one\n- two\n  more", "wrapped")
    'It employed 1,204 people.\n\n- one\n- two more'
    """
    if form == "lines":
        return text
    joined: list[str] = []
    fence = ""
    for line in text.split("\n"):
        fenced = _FENCE.match(line) if form == "markdown" else None
        if joined and not fence and not fenced and _goes_on(joined[-1], line):
            above, below = joined[-1].rstrip(), line.lstrip()
            gap = "" if _UNSPACED.fullmatch(above[-1] + below[0]) else " "
            joined[-1] = f"{above}{gap}{below}"
        else:
            joined.append(line)
        if fenced and (not fence or fenced[1].startswith(fence)):
            fence = "" if fence else fenced[1]
    return "\n".join(joined)


def _goes_on(above: str, line: str) -> bool:
    """Return True where a line goes on with the paragraph or the item above it."""
    if not above.strip() or not line.strip():
        return False
    ended = (
        above.endswith("  ")
        or begins_entry(line, above)
        or any(one.match(above) for one in (_ROW, _HEADING, _RULE, _FENCE))
    )
    return not ended and not any(one.match(line) for one in (_ROW, _HEADING, _RULE, _ITEM, _QUOTE, _BULLET))


# Blocks
@dataclass(frozen=True)
class _Block:
    """Lines that belong together, the mark before the first of them, and how they are joined."""

    lines: list[Span] = field(default_factory=list)
    mark: str = ""
    breaks: bool = False


def _show_blocks(text: str, part: Span, form: Form, marked: Span) -> Iterator[str]:
    blocks = _MarkdownReader(text).read(part) if form == "markdown" else _plain_blocks(text, part, form)
    for is_list, together in groupby(blocks, key=lambda block: _ITEM.match(block.mark + "x") is not None):
        shown = filter(None, (_show_block(text, block, form, marked) for block in together))
        yield ("\n" if is_list else "\n\n").join(shown)


def _show_block(text: str, block: _Block, form: Form, marked: Span) -> str:
    shown = _join(list(_pieces(text, block, form, marked))).strip()
    return block.mark + shown if shown else ""


def _lines(text: str, part: Span) -> Iterator[Span]:
    """Yield the lines of a part of a text without the space around them; an empty one ends a paragraph."""
    return (_stripped(text, *found.span()) for found in _LINE.finditer(text, *part))


def _stripped(text: str, start: int, end: int) -> Span:
    line = text[start:end]
    first = start + len(line) - len(line.lstrip())
    return (first, start + len(line.rstrip())) if line.strip() else (end, end)


def _plain_blocks(text: str, part: Span, form: Form) -> Iterator[_Block]:
    for written, lines in groupby(_lines(text, part), key=lambda line: line[0] < line[1]):
        if written:
            yield _Block(list(lines), breaks=form == "lines")


@dataclass
class _MarkdownReader:
    """Reader of the headings, items, quotes, code and paragraphs of Markdown."""

    text: str
    block: _Block = field(default_factory=_Block)
    fence: str = ""
    indents: list[int] = field(default_factory=list)

    def read(self, part: Span) -> Iterator[_Block]:
        for found in _LINE.finditer(self.text, *part):
            yield from self._read_line(found)
        yield self.block

    def _read_line(self, found: re.Match[str]) -> Iterator[_Block]:
        opening = _FENCE.match(found[0])
        if opening and (not self.fence or found[0].strip().startswith(self.fence)):
            yield self._begin(_Block(breaks=not self.fence))
            self.fence = "" if self.fence else opening[1]
        elif self.fence:
            self.block.lines.append(self._rest(found))
        else:
            yield from self._read_text(found)

    def _read_text(self, found: re.Match[str]) -> Iterator[_Block]:
        line = found[0]
        if not line.strip() or _RULE.fullmatch(line):
            yield self._begin(_Block())
        elif heading := _HEADING.match(line):
            yield self._begin(_Block([self._rest(found, heading, "#")], "#### "))
            yield self._begin(_Block())
            self.indents = []
        elif item := _ITEM.match(line):
            yield self._begin(_Block([self._rest(found, item)], _bullet(item, self.indents)))
        elif quote := _QUOTE.match(line):
            if self.block.mark != "> ":
                yield self._begin(_Block(mark="> "))
            self.block.lines.append(self._rest(found, quote))
        else:
            self.block.lines.append(self._rest(found))

    def _begin(self, block: _Block) -> _Block:
        """Begin a block; return the one before it."""
        before, self.block = self.block, block
        return before

    def _rest(self, found: re.Match[str], mark: re.Match[str] | None = None, closing: str = "") -> Span:
        """Return the span of a line after its mark and before what closes it."""
        line = found[0].rstrip().rstrip(closing or None)
        return _stripped(self.text, found.start() + (mark.end() if mark else 0), found.start() + len(line))


def _bullet(item: re.Match[str], indents: list[int]) -> str:
    """Return the mark of a list item, indented by four spaces a level; `indents` are those around it."""
    indent = len(item[1].expandtabs(4))
    indents[:] = [outer for outer in indents if outer < indent] + [indent]
    return "    " * (len(indents) - 1) + ("-" if item[2] in "-*+" else item[2]) + " "


# Words of a block
@dataclass(frozen=True)
class _Piece:
    """Words of a line, or the space between two lines."""

    text: str
    marked: bool = False
    bold: bool = False
    is_break: bool = False


@dataclass(frozen=True)
class _Run:
    """Visible span of a line of Markdown, and what stands before it in place of a mark."""

    start: int
    end: int
    bold: bool = False
    before: str = ""


def _pieces(text: str, block: _Block, form: Form, marked: Span) -> Iterator[_Piece]:
    above: Span | None = None
    for line in block.lines:
        if not clean(text[slice(*line)]).strip():
            continue
        if above is not None:
            within = marked[0] < above[1] and line[0] < marked[1]
            forced = form == "markdown" and text.startswith(("  ", "\\\n"), above[1])
            forced = forced or begins_entry(text[slice(*line)], text[slice(*block.lines[0])])
            yield _Piece(_gap(text, above, line), within, is_break=block.breaks or forced)
        plain = form != "markdown" or block.breaks
        for run in [_Run(*line)] if plain else _runs(text, *line):
            yield from _cut(text, run, marked)
        above = line


def _gap(text: str, above: Span, below: Span) -> str:
    """Return what joins two lines: a space, or nothing in a script that has none."""
    return "" if _UNSPACED.fullmatch(text[above[1] - 1] + text[below[0]]) else " "


def _runs(text: str, start: int, end: int) -> Iterator[_Run]:
    """Yield what is visible of a line of Markdown; the address of a link stands after its words."""
    before = ""
    for found in _INLINE.finditer(text, start, end):
        yield _Run(start, found.start(), before=before)
        kind = found.lastgroup or "code"
        inside = _runs(text, *found.span(kind)) if kind in ("bold", "italic") else [_Run(*found.span(kind))]
        yield from (replace(run, bold=run.bold or kind == "bold") for run in inside)
        start, before = found.end(), " " if kind == "link" else ""
    yield _Run(start, end, before=before)


def _cut(text: str, run: _Run, marked: Span) -> Iterator[_Piece]:
    """Yield a run in up to three pieces: before, in and after what is marked."""
    first, last = (min(max(place, run.start), run.end) for place in marked)
    parts = ((text[run.start : first], False), (text[first:last], True), (text[last : run.end], False))
    if run.before:
        yield _Piece(run.before)
    for part, within in parts:
        if shown := " ".join(clean(part).split("\n")):
            yield _Piece(shown, within, run.bold and len(part) == run.end - run.start and _is_plain(shown))


def _is_plain(text: str) -> bool:
    """Return True for words that marks of bold text may stand around, whatever is beside them."""
    return text[0].isalnum() and text[-1].isalnum() and escape_line(text) == text


def _join(pieces: Sequence[_Piece]) -> str:
    shown = ""
    for (is_break, marked), together in groupby(pieces, key=lambda one: (one.is_break, one.marked)):
        said = "\\\n" if is_break else join_inline(_escaped(together))
        if marked and not is_break and said.strip():
            said = f"{' ' * said[0].isspace()}:yellow-background[{said.strip()}]{' ' * said[-1].isspace()}"
        shown += _seam(shown, said) + said
    return shown


def _escaped(pieces: Iterable[_Piece]) -> Iterator[str]:
    """Yield pieces as Markdown; what an escape or a mark has parted is escaped together."""
    for bold, together in groupby(pieces, key=lambda piece: piece.bold):
        words = "".join(piece.text for piece in together)
        yield f"**{words}**" if bold else escape_line(words)


def _seam(before: str, after: str) -> str:
    """Return what keeps marked words apart from their neighbours, where no space does."""
    apart = not before or not after or before[-1].isspace() or after[0].isspace() or after == "\\\n"
    return "" if apart else JOINER


# Tables
def _show_table(table: TableBlock, form: Form, start: int, end: int) -> str:
    """Return a table as Markdown, with the rows that overlap [start, end) highlighted."""
    body = [
        [
            f":yellow-background[{cell}]" if cell and row.start < end and start < row.end else cell
            for cell in _cells(row.cells, form)
        ]
        for row in table.rows
    ]
    header = _cells(table.header, form)
    return markdown_table(header, body or [[""] * len(header)])


def _cells(row: Sequence[str], form: Form) -> list[str]:
    return [label(_without_marks(cell) if form == "markdown" else cell, 400) for cell in row]


def _without_marks(text: str) -> str:
    """Return a line of Markdown without its marks.

    >>> _without_marks("**Net** sales of [Apple](a.md)")
    'Net sales of Apple (a.md)'
    """
    return "".join(run.before + text[run.start : run.end] for run in _runs(text, 0, len(text)))
