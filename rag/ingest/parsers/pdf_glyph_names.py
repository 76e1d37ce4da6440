"""Ligatures of PDF fonts that are told by their glyphs' names only, as "ffi" or "f_f_i".

Some programs give such a glyph the wrong character or none: a PDF saved by macOS has U+0000 or an arrow for
"ffi" and "ff". pdfium follows, and does not tell the names, so they are read from the file. Only what is
sure counts: where glyphs of one font have the same wrong character and other names, it stays as it is.

The file is searched once, from object to object, over the content of its streams; steps and sizes are
limited. In a file that is beyond a limit, or whose parts are not as they should be, no ligature is read.
"""

import mmap
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, pairwise
from operator import itemgetter
from pathlib import Path

import pypdfium2

# Limits, so that a file made to be slow is read in time and memory in proportion to its size:
_LONGEST = 1 << 16  # bytes of a dictionary
_UNPACKED = 1 << 24  # bytes of one stream
_ALL_UNPACKED = 1 << 27  # bytes of all streams of a file
_OBJECTS = 1_000_000  # objects, and their ends
_FONTS = 10_000  # fonts that name their glyphs
_HEAD = 1 << 20  # bytes of an object stream's list of objects
_CODES = 256  # of a font whose codes have one byte, and of its table
_NUMBERED = 24  # bytes of an object's number before "obj"
_OBJECT = re.compile(rb"endobj|(?<!\d)(\d{1,9})\s{1,4}\d{1,5}\s{1,4}obj\b")
_STREAM = re.compile(rb"stream\r?\n")
_PAIR = re.compile(rb"(?<!\d)(\d{1,9})\s{1,4}(\d{1,9})(?!\d)")
_BASE_FONT = re.compile(rb"/BaseFont\s{0,4}/([^\s/<>\[\]()]{1,127})")
_ENCODING = re.compile(rb"/Encoding\s{1,4}(\d{1,9})\s{1,4}\d{1,5}\s{1,4}R")
_TO_UNICODE = re.compile(rb"/ToUnicode\s{1,4}(\d{1,9})\s{1,4}\d{1,5}\s{1,4}R")
_DIFFERENCES = re.compile(rb"/Differences\s*\[([^\[\]]*)\]")
_NAME_OR_CODE = re.compile(rb"/([^\s/<>\[\]()]+)|(\d{1,9})")
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_CHARACTER = re.compile(rb"<([0-9A-Fa-f\s]+)>\s*<([0-9A-Fa-f\s]+)>")
_RANGE = re.compile(rb"<([0-9A-Fa-f\s]+)>\s*<([0-9A-Fa-f\s]+)>\s*(?:<([0-9A-Fa-f\s]+)>|\[([^\[\]]*)\])")
_HEX = re.compile(rb"<([0-9A-Fa-f\s]+)>")
_SIMPLE = frozenset({"ff", "fi", "fl", "ffi", "ffl"})
_COMPOUND = re.compile(r"[A-Za-z](?:_[A-Za-z]){1,3}")


def ligature(name: str) -> str | None:
    """Return the letters of a ligature by its glyph's name; None for any other glyph.

    >>> ligature("ffi"), ligature("T_h"), ligature("f_i.alt"), ligature("a"), ligature("f_longs")
    ('ffi', 'Th', 'fi', None, None)
    """
    base = name.partition(".")[0]
    if base in _SIMPLE:
        return base
    return base.replace("_", "") if _COMPOUND.fullmatch(base) else None


def without_tag(font: str) -> str:
    """Return a font's name without the tag of its subset: "AAAAAN+CMR10" is "CMR10"."""
    return _SUBSET.sub("", font)


