"""PDF: the text layer page by page, with headings by font size."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, zip_longest
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.line_ends import LineEnd, goes_on, inside_words, may_run_on
from rag.ingest.parsers.pdf_glyph_names import OpenedPdf
from rag.ingest.parsers.pdf_lines import (
    JOINING,
    Cell,
    Line,
    cell_text,
    cell_words,
    characters_of,
    lines_of,
    named_ligatures,
)
from rag.ingest.parsers.pdf_tables import PdfTable
from rag.ingest.parsers.pdf_words import tables_of
from rag.ingest.parsers.text_layer import doubt
from rag.text.document import BETWEEN_PAGES, LOCKED, LoadedDocument, completed, page_spans
from rag.text.normalize import canonical

# Page text

INSERTED = -1  # character index of an added line break
_AROUND = 4  # lines before and after one that decide the width of its column
_OTHER_SIZE = 0.15  # share by which font sizes differ between two paragraphs
_FULL = 1.5  # font sizes from a line's end to its column's edge where no letter fits
_PROSE = 15  # characters; a shorter Korean line is a label, or part of one
_SPACED = 0.12  # share of Korean lines that end with a space where lines break anywhere in a word
_HANGUL = re.compile("[\uac00-\ud7a3]")
_COMPOUND = re.compile(r"\w+-\w+")
_LAST_WORD = re.compile(r"\w+$")
_FIRST_WORD = re.compile(r"\w+")


class LineStart(NamedTuple):
    """Start of a line in the page's text, and its style; ``size`` in points."""

    start: int
    size: float
    angle: float
    bold: bool


Span = tuple[int, int]


TablesBy = Literal["lines", "figures", "nothing"]
"""Ways in which tables are found: lines that close their cells, and figures; figures only; not at all."""


class Header(NamedTuple):
    """Header of a table in words, and the edges of its columns in points."""

    cells: tuple[str, ...]
    edges: tuple[tuple[float, float], ...]
    ruled: bool = False
    marked: bool = False

    def fits(self, table: PdfTable) -> bool:
        """Return whether a table that may lack its header stands in these columns."""
        if (len(self.cells), len(self.edges)) != (len(table.header), len(table.edges)):
            return False
        pairs = zip(self.edges, table.edges, strict=True)
        if self.ruled or table.ruled:
            same = all(max(abs(a[0] - b[0]), abs(a[1] - b[1])) < _SAME_EDGE for a, b in pairs)
            return self.ruled == table.ruled and same
        return all(min(a[1], b[1]) > max(a[0], b[0]) for a, b in pairs)

    def continued(self, table: PdfTable) -> PdfTable:
        """Return a table in these columns with its first row as a row where that is no header."""
        texts = tuple(map(cell_text, table.header))
        if not any(texts) or texts == self.cells or (self.marked and table.marked):
            return table
        return replace(table, header=[[] for _ in table.header], rows=[table.header, *table.rows])


@dataclass(frozen=True)
class PageText:
    """Text of a page; ``indices[i]`` is pdfium's index of ``text[i]``, or INSERTED.

    ``tables`` holds the spans of their cells, the header's row first. ``foot`` is the header of a table that
    may continue on the next page; ``continues`` says that the page may begin with such a continuation.
    ``ends`` are the line ends that may part a Korean word.
    """

    text: str
    indices: list[int]
    lines: list[LineStart]
    tables: tuple[list[list[Span]], ...] = ()
    foot: Header | None = None
    continues: bool = False
    ends: tuple[LineEnd, ...] = ()

    def joined(self, places: Sequence[int]) -> "PageText":
        """Return the page without the line ends at these places, in order."""
        if not places:
            return self

        def at(offset: int) -> int:
            return offset - bisect_left(places, offset)

        gone = frozenset(places)
        return replace(
            self,
            text="".join(letter for place, letter in enumerate(self.text) if place not in gone),
            indices=[index for place, index in enumerate(self.indices) if place not in gone],
            lines=[line._replace(start=at(line.start)) for line in self.lines],
            tables=tuple(
                [[(at(start), at(end)) for start, end in row] for row in table] for table in self.tables
            ),
            ends=tuple(end._replace(place=at(end.place)) for end in self.ends if end.place not in gone),
        )

    def as_stored(self, text: str) -> "PageText | None":
        """Return the page as its text was stored: that of a document joins Korean words over line ends."""
        places = list[int]()
        for end in self.ends:
            if text[end.place - len(places) : end.place - len(places) + 1] != "\n":
                places.append(end.place)
        page = self.joined(places)
        return page if page.text == text else None


