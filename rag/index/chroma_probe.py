"""When a vector index is opened in a child process first: where its graph is not as it was left."""

import json
import logging
import os
import shutil
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

from rag.errors import IndexUnusable

# A vector index opened and searched in a child process first, which may hang, grow or crash in our place.
SECONDS = 20  # of the processor, most of them to import; a busy machine takes longer and is not to blame
BYTES_A_SECOND = 10 << 20  # what a slow machine reads of a whole index, many times over
WAITING = 10  # times as long by the clock, for a child that waits and does not compute
MEMORY = 8 << 30  # address space, of which Chroma's threads claim more than they use
TIMES_THE_FILES = 4
SOUND = b"sound"
STARTED = b"started"
_PROJECT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(_PROJECT), "PATH": os.defpath}
log = logging.getLogger(__name__)


def probe(directory: Path, name: str, *, seconds: int = SECONDS) -> None:
    """Open the collection `name` in a child that has `seconds` of the processor, and more for a large index.

    Nobody else may have it open. Raises IndexUnusable where the child finds damage or does not come back.
    """
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    seconds += size // BYTES_A_SECOND
    memory = MEMORY + TIMES_THE_FILES * size
    said = _run_child([str(directory), name, str(seconds), str(memory)], seconds * WAITING)
    if said == STARTED:
        raise IndexUnusable(f"The vector index {name} is damaged: a trial of opening it did not end well.")
    if said != SOUND:  # there was no trial, which tells nothing of the index
        log.warning("The vector index %s is opened without a trial.", name)


def _run_child(arguments: list[str], timeout: float) -> bytes:
    """Return the last word that the child said before it ended, or was ended; empty without any."""
    command = [sys.executable, "-P", "-m", "rag.index.chroma_probe_worker", *arguments]
    quiet = subprocess.DEVNULL  # what dies in it is told by us, in one sentence
    try:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, env=_ENVIRONMENT, cwd="/"
        )
    except OSError as error:
        log.warning("No child process can be started: %s", error.strerror)
        return b""
    with child:
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            child.kill()
        said = child.communicate()[0].split()
    return said[-1] if said else b""


RESERVE = 16 << 20  # bytes: a batch and its log many times over, and others write, too
_SEAL = "seal.json"
_BLOCK = 1 << 20


class CrashGuard:
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
        if files and _read_seal(self._seal) != files:
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


def _read_seal(seal: Path) -> dict[str, list[int]] | None:
    """Return what the seal says; None where there is none, or it was torn."""
    try:
        said = json.loads(seal.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None
