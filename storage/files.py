"""Original files by content hash. A user's file name never becomes part of a path."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO

from storage.errors import DiskFull, NotFound, OriginalRemoved, StorageError
from storage.i18n import N_

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = ".part"


class Files:
    """The originals of one owner: ``directory/files/<hash of owner>/<sha256>``.

    Where several processes use the directory, a sweep leaves what is younger than `swept_after`: it may be
    the original of a document that another process is adding.
    """

    def __init__(self, directory: Path, owner: str, *, swept_after: timedelta = timedelta(0)) -> None:
        self._folder, self._swept_after = directory / folder_of(owner), swept_after

    def save(self, chunks: bytes | Iterable[bytes]) -> tuple[str, int]:
        """Save an original; return its SHA-256 in hex and its size in bytes.

        Saving it again changes nothing. On return it is on the disk, complete, under its hash.
        Raises DiskFull or StorageError, and then leaves nothing behind.
        """
        with self._explained():
            _make_folder(self._folder)
            part = self._folder / f"{secrets.token_hex(8)}{_PART}"
            try:
                sha256, size = write_hashed([chunks] if isinstance(chunks, bytes) else chunks, part)
                part.replace(self._folder / sha256)
            finally:
                part.unlink(missing_ok=True)
            sync(self._folder)
        return sha256, size

    def confirm(self, sha256: str) -> None:
        """Raise NotFound where another process removed an original since `save`."""
        if self.size(sha256) is None:
            raise removed(sha256)

    def path(self, sha256: str) -> Path:
        """Return the path of an original; NotFound when this owner has none of that hash."""
        path = self._folder / sha256
        if not is_hash(sha256) or not path.is_file():
            raise NotFound(N_("There is no original with the hash {hash}.", hash=repr(sha256)))
        return path

    def opened(self, sha256: str) -> AbstractContextManager[IO[bytes]]:
        """Open an original; NotFound when this owner has none of that hash."""
        return self.path(sha256).open("rb")

    def size(self, sha256: str) -> int | None:
        """Return the size of an original in bytes, or None where there is none."""
        try:
            return self.path(sha256).stat().st_size
        except (NotFound, FileNotFoundError):
            return None

    def verify(self, sha256: str) -> bool:
        """Read an original; return whether it is there with the right bytes."""
        try:
            with self._explained(), self.path(sha256).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha256
        except NotFound:
            return False

    def delete(self, sha256: str) -> None:
        """Delete an original; one that does not exist is no error."""
        if is_hash(sha256):
            with self._explained():
                (self._folder / sha256).unlink(missing_ok=True)

    def destroy(self) -> None:
        """Delete all originals of the owner."""
        with self._explained():
            if self._folder.exists():
                shutil.rmtree(self._folder)

    def drop_copies(self) -> None:
        """Do nothing: there are no copies."""

    def sweep(self, keep: set[str]) -> int:
        """Delete unfinished files and originals not in ``keep``; return their number.

        Call it while this process saves nothing.
        """
        if not self._folder.is_dir():
            return 0
        with self._explained():
            stray = [path for path in self._folder.iterdir() if path.name not in keep and self._is_old(path)]
            for path in stray:
                path.unlink(missing_ok=True)
        return len(stray)

    def _is_old(self, path: Path) -> bool:
        if not self._swept_after:
            return True  # whatever the clock says
        with suppress(FileNotFoundError):
            return time.time() - path.stat().st_mtime > self._swept_after.total_seconds()
        return False

    def _explained(self) -> AbstractContextManager[None]:
        return explained(
            self._folder, f"Originals in {self._folder} cannot be read or written", "send the file again"
        )


def removed(sha256: str) -> OriginalRemoved:
    """Return the error of an original that is gone before the ledger names it."""
    return OriginalRemoved(
        N_(
            "The original with the hash {hash} was removed by another process while it was being added. "
            "Send the file again.",
            hash=repr(sha256),
        )
    )


def is_hash(text: str) -> bool:
    """Return whether a text is a SHA-256 in hex, as originals are named."""
    return _SHA256.fullmatch(text) is not None


def folder_of(owner: str) -> str:
    """Return the folder of an owner's originals in the data directory: ``"files/<32 hex digits>"``."""
    return f"files/{hashlib.sha256(owner.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def sync(folder: Path) -> None:
    """Flush a folder to the disk, so that a rename in it survives a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _make_folder(folder: Path) -> None:
    """Create the folder and flush its parents, so that they survive a power cut."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync(folder.parent)
        sync(folder.parent.parent)


def write_hashed(chunks: Iterable[bytes], path: Path) -> tuple[str, int]:
    """Write a file (0600) and flush it to the disk; return its SHA-256 in hex and its size in bytes."""
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), size


@contextmanager
def explained(folder: Path, failure: str = "", remedy: str = "try again") -> Iterator[None]:
    """Turn the system's errors into DiskFull, which tells the remedy, or StorageError with `failure`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                N_(
                    "There is no space left in {folder}. Free some, then {remedy}.",
                    folder=folder,
                    remedy=remedy,
                )
            ) from error
        failure = failure or f"{folder} cannot be read or written"
        raise StorageError(f"{failure}: {error.strerror or error}.") from error
