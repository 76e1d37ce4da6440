"""Ligatures of PDF fonts that are told by their glyphs' names only, as "ffi" or "f_f_i".

Some programs give such a glyph the wrong character or none: a PDF saved by macOS has U+0000 or an arrow for
"ffi" and "ff". pdfium follows, and does not tell the names, so they are read from the file. Only what is
sure counts: where glyphs of one font have the same wrong character and other names, it stays as it is.
"""

import mmap
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path

import pypdfium2

# Limits, so that a file made to be slow is read in time in proportion to its size:
_LONGEST = 1 << 16  # bytes of a font's dictionary
_UNPACKED = 1 << 24  # bytes of one stream
_ALL_UNPACKED = 1 << 27  # bytes of all streams of a file
_OBJECTS = 500_000
_HEAD = 1 << 20  # bytes of an object stream's list of objects
_CODES = 256  # of a font whose codes have one byte, and of its table
_OBJECT = re.compile(rb"(?<!\d)(\d{1,9})\s{1,4}\d{1,5}\s{1,4}obj\b")
_STREAM = re.compile(rb"stream\r?\n")
_PAIR = re.compile(rb"(\d+)\s+(\d+)")
_BASE_FONT = re.compile(rb"/BaseFont\s*/([^\s/<>\[\]()]+)")
_ENCODING = re.compile(rb"/Encoding\s+(\d+)\s+\d+\s+R")
_TO_UNICODE = re.compile(rb"/ToUnicode\s+(\d+)\s+\d+\s+R")
_DIFFERENCES = re.compile(rb"/Differences\s*\[([^\[\]]*)\]")
_NAME_OR_CODE = re.compile(rb"/([^\s/<>\[\]()]+)|(\d+)")
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_CHARACTERS = re.compile(rb"beginbfchar(.*?)endbfchar", re.S)
_RANGES = re.compile(rb"beginbfrange(.*?)endbfrange", re.S)
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

    def add(self, names: Mapping[int, str], characters: Mapping[int, int]) -> None:
        for code, character in characters.items():
            _agree(self.by_character, character, ligature(names.get(code, "")))
        for code in names.keys() - characters.keys():
            _agree(self.by_code, code, ligature(names[code]))


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
            return _File(data).glyphs()


class _File:
    """Dictionaries of fonts and encodings in the bytes of a PDF, and the places of its streams."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._room = _ALL_UNPACKED
        self._streams: dict[int, tuple[int, int]] = {}
        self._tables: dict[int, dict[int, int] | None] = {}
        self._bodies: dict[int, bytes] = {}
        self._fonts: list[bytes] = []

    def glyphs(self) -> Mapping[str, _Glyphs]:
        for number, body in self._objects():
            if b"/Differences" in body:
                self._bodies[number] = body
            if b"/BaseFont" in body:
                self._fonts.append(body)
        found: dict[str, _Glyphs] = {}
        for body in self._fonts:
            name, names = _BASE_FONT.search(body), self._names(body)
            characters = self._characters(body)
            if name and names and characters is not None:
                font = without_tag(_unescaped(name[1]))
                found.setdefault(font, _Glyphs()).add(names, characters)
        return found

    def _objects(self) -> Iterator[tuple[int, bytes]]:
        """Yield the numbers and dictionaries of all objects; keep where their streams are."""
        begins = islice(_OBJECT.finditer(self._data), _OBJECTS)
        for match, following in pairwise(chain(begins, [None])):
            assert match is not None  # noqa: S101
            last = len(self._data) if following is None else following.start()
            body = self._data[match.end() : min(last, match.end() + _LONGEST)]
            stream, end = _STREAM.search(body), body.find(b"endobj")
            if stream and not 0 <= end < stream.start():
                start = match.end() + stream.end()
                closed = self._data.find(b"endstream", start, last)
                self._streams[int(match[1])] = start, closed if closed >= 0 else last
                if b"/ObjStm" in body[: stream.start()]:
                    yield from self._packed(int(match[1]))
                end = stream.start()
            yield int(match[1]), body[:end] if end >= 0 else body

    def _packed(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the objects in an object stream."""
        content = self._unpacked(number)
        head = content[:_HEAD].partition(b"<")[0]
        pairs = [(int(one), int(at)) for one, at in _PAIR.findall(head)]
        places = [len(head) + at - pairs[0][1] for _, at in pairs]
        for (one, _), at, end in zip(pairs, places, [*places[1:], len(content)], strict=False):
            yield one, content[at : min(end, at + _LONGEST)]

    def _unpacked(self, number: int) -> bytes:
        """Return the content of a stream that is deflated or plain; nothing where it cannot be read."""
        start, end = self._streams.get(number, (0, 0))
        packed = self._data[start : min(end, start + _UNPACKED)]
        try:
            content = zlib.decompressobj().decompress(packed, min(_UNPACKED, self._room))
        except zlib.error:
            content = packed if b"begincmap" in packed else b""
        self._room = max(1, self._room - len(content))  # zlib takes 0 for no limit
        return content

    def _names(self, font: bytes) -> dict[int, str]:
        """Return the names that a font's encoding gives to its codes."""
        reference = _ENCODING.search(font)
        encoding = self._bodies.get(int(reference[1]), b"") if reference else font
        listed = _DIFFERENCES.search(encoding)
        names: dict[int, str] = {}
        code = 0
        for token in islice(_NAME_OR_CODE.finditer(listed[1] if listed else b""), 2 * _CODES):
            if token[2]:
                code = int(token[2][:9])
            else:
                names[code] = _unescaped(token[1])
                code += 1
        return names

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


def _unescaped(name: bytes) -> str:
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), name).decode("latin-1")


def _mapped(table: bytes) -> Iterator[tuple[int, int]]:
    """Yield the codes of one byte in a table of characters, each with the first unit of its text."""
    parts = (match[1] for match in _CHARACTERS.finditer(table))
    for match in islice(chain.from_iterable(map(_CHARACTER.finditer, parts)), _CODES):
        yield _low(match[1]), _first(match[2])
    parts = (match[1] for match in _RANGES.finditer(table))
    for match in islice(chain.from_iterable(map(_RANGE.finditer, parts)), _CODES):
        codes = range(_low(match[1]), _low(match[2]) + 1)
        if match[3]:
            yield from ((code, _first(match[3]) + at) for at, code in enumerate(codes))
        else:
            yield from zip(codes, map(_first, _HEX.findall(match[4])), strict=False)


def _low(code: bytes) -> int:
    """Return the last byte of a code in hexadecimal."""
    return int(b"".join(code.split())[-2:] or b"0", 16)


def _first(text: bytes) -> int:
    """Return the first unit of a text in hexadecimal."""
    return int(b"".join(text.split())[:4] or b"0", 16)
