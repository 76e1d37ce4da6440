"""Hangul documents, HWP 5 and HWPX, as Markdown.

HWP 5 has records in streams, as `Hangul Document File Formats 5.0` of Hancom describes them; HWPX has OWPML
(KS X 6101) in a ZIP container. Both share headings and numbered paragraphs.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml
from rag.ingest.parsers.docx import format_number
from rag.ingest.parsers.ole import names, open_ole, stream
from rag.ingest.parsers.ooxml import (
    MAX_INFLATED,
    attribute,
    children,
    descendants,
    local_name,
    number_attribute,
)
from rag.ingest.parsers.plain_text import markdown_document
from rag.text.document import CERTIFIED, LOCKED, LoadedDocument
from rag.text.markdown import Cell, table_blocks
from rag.text.normalize import canonical

# Number formats in the order of HWP 5, by their names in HWPX; the last field is the first circled sign.
_FORMATS: dict[str, tuple[str, int]] = {
    "DIGIT": ("decimal", 0),
    "CIRCLED_DIGIT": ("decimalEnclosedCircle", 0),
    "ROMAN_CAPITAL": ("upperRoman", 0),
    "ROMAN_SMALL": ("lowerRoman", 0),
    "LATIN_CAPITAL": ("upperLetter", 0),
    "LATIN_SMALL": ("lowerLetter", 0),
    "CIRCLED_LATIN_CAPITAL": ("upperLetter", 0x24B6),
    "CIRCLED_LATIN_SMALL": ("lowerLetter", 0x24D0),
    "HANGUL_SYLLABLE": ("ganada", 0),
    "CIRCLED_HANGUL_SYLLABLE": ("ganada", 0x326E),
    "HANGUL_JAMO": ("chosung", 0),
    "CIRCLED_HANGUL_JAMO": ("chosung", 0x3260),
    "HANGUL_PHONETIC": ("decimal", 0),
    "IDEOGRAPH": ("japaneseCounting", 0),
}
FORMAT_NAMES = tuple(_FORMATS)
_CIRCLED = 14  # signs of each kind
_MAX_HEADING = 120  # characters; many offices write whole paragraphs in the styles of the outline
_DEEPEST_HEADING = 6
DAMAGED_PART = "A part of the file is damaged: text after it is missing."


class Level(NamedTuple):
    """Numbering of one level of a list; ``text`` has `^1` in the place of the first level's number."""

    text: str
    form: str = "DIGIT"
    start: int = 1


class ParagraphHead(NamedTuple):
    """Place of a paragraph in the outline or a list; ``level`` counts from 0."""

    kind: str = ""  # OUTLINE, NUMBER or BULLET, the names in HWPX
    list_id: int = 0
    level: int = 0


class Outline:
    """Numbers of a document's paragraphs, counted in their order; ``outline_id`` is the outline's list."""

    def __init__(self, levels: Mapping[int, Sequence[Level]]):
        self._levels, self._counts = levels, dict[int, list[int]]()
        self.outline_id = 0

    def block(self, text: str, head: ParagraphHead, *, in_table: bool) -> str:
        """Count a paragraph, and return it with its number, as a heading where it is one."""
        if head.kind == "BULLET":
            return f"- {text}" if text and not in_table else text
        number = self._number(head) if head.kind in ("OUTLINE", "NUMBER") else ""
        line = f"{number} {text}" if number and text else text
        is_heading = head.kind == "OUTLINE" and 0 < len(line) <= _MAX_HEADING and not in_table
        return f"{'#' * min(head.level + 1, _DEEPEST_HEADING)} {line}" if is_heading else line

    def _number(self, head: ParagraphHead) -> str:
        list_id = head.list_id or (self.outline_id if head.kind == "OUTLINE" else 0)
        levels = self._levels.get(list_id, ())
        if not 0 <= head.level < len(levels):
            return ""
        starts = [level.start for level in levels]
        counts = self._counts.setdefault(list_id, [start - 1 for start in starts])
        counts[: head.level] = map(max, counts[: head.level], starts)
        counts[head.level] += 1
        counts[head.level + 1 :] = [start - 1 for start in starts[head.level + 1 :]]
        text = levels[head.level].text
        for place in reversed(range(head.level + 1)):  # ^10 before ^1
            text = text.replace(f"^{place + 1}", _format(counts[place], levels[place].form))
        return text.strip()


