"""Table of LanceDB in a folder of immutable files, put in order once nothing comes any more.

Every write is a commit: a search sees all of it or nothing, and a killed process leaves the last commit. Rows
that no index of the table has yet are searched one by one.

Several processes may use a table. Each sees what the others have committed once it is told to `refresh`. A
write that another's commit came before is tried again.
"""

import logging
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import RLock, Timer
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from rag.errors import StoreFailed
from rag.index.exact import batches
from rag.index.lance_objects import connect, is_conflict, is_failure, reason_of
from rag.index.vector_index import Hits

if TYPE_CHECKING:
    from rag.index.lance_objects import TableObjects

MOST_UNINDEXED = 1_000  # rows outside the indexes, or a tenth of the table, from which they are taken in
MOST_COMMITS = 200  # writes from which small files are joined
QUIET_SECONDS = 5.0  # after the last write, until the table is put in order
OLD_VERSIONS = timedelta(minutes=1)  # for which replaced files stay: a search may still read them
TRIES = 20  # of a write that other writers' commits come before
LONGEST_PAUSE = 0.5  # seconds between two of them
# recall@10 of a graph over 50,000 made vectors of 384 numbers in 128 directions, a question alone: .92 with
# LanceDB's own values in 4.1 ms, .958 with 100 and 4, .975 with these in 4.2 ms (Chroma with ours: .978).
BREADTH = 200  # candidates kept while a graph is searched
REFINED = 4  # times as many candidates whose exact distances are computed
log = logging.getLogger(__name__)
R = TypeVar("R")


