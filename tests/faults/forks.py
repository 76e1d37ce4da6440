"""Processes to be killed, forked from one that has imported everything and opened the embedding model.

A fork is at work within a few hundredths of a second. One that begins with nothing takes six of a processor.
"""

import copy
import multiprocessing
import os
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import TextIO

from rag.models import embeddings
from rag.models.packaged.catalog import Model
from rag.telemetry import disable_telemetry

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("chromadb", "onnxruntime", "tantivy", "openai", "rag.cli", "api.application"),
        *("streamlit.web.cli", "streamlit.web.bootstrap", "tests.faults.opened"),
    ]
)


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