def _format(number: int, form: str) -> str:
    """Return a number in a format of Hangul.

    >>> [_format(3, form) for form in ("DIGIT", "HANGUL_SYLLABLE", "CIRCLED_HANGUL_JAMO", "unknown")]
    ['3', '다', '㉢', '3']
    """
    name, circled = _FORMATS.get(form, ("decimal", 0))
    if circled and 0 < number <= _CIRCLED:
        return chr(circled + number - 1)
    return format_number(number, name)


_SIGNATURE = b"HWP Document File"
_COMPRESSED, _PASSWORD, _DISTRIBUTED, _DRM = 1, 1 << 1, 1 << 2, 1 << 4 | 1 << 8 | 1 << 10  # flags of a file
_LEVELS = 7  # of a list
_TRACKED = 1 << 14  # changes are tracked, and the text stands in the second folder
_FOLDERS = ("BodyText", "ViewText")
_NUMBERING, _PARAGRAPH_SHAPE = 0x17, 0x19  # tags of DocInfo
_PARAGRAPH, _TEXT, _CONTROL, _LIST = 0x42, 0x43, 0x47, 0x48  # tags of a section
_RANGES, _SHAPE, _TABLE, _EQUATION = 0x46, 0x4C, 0x4D, 0x58
_DELETED = 17  # kind of a range: a tracked change
_KEPT = frozenset((_PARAGRAPH, _TEXT, _RANGES, _CONTROL, _LIST, _SHAPE, _TABLE, _EQUATION))
_KINDS = ("", "OUTLINE", "NUMBER", "BULLET")
_INLINE = frozenset((4, 5, 6, 7, 8, 9, 19, 20))  # characters of eight units
_EXTENDED = frozenset((1, 2, 3, 11, 12, 14, 15, 16, 17, 18, 21, 22, 23))  # of eight units, with a control
_SPACE = 32  # lower codes are controls
_PLAIN = {9: "\t", 10: "\n", 24: "-", 30: " ", 31: " "}
_HWP_COUNTED = (3, 4, 5)  # automatic numbers of pictures, tables and equations
_HWP_SECTION = re.compile(r"Section(\d{1,6})")
_PREVIEW = "The text of the file is damaged. Only the preview of its beginning could be read."


@dataclass
class _Record:
    tag: int
    level: int
    data: bytes
    below: list["_Record"] = field(default_factory=list)

    def number(self, form: str, offset: int) -> int:
        """Return a number in the data, 0 where that is too short."""
        return _number(self.data, form, offset)


def read_hwp(path: Path) -> LoadedDocument:
    """Read an HWP 5 document; a damaged one as far as it is sound, else the preview that it holds."""
    with open_ole(path) as container:
        header = stream(container, "FileHeader") or b""
        _refuse_protected(header)
        reader = _HwpReader(container, _number(header, "I", 36))
        text = canonical("\n\n".join(filter(None, reader.blocks())))
        if not text and reader.note:
            text = canonical((stream(container, "PrvText") or b"").decode("utf-16-le", "replace"))
            if not text:
                raise DocumentRefused(N_("is damaged: the part that holds its text cannot be read."))
            return LoadedDocument(text, media_type="application/x-hwp", note=_PREVIEW)
    return replace(markdown_document(text, "application/x-hwp"), note=reader.note)


