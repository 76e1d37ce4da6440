"""Fence of a ledger on a database server: one process alone, or several that share everything.

Its locks end with their connection. Several processes hold the ledger's lock together, and one more for each
value that has to be the same for all.
"""

import os
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from sqlalchemy import Connection, Engine, bindparam, text
from sqlalchemy.exc import DBAPIError

from storage.errors import DataDirectoryLocked
from storage.i18n import N_

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
    mine = {_key(name): _key(value) for name, value in common.items()}
    for name, value in mine.items():
        connection.execute(_VALUE, {"name": name, "value": value})
    held = connection.execute(_VALUES, {"names": [_unsigned(name) for name in mine]})
    shown = {_unsigned(name): _unsigned(value) for name, value in mine.items()}
    others = {name for name, value in held if shown[name] != value}
    differing = [name for name in common if _unsigned(_key(name)) in others]
    if differing:
        raise DataDirectoryLocked(
            N_(
                "Other processes use the ledger at DATABASE_URL with other values of: {names}. Give this one "
                "the same, or stop the others first.",
                names=", ".join(differing),
            )
        )


def _key(name: str) -> int:
    """Return the key of a name or a value as a signed number of 32 bits, what PostgreSQL locks by.

    It is none of the small keys of the locks of owners.
    """
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], signed=True)


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
