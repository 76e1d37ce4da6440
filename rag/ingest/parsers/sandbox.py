"""Sandbox: a child process for a parser, with limits on time and memory, no writing and no network."""

import json
import logging
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.text.document import shown

log = logging.getLogger(__name__)

# Exit statuses of a child that has no memory left for a message.
OUT_OF_MEMORY, TOO_DEEP = 77, 78
BECOME = "become"  # the task that executes another program
CONVERT = "convert"  # the same for a program that may write files, and has no network
MAX_OUTPUT = 400 << 20
"""Bytes of a child's output: the text and the files inside of a file that is as large as a file may be."""
_COMPLAINT = 1 << 16  # bytes that are kept of a child's standard error, the last ones
_AT_ONCE = 1 << 16  # bytes
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
    with TemporaryFile() as output:
        facts = run_into(output, task, path, name, timeout=timeout, memory=memory, **arguments)
        return facts, output.read()


def run_into(
    output: IO[bytes], task: str, path: Path, name: str, *, timeout: float, memory: int, **arguments: Any
) -> dict[str, Any]:
    """Run a task as `run` does, and leave its bytes in a file, which stands at the first of them."""
    request = json.dumps({"path": str(path.absolute()), "name": name, **arguments}).encode()
    _child(output, [task], request, shown(name), timeout=timeout, memory=memory)
    output.seek(0)
    facts: dict[str, Any] = json.loads(output.readline())
    if "refused" in facts:
        raise DocumentRefused(N_("{name} {reason}", name=shown(name), reason=facts["refused"]))
    return facts


def run_program(command: Sequence[str], given: bytes, what: str, *, timeout: float, memory: int) -> bytes:
    """Run another program with the same limits; return its output for `given`; `what` names that."""
    with TemporaryFile() as output:
        _child(output, [BECOME, *command], given, what, timeout=timeout, memory=memory)
        output.seek(0)
        return output.read()


def run_converter(command: Sequence[str], what: str, *, home: Path, timeout: float, memory: int) -> None:
    """Run a program that converts a file within its `home`; `what` names the file."""
    environment = {**_ENVIRONMENT, "HOME": str(home), "TMPDIR": str(home)}
    with TemporaryFile() as output:
        _child(
            output, [CONVERT, *command], b"", what, timeout=timeout, memory=memory, environment=environment
        )


def _child(
    output: IO[bytes],
    task: Sequence[str],
    given: bytes,
    what: str,
    *,
    timeout: float,
    memory: int,
    environment: Mapping[str, str] = _ENVIRONMENT,
) -> None:
    """Run a child to its end, its output into a file; its limits follow the task's name."""
    caps = [str(timeout), str(memory)]
    command = [sys.executable, "-P", "-m", "rag.ingest.parsers.worker", task[0], *caps, *task[1:]]
    with (
        _containing(given) as request,
        subprocess.Popen(  # noqa: S603 - our own interpreter and module; the request goes by standard input
            command,
            stdin=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            start_new_session=True,
        ) as child,
    ):
        try:
            complaint = _drain(child, output, what, time.monotonic() + timeout)
        except subprocess.TimeoutExpired as error:
            raise DocumentRefused(
                N_("{what} took longer than {timeout} seconds to read.", what=what, timeout=f"{timeout:g}")
            ) from error
        finally:
            with suppress(ProcessLookupError):  # none of its session is left
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if child.returncode != 0:
        raise DocumentRefused(_reason(what, child.returncode, complaint, timeout, memory))


def _containing(given: bytes) -> IO[bytes]:
    file = TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(given)
    file.seek(0)
    return file


def _drain(child: subprocess.Popen[bytes], output: IO[bytes], what: str, deadline: float) -> bytes:
    """Write a child's output to a file until it ends; return the end of its standard error.

    Nothing of the output stays in memory. Raises TimeoutExpired, and DocumentRefused above MAX_OUTPUT.
    """
    complaint = b""
    for pipe, part in _parts(child, deadline):
        if pipe is child.stderr:
            complaint = (complaint + part)[-_COMPLAINT:]
        elif output.tell() + len(part) > MAX_OUTPUT:
            raise DocumentRefused(
                N_(
                    "{what} holds more than {max_output} MB of text and files. Split it and add the parts.",
                    what=what,
                    max_output=MAX_OUTPUT >> 20,
                )
            )
        else:
            output.write(part)
    child.wait(max(deadline - time.monotonic(), 0.1))
    return complaint


def _parts(child: subprocess.Popen[bytes], deadline: float) -> Iterator[tuple[Any, bytes]]:
    """Yield what a child writes, each part with its pipe; raises TimeoutExpired after the deadline."""
    with selectors.DefaultSelector() as pipes:
        for pipe in (child.stdout, child.stderr):
            pipes.register(cast("IO[bytes]", pipe), selectors.EVENT_READ)
        while pipes.get_map():
            ready = pipes.select(max(deadline - time.monotonic(), 0))
            if not ready or time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(child.args, 0)
            for key, _ in ready:
                if part := os.read(key.fd, _AT_ONCE):
                    yield key.fileobj, part
                else:
                    pipes.unregister(key.fileobj)


_NO_MEMORY = re.compile(
    rb"bad_alloc|MemoryError|memory allocation|cannot allocate memory|out of memory|not enough memory", re.I
)
"""What libraries of parsers write when they get no memory."""
_DEEP = b"Excessive depth in document"
"""What libxml2 writes of elements in elements, thousands deep."""


def _reason(what: str, status: int, complaint: bytes, timeout: float, memory: int) -> str:
    """Return the reason of a child's end, by its exit status (negative: a signal) and its standard error."""
    last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    log.warning("reading %s ended with status %s: %s", what, status, last[:300])
    if status in (-signal.SIGXCPU, -signal.SIGALRM):
        return N_("{what} took longer than {timeout} seconds to read.", what=what, timeout=f"{timeout:g}")
    if status == OUT_OF_MEMORY or _NO_MEMORY.search(complaint):
        return N_(
            "{what} needs more than {megabytes} MB of memory to read.", what=what, megabytes=memory >> 20
        )
    if status == TOO_DEEP or _DEEP in complaint:
        return N_("{what} is nested too deeply to read.", what=what)
    if status < 0:
        return N_("{what} is damaged: it made its reader crash.", what=what)
    return N_("{what} is damaged and cannot be read.", what=what)
