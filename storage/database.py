"""The ledger database: opening with checks and migrations, transactions, and the base of its stores."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    Select,
    SQLColumnExpression,
    bindparam,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from storage import files, migrations, postgres, sqlite
from storage.errors import DatabaseDamaged, DatabaseTooNew, NotFound, StorageBusy, StorageError
from storage.i18n import N_
from storage.jobs import LEASE_SECONDS, JobQueue
from storage.lock import ALONE, DataDirectoryLock, ServerFence, Sharing
from storage.sqlite import LEDGER
from storage.tables import (
    ApiKeyRow,
    CollectionRow,
    ConversationRow,
    Document,
    GridRow,
    LabSet,
    Ledger,
    SourceRow,
    TagRow,
    TreeBranch,
    WebhookRow,
    storable,
)


def revision(connection: Connection) -> str | None:
    """Return the migration revision of the ledger on a server, None when it has none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


MOST = 900  # ids of a `Lookup` at once: below the 999 parameters that every SQLite allows


@dataclass(frozen=True, eq=False)
class Lookup:
    """Compiled query for an owner's rows by id: `statement` takes ``owner``, and `key` is the id's column.

    It runs on the database's driver, since SQLAlchemy's layers take four times as long as six rows do. It is
    compiled once for each power of two of ids; the last id is repeated to fill it up.
    """

    statement: Select[*tuple[Any, ...]]
    key: SQLColumnExpression[str]

    def over(self, ids: Sequence[str], owner: str, dialect: Dialect) -> Iterator[tuple[str, Any]]:
        """Yield SQL and parameters as the driver of a dialect takes them, one for each 900 ids."""
        for first in range(0, len(ids), MOST):
            some = ids[first : first + MOST]
            kind: Any = type(dialect)
            yield _compiled(self, kind, _size(len(some))).given(some, owner)


