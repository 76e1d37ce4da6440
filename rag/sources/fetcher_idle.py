"""Connections that are open and free, kept a moment for the next request to the same place."""

import threading
import time
import weakref

from rag.sources.fetcher_connection import Connection

LONGEST = 15.0  # seconds; servers hang up after some more
MOST = 8


class Idle:
    """Free connections, each to an address that was checked. They are closed with this object."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, Connection]] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._kept)

    def take(self, origin: tuple[str, str, int]) -> Connection | None:
        """Return a free connection to `origin`, the one that was used last; it is no longer kept."""
        now = time.monotonic()
        with self._lock:
            fresh = [(since, kept) for since, kept in self._kept if kept.is_free and now - since < LONGEST]
            stale = [entry for entry in self._kept if entry not in fresh]
            found = next((entry for entry in reversed(fresh) if entry[1].origin == origin), None)
            self._kept[:] = [entry for entry in fresh if entry is not found]
        _close(stale)
        return found[1] if found else None

    def keep(self, connection: Connection) -> None:
        """Keep a connection where it is free, and close it where it is not, or there are too many."""
        with self._lock:
            if connection.is_free and len(self._kept) < MOST:
                self._kept.append((time.monotonic(), connection))
                return
        connection.close()


def _close(kept: list[tuple[float, Connection]]) -> None:
    for _, connection in kept:
        connection.close()
