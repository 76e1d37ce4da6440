"""When a vector index is opened in a child process first: where its graph is not as it was left."""

import json
import shutil
import zlib
from contextlib import suppress
from pathlib import Path

from rag.errors import IndexUnusable
from rag.index.probe import probe

RESERVE = 16 << 20  # bytes: a batch and its log many times over, and others write, too
_SEAL = "seal.json"
_BLOCK = 1 << 20


class Guard:
    """The graph's files of an index in `directory`, known again by their sizes and checksums.

    A trial in a child takes seconds, and a start has no time for that without a reason. The reason is that
    these are not the files that were there when the index was closed, or that it was being changed when its
    process was killed or the power went: before its first change a seal is broken, and it is set again when
    the index is closed. There are no such files before the first thousand entries: SQLite has everything
    then, and tells of damage by itself.
    """

    def __init__(self, directory: Path, name: str):
        self._directory, self._name = directory, name
        self._seal = directory / _SEAL

    def opening(self) -> None:
        """Look at the index if there is reason; raises IndexUnusable where it cannot be opened safely."""
        files = _graph(self._directory)
        if files and _sealed(self._seal) != files:
            probe(self._directory, self._name)

    def changing(self) -> None:
        """Break the seal: if this is the last that is heard of the index, it is looked at.

        Raises IndexUnusable where the disk is nearly full: once Chroma has met a full one, a later change may
        wait for ever, also when there is room again.
        """
        if shutil.disk_usage(self._directory).free < RESERVE:
            raise IndexUnusable(
                f"There is no space left for the vector index in {self._directory}: it needs "
                f"{RESERVE >> 20} MB. Free some, then try again."
            )
        self._seal.unlink(missing_ok=True)

    def closed(self) -> None:
        """Remember the files as they are."""
        with suppress(OSError):  # what is not sealed is looked at
            if not self._seal.exists() and (files := _graph(self._directory)):
                self._seal.write_text(json.dumps(files), encoding="utf-8")


def _graph(directory: Path) -> dict[str, list[int]]:
    """Return size and checksum of each file of the graph: ``{"97…7/length.bin": [4800, 145…]}``."""
    files = sorted(path for path in directory.glob("*/*") if path.is_file())
    return {str(path.relative_to(directory)): [path.stat().st_size, _checksum(path)] for path in files}


def _checksum(path: Path) -> int:
    """Return the CRC-32 of a file, which takes a tenth of a second for 50,000 entries."""
    sum_ = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            sum_ = zlib.crc32(block, sum_)
    return sum_


def _sealed(seal: Path) -> dict[str, list[int]] | None:
    """Return what the seal says; None where there is none, or it was torn."""
    try:
        said = json.loads(seal.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None