_SAME_EDGE = 3.0  # points by which a column's edge may differ on the next page
_FURNITURE = 3  # lines above or below a table that may be a page's header or footer
_FURNITURE_LENGTH = 80


def page_text(
    sheet: PdfPage,
    page: PdfTextPage,
    above: Header | None = None,
    *,
    tables_by: TablesBy = "lines",
    indexed: bool = True,
    named: bool = True,
) -> PageText:
    """Return a page's text: words that run over lines are joined, paragraphs separated by blank lines.

    Tables become Markdown. ``above`` is the header of the table that ends the page before. A text that is
    not ``indexed`` has no indices; where it is not ``named``, ligatures are not read by their glyphs' names.
    """
    lines, tables = lines_of(page, named=named), list[PdfTable]()
    if tables_by != "nothing":
        fits = above.fits if above else lambda _: False
        lines, tables = tables_of(sheet, page, lines, fits, ruled=tables_by == "lines")
    return _Writer(lines, tables, above, indexed=indexed).page()


class _Writer:
    """Text of a page, line by line and table by table."""

    def __init__(
        self, lines: list[Line], tables: list[PdfTable], above: Header | None, *, indexed: bool
    ) -> None:
        self.lines, self.found, self.above, self.indexed = lines, tables, above, indexed
        self.parts: list[str] = []
        self.length = 0
        self.indices: list[int] = []
        self.starts: list[LineStart] = []
        self.tables: list[list[list[Span]]] = []
        self.ends: list[LineEnd] = []

    def page(self) -> PageText:
        """Return the page with each table where its first line was."""
        inside = frozenset().union(*(table.lines for table in self.found))
        begins = {min(table.lines): table for table in self.found}
        plain = [number for number in range(len(self.lines)) if number not in inside]
        kept = _without_split_hyphens([self.lines[number] for number in plain])
        breaks = dict(zip(plain, _breaks(kept), strict=True))
        texts = dict(zip(plain, kept, strict=True))
        continues, foot = self._continues(plain, begins), None
        after_table = False
        for number in range(len(self.lines)):
            if number in begins:
                foot = self._table(begins[number], number, continues and not self.tables)
                after_table = True
            elif number in texts:
                self._line(texts[number], Break("\n\n") if after_table else breaks[number])
                after_table = False
        if not self._is_furniture([number for number in plain if number > max(begins, default=0)]):
            foot = None
        text = "".join(self.parts)
        return PageText(
            text, self.indices, self.starts, tuple(self.tables), foot, continues, tuple(self.ends)
        )

    def _continues(self, plain: Sequence[int], begins: Mapping[int, PdfTable]) -> bool:
        """Return whether the page begins with a table that has no header."""
        if not begins:
            return False
        first = min(begins)
        headless = not any(begins[first].header[1:])
        opens = self._is_furniture([number for number in plain if number < first])
        return opens and (headless or begins[first].ruled)

    def _is_furniture(self, numbers: Sequence[int]) -> bool:
        texts = [self.lines[number].text for number in numbers]
        return len(texts) <= _FURNITURE and all(len(text) <= _FURNITURE_LENGTH for text in texts)

    def _line(self, line: Line, before: "Break") -> None:
        if self.parts:
            if before.may_part or before.spaceless:
                self.ends.append(LineEnd(self.length, before.tight, before.spaceless))
            self._add(before.text)
        self.starts.append(LineStart(self.length, line.size, line.angle, line.bold))
        self._add(line.text, line.indices)

    def _add(self, text: str, indices: Sequence[int] = ()) -> None:
        self.parts.append(text)
        self.length += len(text)
        if self.indexed:
            self.indices.extend(indices or [INSERTED] * len(text))

    def _table(self, table: PdfTable, number: int, continues: bool) -> Header:
        line = self.lines[number]
        self._add("\n\n" if self.parts else "")
        above = self.above if continues and self.above and self.above.fits(table) else None
        table = above.continued(table) if above else table
        header = above.cells if above and not any(table.header) else None
        spans = [self._row(line, table.header, header)]
        cells = header or self._texts(spans[0])
        self._add("\n|" + " --- |" * len(table.header))
        for row in table.rows:
            self._add("\n")
            spans.append(self._row(line, row))
        self.tables.append(spans)
        return Header(cells, tuple(table.edges), table.ruled, table.marked or bool(header))

    def _texts(self, spans: Iterable[Span]) -> tuple[str, ...]:
        text = "".join(self.parts)
        return tuple(text[start:end] for start, end in spans)

    def _row(self, line: Line, cells: Sequence[Cell], texts: Sequence[str] | None = None) -> list[Span]:
        self.starts.append(LineStart(self.length, line.size, line.angle, False))
        spans = []
        for place, cell in enumerate(cells):
            self._add(" | " if place else "| ")
            start = self.length
            if texts:
                self._add(texts[place])
            else:
                self._cell(cell)
            spans.append((start, self.length))
        self._add(" |")
        return spans

    def _cell(self, cell: Cell) -> None:
        if not self.indexed:
            self._add(cell_text(cell))
            return
        for word, spaced in cell_words(cell):
            if spaced:
                self._add(" ")
            self._add(word.text.replace("|", "/"), self.lines[word.line].indices[word.start : word.end])