def _refuse_protected(header: bytes) -> None:
    if not header.startswith(_SIGNATURE):
        raise DocumentRefused(N_("is damaged: it does not say which version of HWP it is."))
    flags = _number(header, "I", 36)
    if flags & _PASSWORD:
        raise DocumentRefused(LOCKED)
    if flags & _DISTRIBUTED:
        raise DocumentRefused(
            N_(
                "is a distribution copy (배포용 문서), which Hangul protects against copying. "
                "Ask its author for the HWPX or the PDF."
            )
        )
    if flags & _DRM:
        raise DocumentRefused(CERTIFIED)


class _HwpReader:
    """Text of one document, block by block; `note` says afterwards what is missing."""

    def __init__(self, container: Any, flags: int):
        self._container, self._compressed = container, bool(flags & _COMPRESSED)
        self._folder = _FOLDERS[bool(flags & _TRACKED)]
        self._left = MAX_INFLATED
        self._notes_read = 0
        self.note = ""
        levels: dict[int, list[Level]] = {}
        self._heads: list[ParagraphHead] = []
        for record in self._records("DocInfo"):
            if record.tag == _NUMBERING:
                levels[len(levels) + 1] = list(_hwp_levels(record.data))
            elif record.tag == _PARAGRAPH_SHAPE:
                self._heads.append(_hwp_head(record))
        self._outline = Outline(levels)

    def blocks(self) -> Iterator[str]:
        """Yield the paragraphs and tables of all sections."""
        found = filter(None, map(_HWP_SECTION.fullmatch, names(self._container, self._folder)))
        sections = sorted(found, key=lambda section: int(section[1]))
        if not sections:
            self.note = DAMAGED_PART
        for section in sections:
            for record in _tree(self._records(f"{self._folder}/{section[0]}")):
                if record.tag == _PARAGRAPH:
                    yield from self._paragraph(record)

    def _records(self, name: str) -> Iterator[_Record]:
        """Yield the records of a stream as far as they are sound."""
        data, at = self._inflated(stream(self._container, name)), 0
        while at + 4 <= len(data):
            head = _number(data, "I", at)
            at, size = at + 4, head >> 20
            if size == 0xFFF:
                at, size = at + 4, _number(data, "I", at)
            if at + size > len(data):
                self.note = DAMAGED_PART
            yield _Record(head & 0x3FF, head >> 10 & 0x3FF, data[at : at + size])
            at += size

    def _inflated(self, content: bytes | None) -> bytes:
        if content is None:
            self.note = DAMAGED_PART
            return b""
        if not self._compressed:
            return content
        inflating, pieces = zlib.decompressobj(-zlib.MAX_WBITS), []
        try:
            for start in range(0, len(content), 1 << 16):  # in pieces, to keep those before a damage
                pieces.append(inflating.decompress(content[start : start + (1 << 16)], self._left + 1))
                self._left -= len(pieces[-1])
                if self._left < 0:
                    raise DocumentRefused(
                        N_("unpacks to more than {max_inflated} MB.", max_inflated=MAX_INFLATED >> 20)
                    )
        except zlib.error:
            self.note = DAMAGED_PART
        else:
            self.note = self.note if inflating.eof else DAMAGED_PART
        return b"".join(pieces)

    def _paragraph(self, paragraph: _Record, *, in_table: bool = False) -> Iterator[str]:
        """Yield a paragraph, then the tables, boxes and notes that are anchored in it."""
        controls = (record for record in paragraph.below if record.tag == _CONTROL)
        text, anchored = "", list[str]()
        for code, character in _characters(_units(paragraph)):
            control = next(controls, None) if code in _EXTENDED else None
            text += character if control is None else self._control(control, anchored, in_table=in_table)
        for control in controls:  # of a paragraph whose text is missing
            self._control(control, anchored, in_table=in_table)
        shape = paragraph.number("H", 8)
        head = self._heads[shape] if shape < len(self._heads) else ParagraphHead()
        lines = (" ".join(line.split()) for line in text.split("\n"))
        yield self._outline.block("\n".join(filter(None, lines)), head, in_table=in_table)
        yield from anchored

    def _control(self, control: _Record, anchored: list[str], *, in_table: bool) -> str:
        """Return what a control writes into the line; its blocks go to `anchored`."""
        kind = control.data[3::-1]
        if kind == b"secd":
            self._outline.outline_id = control.number("H", 18)
        elif kind == b"tbl ":
            anchored += self._table(control)
        elif kind in (b"fn  ", b"en  "):
            self._notes_read += 1
            mark = f"[{self._notes_read}]"
            anchored.append(" ".join([mark, *self._listed(control, in_table=True)]))
            return mark
        elif kind in (b"gso ", b"eqed"):
            anchored += self._listed(control, in_table=in_table)
            scripts = (record.data for record in control.below if record.tag == _EQUATION)
            return "".join(_string(script, 4) for script in scripts)
        elif kind in (b"tdut", b"tcps"):
            return _string(control.data, 4)
        elif kind == b"atno" and control.number("I", 4) & 0xF in _HWP_COUNTED:
            return str(control.number("H", 8))
        return ""

    def _table(self, control: _Record) -> Iterator[str]:
        """Yield the caption of a table, and its cells."""
        cells, is_caption = [], True
        for record in control.below:
            is_caption = is_caption and record.tag != _TABLE
            if record.tag == _LIST and is_caption:
                yield from self._list(record, in_table=True)
            elif record.tag == _LIST:
                column, row, rows = (record.number("H", offset) for offset in (8, 10, 14))
                cells.append(Cell(row, column, rows, list(self._list(record, in_table=True))))
        yield from table_blocks(cells)

    def _listed(self, record: _Record, *, in_table: bool) -> Iterator[str]:
        """Yield the text of a note, or of the boxes of a drawing."""
        for below in record.below:
            if below.tag == _LIST:
                yield from self._list(below, in_table=in_table)
            elif below.tag == _SHAPE:
                yield from self._listed(below, in_table=in_table)

    def _list(self, record: _Record, *, in_table: bool) -> Iterator[str]:
        for below in record.below:
            yield from filter(None, self._paragraph(below, in_table=in_table))


