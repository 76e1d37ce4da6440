"""Originals of one owner by content hash, in a folder or in an object store, chosen by one setting."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import unquote, urlsplit

from storage.file_cache import FileCache
from storage.files import Files
from storage.object_files import SWEPT_AFTER, ObjectFiles
from storage.object_store import ObjectStore

CACHE = "cache"  # folder in the data directory, of copies that may be removed at any time
FOLDER = "file"  # scheme of a folder's address


class Originals(Protocol):
    """Originals of one owner; `Files` keeps them in a folder, `ObjectFiles` in an object store."""

    def save(self, chunks: bytes | Iterable[bytes]) -> tuple[str, int]:
        """Save an original; return its SHA-256 in hex and its size in bytes. It is then safe."""

    def confirm(self, sha256: str) -> None:
        """Save an original again where another process removed it since `save`, or raise NotFound.

        Call it, and name the original in the ledger, while no other process can delete one.
        """

    def path(self, sha256: str) -> Path:
        """Return a file with an original's bytes; NotFound when this owner has none of that hash."""

    def opened(self, sha256: str) -> AbstractContextManager[IO[bytes]]:
        """Open an original to read it once; no copy of it stays. Raises what `path` raises."""

    def size(self, sha256: str) -> int | None:
        """Return the size of an original in bytes, or None where there is none; it is not read."""

    def verify(self, sha256: str) -> bool:
        """Read an original where it is kept, not a copy; return whether it has the right bytes."""

    def delete(self, sha256: str) -> None:
        """Delete an original; one that does not exist is no error."""

    def destroy(self) -> None:
        """Delete all originals of the owner."""

    def drop_copies(self) -> None:
        """Delete the copies that are here of what is kept elsewhere."""

    def sweep(self, keep: set[str]) -> int:
        """Delete what no document names and nobody is saving; return the number."""


class OriginalsPlace(Protocol):
    """Place of everyone's originals."""

    def of(self, owner: str) -> Originals:
        """Return the originals of an owner."""

    def check(self) -> None:
        """Raise StorageError unless originals can be written, read and deleted there."""

    def reach(self) -> None:
        """Raise StorageError unless it answers now."""


class Folder:
    """Originals in a folder; see `Files`."""

    def __init__(self, folder: Path, swept_after: timedelta = timedelta(0)) -> None:
        self._folder, self._swept_after = folder, swept_after

    def of(self, owner: str) -> Files:
        """Return the originals of an owner."""
        return Files(self._folder, owner, swept_after=self._swept_after)

    def check(self) -> None:
        """Accept every folder: one that cannot be used says so when it is."""

    def reach(self) -> None:
        """Accept every folder."""


class Bucket:
    """Originals in an object store, with copies in a cache; see `ObjectFiles`."""

    def __init__(self, store: ObjectStore, cache: FileCache, swept_after: timedelta) -> None:
        self._store, self._cache, self._swept_after = store, cache, swept_after

    def of(self, owner: str) -> ObjectFiles:
        """Return the originals of an owner."""
        return ObjectFiles(self._store, self._cache, owner, swept_after=self._swept_after)

    def check(self) -> None:
        """Raise StorageError unless originals can be written, read and deleted, and none is overwritten."""
        self._store.check()

    def reach(self) -> None:
        """Raise StorageError unless the store answers now."""
        self._store.info(CACHE)


def shared_folder(address: str) -> Path | None:
    """Return the folder that an address names; None for an object store, or no address.

    >>> shared_folder("file:///srv/footnote"), shared_folder("s3://bucket")
    (PosixPath('/srv/footnote'), None)
    """
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == FOLDER else None


def open_originals(
    data: Path, address: str, cache_bytes: int, *, swept_after: timedelta = SWEPT_AFTER
) -> OriginalsPlace:
    """Return the place of the originals: the data directory, or an address; nothing is asked there yet.

    At an address a sweep leaves what is younger than `swept_after`. Raises StorageError.
    """
    if not address:
        return Folder(data)
    if folder := shared_folder(address):
        return Folder(folder, swept_after)
    return Bucket(ObjectStore.connect(address), FileCache(data / CACHE, cache_bytes), swept_after)