def _without_split_hyphens(lines: list[Line]) -> list[Line]:
    """Remove hyphens that only split a word; one of a compound found elsewhere on the page stays."""
    compounds = {word.lower() for line in lines if "-" in line.text for word in _COMPOUND.findall(line.text)}
    kept = []
    for line, following in zip_longest(lines, lines[1:]):
        if line.hyphenated and following and _splits(line.text[:-1], following.text, compounds):
            line = replace(line, text=line.text[:-1], indices=line.indices[:-1])
        kept.append(line)
    return kept


def _splits(before: str, after: str, compounds: set[str]) -> bool:
    if not after[:1].islower():
        return False
    last, first = _LAST_WORD.search(before), _FIRST_WORD.match(after)
    return not (last and first and f"{last[0]}-{first[0]}".lower() in compounds)


class Break(NamedTuple):
    """Separator of two lines: nothing, a space, a line end, or a blank line.

    A line end ``may_part`` a Korean word; ``tight`` says that the line has no room for a letter. One that is
    ``spaceless`` stands within a sentence of Kana and Han.
    """

    text: str
    may_part: bool = False
    tight: bool = False
    spaceless: bool = False


def _breaks(lines: list[Line]) -> list[Break]:
    """Return the separator before each line."""
    pairs = list(pairwise(lines))
    gaps = [gap for before, line in pairs if 0 < (gap := before.baseline - line.baseline) < 4 * line.size]
    leading = median(gaps) if gaps else 0.0
    spaced = _breaks_words(pairs)
    return [Break("")][: len(lines)] + [
        _break(lines, place, leading, spaced=spaced) for place in range(len(pairs))
    ]


def _break(lines: list[Line], place: int, leading: float, *, spaced: bool) -> Break:
    """Return the separator of the line at a place and the next one."""
    before, line = lines[place : place + 2]
    if before.hyphenated:
        return Break("")
    if abs(before.angle - line.angle) > 1:
        return Break("\n\n")
    if _continues_line(before, line):
        return Break(" " if line.left - before.right > 0.15 * line.size else "")
    gap = before.baseline - line.baseline
    if not _same_size(before, line) or gap > max(1.25 * leading, 1.3 * line.size):
        return Break("\n\n")
    if gap <= 0:
        return Break("\n")
    room = _room(lines, place)
    tight = room <= _FULL * before.size
    if _runs_on(before.text, line.text, spaced) and tight:
        return Break("")
    may_part = len(before.text) >= _PROSE and may_run_on(before.text, line.text) and room < _first_word(line)
    return Break("\n", may_part, tight, spaceless=_within_sentence(lines, place, room))


def _within_sentence(lines: list[Line], place: int, room: float) -> bool:
    """Return whether a line that does not fill its column ends within a sentence of Kana and Han."""
    before, line = lines[place : place + 2]
    if before.bold != line.bold or not (JOINING.match(before.text[-1]) and JOINING.match(line.text[0])):
        return False
    width = max(before.right + room - before.left, before.size)
    return goes_on(before.text, [one.text for one in lines[place + 1 : place + 1 + _AROUND]], room / width)


def _continues_line(before: Line, line: Line) -> bool:
    """Return whether a line continues where the one before ended, as around a footnote's raised number."""
    size = max(before.size, line.size)
    return abs(before.baseline - line.baseline) < 0.6 * size and abs(line.left - before.right) < 0.6 * size


def _same_size(before: Line, line: Line) -> bool:
    return abs(before.size - line.size) <= _OTHER_SIZE * max(before.size, line.size)


