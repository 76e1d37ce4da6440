"""Crash guard of a Chroma index: files changed by a crash are opened in a child process first."""

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
from rag.i18n import N_

SECONDS = 20  # of processor time, most of them to import
BYTES_A_SECOND = 10 << 20  # of index files: adds processor time for a large index
WAITING = 10  # times the processor time by the clock, for a child that waits
MEMORY = 8 << 30  # bytes of address space, of which Chroma's threads claim more than they use
TIMES_THE_FILES = 4  # bytes of address space for each byte of index files
RESERVE = 16 << 20  # bytes of disk: many batches with their logs
SOUND = b"sound"
STARTED = b"started"
_PROJECT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(_PROJECT), "PATH": os.defpath}
log = logging.getLogger(__name__)


def probe(directory: Path, name: str) -> None:
    """Open and search the collection `name` in a child process, with limited processor time and memory.

    Nobody else may have it open. Raises IndexUnusable where the child finds damage, hangs or crashes.
    """
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    seconds = SECONDS + size // BYTES_A_SECOND
    memory = MEMORY + TIMES_THE_FILES * size
    said = _run_child([str(directory), name, str(seconds), str(memory)], seconds * WAITING)
    if said == STARTED:
        raise IndexUnusable(
            N_("The vector index {name} is damaged: a trial of opening it did not end well.", name=name)
        )
    if said != SOUND:  # no child could be started, which says nothing about the index
        log.warning("The vector index %s is opened without a trial.", name)


def _run_child(arguments: list[str], timeout: float) -> bytes:
    """Return the last status that the child wrote; empty without any."""
    command = [sys.executable, "-P", "-m", "rag.index.chroma_probe_worker", *arguments]
    quiet = subprocess.DEVNULL  # `probe` reports a crash in one sentence
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


_SEAL = "seal.json"
_BLOCK = 1 << 20


class CrashGuard:
    """Sizes and checksums of an index's graph files, recorded when it is closed.

    A probe takes seconds, so only an index whose files differ from the record (the seal) is probed. The seal
    is removed before the first change, and written when the index is closed, also where nothing was changed:
    Chroma writes the files of a graph of less than a thousand entries anew whenever it is first searched.
    """

    def __init__(self, directory: Path, name: str):
        self._directory, self._name = directory, name
        self._seal = directory / _SEAL

    def opening(self) -> None:
        """Probe the index where its files are not as recorded; raises IndexUnusable where it is damaged."""
        files = _graph(self._directory)
        if files and _read_seal(self._seal) != files:
            probe(self._directory, self._name)

    def changing(self) -> None:
        """Remove the seal, so that a crash leads to a probe.

        Raises IndexUnusable where the disk is nearly full: after Chroma met a full disk, changes may wait
        forever.
        """
        if shutil.disk_usage(self._directory).free < RESERVE:
            raise IndexUnusable(
                N_(
                    "There is no space left for the vector index in {directory}: it needs {reserve} MB. "
                    "Free some, then try again.",
                    directory=self._directory,
                    reserve=RESERVE >> 20,
                )
            )
        self._seal.unlink(missing_ok=True)

    def closed(self) -> None:
        """Record the files as they are."""
        with suppress(OSError):  # an index without a seal is probed
            if (files := _graph(self._directory)) and _read_seal(self._seal) != files:
                self._seal.write_text(json.dumps(files), encoding="utf-8")


def _graph(directory: Path) -> dict[str, list[int]]:
    """Return size and checksum of each file of the graph: ``{"97…7/length.bin": [4800, 145…]}``."""
    files = sorted(path for path in directory.glob("*/*") if path.is_file())
    return {str(path.relative_to(directory)): [path.stat().st_size, _checksum(path)] for path in files}


def _checksum(path: Path) -> int:
    """Return the CRC-32 of a file; the graph of 50,000 entries takes a tenth of a second."""
    sum_ = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            sum_ = zlib.crc32(block, sum_)
    return sum_


def _read_seal(seal: Path) -> dict[str, list[int]] | None:
    """Return the recorded files; None where there is no whole record."""
    try:
        said = json.loads(seal.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None
