"""Processes to be killed, forked from one that has imported everything and opened the embedding model.

A fork is at work within a few hundredths of a second. One that begins with nothing takes six of a processor.
"""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TextIO

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.faults.opened", "chromadb", "onnxruntime", "tantivy", "openai"])


class Fork:
    """A process at work, and the lines that it says."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        ours, theirs = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=_saying, args=(theirs, work, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.said: TextIO = os.fdopen(os.dup(ours.fileno()))
        ours.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.said.close()

    def finish(self) -> str:
        """Wait for its end, which must be a good one, and return all that it said."""
        said = self.said.read()
        self.process.join()
        self.said.close()
        assert self.process.exitcode == 0
        return said


def _saying(where: Connection, work: Callable[..., None], *arguments: object) -> None:
    """Work, with standard output led to the one who listens."""
    os.dup2(where.fileno(), 1)
    where.close()
    work(*arguments)