def _tree(records: Iterator[_Record]) -> list[_Record]:
    """Return the records of the first level, the others below them; a list has the paragraphs beside it."""
    way = [_Record(0, -1, b"")]
    for record in records:
        if record.tag not in _KEPT:
            continue
        while way[-1].level >= record.level and not _adopts(way[-1], record):
            way.pop()
        way[-1].below.append(record)
        way.append(record)
    return way[0].below


def _adopts(listed: _Record, record: _Record) -> bool:
    return listed.tag == _LIST and record.tag == _PARAGRAPH and listed.level == record.level


def _units(paragraph: _Record) -> list[int]:
    """Return the text of a paragraph in UTF-16, with zeros for what a tracked change has deleted."""
    data = next((record.data for record in paragraph.below if record.tag == _TEXT), b"")
    units, reached = list(struct.unpack_from(f"<{len(data) // 2}H", data)), 0
    ranges = next((record for record in paragraph.below if record.tag == _RANGES), _Record(_RANGES, 0, b""))
    for at in range(0, len(ranges.data) - 11, 12):
        start, end, kind = (ranges.number("I", at + offset) for offset in (0, 4, 8))
        if kind >> 24 == _DELETED:
            for place in range(max(start, reached), min(end, len(units))):
                units[place] = units[place] if units[place] < _SPACE else 0
            reached = max(end, reached)
    return units


def _characters(units: list[int]) -> Iterator[tuple[int, str]]:
    """Yield the text of a paragraph in pieces, each control with its code."""
    at = 0
    while at < len(units):
        code, end = units[at], at + 1
        if code < _SPACE:
            yield code, _PLAIN.get(code, "")
            at += 8 if code in _INLINE or code in _EXTENDED else 1
            continue
        while end < len(units) and units[end] >= _SPACE:
            end += 1
        yield _SPACE, struct.pack(f"<{end - at}H", *units[at:end]).decode("utf-16-le", "replace")
        at = end


