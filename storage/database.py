"""The ledger: one engine, short transactions, checked and brought up to date before anyone uses it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, inspect, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from storage import backup as backups
from storage import migrations, restoring, server, sqlite
from storage.backup import LEDGER
from storage.errors import DatabaseDamaged, DatabaseTooNew, StorageBusy, StorageError
from storage.lock import DataDirectoryLock
from storage.lookups import Lookup
from storage.tables import Ledger

_LEDGER = inspect(Ledger).local_table.c  # its columns: in every commit, a row's object takes thrice as long
_COUNTING = update(_LEDGER.commits.table).values(commits=_LEDGER.commits + 1).returning(_LEDGER.commits)


class Database:
    """The ledger of one data directory, held alone until :meth:`close`."""

    def __init__(self, directory: Path, engine: Engine, lock: DataDirectoryLock) -> None:
        self.directory = directory
        self._engine = engine
        self._immediate = engine.execution_options(immediate=True)
        self._embedded = engine.dialect.name == "sqlite"
        self._lock = lock
        self._writer = threading.Lock()  # our own threads queue here instead of polling SQLite's lock

    @classmethod
    def open(cls, directory: Path, *, url: str | None = None) -> Database:
        """Lock, check, back up if a migration is due, migrate; ``url`` names a ledger on a server.

        Raises DataDirectoryLocked, DatabaseDamaged, DatabaseTooNew, or another StorageError.
        """
        lock = DataDirectoryLock(directory)
        lock.acquire()
        try:
            with sqlite.explained(directory):
                restoring.settle(directory, lock)
                engine = _local(directory, lock) if url is None else _remote(url)
        except BaseException:
            lock.release()
            raise
        return cls(directory, engine, lock)

    @staticmethod
    def restore(directory: Path, backup: Path) -> Path | None:
        """Put a backup in the ledger's place; returns the folder that keeps what was there, if anything.

        Raises DataDirectoryLocked while in use, StorageError when the backup is missing or damaged.
        """
        return backups.restore(directory, backup)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One read transaction: a single moment of the ledger."""
        with sqlite.explained(self.directory), Session(self._engine) as session, session.begin():
            yield session

    def look_up(self, lookup: Lookup, ids: Sequence[str], owner: str) -> list[Any]:
        """Read an owner's rows by their ids, in one moment of the ledger, in no order."""
        with sqlite.explained(self.directory), closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            rows: list[Any] = []
            try:
                if self._embedded:
                    cursor.execute("BEGIN")
                for sql, values in lookup.over(ids, owner, self._engine.dialect):
                    cursor.execute(sql, values)
                    rows += cursor.fetchall()
            except self._engine.dialect.loaded_dbapi.Error as error:
                raise DBAPIError(None, None, error) from error
            return rows

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """One write transaction: committed whole at the end, or not at all.

        Raises DiskFull, StorageBusy after 10 seconds, or another StorageError.
        """
        with sqlite.explained(self.directory), self._turn():
            self._lock.confirm()
            with Session(self._immediate) as session, session.begin():
                yield session
                commits = self._counted(session)
            self._lock.note(commits)

    def _counted(self, session: Session) -> int:
        """Count this commit in the ledger itself; a server keeps its own log."""
        if not self._embedded:
            return 0
        return int(session.connection().execute(_COUNTING).scalar_one())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writer.acquire(timeout=sqlite.BUSY_SECONDS):
            raise StorageBusy("Footnote is still writing something else. Try again in a moment.")
        try:
            yield
        finally:
            self._writer.release()

    def backup(self, target: Path) -> None:
        """Copy the ledger, while in use, to a new file; StorageError when there is one already."""
        if not self._embedded:
            raise StorageError(
                "This ledger lives on a database server: back it up with the server's own tools."
            )
        if target.exists():
            raise StorageError(f"{target} exists already. Name a new file for the backup.")
        with sqlite.explained(target.parent):
            sqlite.copy(self.directory / LEDGER, target)

    def confirm(self) -> None:
        """Raise StorageError unless the ledger can be read and the directory is still ours."""
        self._lock.confirm()
        with self.reading() as session:
            session.execute(select(1))

    def check(self) -> None:
        """Check structure and references; raises DatabaseDamaged with the restore command."""
        if self._embedded:
            with sqlite.explained(self.directory), backups.damage_named(self.directory):
                sqlite.inspect(self.directory / LEDGER, references=True)

    def close(self) -> None:
        """Close every connection and give the directory back; calling it twice is the same as once."""
        self._engine.dispose()
        self._lock.release()


def _local(directory: Path, lock: DataDirectoryLock) -> Engine:
    """Make the engine of the directory's own ledger, after looking at it without changing a byte."""
    ledger = directory / LEDGER
    with backups.damage_named(directory):
        stored = sqlite.inspect(ledger)
    _nothing_lost(directory, stored.commits if stored else 0, lock.commits)
    due = _due(stored.revision if stored else None, directory)
    if due and stored:
        backups.before_migration(directory, stored.revision)
    engine = sqlite.engine(ledger)
    if due:
        with sqlite.migration(engine) as connection:
            migrations.upgrade(connection)
    return engine


def _nothing_lost(directory: Path, found: int, acknowledged: int) -> None:
    """Raise DatabaseDamaged when the ledger has fewer commits than were acknowledged."""
    if found < acknowledged:
        raise DatabaseDamaged(
            f"The ledger {directory / LEDGER} has lost {acknowledged - found} of {acknowledged} changes: "
            f"the file or its log {LEDGER}-wal is missing or an old one. {backups.advice(directory)}"
        )


def _due(revision: str | None, where: object) -> bool:
    known = migrations.revisions()
    if revision is not None and revision not in known:
        raise DatabaseTooNew(
            f"The ledger in {where} was written by a later version of Footnote (its revision is {revision}, "
            f"this version knows {known[-1]}). Start that version, or a newer one."
        )
    return revision != known[-1]


def _remote(url: str) -> Engine:
    engine = server.engine(url)
    with engine.begin() as connection:
        if _due(server.revision(connection), engine.url.render_as_string(hide_password=True)):
            migrations.upgrade(connection)
    return engine
