"""The files below a folder, one after another, and the folders below it that cannot be looked into."""

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from rag.errors import SourceError
from rag.sources.folder_patterns import chosen, is_hidden

OURS = "footnote.lock"  # what a data directory of Footnote's holds: originals, settings and the ledger

SYSTEM = ("/dev", "/proc", "/sys")
DEEPEST = 100  # folders; deeper than people nest them


@dataclass(frozen=True)
class Found:
    """A file, by its path below the folder, and its version: another one whenever the content is."""

    path: str
    version: str


@dataclass(frozen=True)
class Unlisted:
    """A file or folder that cannot be looked at, and why, in a sentence."""

    path: str
    reason: str


def walk(root: Path, patterns: Collection[str], *, hidden: bool, links: bool) -> Iterator[Found | Unlisted]:
    """Yield what is below `root` in the order of names. With `links`, links are followed inside `root`.

    Raises SourceError where `root` itself cannot be looked into.
    """
    yield from _Walk(root, patterns, hidden, links).below("", ())


class _Walk:
    """One walk, with the rules it keeps."""

    def __init__(self, root: Path, patterns: Collection[str], hidden: bool, links: bool):
        self._root, self._hidden, self._links = root, hidden, links
        self._chosen = chosen(patterns)

    def below(self, folder: str, above: tuple[tuple[int, int], ...]) -> Iterator[Found | Unlisted]:
        """Yield what is in one folder and below it; `above` are the folders on the way, to see a circle."""
        try:
            circle, inside = self._look(folder)
        except FileNotFoundError:
            return  # gone since its name was read
        except OSError as error:
            if not folder:
                raise SourceError(f"{self._root} cannot be read: {reason(error)}.") from error
            yield Unlisted(folder, f"The folder cannot be read: {reason(error)}.")
            return
        if circle in above or self._is_closed(folder, inside):
            return
        for entry in inside:
            if self._hidden or not is_hidden(entry.name):
                yield from self._entry(entry, f"{folder}/{entry.name}".lstrip("/"), (*above, circle))

    def _entry(
        self, entry: os.DirEntry[str], path: str, above: tuple[tuple[int, int], ...]
    ) -> Iterator[Found | Unlisted]:
        if entry.is_symlink() and not (self._links and self._is_inside(path)):
            return
        try:
            facts = entry.stat()
        except FileNotFoundError:
            return  # gone, or a link to nothing
        except OSError as error:
            yield Unlisted(path, f"It cannot be looked at: {reason(error)}.")
            return
        if stat.S_ISDIR(facts.st_mode) and len(above) > DEEPEST:
            yield Unlisted(path, f"It lies more than {DEEPEST} folders deep.")
        elif stat.S_ISDIR(facts.st_mode):
            yield from self.below(path, above)
        elif stat.S_ISREG(facts.st_mode) and self._chosen(path):
            yield Found(path, version(facts))

    def _look(self, folder: str) -> tuple[tuple[int, int], list[os.DirEntry[str]]]:
        """Return what tells a folder from every other one, and what is in it."""
        facts = (self._root / folder).stat()
        with os.scandir(self._root / folder) as entries:
            return (facts.st_dev, facts.st_ino), sorted(entries, key=lambda entry: entry.name)

    def _is_closed(self, folder: str, inside: Collection[os.DirEntry[str]]) -> bool:
        """Whether a folder is Footnote's own, or the system's, whose files are on no disk and have no end."""
        systems = any((self._root / folder).is_relative_to(system) for system in SYSTEM)
        return systems or any(entry.name == OURS for entry in inside)

    def _is_inside(self, path: str) -> bool:
        return Path(os.path.realpath(self._root / path)).is_relative_to(self._root)


def version(facts: os.stat_result) -> str:
    """Return what changes whenever a file's content does: size, time of change, number on the disk."""
    return f"{facts.st_size}-{facts.st_mtime_ns}-{facts.st_ino}"


def reason(error: OSError) -> str:
    """Say in a few words why the system refused."""
    if isinstance(error, PermissionError):
        return "Footnote has no right to read it"
    if isinstance(error, FileNotFoundError):
        return "it is no longer there"
    return error.strerror or type(error).__name__