def _number(data: bytes, form: str, offset: int) -> int:
    size = struct.calcsize(f"<{form}")
    return int(struct.unpack_from(f"<{form}", data, offset)[0]) if offset + size <= len(data) else 0


def _string(data: bytes, offset: int) -> str:
    """Return a string that follows its length."""
    start = offset + 2
    return data[start : start + 2 * _number(data, "H", offset)].decode("utf-16-le", "replace")


def _hwp_head(record: _Record) -> ParagraphHead:
    flags = record.number("I", 0)
    return ParagraphHead(_KINDS[flags >> 23 & 3], record.number("H", 30), flags >> 25 & 7)


def _hwp_levels(data: bytes) -> Iterator[Level]:
    at = 0
    for _ in range(_LEVELS):
        form, text = _number(data, "I", at) >> 5 & 0xF, _string(data, at + 12)
        yield Level(text, FORMAT_NAMES[form] if form < len(FORMAT_NAMES) else "DIGIT")
        at += 14 + 2 * _number(data, "H", at + 12)


_HWPX_SECTION = re.compile(r"Contents/section(\d{1,6})\.xml", re.I)
_HEADER = "Contents/header.xml"
_SPACES = {"tab": "\t", "lineBreak": "\n", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
_HWPX_COUNTED = ("PICTURE", "TABLE", "EQUATION")
_UNSEEN = ("header", "footer", "hiddenComment", "masterPage", "parameters", "shapeComment")


def read_hwpx(path: Path) -> LoadedDocument:
    """Read an HWPX document."""
    from lxml import etree  # type: ignore[import-untyped]

    ooxml.inspect(path)
    with zipfile.ZipFile(path) as container:
        names = container.namelist()
        ooxml.refuse_encrypted(container)
        sections = sorted(filter(None, map(_HWPX_SECTION.fullmatch, names)), key=lambda found: int(found[1]))
        if not sections:
            raise DocumentRefused(N_("is damaged: the part that holds its text is missing."))
        reader, note = _HwpxReader(container), ""
        blocks: list[str] = []
        for section in sections:
            try:
                root = ooxml.parse_strictly(container.read(section[0]))
            except etree.XMLSyntaxError:
                root, note = ooxml.parse_part(container, section[0]), DAMAGED_PART
            blocks += reader.section(root)
    document = markdown_document(canonical("\n\n".join(filter(None, blocks))), "application/hwp+zip")
    return replace(document, note=note)


class _HwpxReader:
    """Text of one document, block by block."""

    def __init__(self, container: zipfile.ZipFile):
        self._container, self._notes_read = container, 0
        self._outline, self._heads = Outline({}), dict[str, ParagraphHead]()
        if _HEADER in container.namelist():
            header = ooxml.parse_part(container, _HEADER)
            lists = descendants(header, "numbering")
            self._outline = Outline({number_attribute(one, "id", 0): _hwpx_levels(one) for one in lists})
            self._heads = {attribute(one, "id"): _hwpx_head(one) for one in descendants(header, "paraPr")}

    def section(self, root: Any) -> Iterator[str]:
        """Yield the paragraphs and tables of a section."""
        for properties in descendants(root, "secPr"):
            self._outline.outline_id = number_attribute(properties, "outlineShapeIDRef", 0)
        yield from self._paragraphs(root, in_table=False)

    def _paragraphs(self, element: Any, *, in_table: bool) -> Iterator[str]:
        for paragraph in children(element, "p"):
            yield from filter(None, self._paragraph(paragraph, in_table=in_table))

    def _paragraph(self, paragraph: Any, *, in_table: bool) -> Iterator[str]:
        """Yield a paragraph, then the tables, boxes and notes that are anchored in it."""
        anchored: list[str] = []
        runs = children(paragraph, "run")
        text = "".join(self._below(run, anchored, in_table=in_table) for run in runs)
        lines = (" ".join(line.split()) for line in text.split("\n"))
        head = self._heads.get(attribute(paragraph, "paraPrIDRef"), ParagraphHead())
        yield self._outline.block("\n".join(filter(None, lines)), head, in_table=in_table)
        yield from anchored

    def _below(self, element: Any, anchored: list[str], *, in_table: bool) -> str:
        return "".join(self._inline(part, anchored, in_table=in_table) for part in children(element))

    def _inline(self, part: Any, anchored: list[str], *, in_table: bool) -> str:
        """Return what a part of a run writes into the line; its blocks go to `anchored`."""
        name = local_name(part)
        if name in _WRITTEN:
            return _WRITTEN[name](part)
        if name in ("footNote", "endNote"):
            self._notes_read += 1
            mark = f"[{self._notes_read}]"
            anchored.append(" ".join([mark, *self._listed(part, in_table=True)]))
            return mark
        if name == "tbl":
            anchored += self._table(part)
        elif name == "subList":
            anchored += self._paragraphs(part, in_table=in_table)
        elif name == "chart":
            anchored += self._chart(attribute(part, "chartIDRef"))
        elif name == "fieldBegin" and attribute(part, "type") == "MEMO":
            anchored.append(ooxml.comment_line("", "", " ".join(self._listed(part, in_table=True))))
        elif name not in _UNSEEN:
            return self._below(part, anchored, in_table=in_table)
        return ""

    def _listed(self, element: Any, *, in_table: bool) -> list[str]:
        lists = children(element, "subList")
        return [block for one in lists for block in self._paragraphs(one, in_table=in_table)]

    def _table(self, table: Any) -> Iterator[str]:
        """Yield the caption of a table, and its cells."""
        for caption in children(table, "caption"):
            yield from self._listed(caption, in_table=True)
        yield from table_blocks(
            [
                _cell(cell, row, column, self._listed(cell, in_table=True))
                for row, cells in enumerate(children(table, "tr"))
                for column, cell in enumerate(children(cells, "tc"))
            ]
        )

    def _chart(self, part: str) -> Iterator[str]:
        if part in self._container.namelist():
            yield from ooxml.chart_blocks(ooxml.parse_part(self._container, part))


def _text(element: Any) -> str:
    """Return the text of a run, without what a tracked change has deleted."""
    text, is_deleted = element.text or "", False
    for part in children(element):
        name = local_name(part)
        is_deleted = name == "deleteBegin" or (is_deleted and name != "deleteEnd")
        text += "" if is_deleted else _SPACES.get(name, "") + (part.tail or "")
    return text


def _automatic_number(element: Any) -> str:
    return attribute(element, "num") if attribute(element, "numType") in _HWPX_COUNTED else ""


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "t": _text,
    "autoNum": _automatic_number,
    "compose": lambda element: attribute(element, "composeText"),
    "mainText": lambda element: element.text or "",  # of a word with its reading
    "script": lambda element: element.text or "",  # of an equation
}


def _cell(cell: Any, row: int, column: int, blocks: list[str]) -> Cell:
    """Return a cell at its address, else at its place in the file."""
    place, span = (next(children(cell, name), cell) for name in ("cellAddr", "cellSpan"))
    return Cell(
        number_attribute(place, "rowAddr", row),
        number_attribute(place, "colAddr", column),
        number_attribute(span, "rowSpan", 1),
        blocks,
    )


def _hwpx_head(properties: Any) -> ParagraphHead:
    heading = next(descendants(properties, "heading"), properties)
    list_id, level = (number_attribute(heading, name, 0) for name in ("idRef", "level"))
    return ParagraphHead(attribute(heading, "type"), list_id, level)


def _hwpx_levels(numbering: Any) -> list[Level]:
    heads = sorted(children(numbering, "paraHead"), key=lambda head: number_attribute(head, "level", 1))
    return [
        Level("".join(head.itertext()), attribute(head, "numFormat"), number_attribute(head, "start", 1))
        for head in heads
    ]
