"""Original files in an object store, one object each, with copies on the local disk for their readers."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from storage.errors import NotFound, OriginalDamaged
from storage.file_cache import FileCache
from storage.files import explained, folder_of, is_hash, removed, write_hashed
from storage.i18n import N_
from storage.object_store import ObjectStore

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
