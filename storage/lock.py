"""Locks of a ledger: one process at a time in a data directory, and the fence of a database server.

On a server several processes may use the ledger where they share everything; the fence keeps others out.
"""

import fcntl
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, text
from sqlalchemy.exc import DBAPIError

from storage.errors import DataDirectoryLocked, StorageError
from storage.i18n import N_
from storage.postgres import key_of

CHECK_SECONDS = 5.0  # for which the lock is taken to stand after it was seen
_KEY = int.from_bytes(b"Footnote")  # of the advisory lock, one for each database of a server
_NAME = text("SELECT set_config('application_name', :name, false)")
_ALONE = text("SELECT pg_try_advisory_lock(:key)")
_TOGETHER = text("SELECT pg_try_advisory_lock_shared(:key)")
_VALUE = text("SELECT pg_advisory_lock_shared(:name, :value)")
_HOLDER = text(
    """
    SELECT application_name, backend_start FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = :key
    """
)
_VALUES = text(
    """
    SELECT classid::bigint, objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint IN :names
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
).bindparams(bindparam("names", expanding=True))


@dataclass(frozen=True)
class Sharing:
    """Use of a ledger: by several processes with the same `common` values, unless something is `missing`.

    `missing` is a sentence, empty where all is shared. Each process has a data directory of its own.
    """

    missing: str = ""
    common: Mapping[str, str] = field(default_factory=dict)

    @property
    def together(self) -> bool:
        """True where several processes may use the ledger."""
        return not self.missing


ALONE = Sharing(missing=N_("DATABASE_URL is not set, so the ledger is in the data directory."))


class ServerFence:
    """Session locks of a process on a PostgreSQL ledger; thread-safe.

    The locks of a killed process end with its connection. After the server was away they are taken anew.
    """

    def __init__(self, engine: Engine, sharing: Sharing = ALONE) -> None:
        self._engine, self._sharing = engine, sharing
        self._connection: Connection | None = None
        self._seen = 0.0
        self._lock = threading.Lock()

    def acquire(self) -> None:
        """Take the locks, or raise DataDirectoryLocked with the process that has the ledger."""
        with self._lock:
            self._take()

    def confirm(self) -> None:
        """Raise DataDirectoryLocked when the locks were lost and another process does not allow them."""
        with self._lock:
            if time.monotonic() - self._seen < CHECK_SECONDS:
                return
            try:
                if self._connection is not None:
                    self._connection.execute(text("SELECT 1"))
                    self._seen = time.monotonic()
                    return
            except DBAPIError:
                self._drop()
            self._take()

    def release(self) -> None:
        """Give the locks up; a second call does nothing."""
        with self._lock:
            self._drop()

    def _take(self) -> None:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.detach()  # closing it ends the session, and so the locks
            connection.execute(_NAME, {"name": f"footnote {socket.gethostname()[:30]} {os.getpid()}"})
            lock = _TOGETHER if self._sharing.together else _ALONE
            if not connection.scalar(lock, {"key": _KEY}):
                raise DataDirectoryLocked(_refusal(connection, self._sharing))
            if self._sharing.together:
                _lock_values(connection, self._sharing.common)
        except BaseException:
            connection.close()
            raise
        self._connection, self._seen = connection, time.monotonic()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(DBAPIError):
                self._connection.close()
            self._connection = None


def _lock_values(connection: Connection, common: Mapping[str, str]) -> None:
    """Lock each value, then raise DataDirectoryLocked where another process has another one.

    So of two that start at once at least one sees the other.
    """
    mine = {key_of(name): key_of(value) for name, value in common.items()}
    for name, value in mine.items():
        connection.execute(_VALUE, {"name": name, "value": value})
    held = connection.execute(_VALUES, {"names": [_unsigned(name) for name in mine]})
    shown = {_unsigned(name): _unsigned(value) for name, value in mine.items()}
    others = {name for name, value in held if shown[name] != value}
    differing = [name for name in common if _unsigned(key_of(name)) in others]
    if differing:
        raise DataDirectoryLocked(
            N_(
                "Other processes use the ledger at DATABASE_URL with other values of: {names}. Give this one "
                "the same, or stop the others first.",
                names=", ".join(differing),
            )
        )


def _unsigned(key: int) -> int:
    return key % (1 << 32)  # as `pg_locks` shows it


def _refusal(connection: Connection, sharing: Sharing) -> str:
    holder = connection.execute(_HOLDER, {"key": _KEY}).first()
    name, since = holder if holder else ("another process", None)
    started = f", since {since:%Y-%m-%d %H:%M %Z}" if since else ""
    if sharing.together:
        return N_(
            "The ledger at DATABASE_URL is in use by a process that has it alone ({holder}). Stop it "
            "first, or give this one a database of its own.",
            holder=f"{name}{started}",
        )
    return N_(
        "The ledger at DATABASE_URL is in use ({holder}). Several processes may use one ledger where they "
        "share everything, and here they do not. {reason} Change that, stop the other one, or give this one "
        "a database of its own.",
        holder=f"{name}{started}",
        reason=sharing.missing,
    )


NAME = "footnote.lock"
SIZE = 512  # bytes of the padded note, so that one write replaces it as a whole


class DataDirectoryLock:
    """Exclusive lock of ``directory``, in the file ``directory/footnote.lock``.

    The file is JSON: ``pid``, ``command`` and ``since`` of the holder, and ``commits``, the number
    of commits the ledger has acknowledged. The file of a killed process does not lock.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.commits = 0
        self._since = ""
        self._fd: int | None = None

    def acquire(self) -> None:
        """Create the directory (0700) and take the lock, or raise DataDirectoryLocked naming the holder."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.directory / NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except (FileExistsError, NotADirectoryError) as error:
            raise StorageError(
                N_(
                    "The data directory {directory} is a file, or lies in one. Choose a folder.",
                    directory=self.directory,
                )
            ) from error
        except OSError as error:
            raise StorageError(
                N_(
                    "The data directory {directory} cannot be used: {strerror}. Choose another one, or "
                    "give yourself the right to write there.",
                    directory=self.directory,
                    strerror=error.strerror,
                )
            ) from error
        try:
            self._hold(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def _hold(self, fd: int) -> None:
        note = _read_note(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataDirectoryLocked(
                N_(
                    "The data directory {directory} is in use by process {process} ({command}, since "
                    "{since}). "
                    "Close it first, or choose another data directory.",
                    directory=self.directory,
                    process=note.get("pid", "?"),
                    command=note.get("command", "unknown"),
                    since=note.get("since", "?"),
                )
            ) from error
        commits = note.get("commits")
        self.commits = commits if isinstance(commits, int) else 0
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(fd)

    def note(self, commits: int) -> None:
        """Record that the ledger has acknowledged this many commits."""
        self.commits = commits
        if self._fd is not None:
            with suppress(OSError):  # the commit stands; the note only helps to notice a lost one
                self._write(self._fd)

    def confirm(self) -> None:
        """Raise StorageError when the directory was moved or deleted while in use."""
        try:
            here = (self.directory / NAME).stat()
        except OSError:
            here = None
        if self._fd is None or here is None or not os.path.samestat(here, os.fstat(self._fd)):
            raise StorageError(
                N_(
                    "The data directory {directory} was moved, deleted or closed while in use, and "
                    "nothing more is written to it. Put it back and start Footnote again.",
                    directory=self.directory,
                )
            )

    def release(self) -> None:
        """Unlock the directory; a second call does nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _write(self, fd: int) -> None:
        note = {
            "pid": os.getpid(),
            "command": Path(sys.argv[0]).name[:40],
            "since": self._since,
            "commits": self.commits,
        }
        os.pwrite(fd, json.dumps(note).encode().ljust(SIZE), 0)


def _read_note(fd: int) -> dict[str, Any]:
    """Return the note in the lock file, empty where there is none or it is torn."""
    try:
        note = json.loads(os.pread(fd, SIZE, 0))
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}