class LanceTable:
    """Rows with an "id" and a "document_id"; any number of searches, and of writers.

    Two writers that add the same new id at once add it twice; it is found once.

    With `objects` it is written in an object store, and read from a copy in the folder.
    Raises what LanceDB raises: see `is_failure`.
    """

    def __init__(self, directory: Path, name: str, objects: "TableObjects | None" = None):
        self._directory, self._objects = directory, objects
        with self._reached():
            self._table = _connect(directory, objects).open_table(name)
        self._copy = None if objects is None else objects.copy(directory, name)
        self._writing = RLock()
        self._closed = False
        self._commits = 0  # since the table was last put in order
        self._ordered_from = 0.0  # time.monotonic() from which, after a failure, that is tried again
        self._written = time.monotonic()
        self._timer: Timer | None = None
        self._unindexed = self._count_unindexed()

    @classmethod
    def find(cls, directory: Path, name: str, objects: "TableObjects | None" = None) -> "LanceTable | None":
        """Open a table; None where there is none."""
        try:
            return cls(directory, name, objects)
        except BaseException as error:
            if is_failure(error) and "was not found" in str(error):
                return None
            raise

    @classmethod
    def make(
        cls, directory: Path, name: str, schema: pa.Schema, objects: "TableObjects | None" = None
    ) -> "LanceTable":
        """Make an empty table where the folder has none; several processes at once make one."""
        directory.mkdir(parents=True, exist_ok=True)
        with nullcontext() if objects is None else objects.reached():
            connection = _connect(directory, objects)
            again(lambda: connection.create_table(name, schema=schema, exist_ok=True))
        made = cls(directory, name, objects)
        for column in ("id", "document_id"):
            made.index_if_absent(column, index_types().BTree())
        return made

    def refresh(self) -> None:
        """Have searches see what other processes have written until now; StoreFailed while it is away."""
        if self._copy is None:
            self._table.checkout_latest()
        else:
            self._copy.look()
        self._unindexed = self._count_unindexed()

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the metadata that the table was made with."""
        return self._read.schema

    def count(self) -> int:
        """Return the number of rows."""
        return int(self._read.count_rows())

    def index_anew(self, column: str, config: Any) -> bool:
        """Make an index of a column in place of an earlier one.

        Return False, and make none, where another process's commit comes first: it takes too long to be tried
        again at once.
        """
        with self._writing, self._changing():
            try:
                self._latest().create_index(column, config=config)
            except BaseException as error:
                if not is_conflict(error):
                    raise
                return False
            return True

    def index_if_absent(self, column: str, config: Any) -> None:
        """Make an index of a column that has none; several processes at once make one."""

        def make() -> None:
            table = self._latest()
            if not any(column in index.columns for index in table.list_indices()):
                table.create_index(column, config=config)

        with self._writing, self._changing():
            again(make)

    def has_index(self, column: str) -> bool:
        """Return whether a column has an index."""
        return any(column in index.columns for index in self._read.list_indices())

    def put(self, rows: pa.Table) -> None:
        """Add rows, replacing those with the same id, in one commit."""

        def merge() -> None:
            merging = self._latest().merge_insert("id")
            merging.when_matched_update_all().when_not_matched_insert_all().execute(rows)

        with self._writing:
            self._check_open()
            self._unindexed += rows.num_rows  # first: a search in between must not take them for indexed
            with self._changing():
                again(merge)
            self._note_commit()

    def delete(self, ids: Iterable[str]) -> None:
        """Remove rows; unknown ids are no error."""
        with self._writing:
            self._check_open()
            for batch in batches(list(ids)):
                before, held = self._table.version, self._unindexed
                self._unindexed = max(1, held)  # rows of another writer may come into sight
                with self._changing():
                    again(partial(self._delete, one_of("id", batch)))
                if self._table.version == before + 1:
                    self._unindexed = held
                self._note_commit()

    def put_in_order(self) -> None:
        """Take all rows into the indexes, join small files, and remove old versions; a failure is logged."""
        with self._writing:
            if self._closed or not (self._commits or self._unindexed):
                return
            try:
                with self._changing():
                    self._latest().optimize(cleanup_older_than=OLD_VERSIONS)
                self._commits, self._unindexed = 0, self._count_unindexed()
            except BaseException as error:
                if not (is_failure(error) or isinstance(error, StoreFailed)):
                    raise
                self._ordered_from = time.monotonic() + QUIET_SECONDS
                if is_conflict(error):  # another process does it, or writes
                    self._try_later()
                    return
                log.warning("The table %s could not be put in order: %s", self._table.name, reason_of(error))

    def rows(self, columns: Sequence[str], where: str | None = None) -> pa.Table:
        """Return the rows that a condition chooses."""

        def search(table: Any) -> pa.Table:
            asked = table.search().select(list(columns))
            return (asked.where(where) if where else asked).to_arrow()

        return self._asked(search)

    def ids(self) -> list[str]:
        """Return every id, once."""
        return list(dict.fromkeys(self.rows(["id"])["id"].to_pylist()))

    def best_matches(
        self, tokens: str, k: int, column: str = "id", values: Collection[str] | None = None
    ) -> Hits:
        """Return at most `k` (id, BM25 score) of rows that have any of the tokens, and one of the values."""
        return self._asked(lambda table: self._best_of(table, tokens, k, column, values))

    def nearest(self, vector: Sequence[float], k: int, where: str | None) -> Hits:
        """Return at most `k` (id, cosine distance) of rows with a "vector", closest first."""

        def search(table: Any) -> pa.Table:
            near = table.search(list(vector), vector_column_name="vector").distance_type("cosine")
            near = near.ef(max(BREADTH, 2 * k)).refine_factor(REFINED).select(["id", "_distance"]).limit(k)
            return (near.where(where, prefilter=True) if where else near).to_arrow()

        return _pairs(self._asked(search), "_distance")

    def close(self) -> None:
        """Accept no more writes; a search that runs goes on."""
        with self._writing:
            if self._objects is not None and not self._closed:
                self._objects.close(self._directory)
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()

    def drop_copy(self) -> bool:
        """Read the table from the store again, where what is read is a copy; return whether it is."""
        if self._copy is not None:
            self._copy.drop()
        return self._copy is not None

    @property
    def _read(self) -> Any:
        """The table that searches read, with every write before."""
        return self._table if self._copy is None else self._copy.table()

    def _delete(self, where: str) -> None:
        self._latest().delete(where)

    def _latest(self) -> Any:
        """Return the table to write to, at its last commit: files of earlier ones may be gone."""
        self._table.checkout_latest()
        return self._table

    def _asked(self, search: Callable[[Any], R]) -> R:
        """Search the table, at its last commit where another process has removed files of an earlier one."""
        try:
            return search(self._read)
        except BaseException as error:
            if self._copy is not None or not (is_failure(error) and "not found" in str(error).lower()):
                raise
        self.refresh()
        return search(self._read)

    def _reached(self) -> AbstractContextManager[None]:
        return nullcontext() if self._objects is None else self._objects.reached()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            with self._reached():
                yield
        finally:
            if self._copy is not None:
                self._copy.note_write()

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("it is closed")

    def _note_commit(self) -> None:
        self._commits, self._written = self._commits + 1, time.monotonic()
        due = self._commits >= MOST_COMMITS or self._unindexed >= max(MOST_UNINDEXED, self.count() // 10)
        if due and self._written >= self._ordered_from:
            self.put_in_order()
        elif self._timer is None:
            self._wait(QUIET_SECONDS)

    def _try_later(self) -> None:
        if self._timer is None:
            self._wait(QUIET_SECONDS * random.uniform(1, 2))  # noqa: S311 - a moment, not a secret

    def _wait(self, seconds: float) -> None:
        self._timer = Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        """Put the table in order if it is quiet; otherwise look again."""
        with self._writing:
            self._timer = None
            left = self._written + QUIET_SECONDS - time.monotonic()
            if left > 0 and not self._closed:
                self._wait(left)
            else:
                self.put_in_order()

    def _best_of(self, table: Any, tokens: str, k: int, column: str, values: Collection[str] | None) -> Hits:
        search = table.search(_match_query(tokens), query_type="fts").select(["id", "_score"])
        if values is None:
            return _pairs(search.limit(k).to_arrow(), "_score")
        if not self._unindexed:
            return _pairs(search.limit(k).where(one_of(column, values), prefilter=True).to_arrow(), "_score")
        # LanceDB would score unindexed rows as if those chosen were the whole table.
        found = search.select(list({"id", column, "_score"})).limit(max(1, self.count())).to_arrow()
        chosen = found.filter(pc.is_in(found[column], pa.array(list(values))))
        return _pairs(chosen.slice(0, k), "_score")

    def _count_unindexed(self) -> int:
        read = self._read
        held = [read.index_stats(index.name) for index in read.list_indices()]
        return max((stats.num_unindexed_rows for stats in held if stats), default=0)


def _connect(directory: Path, objects: "TableObjects | None") -> Any:
    return connect(str(directory)) if objects is None else objects.connect(directory)


def again(write: Callable[[], R]) -> R:
    """Write; again where another writer's commit came first."""
    for attempt in range(1, TRIES):
        try:
            return write()
        except BaseException as error:
            if not is_conflict(error):
                raise
            time.sleep(random.uniform(0.0, min(LONGEST_PAUSE, 0.01 * 2**attempt)))  # noqa: S311 - a pause
    return write()


def index_types() -> Any:
    """Return the module with LanceDB's kinds of index."""
    import lancedb.index

    return lancedb.index


def one_of(column: str, values: Iterable[str]) -> str:
    """Return a condition in SQL.

    >>> one_of("id", ["a", "o'b"])
    "id IN ('a', 'o''b')"
    """
    return f"{column} IN ({', '.join(map(_quoted, values))})"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _pairs(found: pa.Table, score: str) -> Hits:
    """Return ids with their scores, each once."""
    best: dict[str, float] = {}
    for id_, scored in zip(found["id"].to_pylist(), found[score].to_pylist(), strict=True):
        best.setdefault(id_, float(scored))
    return list(best.items())


def _match_query(tokens: str) -> Any:
    from lancedb.query import MatchQuery

    query: Any = MatchQuery  # its types know no defaults
    return query(tokens, "text")
