"""Originals by content hash. A user's file name never touches a path."""

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.errors import DiskFull, NotFound, StorageError

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = ".part"


class Files:
    """The originals of one owner: ``directory/files/<hash of owner>/<sha256>``."""

    def __init__(self, directory: Path, owner: str) -> None:
        self._folder = directory / folder_of(owner)

    def save(self, chunks: bytes | Iterable[bytes]) -> tuple[str, int]:
        """Keep an original; returns its SHA-256 in hex and its size in bytes.

        Saving it again changes nothing. On return it is on the disk, whole, under its hash.
        Raises DiskFull or StorageError, and then nothing is left behind.
        """
        with _explained(self._folder):
            _make(self._folder)
            part = self._folder / f"{secrets.token_hex(8)}{_PART}"
            try:
                sha256, size = _write([chunks] if isinstance(chunks, bytes) else chunks, part)
                part.replace(self._folder / sha256)
            finally:
                part.unlink(missing_ok=True)
            sync(self._folder)
        return sha256, size

    def path(self, sha256: str) -> Path:
        """Where an original lies; NotFound when this owner has none of that hash."""
        path = self._folder / sha256
        if not _SHA256.fullmatch(sha256) or not path.is_file():
            raise NotFound(f"There is no original with the hash {sha256!r}.")
        return path

    def delete(self, sha256: str) -> None:
        """Remove an original; one that is not there is no error."""
        if _SHA256.fullmatch(sha256):
            with _explained(self._folder):
                (self._folder / sha256).unlink(missing_ok=True)

    def destroy(self) -> None:
        """Remove all of them, as when their owner goes."""
        with _explained(self._folder):
            if self._folder.exists():
                shutil.rmtree(self._folder)

    def sweep(self, keep: set[str]) -> int:
        """Remove unfinished files and originals not in ``keep``; returns how many.

        For the start, before anything is being saved.
        """
        if not self._folder.is_dir():
            return 0
        with _explained(self._folder):
            stray = [path for path in self._folder.iterdir() if path.name not in keep]
            for path in stray:
                path.unlink(missing_ok=True)
        return len(stray)


def folder_of(owner: str) -> str:
    """Return where an owner's originals lie in the data directory: ``"files/<32 hex digits>"``."""
    return f"files/{hashlib.sha256(owner.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def sync(folder: Path) -> None:
    """Make a rename in a folder outlive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _make(folder: Path) -> None:
    """Make the folder so that it, and the one above, outlive a power cut."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync(folder.parent)
        sync(folder.parent.parent)


def _write(chunks: Iterable[bytes], part: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), size


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"There is no space left in {folder}. Free some, then send the file again."
            ) from error
        raise StorageError(f"Originals in {folder} cannot be read or written: {error.strerror}.") from error
