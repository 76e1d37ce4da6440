"""Steps that the benchmark takes with every product."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product_steps.process import Running
from benchmarks.product_steps.report import Spent

SOURCES = 5
"""Sources that a product is asked for; those that cannot be told give as many as they do."""


@dataclass(frozen=True)
class Place:
    """Interpreter of a product, the folder for its data, and the address of the model server."""

    python: Path
    folder: Path
    models: str


class Product(ABC):
    """A product; `start` comes first, and may come again after `stop`."""

    name: str
    packages: tuple[str, ...] = ()
    """Pinned packages of its own environment; none for Footnote, which runs in this one."""
    python: str = sys.executable
    """Interpreter that its environment is made with."""
    settings: str
    """Sentence on its settings: sizes of chunks, search, and what could not be made equal."""

    def __init__(self, place: Place):
        self.place = place
        self.running: Running | None = None

    @abstractmethod
    def start(self) -> Spent | None:
        """Start it; return the time until its first page, None without one. Raises ProductFailed."""

    @abstractmethod
    def add(self, files: Sequence[Path]) -> None:
        """Take in the files, and return once all of them can be found."""

    @abstractmethod
    def ask(self, question: str) -> list[str]:
        """Return the names of the files among the sources of an answer, best first."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file's document."""

    def stop(self) -> None:
        """End its processes."""
        if self.running is not None:
            self.running.stop()

    def processor_seconds(self) -> float:
        """Return the processor time of its processes since the last start."""
        return self.running.processor_seconds() if self.running else 0.0

    @property
    def peak(self) -> int:
        """Most bytes of memory that its processes held since the last start."""
        return self.running.peak if self.running else 0
