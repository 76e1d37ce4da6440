"""Checksums of tantivy's files. Tantivy writes them, and does not read them when it opens an index."""

import json
import mmap
import struct
import zlib
from pathlib import Path

_END = struct.Struct("<II")  # bytes of the footer's JSON, and a constant
_MAGIC = 1337
_PLACES = struct.Struct("<I")  # bytes of the places of a file's fields
_STEP = 1 << 20  # bytes


def first_damaged(directory: Path) -> str | None:
    """Return the name of a file that is not as tantivy wrote it; None if all are.

    Only files of segments in `meta.json` count, since others may be in the making. `meta.json` itself has no
    checksum: its numbers of entries, from which BM25 computes the rarity of words, are compared with the
    lengths that `.fieldnorm` holds. Nobody may commit meanwhile; a merge of segments may end.
    """
    for segment, entries in sorted(_segments(directory).items()):
        for path in sorted(directory.glob(f"{segment}.*")):
            if not _is_sound(path) and segment in _segments(directory):
                return path.name
            if path.suffix == ".fieldnorm" and _entries(path) != entries and segment in _segments(directory):
                return "meta.json"
    return None


def _segments(directory: Path) -> dict[str, int]:
    """Return the segments' numbers of entries by the prefixes of their files.

    Raises OSError or ValueError where they cannot be read.
    """
    listed = json.loads((directory / "meta.json").read_bytes())
    try:
        return {str(one["segment_id"]).replace("-", ""): int(one["max_doc"]) for one in listed["segments"]}
    except (KeyError, TypeError) as error:
        raise ValueError("meta.json does not list the segments") from error


def _entries(path: Path) -> int | None:
    """Return the number of entries of which a sound `.fieldnorm` file holds the lengths; None if it is gone.

    A byte for each entry and field; then the number of fields (a variable-length integer of one byte, whose
    highest bit ends it) and their places; then how many bytes these take.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    length, _ = _END.unpack(content[-_END.size :])
    body = content[: -_END.size - length]
    places: int = _PLACES.unpack(body[-_PLACES.size :])[0]
    lengths = len(body) - _PLACES.size - places
    return lengths // (body[lengths] & 0x7F)


def _is_sound(path: Path) -> bool:
    """Return True if the CRC-32 in a file's footer is that of the bytes before it."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            length, magic = _END.unpack(content[-_END.size :])
            body = len(content) - _END.size - length
            if magic != _MAGIC or body < 0:
                return False
            footer = json.loads(content[body : body + length])
            crc = 0
            for start in range(0, body, _STEP):
                crc = zlib.crc32(content[start : min(start + _STEP, body)], crc)
        return bool(footer["crc"] == crc)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False
