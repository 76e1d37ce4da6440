"""HWP 5: the records of its streams, as `Hangul Document File Formats 5.0` of Hancom describes them."""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.cells import Cell, table_blocks
from rag.ingest.parsers.hangul import DAMAGED_PART, FORMAT_NAMES, Level, Outline, ParagraphHead
from rag.ingest.parsers.ole import names, open_ole, stream
from rag.ingest.parsers.ooxml import MAX_INFLATED
from rag.ingest.parsers.plain_text import markdown_document
from rag.text.document import CERTIFIED, LOCKED, LoadedDocument, clean

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
_COUNTED = (3, 4, 5)  # automatic numbers of pictures, tables and equations
_SECTION = re.compile(r"Section(\d{1,6})")
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
        reader = _Reader(container, _number(header, "I", 36))
        text = clean("\n\n".join(filter(None, reader.blocks())))
        if not text and reader.note:
            text = clean((stream(container, "PrvText") or b"").decode("utf-16-le", "replace"))
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


class _Reader:
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
                levels[len(levels) + 1] = list(_levels(record.data))
            elif record.tag == _PARAGRAPH_SHAPE:
                self._heads.append(_head(record))
        self._outline = Outline(levels)

    def blocks(self) -> Iterator[str]:
        """Yield the paragraphs and tables of all sections."""
        found = filter(None, map(_SECTION.fullmatch, names(self._container, self._folder)))
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
        elif kind == b"atno" and control.number("I", 4) & 0xF in _COUNTED:
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


def _head(record: _Record) -> ParagraphHead:
    flags = record.number("I", 0)
    return ParagraphHead(_KINDS[flags >> 23 & 3], record.number("H", 30), flags >> 25 & 7)


def _levels(data: bytes) -> Iterator[Level]:
    at = 0
    for _ in range(_LEVELS):
        form, text = _number(data, "I", at) >> 5 & 0xF, _string(data, at + 12)
        yield Level(text, FORMAT_NAMES[form] if form < len(FORMAT_NAMES) else "DIGIT")
        at += 14 + 2 * _number(data, "H", at + 12)
