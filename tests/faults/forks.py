"""Processes to be killed, forked from one that has imported everything and opened the embedding model.

A fork is at work within a few hundredths of a second. One that begins with nothing takes six of a processor.
"""

import copy
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TextIO

from rag.models import embeddings
from rag.models.packaged.catalog import Model
from rag.telemetry import disable_telemetry

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("chromadb", "onnxruntime", "tantivy", "openai", "psycopg", "rag.cli", "api.application"),
        # What takes most of the time to import lancedb, which starts a thread that a fork would not have.
        *("api.application", "rag.index.lance", "lance_namespace", "pyarrow.dataset"),
        *("streamlit.web.cli", "streamlit.web.bootstrap", "tests.faults.opened"),
        # What a server imports with its first page and its first answer.
        *("alembic.command", "babel.dates", "babel.numbers", "chromadb.api.rust", "rag.chat.clipboard"),
        *("rag.ingest.parsers.figures", "langchain_core.tracers.langchain"),
    ]
)


class ForkedProcess:
    """What tests ask of a process, as `subprocess.Popen` has it."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        self._process = FORKS.Process(target=work, args=arguments, daemon=True)  # it ends with the tests
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise TimeoutExpired("a fork", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended: its end is told a little later
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Fork(ForkedProcess):
    """A process at work, and the lines that it says."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        ours, theirs = FORKS.Pipe(duplex=False)
        super().__init__(_saying, theirs, work, *arguments)
        theirs.close()
        self.said: TextIO = os.fdopen(os.dup(ours.fileno()))
        ours.close()

    def kill(self) -> None:
        super().kill()
        self.wait()
        self.said.close()

    def finish(self) -> str:
        """Wait for its end, which must be a good one, and return all that it said."""
        said = self.said.read()
        code = self.wait()
        self.said.close()
        assert code == 0
        return said


def probe_in_a_fork(arguments: list[str], timeout: float) -> bytes:
    """Try a vector index as `chroma_probe` does, in a child that need not import all."""
    from rag.index import chroma_probe_worker

    child = Fork(chroma_probe_worker.main, *arguments)
    with suppress(TimeoutExpired):
        child.wait(timeout)
    child.send_signal(signal.SIGKILL)
    said = child.said.read().split()
    child.kill()
    return said[-1].encode() if said else b""


def forked_command(
    words: Sequence[str], *, environment: Mapping[str, str], log: Path, cwd: Path | None = None
) -> ForkedProcess:
    """Run the command line as `python -m rag.cli` does, in a fork that writes to a log."""
    log.touch()
    return ForkedProcess(_command, tuple(words), dict(environment), log, cwd)


def _command(words: Sequence[str], environment: Mapping[str, str], log: Path, cwd: Path | None) -> None:
    write_to(log)
    if cwd is not None:
        os.chdir(cwd)
    _footnote(environment, *words)


def write_to(log: Path) -> None:
    """Lead what this process says to a log, and have it take an interrupt as any other does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with log.open("ab") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)


def _saying(where: Connection, work: Callable[..., None], *arguments: object) -> None:
    """Work, with standard output led to the one who listens."""
    os.dup2(where.fileno(), 1)
    where.close()
    work(*arguments)


def run_source(source: str, *arguments: str) -> None:
    """Run source as `python -c` does."""
    sys.argv = ["-c", *arguments]
    exec(compile(source, "<a fork>", "exec"), {"__name__": "__main__"})  # noqa: S102 - of a test


def become(environment: Mapping[str, str]) -> None:
    """Give a fork an environment as its own from the start, and the embedding model that is open."""
    from tests.faults.opened import EMBEDDER

    make = embeddings.OnnxEmbedder

    def opened(model: Model) -> embeddings.OnnxEmbedder:
        return copy.copy(EMBEDDER) if model.fingerprint == EMBEDDER.fingerprint else make(model)

    os.environ.clear()
    os.environ.update(environment)
    disable_telemetry()
    embeddings.OnnxEmbedder = opened  # type: ignore[assignment, misc]


def footnote(environment: Mapping[str, str], *words: str) -> str:
    """Run the command line in a process of its own; return what it said."""
    return Fork(_footnote, dict(environment), *words).finish()


def _footnote(environment: Mapping[str, str], *words: str) -> None:
    from rag.cli import main

    become(environment)
    raise SystemExit(main(words))
