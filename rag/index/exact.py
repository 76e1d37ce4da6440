"""Exact search in a few documents: a file of vectors, kept as a copy of a vector index."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

AT_ONCE = 1 << 20  # bytes read at a time
SHARE = 8  # one part in so many of the memory: the largest file that is prefetched


class Prefetch(Thread):
    """Thread that brings `file` into the page cache, unless it is too large; it is started once.

    A disk gives scattered rows at a tenth of the pace of a whole file. The next search reports read errors.
    """

    def __init__(self, file: Path):
        super().__init__(name="warm vectors", daemon=True)
        self._file = file
        self._stop_reading = Event()

    def stop(self) -> None:
        """Stop reading, and wait for the thread where it was started."""
        self._stop_reading.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Read the file."""
        buffer = bytearray(AT_ONCE)
        try:
            with self._file.open("rb", buffering=0) as opened:
                if os.fstat(opened.fileno()).st_size > _memory() // SHARE:
                    return
                while not self._stop_reading.is_set() and opened.readinto(buffer):
                    pass
        except OSError:
            return


def _memory() -> int:
    """Return the machine's memory in bytes, 0 where it is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # AttributeError: there is no sysconf on Windows
        return 0


T = TypeVar("T")
Space = Literal["cosine", "l2", "ip"]


def cosine_relevance(distance: float) -> float:
    """Return 1 - distance, where distance = 1 - cosine, or 1 - inner product: ``0.2 -> 0.8, 1.3 -> 0``."""
    return min(1.0, 1 - distance) if 1 - distance > 0 else 0.0


def euclidean_relevance(distance: float) -> float:
    """Return 1 - distance / 2, where distance = |a - b|², as Chroma's "l2": ``0.4 -> 0.8, 2.6 -> 0``.

    For vectors of length 1, |a - b|² = 2 - 2 cosine(a, b).
    """
    return cosine_relevance(distance / 2)


RELEVANCE: dict[Space, Callable[[float], float]] = {
    "cosine": cosine_relevance,
    "l2": euclidean_relevance,
    "ip": cosine_relevance,
}
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
MOST = 20_000_000  # numbers that one search reads, 80 MB: 52,000 vectors of 384, in about 30 ms
_CACHE = 8192  # KB of SQLite's page cache, enough for 70,000 entries
_SLAB = 1024  # rows at a time: they stay in the processor's cache
_RUN = 8  # consecutive rows from which slicing is quicker than copying
_TABLES = """
CREATE TABLE IF NOT EXISTS entries (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document_id TEXT);
CREATE INDEX IF NOT EXISTS entries_of ON entries (document_id);
CREATE TABLE IF NOT EXISTS free (row INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS announced (id TEXT PRIMARY KEY);
"""
_NONE: Floats = np.empty((0, 0), np.float32)
_THESE = "(SELECT value FROM json_each(?))"  # SQLite limits parameters, not the length of one
_ANNOUNCE = f"INSERT OR IGNORE INTO announced {_THESE[1:-1]}"
_ROWS_OF_IDS = "SELECT value, row FROM json_each(?) CROSS JOIN entries ON entries.id = value"  # given order
_RANGES_OF_DOCUMENTS = (
    f"SELECT document_id, min(row), max(row), count(*) FROM entries WHERE document_id IN {_THESE} "  # noqa: S608
    "GROUP BY document_id"
)
_ROWS_OF_DOCUMENT = "SELECT row FROM entries WHERE document_id = ?"
_IDS_OF_ROWS = f"SELECT row, id FROM entries WHERE row IN {_THESE}"  # noqa: S608
_FREE = (
    f"INSERT INTO free SELECT row FROM entries WHERE id IN {_THESE}",  # noqa: S608
    f"DELETE FROM entries WHERE id IN {_THESE}",  # noqa: S608
    f"DELETE FROM announced WHERE id IN {_THESE}",  # noqa: S608
)


class VectorFile:
    """Vectors as rows of float32 in one file, with the rows' ids and documents in a small SQLite file.

    Only the wanted rows are read. Every row below the last belongs to an entry or is free, and is on disk
    before its entry. A writer announces ids before it changes the index, and puts or deletes them here
    afterwards, so that ids which a crash leaves `announced` are copied again. Damaged or mismatched files
    are replaced by empty ones.
    """

    def __init__(self, directory: Path, name: str, *, most: int = MOST):
        self._most = most
        self._file = directory / f"{name}-rows.f32"
        self._lock = Lock()
        self._mapped: Floats | None = None  # every row; None after the file has grown
        self._prefetch = Prefetch(self._file)
        self._row_cache: dict[str, Rows] = {}  # rows by document, since the last change
        self._db = _open_files(directory / f"{name}-rows.sqlite3", self._file)

    @staticmethod
    def remove(directory: Path, name: str) -> None:
        """Delete the files; absent ones are no error."""
        for suffix in (".f32", ".sqlite3", ".sqlite3-wal", ".sqlite3-shm"):
            (directory / f"{name}-rows{suffix}").unlink(missing_ok=True)

    def announce(self, ids: Iterable[str]) -> None:
        """Record that these entries are about to change; they are in doubt until put or deleted."""
        with self._lock, self._db:
            self._db.execute(_ANNOUNCE, _json_list(ids))

    def announced(self) -> set[str]:
        """Return the ids that are in doubt."""
        with self._lock:
            return {id_ for (id_,) in self._db.execute("SELECT id FROM announced")}

    def put(self, ids: Sequence[str], document_ids: Sequence[str | None], vectors: ArrayLike) -> None:
        """Add vectors [n, dimension], replacing those with the same id; the ids differ from each other."""
        rows = np.ascontiguousarray(vectors, "<f4")
        with self._lock, self._db:
            self._row_cache.clear()
            self._mapped = None
            if not _dimension(self._db):
                self._db.execute(f"PRAGMA user_version = {rows.shape[1]:d}")
            places = self._places(len(rows))
            _write(self._file, places, rows)
            self._free(ids)
            self._db.executemany(
                "INSERT INTO entries VALUES (?, ?, ?)", zip(places, ids, document_ids, strict=True)
            )

    def delete(self, ids: Iterable[str]) -> None:
        """Remove entries; unknown ids are no error."""
        with self._lock, self._db:
            self._row_cache.clear()
            self._free(ids)

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._lock:
            return {id_ for (id_,) in self._db.execute("SELECT id FROM entries")}

    def count(self) -> int:
        """Return how many entries there are."""
        with self._lock:
            (count,) = self._db.execute("SELECT count(*) FROM entries").fetchone()
            return int(count)

    def vectors(self, ids: Sequence[str]) -> tuple[list[str], Floats]:
        """Return the existing ids in order, and their vectors [n, dimension]."""
        with self._lock:
            rows = dict(self._db.execute(_ROWS_OF_IDS, _json_list(ids)).fetchall())
            there = [id_ for id_ in ids if id_ in rows]
            return there, self._rows()[[rows[id_] for id_ in there]] if there else _NONE

    def nearest(
        self, vector: ArrayLike, k: int, document_ids: Iterable[str], space: Space
    ) -> list[tuple[str, float]] | None:
        """Return the `k` closest (id, distance) of some documents; None where there is too much to read."""
        asked = np.asarray(vector, np.float32)
        with self._lock:
            rows = self._rows_of(document_ids)
            if not len(rows):
                return []
            vectors = self._rows()
            if asked.shape != vectors.shape[1:] or len(rows) * len(asked) > self._most:
                return None
            found = distances(vectors, asked, space, rows)
            best = _smallest(found, k)
            ids = dict(self._db.execute(_IDS_OF_ROWS, _json_list(map(int, rows[best]))).fetchall())
        return [(ids[int(rows[at])], float(found[at])) for at in best]

    def close(self) -> None:
        """Release the files."""
        with self._lock:
            self._mapped = None
            self._db.close()
            self._prefetch.stop()

    def _rows(self) -> Floats:
        """Return every row; mapping is slow, so the file is mapped again only after it has grown."""
        if self._mapped is None:
            dimension = _dimension(self._db)
            mapped = np.asarray(np.memmap(self._file, "<f4", mode="r"))  # slicing a memmap is slow
            self._mapped = mapped[: len(mapped) // dimension * dimension].reshape(-1, dimension)
            if self._prefetch.ident is None:
                self._prefetch.start()
        return self._mapped

    def _rows_of(self, document_ids: Iterable[str]) -> Rows:
        """Return the sorted row numbers of some documents."""
        wanted = set(document_ids)
        self._look_up(sorted(wanted - self._row_cache.keys()))
        parts = [self._row_cache[id_] for id_ in wanted]
        return np.sort(np.concatenate(parts), kind="stable") if parts else np.empty(0, np.int64)

    def _look_up(self, document_ids: Sequence[str]) -> None:
        """Cache the rows of documents: looking them up takes a third as long as reading them."""
        self._row_cache.update(dict.fromkeys(document_ids, np.empty(0, np.int64)))
        for id_, first, last, count in self._db.execute(
            _RANGES_OF_DOCUMENTS, _json_list(document_ids)
        ).fetchall():
            whole = last - first + 1 == count  # consecutive rows, as of most documents
            self._row_cache[id_] = np.arange(first, last + 1) if whole else self._scattered(id_)

    def _scattered(self, document_id: str) -> Rows:
        return np.array([row for (row,) in self._db.execute(_ROWS_OF_DOCUMENT, (document_id,))], np.int64)

    def _places(self, count: int) -> list[int]:
        """Return row numbers to write to: free ones, then new ones at the end."""
        used = [row for (row,) in self._db.execute("SELECT row FROM free ORDER BY row LIMIT ?", (count,))]
        end = _end(self._db)
        self._db.executemany("DELETE FROM free WHERE row = ?", [(row,) for row in used])
        return [*used, *range(end, end + count - len(used))]

    def _free(self, ids: Iterable[str]) -> None:
        given = _json_list(ids)
        for statement in _FREE:
            self._db.execute(statement, given)


def distances(vectors: Floats, asked: Floats, space: Space, rows: ArrayLike | None = None) -> Floats:
    """Return the distance of `asked` [dimension] to each of some rows, or all, as Chroma defines it.

    To [1, 0] from [0.6, 0.8] these are 0.4, 0.8 and 0.4.
    """
    slabs = [vectors] if rows is None else _slabs(vectors, np.asarray(rows))
    return _DISTANCES[space](slabs, asked)


def _slabs(vectors: Floats, rows: Rows) -> Iterator[Floats]:
    """Yield the rows a slab at a time: consecutive ones as a slice, others copied."""
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if _long_runs(rows) else [rows]:
        for at in range(0, len(run), _SLAB):
            part = run[at : at + _SLAB]
            whole = part[-1] - part[0] + 1 == len(part)
            yield vectors[part[0] : part[-1] + 1] if whole else vectors[part]


def _long_runs(rows: Rows) -> bool:
    return int((np.diff(rows) != 1).sum()) * _RUN < len(rows)


def _smallest(found: Floats, k: int) -> Rows:
    """Return the positions of the `k` smallest, smallest first, earlier positions first among equals."""
    candidates = (
        np.flatnonzero(found <= np.partition(found, k - 1)[k - 1])
        if k < len(found)
        else np.arange(len(found))
    )
    return candidates[np.argsort(found[candidates], kind="stable")[:k]]


def _cosine(slabs: Iterable[Floats], asked: Floats) -> Floats:
    parts = [(slab @ asked, np.einsum("ij,ij->i", slab, slab)) for slab in slabs]
    products, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
    lengths = np.sqrt(squares) * np.linalg.norm(asked)
    return np.asarray(1 - products / np.where(lengths > 0, lengths, 1), np.float32)


def _l2(slabs: Iterable[Floats], asked: Floats) -> Floats:
    between = (slab - asked for slab in slabs)
    return np.concatenate([np.einsum("ij,ij->i", each, each) for each in between])


def _inner(slabs: Iterable[Floats], asked: Floats) -> Floats:
    return np.asarray(1 - np.concatenate([slab @ asked for slab in slabs]), np.float32)


_DISTANCES: dict[Space, Callable[[Iterable[Floats], Floats], Floats]] = {
    "cosine": _cosine,
    "l2": _l2,
    "ip": _inner,
}


def _open_files(path: Path, rows: Path) -> sqlite3.Connection:
    """Open both files, replaced by empty ones where they are damaged or do not match."""
    rows.touch()
    try:
        db = _connect(path)
        if rows.stat().st_size >= _end(db) * _dimension(db) * 4:
            return db
        db.close()
    except sqlite3.DatabaseError as error:
        if not _damaged(error):
            raise
    VectorFile.remove(path.parent, path.name.removesuffix("-rows.sqlite3"))
    rows.touch()
    return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=10, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA cache_size=-{_CACHE:d}")
        db.executescript(_TABLES)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _damaged(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _dimension(db: sqlite3.Connection) -> int:
    """Return the vectors' dimension, kept in SQLite's user_version; 0 before the first."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _end(db: sqlite3.Connection) -> int:
    """Return the number of the first row that was never used."""
    (last,) = db.execute(
        "SELECT max(coalesce((SELECT max(row) FROM entries), -1), coalesce((SELECT max(row) FROM free), -1))"
    ).fetchone()
    return int(last) + 1


def _write(file: Path, places: Sequence[int], rows: Floats) -> None:
    size = rows.shape[1] * 4
    with file.open("r+b") as opened:
        for place, row in zip(places, rows, strict=True):
            opened.seek(place * size)
            opened.write(row.tobytes())
        opened.flush()
        os.fsync(opened.fileno())


def _json_list(items: Iterable[object]) -> tuple[str]:
    return (json.dumps(list(items)),)


BATCH = 5000  # entries: Chroma takes 5,461 at once, its SQLite 32,766 names in a query


def check_lengths(**columns: Sequence[Any]) -> None:
    """Raise ValueError, naming the columns, where their lengths differ."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Different lengths: {', '.join(f'{n} {name}' for name, n in lengths.items())}.")


def evenly(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most `most` of the items, evenly spread.

    >>> evenly("abcdefg", 3)
    'adg'
    """
    return items[:: max(1, -(-len(items) // most))]


def batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the items in order, at most BATCH at a time."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


class Entries(NamedTuple):
    """Entries of an index: ids, their documents where known, and vectors [n, dimension]."""

    ids: Sequence[str]
    document_ids: Sequence[str | None]
    vectors: ArrayLike