def _breaks_words(pairs: list[tuple[Line, Line]]) -> bool:
    """Return whether Korean lines break inside words: then those that end with a word keep its space."""
    korean = [
        before for before, line in pairs if _HANGUL.match(before.text.rstrip()[-1] + line.text.lstrip()[0])
    ]
    kept = sum(line.text[-1].isspace() for line in korean)
    return kept > 1 and kept >= _SPACED * len(korean)


def _runs_on(before: str, after: str, spaced: bool) -> bool:
    """Return whether a word may run over a line end: in Korean only where lines keep their spaces."""
    last, first = before[-1], after[0]
    if _HANGUL.match(last) and _HANGUL.match(first):
        return spaced
    return bool(JOINING.match(last) and JOINING.match(first)) and last not in "。！？"


def _room(lines: list[Line], place: int) -> float:
    """Return the distance of the end of the line at a place from the right edge of its column, in points."""
    line, around = lines[place], lines[max(place - _AROUND, 0) : place + _AROUND + 1]
    edge = max(
        other.right
        for other in around
        if abs(other.left - line.left) <= 2 * line.size and _same_size(other, line)
    )
    return edge - line.right


def _first_word(line: Line) -> float:
    """Return the width of a space and a line's first word, in points; a Korean letter is twice as wide."""
    word = line.text.split(maxsplit=1)[0]
    widths = [len(text) + len(_HANGUL.findall(text)) for text in (f" {word}", line.text.strip())]
    return (line.right - line.left) * widths[0] / widths[1]


# Headings: short lines in a larger font than the text, or bold ones that begin a paragraph

_MAX_LENGTH = 120
_LARGER = 1.15  # a heading's font size over the body's
_LEVELS = 4
_SENTENCE = re.compile(r"[.。,;:]$")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LETTER = re.compile(r"[^\W\d_]")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")


class _Block(NamedTuple):
    start: int
    text: str
    size: float
    bold: bool
    opens: bool  # begins a paragraph


def headings(pages: list[PageText], starts: list[int]) -> tuple[tuple[int, int, str], ...]:
    """Return (start, level from 1 to 4, heading) of a document whose page i begins at ``starts[i]``."""
    blocks = [block for page, start in zip(pages, starts, strict=True) for block in _blocks(page, start)]
    if not blocks:
        return ()
    sizes: Counter[float] = Counter()
    for block in blocks:
        sizes[block.size] += len(block.text)
    body = sizes.most_common(1)[0][0]
    found = [block for block in blocks if _is_heading(block, body)]
    ranks = sorted({block.size for block in found}, reverse=True)
    return tuple((block.start, min(ranks.index(block.size) + 1, _LEVELS), block.text) for block in found)


def _blocks(page: PageText, offset: int) -> Iterator[_Block]:
    """Yield the text of a page in blocks, without stamps in its margin, which run another way."""
    if not page.lines:
        return
    [(main, _)] = Counter(round(line.angle) for line in page.lines).most_common(1)
    ends = [*(line.start for line in page.lines[1:]), len(page.text)]
    first = page.lines[0]
    for line, following, end in zip(page.lines, [*page.lines[1:], None], ends, strict=True):
        opens = page.text.endswith("\n\n", 0, end)
        if following and not opens and _style(following) == _style(line):
            continue
        if round(line.angle) == main:
            text = " ".join(page.text[first.start : end].split())
            begins = first.start == 0 or page.text.endswith("\n\n", 0, first.start)
            yield _Block(offset + first.start, text, round(line.size, 1), line.bold, begins)
        first = following or line


def _style(line: LineStart) -> tuple[float, float, bool]:
    return round(line.angle), round(line.size, 1), line.bold


def _letters(text: str) -> int:
    """Return the number of letters; one of Hangul, Kana or Han, of which a word has few, counts as two.

    >>> _letters("3. 차임"), _letters("3. Rent")
    (4, 4)
    """
    return len(_LETTER.findall(text)) + len(_WIDE.findall(text))


def _is_heading(block: _Block, body: float) -> bool:
    text = block.text
    if text.startswith("| ") or not 2 < len(text) <= _MAX_LENGTH or 2 * _letters(text) < len(text):
        return False
    if block.size > _LARGER * body:
        return len(text) <= 40 or not _SENTENCE.search(text)
    if not (block.bold and block.opens and block.size >= body) or _SENTENCE.search(text):
        return False
    return len(_YEAR.findall(text)) < 2  # else it heads a table's columns


