"""LanceDB: its connections and errors, and tables in an object store.

Those are read from copies of their files on the local disk: a search that reads a table in the store itself
makes tens of requests. Files of a table are written once, so a copy needs what is new since the last look,
and the newest manifest last.
"""

import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rag.errors import StoreFailed
from rag.text.normalize import canonical
from storage.errors import NotFound, StorageError
from storage.object_store import ObjectStore

FULL = "there is no space left on its disk. Free some, then try again."
_PANIC = "PanicException"  # a BaseException that no module exports
_PLACE = re.compile(r",? \S+\.rs(:\d+)*")
_ADDRESS = re.compile(r"\w+://\S+")
_DETAIL = 200  # letters of an error


def is_failure(error: BaseException) -> bool:
    """Return whether LanceDB, or the disk, raised this error; on damaged files its Rust code may panic."""
    return isinstance(error, OSError | ValueError | RuntimeError) or type(error).__name__ == _PANIC


def is_conflict(error: BaseException) -> bool:
    """Return whether another writer's commit came first, so that a write may succeed when tried again."""
    return isinstance(error, OSError | ValueError | RuntimeError) and "commit conflict" in str(error).lower()


def reason_of(error: BaseException) -> str:
    r"""Return the first line of an error, without addresses and the place in LanceDB's source code.

    >>> reason_of(RuntimeError("lance error: no such column, /src/table.rs:12:8\nCaused by: ..."))
    'lance error: no such column'
    >>> reason_of(OSError("cannot GET http://store:9000/bucket/key in 3 ms"))
    'cannot GET … in 3 ms'
    >>> reason_of(OSError(28, "No space left on device"))
    'there is no space left on its disk. Free some, then try again.'
    """
    said = str(error)
    if "No space left" in said:
        return FULL
    first = (said.strip() or type(error).__name__).splitlines()[0]
    return canonical(_ADDRESS.sub("…", _PLACE.sub("", first)))[:_DETAIL]


def connect(place: str) -> Any:
    """Return LanceDB's connection to a folder, or to an address of an object store."""
    # Otherwise the statistics of an index with a graph print a warning.
    os.environ.setdefault("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")
    import lancedb  # takes more than a second

    options = {"allow_http": "true"} if "://" in place else None
    return lancedb.connect(place, storage_options=options)


MANIFESTS = "_versions"
AWAY_SECONDS = 5.0  # after a failure, in which reads do not ask the store again
KEPT_SECONDS = 60.0  # that a file stays in a copy after it is gone from the store: a search may still read it
_LOOKS = 5  # at a table whose files are replaced meanwhile
_PART = ".part"
log = logging.getLogger(__name__)


