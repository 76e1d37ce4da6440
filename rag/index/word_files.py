"""Checksums of tantivy's files. Tantivy writes them, and does not read them when it opens an index."""

import json
import mmap
import struct
import zlib
from pathlib import Path

_END = struct.Struct("<II")  # bytes of the footer's JSON, and a constant
_MAGIC = 1337
_STEP = 1 << 20  # bytes


def first_damaged(directory: Path) -> str | None:
    """Return the name of a file that is not as tantivy wrote it; None if all are.

    Only files of segments in `meta.json` count, since others may be in the making; `meta.json` itself has no
    checksum. Nobody may commit meanwhile; a merge of segments may end.
    """
    for segment in sorted(_segments(directory)):
        for path in sorted(directory.glob(f"{segment}.*")):
            if not _is_sound(path) and segment in _segments(directory):
                return path.name
    return None


def _segments(directory: Path) -> set[str]:
    """Return the prefixes of the segments' files; raises OSError or ValueError where they cannot be read."""
    listed = json.loads((directory / "meta.json").read_bytes())
    try:
        return {str(segment["segment_id"]).replace("-", "") for segment in listed["segments"]}
    except (KeyError, TypeError) as error:
        raise ValueError("meta.json does not list the segments") from error


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
