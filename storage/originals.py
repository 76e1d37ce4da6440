"""Originals of one owner by content hash: in a folder or an object store; and their move."""

import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import unquote, urlsplit

from storage.database import Database
from storage.documents import Documents, owners
from storage.errors import NotFound, OriginalDamaged, StorageError
from storage.files import Files, explained, folder_of, is_hash, removed, write_hashed
from storage.i18n import N_
from storage.object_store import ObjectStore

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


SWEPT_AFTER = timedelta(days=1)  # since it was written, until an original that no document names is deleted
_ATTEMPTS = 2  # to read an object with the right bytes


class ObjectFiles:
    """The originals of one owner: objects ``files/<hash of owner>/<sha256>``, as in a data directory.

    Any number of processes may use them. An object is written once and never changed.
    """

    def __init__(
        self, store: ObjectStore, cache: FileCache, owner: str, *, swept_after: timedelta = SWEPT_AFTER
    ) -> None:
        self._store, self._cache, self._folder = store, cache, folder_of(owner)
        self._swept_after = swept_after

    def save(self, chunks: bytes | Iterable[bytes]) -> tuple[str, int]:
        """Save an original; return its SHA-256 in hex and its size in bytes.

        On return the store has it, complete, under its hash. One that is there is written again where it is
        damaged, or so old that another process may be about to sweep it.
        Raises DiskFull, ObjectStoreAway or another StorageError.
        """
        with self._explained():
            part = self._cache.part()
            try:
                sha256, size = write_hashed([chunks] if isinstance(chunks, bytes) else chunks, part)
                key = f"{self._folder}/{sha256}"
                if not self._store.create(key, part) and not self._stands(key, sha256):
                    self._store.replace(key, part)
                with suppress(FileNotFoundError):  # the folder of copies was removed: the store has it
                    self._cache.put(key, part)
            finally:
                part.unlink(missing_ok=True)
        return sha256, size

    def confirm(self, sha256: str) -> None:
        """Save an original again where it was removed since `save`, from its copy.

        Raises NotFound where there is no copy any more.
        """
        key = f"{self._folder}/{sha256}"
        if self._store.info(key) is not None:
            return
        with self._explained():
            copy = self._cache.get(key)
        if copy is None:
            raise removed(sha256)
        self._store.create(key, copy)

    def path(self, sha256: str) -> Path:
        """Return a local copy of an original, fetched where there is none.

        Raises NotFound when this owner has none of that hash, OriginalDamaged, or ObjectStoreAway.
        """
        key = f"{self._folder}/{sha256}"
        if not is_hash(sha256):
            raise self._not_found(sha256)
        with self._explained():
            return self._cache.get(key) or self._fetched(key, sha256)

    @contextmanager
    def opened(self, sha256: str) -> Iterator[IO[bytes]]:
        """Open an original to read it once, from its copy or fetched for this; raises what `path` raises."""
        key = f"{self._folder}/{sha256}"
        if not is_hash(sha256):
            raise self._not_found(sha256)
        with ExitStack() as held:
            with self._explained():
                copy = self._cache.get(key) or held.enter_context(self._part_of(key, sha256))
                file = held.enter_context(copy.open("rb"))
            yield file

    def size(self, sha256: str) -> int | None:
        """Return the size of an original in bytes, or None where there is none; it is not read."""
        found = self._store.info(f"{self._folder}/{sha256}") if is_hash(sha256) else None
        return None if found is None else found.size

    def verify(self, sha256: str) -> bool:
        """Read an original in the store; return whether it is there with the right bytes."""
        if not is_hash(sha256):
            return False
        try:
            digest = hashlib.sha256()
            for block in self._store.read(f"{self._folder}/{sha256}"):
                digest.update(block)
        except NotFound:
            return False
        return digest.hexdigest() == sha256

    def delete(self, sha256: str) -> None:
        """Delete an original and its copy here; one that does not exist is no error."""
        if is_hash(sha256):
            key = f"{self._folder}/{sha256}"
            self._cache.forget(key)
            self._store.delete([key])

    def destroy(self) -> None:
        """Delete all originals of the owner."""
        self._cache.forget(self._folder)
        self._store.delete([one.key for one in self._store.list(self._folder)])

    def drop_copies(self) -> None:
        """Delete the copies that are here."""
        self._cache.forget(self._folder)

    def sweep(self, keep: set[str]) -> int:
        """Delete originals not in ``keep`` that were written more than a day ago; return their number.

        Younger ones may be those of documents that another process is adding. Copies of what is not in
        ``keep`` are removed, too.
        """
        for key in self._cache.keys(self._folder):
            if _hash_in(key) not in keep:
                self._cache.forget(key)
        old = [
            one.key
            for one in self._store.list(self._folder)
            if _hash_in(one.key) not in keep and self._age(one.written) > self._swept_after
        ]
        for key in old:
            now = self._store.info(key)  # it may have been written again since it was listed
            if now is not None and self._age(now.written) > self._swept_after:
                self._store.delete([key])
        return len(old)

    def _stands(self, key: str, sha256: str) -> bool:
        """Return whether an object has the right bytes and is not old."""
        known = self._store.info(key)
        if known is None or self._age(known.written) > self._swept_after / 2:
            return False
        try:
            self._fetched(key, sha256)
        except (NotFound, OriginalDamaged):
            return False
        return True

    def _fetched(self, key: str, sha256: str) -> Path:
        with self._part_of(key, sha256) as part:
            return self._cache.put(key, part)

    @contextmanager
    def _part_of(self, key: str, sha256: str) -> Iterator[Path]:
        """Fetch an object into a new file, which is removed at the end unless it was moved away."""
        part = self._cache.part()
        try:
            self._fetch(key, sha256, part)
            yield part
        finally:
            part.unlink(missing_ok=True)

    def _fetch(self, key: str, sha256: str, part: Path) -> None:
        for _ in range(_ATTEMPTS):
            try:
                if write_hashed(self._store.read(key), part)[0] == sha256:
                    return
            except NotFound as error:
                raise self._not_found(sha256) from error
        raise OriginalDamaged(
            N_(
                "The original with the hash {hash} is damaged in the object store. Send the file again.",
                hash=repr(sha256),
            )
        )

    @staticmethod
    def _age(written: datetime) -> timedelta:
        return datetime.now(UTC) - written

    @staticmethod
    def _not_found(sha256: str) -> NotFound:
        return NotFound(N_("There is no original with the hash {hash}.", hash=repr(sha256)))

    def _explained(self) -> AbstractContextManager[None]:
        folder = self._cache.folder
        return explained(folder, f"Copies of originals in {folder} cannot be read or written")