class TableObjects:
    """Tables of everyone below the address of an object store; copies lie below `root`, in the same folders.

    Copies take at most `most_bytes`, beside those of tables that are open. Raises StoreFailed while the
    store is away.
    """

    def __init__(self, store: ObjectStore, address: str, root: Path, most_bytes: int):
        self._store, self._address, self._root = store, address.rstrip("/"), root
        self._most_bytes = most_bytes
        self._open: dict[Path, int] = {}  # how often each folder is open
        self._lock = threading.Lock()

    @classmethod
    def at(cls, address: str, root: Path, most_bytes: int) -> "TableObjects":
        """Return the tables at an address such as ``s3://bucket/prefix``; nothing is asked yet."""
        return cls(ObjectStore.connect(address), address, root, most_bytes)

    def names(self, directory: Path) -> list[str]:
        """Return the names of the folders in a directory."""
        with self.reached():
            return self._store.folders(self._key(directory))

    def exists(self, folder: Path) -> bool:
        """Return whether there is anything in a folder."""
        with self.reached():
            return next(self._store.list(self._key(folder)), None) is not None

    def remove(self, folder: Path) -> None:
        """Remove a folder with all that is in it, and its copy."""
        with self.reached():
            self._store.delete([found.key for found in self._store.list(self._key(folder))])
        shutil.rmtree(folder, ignore_errors=True)

    def connect(self, folder: Path) -> Any:
        """Return LanceDB's connection to a folder in the store."""
        return connect(f"{self._address}/{self._key(folder)}")

    def copy(self, folder: Path, name: str) -> "TableCopy":
        """Return the copy of a table, and remove those that have not been used for longest."""
        with self._lock:
            self._open[folder] = self._open.get(folder, 0) + 1
        return TableCopy(self, self._store, self._key(folder), folder, name)

    def close(self, folder: Path) -> None:
        """Let the copy of a table be removed when others need room."""
        with self._lock:
            self._open[folder] = self._open.get(folder, 1) - 1

    def trim(self) -> None:
        """Remove the copies that have not been used for longest, beyond the bound."""
        with self._lock:
            folders = [
                folder
                for folder in self._root.glob("indexes/*/*")
                if any(folder.glob("*.lance/" + MANIFESTS))
            ]
            sizes = {folder: _size(folder) for folder in folders}
            total = sum(sizes.values())
            for folder in sorted(folders, key=_used):
                if total <= self._most_bytes:
                    return
                if self._open.get(folder, 0) < 1:
                    shutil.rmtree(folder, ignore_errors=True)
                    total -= sizes[folder]

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Raise StoreFailed, without a host or a key, where an operation fails because the store is away."""
        try:
            yield
        except StorageError as error:
            raise StoreFailed(error.args[0]) from error
        except BaseException as error:
            if is_failure(error):
                self._confirm(error)
            raise

    def _confirm(self, failure: BaseException) -> None:
        try:
            self._store.info("indexes")
        except StorageError as error:
            raise StoreFailed(error.args[0]) from failure

    def _key(self, folder: Path) -> str:
        return folder.relative_to(self._root).as_posix()


class TableCopy:
    """Copy of one table, brought in step with the store before it is read after a write.

    While the store is away it is read as it was last seen.
    """

    def __init__(self, objects: TableObjects, store: ObjectStore, key: str, folder: Path, name: str):
        self._objects, self._store, self._key = objects, store, key
        self._folder, self._name = folder, name
        self._table: Any = None
        self._writes, self._seen = 1, 0
        self._failed: StoreFailed | None = None
        self._asked_again = 0.0  # time.monotonic() from which, after a failure, the store is asked again
        self._gone: dict[Path, float] = {}
        self._lock = threading.Lock()

    def note_write(self) -> None:
        """Have the next reader look at the store."""
        self._writes, self._failed = self._writes + 1, None

    def look(self) -> None:
        """Look at the store for what others have written; raises StoreFailed while it is away."""
        self._writes += 1
        with self._lock:
            self._bring_in_step()

    def table(self) -> Any:
        """Return the copied table as LanceDB opens it, with every write before this call.

        While the store is away it is the table as it was seen last; raises StoreFailed where it never was.
        """
        with self._lock:
            try:
                self._bring_in_step()
            except StoreFailed:
                if self._table is None:
                    raise
            return self._table

    def _bring_in_step(self) -> None:
        if self._seen == self._writes:
            return
        if self._failed is not None and time.monotonic() < self._asked_again:
            raise StoreFailed(self._failed.args[0])
        writes = self._writes
        try:
            with self._objects.reached():
                self._update()
        except StoreFailed as error:
            self._failed, self._asked_again = error, time.monotonic() + AWAY_SECONDS
            log.warning("The table %s is read as it was last seen. %s", self._name, error)
            raise
        self._failed = None
        if self._table is None:
            self._table = self._opened()
            self._objects.trim()
        else:
            self._table.checkout_latest()
        self._seen = writes

    def drop(self) -> None:
        """Remove the copy; the next reader fetches the table again."""
        with self._lock:
            shutil.rmtree(self._folder / f"{self._name}.lance", ignore_errors=True)
            self._table, self._seen = None, 0

    def _opened(self) -> Any:
        os.utime(self._folder)  # used now
        try:
            return connect(str(self._folder)).open_table(self._name)
        except BaseException as error:
            if not is_failure(error):
                raise
        shutil.rmtree(self._folder / f"{self._name}.lance")  # damaged files on this disk
        with self._objects.reached():
            self._update()
        return connect(str(self._folder)).open_table(self._name)

    def _update(self) -> None:
        for look in range(_LOOKS):
            try:
                self._fetch_new()
            except NotFound:  # replaced since it was listed
                if look == _LOOKS - 1:
                    raise
            else:
                return

    def _fetch_new(self) -> None:
        """Fetch what is new. Only manifests that were there before the other files were listed are taken."""
        table = f"{self._key}/{self._name}.lance"
        manifests = {found.key: found.size for found in self._store.list(f"{table}/{MANIFESTS}")}
        others = {
            found.key: found.size
            for found in self._store.list(table)
            if not found.key.startswith(f"{table}/{MANIFESTS}/")
        }
        for sizes in (others, manifests):
            for key, size in sizes.items():
                self._fetch(key, size)
        self._remove_gone({self._path(key) for key in (*others, *manifests)})

    def _fetch(self, key: str, size: int) -> None:
        path = self._path(key)
        with suppress(FileNotFoundError):
            if path.stat().st_size == size:
                return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_name(path.name + _PART)
        with part.open("wb") as file:
            for block in self._store.read(key):
                file.write(block)
        part.replace(path)

    def _remove_gone(self, there: set[Path]) -> None:
        now = time.monotonic()
        for path in (self._folder / f"{self._name}.lance").rglob("*"):
            if path in there or not path.is_file():
                continue
            if now - self._gone.setdefault(path, now) > KEPT_SECONDS:
                path.unlink(missing_ok=True)
                del self._gone[path]

    def _path(self, key: str) -> Path:
        return self._folder / Path(key).relative_to(self._key)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _used(folder: Path) -> float:
    with suppress(FileNotFoundError):
        return folder.stat().st_mtime
    return 0.0