@dataclass
class _Glyphs:
    """Letters of the glyphs of all fonts of one name; None where they are none or not sure."""

    by_character: dict[int, str | None] = field(default_factory=dict)
    by_code: dict[int, str | None] = field(default_factory=dict)

    def add(self, letters: Mapping[int, str | None], characters: Mapping[int, int]) -> None:
        for code, character in characters.items():
            _agree(self.by_character, character, letters.get(code))
        for code in letters.keys() - characters.keys():
            _agree(self.by_code, code, letters[code])


def _agree(known: dict[int, str | None], key: int, letters: str | None) -> None:
    known[key] = letters if known.get(key, letters) == letters else None


class OpenedPdf(pypdfium2.PdfDocument):  # type: ignore[misc]  # pypdfium2 has no types
    """PDF file that knows the ligatures of its fonts."""

    def __init__(self, path: Path) -> None:
        """Open a file; raises PdfiumError."""
        super().__init__(path)
        self._path = path

    def letters(self, font: str, character: int, *, is_code: bool) -> str | None:
        """Return the letters of a ligature in a font; None where it is none or not sure.

        `character` is what the font's table of characters gives for it, or its code where it has none there.
        """
        glyphs = self._glyphs.get(without_tag(font))
        if glyphs is None:
            return None
        return (glyphs.by_code if is_code else glyphs.by_character).get(character)

    @cached_property
    def _glyphs(self) -> Mapping[str, _Glyphs]:
        with (
            self._path.open("rb") as file,
            closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as data,
        ):
            try:
                return _File(data).glyphs()
            except (LookupError, ValueError):  # pdfium reads the text of such a file, so it is not refused
                return {}


class _TooLarge(ValueError):
    """File beyond a limit."""


class _File:
    """Dictionaries of fonts and encodings in the bytes of a PDF, and the places of its streams."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._room = _ALL_UNPACKED
        self._objects_left = _OBJECTS
        self._streams: dict[int, tuple[int, int]] = {}
        self._tables: dict[int, dict[int, int] | None] = {}
        self._encodings: dict[int, bytes] = {}
        self._letters: dict[int, Mapping[int, str | None]] = {}
        self._fonts: list[bytes] = []

    def glyphs(self) -> Mapping[str, _Glyphs]:
        for number, body in self._objects():
            if listed := _DIFFERENCES.search(body):
                self._encodings[number] = listed[1]
            if b"/BaseFont" in body and (listed or _ENCODING.search(body)):
                self._fonts.append(body)
            if max(len(self._fonts), len(self._encodings)) > _FONTS:
                raise _TooLarge
        found: dict[str, _Glyphs] = {}
        for body in self._fonts:
            name, letters = _BASE_FONT.search(body), self._named(body)
            characters = self._characters(body)
            if name and letters and characters is not None:
                font = without_tag(_unescaped(name[1]))
                found.setdefault(font, _Glyphs()).add(letters, characters)
        return found

    def _objects(self) -> Iterator[tuple[int, bytes]]:
        """Yield the numbers and dictionaries of all objects; keep where their streams are."""
        mark = self._mark(0, len(self._data))
        while mark:
            at, following = mark.end(), None
            if mark[1]:
                following = self._mark(at, at + _LONGEST)
                body = self._data[at : following.start() if following else at + _LONGEST]
                if stream := _STREAM.search(body):
                    start = at + stream.end()
                    at, following = self._data.find(b"endstream", start), None
                    if at < 0:
                        return
                    body = body[: stream.start()]
                    self._streams[int(mark[1])] = start, at
                    if b"/ObjStm" in body:
                        yield from self._packed(int(mark[1]))
                yield int(mark[1]), body
            mark = following or self._mark(at, len(self._data))

    def _mark(self, start: int, end: int) -> re.Match[bytes] | None:
        """Return the next begin or end of an object."""
        at = start - 1
        while (at := self._data.find(b"obj", at + 1, end)) >= 0:
            self._count()
            if mark := _OBJECT.search(self._data, max(start, at - _NUMBERED), at + len(b"obj") + 1):
                return mark
        return None

    def _count(self) -> None:
        self._objects_left -= 1
        if self._objects_left < 0:
            raise _TooLarge

    def _packed(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the objects in an object stream; none has bytes of another."""
        content = self._unpacked(number)
        head = content[:_HEAD].partition(b"<")[0]
        pairs = [(int(one), int(at)) for one, at in _PAIR.findall(head)]
        first = len(head) - pairs[0][1] if pairs else 0
        pairs.sort(key=itemgetter(1))
        for (one, at), (_, end) in pairwise([*pairs, (0, len(content) - first)]):
            self._count()
            yield one, content[first + at : first + min(end, at + _LONGEST)]

    def _unpacked(self, number: int) -> bytes:
        """Return the content of a stream that is deflated or plain; nothing where it cannot be read."""
        start, end = self._streams.get(number, (0, 0))
        packed = self._data[start : min(end, start + _UNPACKED)]
        try:
            content = zlib.decompressobj().decompress(packed, _UNPACKED)
        except zlib.error:
            content = packed if b"begincmap" in packed else b""
        self._room -= len(content)
        if self._room < 0:
            raise _TooLarge
        return content

    def _named(self, font: bytes) -> Mapping[int, str | None]:
        """Return the letters that a font's encoding gives to the codes it names."""
        reference = _ENCODING.search(font)
        if reference is None:
            listed = _DIFFERENCES.search(font)
            return _letters(listed[1]) if listed else {}
        number = int(reference[1])
        if number not in self._letters:
            self._letters[number] = _letters(self._encodings.get(number, b""))
        return self._letters[number]

    def _characters(self, font: bytes) -> dict[int, int] | None:
        """Return a font's single characters by code; None where it has a table that cannot be read."""
        reference = _TO_UNICODE.search(font)
        if reference is None:
            return {}
        number = int(reference[1])
        if number not in self._tables:
            table = self._unpacked(number)
            self._tables[number] = dict(_mapped(table)) if b"begincmap" in table else None
        return self._tables[number]