# Documents

MAX_PAGES = 20_000  # a small file may name one page as often as it likes
_SPARSE = 60  # letters; a page with fewer may hold only a stamp on a scan
_COVERED = 0.5  # share of the page that its picture covers then


def read_pdf(path: Path) -> LoadedDocument:
    """Read the text layer of a PDF, and list the pages that are pictures without one."""
    read: list[PageText] = []
    pictured: list[int] = []
    doubtful: list[tuple[int, float]] = []
    with open_pdf(path) as pdf:
        if len(pdf) > MAX_PAGES:
            raise DocumentRefused(
                N_(
                    "has {number} pages, of {max_pages} at most. Split it and add the parts.",
                    number=f"{len(pdf):,}",
                    max_pages=f"{MAX_PAGES:,}",
                )
            )
        for number in range(len(pdf)):
            page, is_picture, share = _page(pdf, number, read[-1].foot if read else None)
            read.append(page)
            pictured += [number + 1] * is_picture
            doubtful += [(number + 1, share)] * bool(share)
        properties = [canonical(pdf.get_metadata_value(name)) for name in ("Title", "Author", "CreationDate")]
    parted = inside_words([(page.text, page.ends) for page in read])
    read = [page.joined(places) for page, places in zip(read, parted, strict=True)]
    spans = page_spans([page.text for page in read])
    title, author, day = properties
    document = LoadedDocument(
        text=BETWEEN_PAGES.join(page.text for page in read),
        pages=spans,
        media_type="application/pdf",
        headings=headings(read, [start for _, start, _ in spans]),
        pictured=tuple(pictured),
        doubtful=tuple(doubtful),
    )
    return completed(document, author=author, day=day, title=title)


def open_pdf(path: Path) -> OpenedPdf:
    """Open a PDF; a locked or damaged one is refused."""
    try:
        return OpenedPdf(path)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise DocumentRefused(LOCKED) from error
        raise DocumentRefused(
            N_(
                "is damaged: it cannot be opened as a PDF. Save it again from another program, or add "
                "another copy of it."
            )
        ) from error


def readings(
    pdf: pypdfium2.PdfDocument, number: int, sheet: PdfPage, characters: PdfTextPage
) -> Iterator[PageText]:
    """Yield the texts that a page, from 0, may have been stored as; earlier ones lack tables or ligatures."""
    for named in (True, False) if named_ligatures(characters) else (True,):
        read = page_text(sheet, characters, named=named)
        yield read
        if number and (above := _foot(pdf, number - 1)):
            yield page_text(sheet, characters, above, named=named)
        if read.tables:
            yield page_text(sheet, characters, tables_by="figures", named=named)
            yield page_text(sheet, characters, tables_by="nothing", named=named)


def _foot(pdf: pypdfium2.PdfDocument, number: int) -> Header | None:
    """Return the header of the table that ends a page, from wherever it begins."""
    first = number
    while first > 0 and _page(pdf, first, None)[0].continues:
        first -= 1
    above = None
    for place in range(first, number + 1):
        above = _page(pdf, place, above)[0].foot
    return above


def _page(pdf: pypdfium2.PdfDocument, number: int, above: Header | None) -> tuple[PageText, bool, float]:
    """Return a page's text, whether it is a picture, and the unreadable share of a doubtful text layer."""
    try:
        page = pdf[number]
    except pypdfium2.PdfiumError:  # the other pages are still worth reading
        return PageText("", [], []), False, 0.0
    characters = characters_of(page)
    try:
        # The indices of a thousand pages take 100 MB.
        read = page_text(page, characters, above, indexed=False)
        share = doubt(page, characters)
        return replace(read, tables=()), not share and _is_pictured(page, read.text), share
    finally:
        characters.close()
        page.close()


def _is_pictured(page: Any, text: str) -> bool:
    """Return whether a page holds a picture and hardly any text."""
    letters = sum(1 for _ in islice(filter(str.isalnum, text), _SPARSE))
    if letters >= _SPARSE:
        return False
    objects = list(page.get_objects(max_depth=2))
    if letters == 0:
        return bool(objects)
    width, height = page.get_size()
    boxes = (found.get_bounds() for found in objects if found.type == pdfium.FPDF_PAGEOBJ_IMAGE)
    return any(
        (right - left) * (top - bottom) > _COVERED * width * height for left, bottom, right, top in boxes
    )