def parsed(value: Any) -> Any:
    """Parse a JSON column, which SQLite's driver returns as text and PostgreSQL's as the value."""
    return json.loads(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class _Compiled:
    sql: str
    ids: Sequence[str]  # the names of their parameters
    others: Mapping[str, Any]
    order: Sequence[str] | None  # of all names; None where the driver takes names

    def given(self, ids: Sequence[str], owner: str) -> tuple[str, Any]:
        values = {**self.others, **dict.fromkeys(self.ids, storable(ids[-1])), "owner": storable(owner)}
        values.update(zip(self.ids, map(storable, ids), strict=False))
        return self.sql, values if self.order is None else [values[name] for name in self.order]


@lru_cache(maxsize=64)
def _compiled(lookup: Lookup, dialect: Any, size: int) -> _Compiled:
    """Compile a lookup of `size` ids; to do so takes longer than to run it."""
    names = [f"id{number}" for number in range(size)]
    narrowed = lookup.statement.where(lookup.key.in_([bindparam(name) for name in names]))
    made = narrowed.compile(dialect=dialect())
    return _Compiled(str(made), names, made.params, made.positiontup)


def _size(count: int) -> int:
    """Return the next power of two, at most MOST: ``6 -> 8``."""
    return min(MOST, 1 << (count - 1).bit_length())


LONE_LEASE_SECONDS = 60.0  # of a process that has the ledger alone: its start ends the leases of a dead one
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"  # of several statements
UNPACKED = ".restoring"  # folder of an archive that is not verified yet
VERIFIED = ".restored"  # folder of a verified one, whose files are moved into place


def settle(directory: Path, lock: DataDirectoryLock) -> None:
    """Finish an interrupted restore where it was verified, else undo it.

    The caller holds `lock`. Without such a restore nothing happens.
    """
    with files.explained(directory):
        if (directory / UNPACKED).exists():
            shutil.rmtree(directory / UNPACKED)
        verified = directory / VERIFIED
        if not verified.exists():
            return
        for entry in sorted(verified.iterdir(), key=lambda entry: entry.name == LEDGER):  # the ledger last
            entry.replace(directory / entry.name)
        files.sync(directory)
        stored = sqlite.inspect(directory / LEDGER)
        lock.note(stored.commits if stored else 0)
        verified.rmdir()


_LEDGER = inspect(Ledger).local_table.c  # columns: a mapped object takes three times as long in every commit
_COUNTING = update(_LEDGER.commits.table).values(commits=_LEDGER.commits + 1).returning(_LEDGER.commits)


class Database:
    """The ledger of one data directory, locked until :meth:`close`."""

    def __init__(
        self,
        directory: Path,
        engine: Engine,
        lock: DataDirectoryLock,
        fence: ServerFence | None = None,
        sharing: Sharing = ALONE,
    ) -> None:
        self.directory = directory
        self._engine = engine
        self._immediate = engine.execution_options(immediate=True)
        self._embedded = engine.dialect.name == "sqlite"
        level = {} if self._embedded else {"isolation_level": "REPEATABLE READ"}
        self._snapshot = engine.execution_options(**level)
        self._lock, self._fence = lock, fence
        self.together = sharing.together
        """True where other processes may use the ledger, too."""
        self._writer = threading.Lock()  # threads queue here instead of polling SQLite's lock
        lease = LEASE_SECONDS if self.together else LONE_LEASE_SECONDS
        self.queue = JobQueue(self, lease=lease, alone=not self.together)

    @property
    def shared(self) -> bool:
        """True where other processes may use the ledger at the same time: it is on a server."""
        return not self._embedded

    @classmethod
    def open(cls, directory: Path, *, url: str | None = None, sharing: Sharing = ALONE) -> Database:
        """Lock, check, back up if a migration is due, migrate; ``url`` names a ledger on a server.

        A ledger on PostgreSQL is locked, too: for one process, or as ``sharing`` says.

        Raises DataDirectoryLocked, DatabaseDamaged, DatabaseTooNew, or another StorageError.
        """
        lock = DataDirectoryLock(directory)
        lock.acquire()
        try:
            with sqlite.explained(directory):
                settle(directory, lock)
                engine, fence = (_local(directory, lock), None) if url is None else _remote(url, sharing)
        except BaseException:
            lock.release()
            raise
        opened = cls(directory, engine, lock, fence, sharing)
        try:
            if not opened.together:
                opened.queue.free_all()
        except BaseException:
            opened.close()
            raise
        return opened

    @staticmethod
    def restore(directory: Path, backup: Path) -> Path | None:
        """Replace the ledger by a backup; return the folder that keeps the old one, if there was one.

        Nothing is overwritten. Raises DataDirectoryLocked while in use, and StorageError when the backup is
        missing or damaged.
        """
        lock = DataDirectoryLock(directory)
        lock.acquire()
        try:
            stored = _inspected(backup)
            with sqlite.explained(directory):
                part = directory / f".{LEDGER}.part"
                sqlite.copy(backup, part)
                aside = sqlite.set_aside(directory)
                part.replace(directory / LEDGER)
            lock.note(stored.commits)
            return aside
        finally:
            lock.release()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a read transaction, which sees one snapshot of the ledger."""
        with self._explained(), Session(self._snapshot) as session, session.begin():
            yield session

    def look_up(self, lookup: Lookup, ids: Sequence[str], owner: str) -> list[Any]:
        """Return an owner's rows by id, from one snapshot of the ledger, in no order."""
        with self._explained(), closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            rows: list[Any] = []
            try:
                cursor.execute("BEGIN" if self._embedded else _SNAPSHOT)
                for sql, values in lookup.over(ids, owner, self._engine.dialect):
                    cursor.execute(sql, values)
                    rows += cursor.fetchall()
            except self._engine.dialect.loaded_dbapi.Error as error:
                raise DBAPIError(None, None, error) from error
            return rows

    @contextmanager
    def writing(self, owner: str | None = None) -> Iterator[Session]:
        """Open a write transaction for the rows of an owner: committed as a whole at the end, or not at all.

        Nobody else writes this owner's rows meanwhile, in any process; without an owner, nobody's rows.

        Raises LeaseLost in a thread whose job was taken from it, DiskFull, StorageBusy after 10 seconds, or
        another StorageError.
        """
        with self.sharing() as session:
            if not self._embedded:
                postgres.lock_owner(session.connection(), owner)
            self.queue.check(session)
            yield session

    @contextmanager
    def sharing(self) -> Iterator[Session]:
        """Open a write transaction that locks no owner: its rows, those of jobs, are locked one by one."""
        with self._explained(), self._turn():
            self._confirm_locks()
            with Session(self._immediate) as session, session.begin():
                yield session
                commits = self._counted(session)
            if commits is not None:
                self._lock.note(commits)

    @contextmanager
    def excluding(self, owner: str) -> Iterator[None]:
        """Keep other processes out of what they, too, do for an owner only in here; write as usual meanwhile.

        In a ledger on SQLite there are no others. The connection is none of the pool's: who waits in here for
        one of these would keep it from those that would let them go on.
        """
        if self._embedded:
            yield
            return
        with self._explained(), self._engine.connect() as connection:
            connection.detach()  # closed at the end
            with connection.begin():
                postgres.exclude_others(connection, owner)
                yield

    def _confirm_locks(self) -> None:
        self._lock.confirm()
        if self._fence is not None:
            self._fence.confirm()

    def _counted(self, session: Session) -> int | None:
        if not self._embedded:
            return None
        return int(session.connection().execute(_COUNTING).scalar_one())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with sqlite.explained(self.directory), nullcontext() if self._embedded else postgres.explained():
            yield

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._embedded:
            yield
            return
        if not self._writer.acquire(timeout=sqlite.BUSY_SECONDS):
            raise StorageBusy(N_("Footnote is still writing something else. Try again in a moment."))
        try:
            yield
        finally:
            self._writer.release()

    def confirm(self) -> None:
        """Raise StorageError unless the ledger can be read and the locks are still ours."""
        with self._explained():
            self._confirm_locks()
        with self.reading() as session:
            session.execute(select(1))

    def check(self) -> None:
        """Check structure and references; raises DatabaseDamaged with the restore command."""
        if self._embedded:
            with sqlite.explained(self.directory), sqlite.damage_named(self.directory):
                sqlite.inspect(self.directory / LEDGER, references=True)

    def close(self) -> None:
        """Close every connection and unlock the directory; a second call does nothing."""
        self.queue.close()
        if self._fence is not None:
            self._fence.release()
        self._engine.dispose()
        self._lock.release()


Owned = TypeVar(
    "Owned",
    ApiKeyRow,
    CollectionRow,
    ConversationRow,
    Document,
    GridRow,
    LabSet,
    SourceRow,
    TagRow,
    TreeBranch,
    WebhookRow,
)


@lru_cache(maxsize=16)
def _by_owner_and_id(table: Any) -> Select[Any]:
    return select(table).where(table.owner == bindparam("owner"), table.id == bindparam("id"))


class OwnerStore:
    """Base of the stores of one owner's rows. Another owner's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def _own(self, session: Session, table: type[Owned], id_: str) -> Owned:
        row: Owned | None = session.scalar(_by_owner_and_id(table), {"owner": self._owner, "id": id_})
        if row is None:
            raise NotFound(N_("There is no {noun} {id}.", noun=table.noun, id=repr(id_)))
        return row


def _local(directory: Path, lock: DataDirectoryLock) -> Engine:
    """Make the engine of the directory's own ledger, after a check that does not write."""
    ledger = directory / LEDGER
    with sqlite.damage_named(directory):
        stored = sqlite.inspect(ledger)
    _nothing_lost(directory, stored.commits if stored else 0, lock.commits)
    due = _due(stored.revision if stored else None, directory)
    if due and stored:
        sqlite.before_migration(directory, stored.revision)
    engine = sqlite.engine(ledger)
    if due:
        with sqlite.migration(engine) as connection:
            migrations.upgrade(connection)
    return engine


def _inspected(backup: Path) -> sqlite.Stored:
    try:
        stored = sqlite.inspect(backup)
    except sqlite3.Error as error:
        raise StorageError(
            N_("{backup} cannot be restored: {reason}. Nothing was changed.", backup=backup, reason=error)
        ) from error
    if stored is None or stored.revision is None:
        raise StorageError(
            N_("{backup} is not a backup of Footnote's ledger. Nothing was changed.", backup=backup)
        )
    return stored


def _nothing_lost(directory: Path, found: int, acknowledged: int) -> None:
    if found < acknowledged:
        raise DatabaseDamaged(
            N_(
                "The ledger {directory} has lost {lost} of {total} changes: the "
                "file or its log {ledger}-wal is missing or an old one. {advice}",
                directory=directory / LEDGER,
                lost=acknowledged - found,
                total=acknowledged,
                ledger=LEDGER,
                advice=sqlite.advice(directory),
            )
        )


def _due(revision: str | None, where: object) -> bool:
    known = migrations.revisions()
    if revision is not None and revision not in known:
        raise DatabaseTooNew(
            N_(
                "The ledger in {where} was written by a later version of Footnote (its revision is "
                "{revision}, this version knows {newest}). Start that version, or a newer one.",
                where=where,
                revision=revision,
                newest=known[-1],
            )
        )
    return revision != known[-1]


def try_sharing(url: str, sharing: Sharing) -> None:
    """Raise DataDirectoryLocked where the processes that use a ledger on a server refuse one more like this.

    Raises another StorageError where the server does not let us in. Nothing is written.
    """
    engine = postgres.engine(url)
    try:
        with postgres.explained():
            fence = _fence(engine, sharing)
            fence.acquire()
            fence.release()
    finally:
        engine.dispose()


def _fence(engine: Engine, sharing: Sharing) -> ServerFence:
    common = {**sharing.common, "the version of Footnote": migrations.revisions()[-1]}
    return ServerFence(engine, replace(sharing, common=common))


def _remote(url: str, sharing: Sharing) -> tuple[Engine, ServerFence]:
    """Make the engine of a ledger on a server, fenced before anything is written.

    Processes that share it are of one version, so that none finds a ledger that another has migrated.
    """
    engine = postgres.engine(url)
    fence = _fence(engine, sharing)
    with postgres.explained():
        fence.acquire()
        try:
            with engine.begin() as connection:
                where = engine.url.render_as_string(hide_password=True)
                if _due(revision(connection), where):
                    postgres.lock_ledger(connection)
                    if _due(revision(connection), where):  # unless another process has done it meanwhile
                        migrations.upgrade(connection)
        except BaseException:
            fence.release()
            raise
    return engine, fence
