"""What the commands' options have in common: how they are read, and how a wrong one is answered."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from tqdm import tqdm

from rag.ingest.library import Library
from rag.services import Services
from rag.settings import LOCAL_OWNER, Settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]  # argparse has no public name for it
else:
    Commands = object
Options = argparse.Namespace
MAX_K = 50  # as in the settings


class Parser(argparse.ArgumentParser):
    """Argparse's, with one sentence for a wrong call."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with 2."""
        self.exit(2, f"footnote: {message}. See `{self.prog} --help`.\n")


def count(text: str) -> int:
    """Read a number of passages, 1 to MAX_K."""
    number = int(text)
    if not 1 <= number <= MAX_K:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_K}, not {number}")
    return number


def positive(text: str) -> int:
    """Read a number, at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


# How far a command is, on stderr: a bar where that is a terminal, else a line on what takes long.


class ProgressBar:
    """Told of one thing after the other; `slow` names those that are worth a line where no bar is seen."""

    def __init__(self, slow: dict[str, str], *, unit: str = "it"):
        self._slow = slow
        self._unit = unit
        self._shown = sys.stderr.isatty()
        self._what = ""
        self._bar: tqdm[None] | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done of `what`; a finished bar goes away."""
        if what != self._what or (self._bar is None and done < total):
            self._begin(what, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        if done == total:
            self.close()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    def _begin(self, what: str, total: int) -> None:
        self.close()
        self._what = what
        if not self._shown and what in self._slow:
            print(f"footnote: {self._slow[what].format(total=total)}", file=sys.stderr, flush=True)
        scale = self._unit == "B"
        self._bar = tqdm(
            desc=what, total=total, leave=False, disable=not self._shown, unit=self._unit, unit_scale=scale
        )


# The library a command works on, open for as long as the command runs.


@contextmanager
def open_library(settings: Settings) -> Iterator[Library]:
    """Open the local owner's library; raises StorageError, as where the app itself is running."""
    with open_services(settings) as (_, library):
        yield library


@contextmanager
def open_services(settings: Settings) -> Iterator[tuple[Services, Library]]:
    """Open the application, and the local owner's library in it."""
    with closing(Services(settings)) as services, closing(services.library(LOCAL_OWNER)) as library:
        yield services, library
