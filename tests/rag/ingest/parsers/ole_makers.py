"""Makers of OLE containers, and of the HWP 5 documents and Outlook messages in them."""

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096  # bytes
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


@dataclass
class Entry:
    """Entry of the directory: the root (5), a storage (1) or a stream (2)."""

    name: str
    kind: int
    content: bytes = b""
    below: list[int] = field(default_factory=list)


class Chains:
    """Sectors of one size, and the table of what follows each."""

    def __init__(self, size: int):
        self.size, self.content, self.table = size, b"", list[int]()

    def store(self, content: bytes) -> int:
        """Append a chain, and return its first sector."""
        if not content:
            return _END
        first, count = len(self.table), -(-len(content) // self.size)
        self.table += [*range(first + 1, first + count), _END]
        self.content += content.ljust(count * self.size, b"\0")
        return first


def ole(path: Path, streams: Mapping[str, bytes]) -> Path:
    """Write a compound file of streams by their paths."""
    entries = _directory(streams)
    sectors, small = Chains(_SECTOR), Chains(_MINI)
    starts = [(sectors if len(entry.content) >= _CUTOFF else small).store(entry.content) for entry in entries]
    starts[0], entries[0].content = sectors.store(small.content), small.content
    beside = {one: other for entry in entries for one, other in pairwise(entry.below)}
    table = (_row(entry, starts[place], beside.get(place, _FREE)) for place, entry in enumerate(entries))
    directory = sectors.store(b"".join(table))
    mini_table = sectors.store(struct.pack(f"<{len(small.table)}I", *small.table))
    first, count = len(sectors.table), 1
    while (first + count) * 4 > count * _SECTOR:
        count += 1
    fat = [*sectors.table, *[_FAT] * count]
    fat += [_FREE] * (count * _SECTOR // 4 - len(fat))
    header = struct.pack("<6HI5I", 0x3E, 3, 0xFFFE, 9, 6, 0, 0, 0, count, directory, 0, _CUTOFF)
    header += struct.pack("<4I", mini_table, -(-4 * len(small.table) // _SECTOR), _END, 0)
    header += struct.pack("<109I", *range(first, first + count), *[_FREE] * (109 - count))
    start = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + header
    path.write_bytes(start + sectors.content + struct.pack(f"<{len(fat)}I", *fat))
    return path


def _directory(streams: Mapping[str, bytes]) -> list[Entry]:
    entries, folders = [Entry("Root Entry", 5)], {"": 0}
    for name, content in streams.items():
        *above, last = name.split("/")
        folder = ""
        for part in above:
            folder, parent = f"{folder}/{part}", folders[folder]
            if folder not in folders:
                folders[folder] = len(entries)
                entries[parent].below.append(len(entries))
                entries.append(Entry(part, 1))
        entries[folders[folder]].below.append(len(entries))
        entries.append(Entry(last, 2, content))
    return entries


def _row(entry: Entry, start: int, beside: int) -> bytes:
    name, below = entry.name.encode("utf-16-le") + b"\0\0", next(iter(entry.below), _FREE)
    links = struct.pack("<HBBIII", len(name), entry.kind, 1, _FREE, beside, below)
    return name.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, len(entry.content))


# HWP 5

PLAIN, OUTLINE_1, OUTLINE_2, NUMBERED = range(4)  # paragraph shapes
_EXTENDED = {b"secd": 2, b"tbl ": 11, b"gso ": 11, b"eqed": 11, b"fn  ": 17, b"atno": 18}


def record(tag: int, level: int, data: bytes = b"") -> bytes:
    """Return a record of HWP 5."""
    size = min(len(data), 0xFFF)
    longer = struct.pack("<I", len(data)) if size == 0xFFF else b""
    return struct.pack("<I", tag | level << 10 | size << 20) + longer + data


def control(kind: bytes, *more: bytes, data: bytes = b"") -> tuple[bytes, bytes, bytes]:
    """Return a control for `paragraph`: a table, a note, a box; `more` are records below it."""
    return kind, data, b"".join(more)


def paragraph(level: int, *pieces: str | tuple[bytes, bytes, bytes], shape: int = PLAIN) -> bytes:
    """Return the records of a paragraph of text and controls."""
    text, controls = b"", b""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece.encode("utf-16-le")
        else:
            kind, data, below = piece
            code = struct.pack("<H", _EXTENDED[kind])
            text += code + kind[::-1] + bytes(8) + code
            controls += record(0x47, level + 1, kind[::-1] + data) + below
    text += "\r".encode("utf-16-le")
    head = struct.pack("<IIHBBHHHI", len(text) // 2, 0, shape, 0, 0, 1, 0, 1, 0)
    return record(0x42, level, head) + record(0x43, level + 1, text) + controls


def table(level: int, *cells: tuple[int, int, int, int, str]) -> tuple[bytes, bytes, bytes]:
    """Return a table of (row, column, rows, columns, text) in a paragraph of that level."""
    lists = []
    for row, column, rows, columns, text in cells:
        place = struct.pack("<hHIHHHH", 1, 0, 0, column, row, columns, rows)
        lists.append(record(0x48, level + 2, place.ljust(47, b"\0")) + paragraph(level + 2, text))
    return control(b"tbl ", record(0x4D, level + 2, struct.pack("<IHH", 0, 2, 2)), *lists)


def _shape(kind: int, list_id: int, depth: int) -> bytes:
    return record(
        0x19, 0, struct.pack("<I", kind << 23 | depth << 25).ljust(30, b"\0") + struct.pack("<H", list_id)
    )


def _numbering(*levels: tuple[str, int]) -> bytes:
    heads = b"".join(
        struct.pack("<I", form << 5) + bytes(8) + struct.pack("<H", len(text)) + text.encode("utf-16-le")
        for text, form in [*levels, *[("", 0)] * (7 - len(levels))]
    )
    return record(0x17, 0, heads + bytes(2))


def hwp(
    path: Path,
    *sections: bytes,
    flags: int = 1,
    preview: str = "",
    packed: Iterable[bytes] = (),
    folder: str = "BodyText",
) -> Path:
    """Write an HWP 5 document; `packed` are sections that are already compressed."""
    shapes = _shape(0, 0, 0) + _shape(1, 0, 0) + _shape(1, 0, 1) + _shape(2, 2, 0)
    info = _numbering(("^1.", 2), ("^1.^2", 0)) + _numbering(("(^1)", 8)) + shapes
    outline = paragraph(0, control(b"secd", data=bytes(14) + struct.pack("<H", 1)))
    bodies = [*(deflated(outline + section) for section in sections), *packed]
    return ole(
        path,
        {
            "FileHeader": b"HWP Document File".ljust(32, b"\0")
            + struct.pack("<II", 0x05000300, flags)
            + bytes(216),
            "DocInfo": deflated(info),
            "PrvText": preview.encode("utf-16-le"),
            **{f"{folder}/Section{number}": body for number, body in enumerate(bodies)},
        },
    )


def deflated(content: bytes) -> bytes:
    """Compress as HWP does, without a header."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packing.compress(content) + packing.flush()


# Outlook messages


def properties(texts: Mapping[int, str | bytes], numbers: Mapping[int, int], header: int) -> dict[str, bytes]:
    """Return the streams of a folder with these properties; bytes are binary."""
    fixed = b"".join(struct.pack("<HHIQ", 3, id_, 6, number) for id_, number in numbers.items())
    return {
        "__properties_version1.0": bytes(header) + fixed,
        **{
            f"__substg1.0_{id_:04X}{'001F' if isinstance(text, str) else '0102'}": text.encode("utf-16-le")
            if isinstance(text, str)
            else text
            for id_, text in texts.items()
        },
    }


def below(folder: str, streams: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return streams moved into a folder."""
    return {f"{folder}/{name}": content for name, content in streams.items()}


def msg(path: Path, body: Mapping[int, str | bytes], *attached: tuple[str, bytes], **more: bytes) -> Path:
    """Write a message from Ada to Bo, sent on 1 January 2024."""
    sent = (1704103200 + 11644473600) * 10_000_000
    streams = properties(
        {0x0037: "항구 1887", 0x0C1A: "Ada", 0x0C1F: "ada@port.example", **body}, {0x39: sent}, 32
    )
    recipient = properties({0x3001: "Bo", 0x39FE: "bo@port.example"}, {0x0C15: 1}, 8)
    streams |= below("__recip_version1.0_#00000000", recipient)
    for number, (name, content) in enumerate(attached):
        file = properties({0x3707: name, 0x3701: content}, {}, 8)
        streams |= below(f"__attach_version1.0_#{number:08X}", file)
    return ole(path, {**streams, **more})
