"""A vector index opened and searched in a child process first, which may hang, grow or crash in our place.

Chroma reads the files of a graph without doubting them. Of bytes that were damaged it can make a loop without
end, or walk out of its memory, and the whole app with it: `python -m rag.index.chroma_probe_worker DIRECTORY NAME
SECONDS BYTES`.
"""

import logging
import os
import subprocess
import sys
from pathlib import Path

from rag.errors import IndexUnusable

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
    said = _child([str(directory), name, str(seconds), str(memory)], seconds * WAITING)
    if said == STARTED:
        raise IndexUnusable(f"The vector index {name} is damaged: a trial of opening it did not end well.")
    if said != SOUND:  # there was no trial, which tells nothing of the index
        log.warning("The vector index %s is opened without a trial.", name)


def _child(arguments: list[str], timeout: float) -> bytes:
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
