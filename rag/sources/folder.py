"""A folder of the server as a source: files by pattern, hidden ones and links by rule, never out of it."""

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rag.errors import ItemFailed, SourceError
from rag.jobs import Cancel, never
from rag.sources.folder_files import opened
from rag.sources.folder_patterns import is_pattern
from rag.sources.folder_walk import Found, Unlisted, reason, version, walk
from rag.sources.source import Item, Listed, Mark, Source, Unreadable

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
            count += isinstance(found, Found)
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

    def _walk(self) -> Iterator[Found | Unlisted]:
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
