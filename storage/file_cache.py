"""Local copies of objects in a folder of bounded size, checked by hash, which may be removed at any time."""

import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

RECENT_SECONDS = 600.0  # after its last use, in which somebody may still read a copy
_PART = ".part"
_ABANDONED_SECONDS = 86_400.0  # after which an unfinished copy belongs to no process any more
_SHA256 = 64  # hex digits


class FileCache:
    """Copies of objects by key, whose last part is the SHA-256 of the bytes; thread-safe.

    A copy is hashed when this process first uses it, and where the file changed since. The copies that were
    not used for longest are removed beyond `most_bytes`; those that were used a moment ago beyond twice as
    much.
    """

    def __init__(self, folder: Path, most_bytes: int):
        self.folder, self._most_bytes = folder, most_bytes
        self._checked: dict[str, tuple[int, int, int]] = {}
        self._bytes: int | None = None  # about; counted when the first copy comes
        self._lock = threading.Lock()

    def part(self) -> Path:
        """Return the path of a new file to write a copy to, which `put` moves into its place."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder / f"{secrets.token_hex(8)}{_PART}"

    def put(self, key: str, part: Path) -> Path:
        """Move a file whose hash is right into its place; return the path."""
        path = self.folder / key
        size = part.stat().st_size
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.replace(path)
        self._checked[key] = _state(path)
        self._use(path)
        self._trim(size)
        return path

    def get(self, key: str) -> Path | None:
        """Return a copy with the right bytes, or None."""
        path = self.folder / key
        try:
            if self._checked.get(key) != _state(path) and not self._check(key, path):
                path.unlink(missing_ok=True)
                return None
            self._use(path)
        except FileNotFoundError:
            return None
        return path

    def forget(self, key: str) -> None:
        """Remove a copy, or all copies in a folder."""
        path = self.folder / key
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def keys(self, folder: str) -> list[str]:
        """Return the keys of the copies in a folder."""
        return [f"{folder}/{path.name}" for path, _ in _copies(self.folder / folder)]

    def _check(self, key: str, path: Path) -> bool:
        state = _state(path)
        with path.open("rb") as file:
            right = hashlib.file_digest(file, "sha256").hexdigest() == path.name
        if right:
            self._checked[key] = state
        return right

    @staticmethod
    def _use(path: Path) -> None:
        """Note the use of a copy as its time of access; its time of change stays."""
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))

    def _trim(self, added: int) -> None:
        with self._lock:
            self._bytes = None if self._bytes is None else self._bytes + added
            if self._bytes is not None and self._bytes <= self._most_bytes:
                return
            now, copies = time.time(), sorted(_copies(self.folder), key=lambda copy: copy[1].st_atime)
            self._bytes = sum(stat.st_size for _, stat in copies)
            for path, stat in copies:
                recent = now - stat.st_atime < RECENT_SECONDS
                if self._bytes <= self._most_bytes * (2 if recent else 1):
                    break
                path.unlink(missing_ok=True)
                self._checked.pop(path.relative_to(self.folder).as_posix(), None)
                self._bytes -= stat.st_size
            for part in self.folder.glob(f"*{_PART}"):
                with suppress(FileNotFoundError):
                    if now - part.stat().st_mtime > _ABANDONED_SECONDS:
                        part.unlink()


def _state(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _copies(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if len(path.name) == _SHA256 and path.is_file():
                yield path, path.stat()
