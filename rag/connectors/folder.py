"""Folder of the server as a source: files by pattern. Nothing outside the folder is ever read."""

import errno
import json
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import translate
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rag.connectors.base import Checkpoint, Item, Listed, Source, Unreadable
from rag.errors import ItemFailed, SourceError
from rag.i18n import N_, N_plural
from rag.jobs import Cancel, never

Matches = Callable[[str], object]

SYSTEM_FOLDERS = ("/dev", "/proc", "/sys")  # their files are on no disk and have no end
DATA_MARKER = "footnote.lock"  # in a data directory of Footnote: originals, settings and the ledger
MAX_DEPTH = 100  # folders
_PIECE = 1 << 18  # bytes
_MAX_NAME = 1000  # characters
_NOT_UTF8 = re.compile("[%\udc80-\udcff]")
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SYSTEM_FILES = frozenset(
    {"thumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "system volume information"}
)


EVERY = ("**/*",)


class FolderSettings(BaseModel):
    """Settings of a folder source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(
        title=N_("Folder"),
        description=N_("The folder's path on the computer where Footnote runs, such as /srv/papers."),
    )
    glob: tuple[str, ...] = Field(
        (),
        title=N_("Which files"),
        description=N_("One pattern a line: *.pdf is every PDF, reports/** all in the folder reports."),
        examples=[N_("All files")],
    )
    hidden: bool = Field(
        False,
        title=N_("Hidden files too"),
        description=N_("Names that begin with a dot, and what programs leave behind."),
    )
    links: bool = Field(
        False,
        title=N_("Follow links"),
        description=N_("Symbolic links are followed as long as they stay in the folder."),
    )
    watched: bool = Field(
        False,
        title=N_("Watch for changes"),
        description=N_("Sync by itself soon after something has changed."),
    )

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, path: str) -> str:
        if "\0" in path or not Path(path).expanduser().is_absolute():
            raise ValueError(N_("write the whole path, beginning with /, such as /srv/papers"))
        return path

    @field_validator("glob")
    @classmethod
    def _stays_inside(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        kept = tuple(filter(None, map(str.strip, patterns)))
        for pattern in kept:
            if pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(
                    N_(
                        "{pattern} leads out of the folder; write patterns such as *.pdf",
                        pattern=repr(pattern),
                    )
                )
        return kept


class FolderSource(Source):
    """Files of one folder, which must lie in one of `roots` if there are any. Each listing is whole."""

    def __init__(self, settings: FolderSettings, roots: Sequence[str] = ()):
        self._settings, self._matches = settings, matcher(settings.glob or EVERY)
        self._root = Path(os.path.realpath(Path(settings.path).expanduser()))
        within = [Path(os.path.realpath(Path(root).expanduser())) for root in roots]
        if within and not any(self._root.is_relative_to(root) for root in within):
            allowed = ", ".join(str(root) for root in within)
            raise SourceError(
                N_(
                    "{path} may not be read here. Choose a folder in {allowed}.",
                    path=settings.path,
                    allowed=allowed,
                )
            )

    def test(self) -> str:
        """Return how many matching files the folder has, counted up to a thousand."""
        count = 0
        for found in self._walk():
            count += isinstance(found, Item)
            if count == 1000:
                return N_("{root} has 1,000 files and more.", root=self._root)
        return N_plural("{root} has {count} file.", "{root} has {count} files.", count, root=self._root)

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield every file, and folders that cannot be read; the cursor holds the folders with files."""
        before, now, whole = set(json.loads(cursor or "[]")), set(), True
        for found in self._walk():
            if cancelled():
                return
            if isinstance(found, Unreadable):
                lost = {folder for folder in before if f"{folder}/".startswith(f"{found.id}/")}
                now |= lost
                whole = whole and not lost
            else:
                now.add(found.id.rpartition("/")[0])
            yield found
        yield Checkpoint(json.dumps(sorted(now)), whole)

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file's content; raise ItemFailed where it is missing, unreadable, or changes meanwhile."""
        path = os.fsdecode(unquote_to_bytes(item.id))
        try:
            with open_below(self._root, path, links=self._settings.links) as file:
                while not cancelled() and (piece := file.read(_PIECE)):
                    yield piece
                after = os.fstat(file.fileno())
        except OSError as error:
            raise ItemFailed(
                N_("{name} cannot be read: {reason}.", name=item.name, reason=reason(error))
            ) from error
        if not stat.S_ISREG(after.st_mode) or version(after) != item.version:
            raise ItemFailed(
                N_("{name} changed while it was read. It is read again the next time.", name=item.name)
            )

    def _walk(self) -> Iterator[Item | Unreadable]:
        if not self._root.is_dir():
            raise SourceError(
                N_("There is no folder {path} on this computer. Correct the path.", path=self._settings.path)
            )
        return self._below("", ())

    def _below(self, folder: str, above: tuple[tuple[int, int], ...]) -> Iterator[Item | Unreadable]:
        """Yield the files in one folder and below it; `above` are its parent folders, to detect a circle."""
        try:
            identity, inside = self._scan(folder)
        except FileNotFoundError:
            return  # gone since its name was read
        except OSError as error:
            if not folder:
                raise SourceError(
                    N_("{root} cannot be read: {reason}.", root=self._root, reason=reason(error))
                ) from error
            yield _unreadable(folder, N_("The folder cannot be read: {reason}.", reason=reason(error)))
            return
        if identity in above or self._is_excluded(folder, inside):
            return
        for entry in inside:
            if self._settings.hidden or not is_hidden(entry.name):
                yield from self._entry(entry, f"{folder}/{entry.name}".lstrip("/"), (*above, identity))

    def _entry(
        self, entry: os.DirEntry[str], path: str, above: tuple[tuple[int, int], ...]
    ) -> Iterator[Item | Unreadable]:
        if entry.is_symlink():
            real = Path(os.path.realpath(self._root / path))
            if not self._settings.links or not real.is_relative_to(self._root):
                return
        try:
            facts = entry.stat()
        except FileNotFoundError:
            return  # gone, or a link to nothing
        except OSError as error:
            yield _unreadable(path, N_("It cannot be looked at: {reason}.", reason=reason(error)))
            return
        if stat.S_ISDIR(facts.st_mode) and len(above) > MAX_DEPTH:
            yield _unreadable(path, N_("It lies more than {max_depth} folders deep.", max_depth=MAX_DEPTH))
        elif stat.S_ISDIR(facts.st_mode):
            yield from self._below(path, above)
        elif stat.S_ISREG(facts.st_mode) and self._matches(path):
            yield Item(_id(path), _name(path), version(facts))

    def _scan(self, folder: str) -> tuple[tuple[int, int], Sequence[os.DirEntry[str]]]:
        facts = (self._root / folder).stat()
        with os.scandir(self._root / folder) as entries:
            return (facts.st_dev, facts.st_ino), sorted(entries, key=lambda entry: entry.name)

    def _is_excluded(self, folder: str, inside: Collection[os.DirEntry[str]]) -> bool:
        """Return whether a folder is a data directory of Footnote or belongs to the system."""
        systems = any((self._root / folder).is_relative_to(system) for system in SYSTEM_FOLDERS)
        return systems or any(entry.name == DATA_MARKER for entry in inside)


def _id(path: str) -> str:
    """Return a path as an id, in which percent signs and bytes that are not UTF-8 are percent-encoded."""
    return _NOT_UTF8.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", path)


def _name(path: str) -> str:
    return unicodedata.normalize("NFC", path.encode("utf-8", "replace").decode())[:_MAX_NAME]


def _unreadable(path: str, reason: str) -> Unreadable:
    return Unreadable(_id(path), _name(path), reason)


# Patterns


def matcher(patterns: Collection[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a path below the folder matches any of the patterns.

    `*` and `?` match characters except the slash, `**` any folders; all else, brackets too, is literal. Case
    is ignored. A pattern without a slash matches files in every folder.
    """
    compiled = [_steps(pattern) for pattern in patterns or ["**"]]

    def matches(path: str) -> bool:
        parts = _normalized(path).split("/")
        return any(_match_all(steps, parts) for steps in compiled)

    return matches


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is usually hidden: `.git`, `~$report.docx`, `Thumbs.db`."""
    return name.startswith((".", "~$")) or name.lower() in _SYSTEM_FILES


def _steps(pattern: str) -> list[Matches | None]:
    """Return the matcher of each folder and of the name; None for any number of folders."""
    steps = _normalized(pattern).split("/")
    steps = ["**", *steps] if len(steps) == 1 else [step for step in steps if step != "."]
    steps = [*steps[:-1], "**"] if steps[-1] == "" else steps
    steps = [step for before, step in pairwise(["", *steps]) if not before == step == "**"]
    return [None if step == "**" else re.compile(translate(step.replace("[", "[[]"))).match for step in steps]


def _match_all(steps: Sequence[Matches | None], parts: Sequence[str]) -> bool:
    """Return whether the steps match all of the parts; each pair is tried once, so it ends soon."""

    @cache
    def rest(place: int, part: int) -> bool:
        if place == len(steps):
            return part == len(parts)
        step, more = steps[place], part < len(parts)
        if step is None:
            return rest(place + 1, part) or (more and rest(place, part + 1))
        return more and bool(step(parts[part])) and rest(place + 1, part + 1)

    return rest(0, 0)


def _normalized(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


# Files


def version(facts: os.stat_result) -> str:
    """Return a file's version, which changes with its content: size, time of change, inode."""
    return f"{facts.st_size}-{facts.st_mtime_ns}-{facts.st_ino}"


def reason(error: OSError) -> str:
    """Return the reason of a refusal in a few words."""
    if isinstance(error, PermissionError):
        return N_("Footnote has no right to read it")
    if isinstance(error, FileNotFoundError):
        return N_("it is no longer there")
    return error.strerror or type(error).__name__


def open_below(root: Path, path: str, *, links: bool) -> IO[bytes]:
    """Open a regular file below `root`, through links only with `links`; OSError for any other path."""
    real = Path(os.path.realpath(root / path)) if links else root / path
    parts = real.relative_to(root).parts if real.is_relative_to(root) else ()
    if not parts or ".." in parts:
        raise OSError(errno.EACCES, N_("it leads out of the folder"))
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _OPEN_FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        file = os.open(parts[-1], _OPEN_FILE, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, N_("it is not a file"))
    return os.fdopen(file, "rb")