def _hash_in(key: str) -> str:
    return key.rpartition("/")[2]


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


BLOCK = 1 << 20  # bytes
Progress = Callable[[int, int], None]
"""Called with the number of originals done, and of all."""


@dataclass(frozen=True)
class Moved:
    """Numbers of originals that were copied and that were there; names of documents without one."""

    copied: int
    there: int
    lost: tuple[str, ...]


def copy_originals(
    database: Database, source: OriginalsPlace, target: OriginalsPlace, progress: Progress = lambda *_: None
) -> Moved:
    """Copy the original of every document, and read it back; what is there with the right bytes stays.

    The source is left as it is. Interrupted, it goes on at the next call. Raises StorageError.
    """
    copied, there, lost = 0, 0, list[str]()
    wanted = [(owner, record) for owner in owners(database) for record in Documents(database, owner).list()]
    for done, (owner, record) in enumerate(wanted):
        progress(done, len(wanted))
        into = target.of(owner)
        if into.verify(record.sha256):
            there += 1
        elif _copy(source.of(owner), into, record.sha256):
            copied += 1
        else:
            lost.append(record.name)
    progress(len(wanted), len(wanted))
    return Moved(copied, there, tuple(lost))


def _copy(source: Originals, target: Originals, sha256: str) -> bool:
    """Copy an original; return False where the source has none with the right bytes."""
    try:
        with source.opened(sha256) as file:
            saved, _ = target.save(iter(partial(file.read, BLOCK), b""))
    except (NotFound, OriginalDamaged):
        return False
    if saved != sha256:
        target.delete(saved)
        return False
    if not target.verify(sha256):
        raise StorageError(
            N_(
                "An original was copied, and is not what was written when it is read back: its new place is "
                "not reliable. The old one is unchanged. Choose another place."
            )
        )
    return True