def _letters(listed: bytes) -> dict[int, str | None]:
    """Return the letters of the glyphs that an encoding lists, by code."""
    letters: dict[int, str | None] = {}
    code = 0
    for token in islice(_NAME_OR_CODE.finditer(listed), 2 * _CODES):
        if token[2]:
            code = int(token[2])
        else:
            letters[code] = ligature(_unescaped(token[1]))
            code += 1
    return letters


def _unescaped(name: bytes) -> str:
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), name).decode("latin-1")


def _mapped(table: bytes) -> Iterator[tuple[int, int]]:
    """Yield the codes of one byte in a table of characters, each with the first unit of its text."""
    parts = _parts(table, b"beginbfchar", b"endbfchar")
    for match in islice(chain.from_iterable(map(_CHARACTER.finditer, parts)), _CODES):
        yield _low(match[1]), _first(match[2])
    parts = _parts(table, b"beginbfrange", b"endbfrange")
    for match in islice(chain.from_iterable(map(_RANGE.finditer, parts)), _CODES):
        codes = range(_low(match[1]), _low(match[2]) + 1)
        if match[3]:
            yield from ((code, _first(match[3]) + at) for at, code in enumerate(codes))
        else:
            yield from zip(codes, (_first(text[1]) for text in _HEX.finditer(match[4])), strict=False)


def _parts(table: bytes, begin: bytes, end: bytes) -> Iterator[bytes]:
    """Yield what is between each begin and end."""
    start = table.find(begin)
    while start >= 0 and (closed := table.find(end, start)) >= 0:
        yield table[start + len(begin) : closed]
        start = table.find(begin, closed)


def _low(code: bytes) -> int:
    """Return the last byte of a code in hexadecimal."""
    return int(b"".join(code.split())[-2:] or b"0", 16)


def _first(text: bytes) -> int:
    """Return the first unit of a text in hexadecimal."""
    return int(b"".join(text.split())[:4] or b"0", 16)
