"""A folder of the server as a source: files by pattern, hidden ones and links by rule, never out of it."""

import errno
import json
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import IO
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rag.connectors.base import Item, Listed, Mark, Source, Unreadable
from rag.errors import ItemFailed, SourceError
from rag.jobs import Cancel, never

Matches = Callable[[str], object]

_BY_MACHINES = frozenset(
    {"thumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "system volume information"}
)


def chosen(patterns: Collection[str]) -> Callable[[str], bool]:
    """Return whether a path below the folder is one of those that any of the patterns means.

    `*` and `?` stand for what has no slash, `**` for any folders; all else, brackets too, for itself.
    Capitals and small letters are the same. A pattern without a slash means files in every folder.

    >>> chosen(["*.pdf"])("reports/2025/Q3.PDF")
    True
    >>> chosen(["reports/*.pdf"])("reports/2025/Q3.pdf")
    False
    """
    meant = [_steps(pattern) for pattern in patterns or ["**"]]

    def is_chosen(path: str) -> bool:
        parts = _comparable(path).split("/")
        return any(_leads(steps, parts) for steps in meant)

    return is_chosen


def is_hidden(name: str) -> bool:
    """Whether a file or folder is kept from people's eyes: `.git`, `~$report.docx`, `Thumbs.db`."""
    return name.startswith((".", "~$")) or name.lower() in _BY_MACHINES


def is_pattern(pattern: str) -> bool:
    """Whether a pattern stays in the folder: not `/etc/*`, not `../*`."""
    return bool(pattern) and not pattern.startswith("/") and ".." not in pattern.split("/")


def _steps(pattern: str) -> list[Matches | None]:
    """Return what each folder and the name must match; None for any number of folders."""
    steps = _comparable(pattern).split("/")
    steps = ["**", *steps] if len(steps) == 1 else [step for step in steps if step != "."]
    steps = [*steps[:-1], "**"] if steps[-1] == "" else steps
    return [None if step == "**" else re.compile(translate(step.replace("[", "[[]"))).match for step in steps]


def _leads(steps: Sequence[Matches | None], parts: Sequence[str]) -> bool:
    """Whether the steps can be gone over all of the parts: every way at once, so that none is gone twice."""
    at = _beyond(steps, {0})
    for part in parts:
        on = {place for place in at if place < len(steps)}
        at = _beyond(steps, {_next(steps[place], place, part) for place in on} - {-1})
    return len(steps) in at


def _next(step: Matches | None, place: int, part: str) -> int:
    """Return the place after one part, -1 where it does not fit."""
    if step is None:
        return place
    return place + 1 if step(part) else -1


def _beyond(steps: Sequence[Matches | None], at: set[int]) -> set[int]:
    """Add the places that are reached without a part: `**` stands for no folder too."""
    reached = set(at)
    for place in range(len(steps)):
        if place in reached and steps[place] is None:
            reached.add(place + 1)
    return reached


def _comparable(path: str) -> str:
    """Return a path whose capitals and whose ways to write 각 in Unicode make no difference."""
    return unicodedata.normalize("NFC", path).casefold()


OURS = "footnote.lock"  # what a data directory of Footnote's holds: originals, settings and the ledger

SYSTEM = ("/dev", "/proc", "/sys")
DEEPEST = 100  # folders; deeper than people nest them


@dataclass(frozen=True)
class FolderFile:
    """A file, by its path below the folder, and its version: another one whenever the content is."""

    path: str
    version: str


@dataclass(frozen=True)
class Unlisted:
    """A file or folder that cannot be looked at, and why, in a sentence."""

    path: str
    reason: str


def walk(
    root: Path, patterns: Collection[str], *, hidden: bool, links: bool
) -> Iterator[FolderFile | Unlisted]:
    """Yield what is below `root` in the order of names. With `links`, links are followed inside `root`.

    Raises SourceError where `root` itself cannot be looked into.
    """
    yield from _Walk(root, patterns, hidden, links).below("", ())


class _Walk:
    """One walk, with the rules it keeps."""

    def __init__(self, root: Path, patterns: Collection[str], hidden: bool, links: bool):
        self._root, self._hidden, self._links = root, hidden, links
        self._chosen = chosen(patterns)

    def below(self, folder: str, above: tuple[tuple[int, int], ...]) -> Iterator[FolderFile | Unlisted]:
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
    ) -> Iterator[FolderFile | Unlisted]:
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
            yield FolderFile(path, version(facts))

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


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def opened(root: Path, path: str, *, links: bool) -> IO[bytes]:
    """Open a regular file below `root` for reading; OSError where it is none, or leads out of `root`.

    With `links` the path may lead over links as long as it ends below `root`.
    """
    real = Path(os.path.realpath(root / path)) if links else root / path
    parts = real.relative_to(root).parts if real.is_relative_to(root) else ()
    if not parts or ".." in parts:
        raise OSError(errno.EACCES, "it leads out of the folder")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        file = os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    return _regular(file)


