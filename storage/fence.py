"""Fence of a ledger on a database server: one process at a time, by a lock that ends with its connection."""

import os
import socket
import threading
import time
from contextlib import suppress

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from storage.errors import DataDirectoryLocked

CHECK_SECONDS = 5.0  # for which the lock is taken to stand after it was seen
_KEY = int.from_bytes(b"Footnote")  # of the advisory lock, one for each database of a server
_NAME = text("SELECT set_config('application_name', :name, false)")
_TAKE = text("SELECT pg_try_advisory_lock(:key)")
_HOLDER = text(
    """
    SELECT application_name, backend_start FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND (classid::bigint << 32) | objid::bigint = :key
    """
)


class ServerFence:
    """Session lock of a PostgreSQL ledger, which another process may not take; thread-safe.

    The lock of a killed process ends with its connection. After the server was away it is taken anew.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._seen = 0.0
        self._lock = threading.Lock()

    def acquire(self) -> None:
        """Take the lock, or raise DataDirectoryLocked with the process that has it."""
        with self._lock:
            self._take()

    def confirm(self) -> None:
        """Raise DataDirectoryLocked when the lock was lost and another process has taken it."""
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
        """Give the lock up; a second call does nothing."""
        with self._lock:
            self._drop()

    def _take(self) -> None:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.detach()  # closing it ends the session, and so the lock
            connection.execute(_NAME, {"name": f"footnote {socket.gethostname()[:30]} {os.getpid()}"})
            if not connection.scalar(_TAKE, {"key": _KEY}):
                raise DataDirectoryLocked(_refusal(connection))
        except BaseException:
            connection.close()
            raise
        self._connection, self._seen = connection, time.monotonic()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(DBAPIError):
                self._connection.close()
            self._connection = None


def _refusal(connection: Connection) -> str:
    holder = connection.execute(_HOLDER, {"key": _KEY}).first()
    name, since = holder if holder else ("another process", None)
    started = f", since {since:%Y-%m-%d %H:%M %Z}" if since else ""
    return (
        f"The ledger at DATABASE_URL is in use ({name}{started}). Two processes on one ledger would lose "
        "each other's work: stop the other one, or give this one a database of its own."
    )
