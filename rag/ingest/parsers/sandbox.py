"""Sandbox: a child process for a parser, with limits on time and memory, no writing and no network."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.text.document import shown

log = logging.getLogger(__name__)

# Exit statuses of a child that has no memory left for a message.
OUT_OF_MEMORY, TOO_DEEP = 77, 78
BECOME = "become"  # the task that executes another program
CONVERT = "convert"  # the same for a program that may write files, and has no network
_PROJECT = Path(__file__).resolve().parents[3]
# One thread and one memory arena: a child's address space is capped, and each thread would claim its share.
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(_PROJECT),
    "PATH": os.defpath,
}


def run(
    task: str, path: Path, name: str, *, timeout: float, memory: int, **arguments: Any
) -> tuple[dict[str, Any], bytes]:
    """Run a task of the worker on a file; return its facts and its bytes. Raises DocumentRefused."""
    request = json.dumps({"path": str(path.absolute()), "name": name, **arguments}).encode()
    output = _child([task], request, shown(name), timeout=timeout, memory=memory)
    line, _, rest = output.partition(b"\n")
    facts: dict[str, Any] = json.loads(line)
    if "refused" in facts:
        raise DocumentRefused(f"{shown(name)} {facts['refused']}")
    return facts, rest


def run_program(command: Sequence[str], given: bytes, what: str, *, timeout: float, memory: int) -> bytes:
    """Run another program with the same limits; return its output for `given`; `what` names that."""
    return _child([BECOME, *command], given, what, timeout=timeout, memory=memory)


def run_converter(command: Sequence[str], what: str, *, home: Path, timeout: float, memory: int) -> None:
    """Run a program that converts a file within its `home`; `what` names the file."""
    environment = {**_ENVIRONMENT, "HOME": str(home), "TMPDIR": str(home)}
    _child([CONVERT, *command], b"", what, timeout=timeout, memory=memory, environment=environment)


def _child(
    task: Sequence[str],
    given: bytes,
    what: str,
    *,
    timeout: float,
    memory: int,
    environment: Mapping[str, str] = _ENVIRONMENT,
) -> bytes:
    """Run a child to its end and return its output; its limits follow the task's name."""
    caps = [str(timeout), str(memory)]
    command = [sys.executable, "-P", "-m", "rag.ingest.parsers.worker", task[0], *caps, *task[1:]]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module; the request goes by standard input
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd="/",
        start_new_session=True,
    ) as child:
        try:
            output, complaint = child.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise DocumentRefused(f"{what} took longer than {timeout:g} seconds to read.") from error
        finally:
            with suppress(ProcessLookupError):  # none of its session is left
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if child.returncode != 0:
        raise DocumentRefused(_reason(what, child.returncode, complaint, timeout, memory))
    return output


_NO_MEMORY = re.compile(
    rb"bad_alloc|MemoryError|memory allocation|cannot allocate memory|out of memory|not enough memory", re.I
)
"""What libraries of parsers write when they get no memory."""


def _reason(what: str, status: int, complaint: bytes, timeout: float, memory: int) -> str:
    """Return the reason of a child's end, by its exit status (negative: a signal) and its standard error."""
    last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    log.warning("reading %s ended with status %s: %s", what, status, last[:300])
    if status in (-signal.SIGXCPU, -signal.SIGALRM):
        return f"{what} took longer than {timeout:g} seconds to read."
    if status == OUT_OF_MEMORY or _NO_MEMORY.search(complaint):
        return f"{what} needs more than {memory >> 20} MB of memory to read."
    if status == TOO_DEEP:
        return f"{what} is nested too deeply to read."
    if status < 0:
        return f"{what} is damaged: it made its reader crash."
    return f"{what} is damaged and cannot be read."
