"""When documents whose ingest failed are tried again: one after a while, all once any document goes on."""

import time
from collections.abc import Callable, Sequence
from threading import Lock

FIRST, LONGEST = 60.0, 3600.0  # seconds until the first try, and between two at most


class Backoff:
    """Says which document is tried, and when; safe for threads.

    What stood in one's way, a full disk, a server that is away, stands in the way of all: so one is tried in
    the place of all, the one that was tried least, after waits that double until others come to wait, too.

    >>> now = 0.0
    >>> patience = Backoff(lambda: now)
    >>> patience.due(["a", "b"])  # they have only just failed
    >>> now = 60.0
    >>> patience.due(["a", "b"])
    'a'
    >>> now = 180.0
    >>> patience.due(["a", "b"])
    'b'
    >>> patience.rewarded(), patience.rewarded()
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = Lock()
        self._tries: dict[str, int] = {}  # of each document that waits
        self._in_a_row = 0
        self._at: float | None = None  # when one is tried next

    def due(self, waiting: Sequence[str]) -> str | None:
        """Return which of those that wait is tried now; None while it is not time, or none waits."""
        with self._lock:
            if set(waiting) - self._tries.keys():
                self._in_a_row, self._at = 0, None
            self._tries = {document_id: self._tries.get(document_id, 0) for document_id in waiting}
            if not waiting:
                return None
            if self._at is None:
                self._at = self._clock() + wait_after(min(self._tries.values()))
                return None
            if self._clock() < self._at:
                return None
            tried = min(waiting, key=lambda document_id: self._tries[document_id])
            self._tries[tried] += 1
            self._in_a_row += 1
            self._at = self._clock() + wait_after(self._in_a_row)
            return tried

    def rewarded(self) -> bool:
        """Note that a document went on; tell, once, whether others wait, who then may go on, too."""
        with self._lock:
            awaited, self._at, self._in_a_row = self._at is not None, None, 0
            return awaited and bool(self._tries)


def wait_after(tries: int) -> float:
    """Return how many seconds are waited after so many tries in vain.

    >>> [wait_after(tries) for tries in (0, 1, 2, 10_000)]
    [60.0, 120.0, 240.0, 3600.0]
    """
    return min(FIRST * 2.0 ** min(tries, 10), LONGEST)