def _regular(file: int) -> IO[bytes]:
    """Return an open file as such; a pipe or device is none, and is not read."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a file")
    return os.fdopen(file, "rb")


_PIECE = 1 << 18
_LONGEST_NAME = 1000
_UNSENDABLE = re.compile("[%\udc80-\udcff]")


class FolderSettings(BaseModel):
    """Which folder, and what of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(
        title="Folder",
        description="The folder's path on the computer where Footnote runs, such as /srv/papers.",
    )
    glob: tuple[str, ...] = Field(
        ("**/*",),
        title="Which files",
        description="One pattern a line: *.pdf is every PDF, reports/** all in the folder reports.",
    )
    hidden: bool = Field(
        False,
        title="Hidden files too",
        description="Names that begin with a dot, and what programs leave behind.",
    )
    links: bool = Field(
        False,
        title="Follow links",
        description="Symbolic links are followed as long as they stay in the folder.",
    )
    watched: bool = Field(
        False, title="Watch for changes", description="Sync by itself soon after something has changed."
    )

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, path: str) -> str:
        if "\0" in path or not Path(path).expanduser().is_absolute():
            raise ValueError("write the whole path, beginning with /, such as /srv/papers")
        return path

    @field_validator("glob")
    @classmethod
    def _stays_inside(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        kept = tuple(filter(None, map(str.strip, patterns))) or ("**/*",)
        for pattern in kept:
            if not is_pattern(pattern):
                raise ValueError(f"{pattern!r} leads out of the folder; write patterns such as *.pdf")
        return kept


class FolderSource(Source):
    """The files of one folder. With `roots` it must lie in one of them; SourceError where it does not.

    Each listing is whole. An item's version is its size, its time of change in nanoseconds and its number on
    the disk; its id is its path below the folder, percent-encoded where that is not UTF-8.
    """

    def __init__(self, settings: FolderSettings, roots: Sequence[str] = ()):
        self._settings = settings
        self._root = Path(os.path.realpath(Path(settings.path).expanduser()))
        within = [Path(os.path.realpath(Path(root).expanduser())) for root in roots]
        if within and not any(self._root.is_relative_to(root) for root in within):
            allowed = ", ".join(str(root) for root in within)
            raise SourceError(f"{settings.path} may not be read here. Choose a folder in {allowed}.")

    def test(self) -> str:
        """Say how many files the folder has that are meant, counting no more than a thousand."""
        count = 0
        for found in self._walk():
            count += isinstance(found, FolderFile)
            if count == 1000:
                return f"{self._root} has 1,000 files and more."
        return f"{self._root} has {count} {'file' if count == 1 else 'files'}."

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield every file, in order; a folder that cannot be read is told, and nothing below it removed.

        The cursor holds the folders that files were found in, so that one which cannot be read today is
        known to have had some.
        """
        before, now, whole = set(json.loads(cursor or "[]")), set(), True
        for found in self._walk():
            if cancelled():
                return
            if isinstance(found, Unlisted):
                lost = {folder for folder in before if _is_below(folder, _id(found.path))}
                now |= lost
                whole = whole and not lost
                yield Unreadable(_id(found.path), _name(found.path), found.reason)
            else:
                now.add(_id(found.path.rpartition("/")[0]))
                yield Item(_id(found.path), _name(found.path), found.version)
        yield Mark(json.dumps(sorted(now)), whole)

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file's content; ItemFailed where it is gone, may not be read, or changes meanwhile."""
        path = os.fsdecode(unquote_to_bytes(item.id))
        try:
            with opened(self._root, path, links=self._settings.links) as file:
                while not cancelled() and (piece := file.read(_PIECE)):
                    yield piece
                after = os.fstat(file.fileno())
        except OSError as error:
            raise ItemFailed(f"{item.name} cannot be read: {reason(error)}.") from error
        if not stat.S_ISREG(after.st_mode) or version(after) != item.version:
            raise ItemFailed(f"{item.name} changed while it was read. It is read again the next time.")

    def _walk(self) -> Iterator[FolderFile | Unlisted]:
        settings = self._settings
        if not self._root.is_dir():
            raise SourceError(f"There is no folder {settings.path} on this computer. Correct the path.")
        return walk(self._root, settings.glob, hidden=settings.hidden, links=settings.links)


def _id(path: str) -> str:
    r"""Return a path as it can be kept: bytes that are not UTF-8 percent-encoded, and the percent sign.

    >>> _id("100%.txt"), _id("\udcff.txt")
    ('100%25.txt', '%FF.txt')
    """
    return _UNSENDABLE.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", path)


def _name(path: str) -> str:
    return unicodedata.normalize("NFC", path.encode("utf-8", "replace").decode())[:_LONGEST_NAME]


def _is_below(folder: str, above: str) -> bool:
    return folder == above or folder.startswith(f"{above}/")
