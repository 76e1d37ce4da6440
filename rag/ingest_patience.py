"""When documents whose ingest failed are tried again: one after a while, all once that one goes on."""

import time
from collections.abc import Callable, Sequence

FIRST, LONGEST = 60.0, 3600.0  # seconds until the first try, and between two at most


class Patience:
    """Says which document is tried, and when; not safe for two threads that ask at once.

    What stood in one's way, a full disk, a server that is away, stands in the way of all: so one is tried in
    the place of all, another one each time, after waits that double.

    >>> now = 0.0
    >>> patience = Patience(lambda: now)
    >>> patience.due(["a", "b"])  # they have only just failed
    >>> now = 60.0
    >>> patience.due(["a", "b"])
    'a'
    >>> patience.due(["a", "b"])
    >>> now = 180.0
    >>> patience.due(["a", "b"])
    'b'
    >>> patience.paid("b"), patience.paid("b")
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._at: float | None = None  # when one is tried next
        self._tries, self._tried = 0, ""

    def due(self, waiting: Sequence[str]) -> str | None:
        """Return which of those that wait is tried now; None while it is not time, or none waits."""
        if not waiting:
            self._begin_again()
        elif self._at is None:
            self._at = self._clock() + FIRST
        elif self._clock() >= self._at:
            self._tried = waiting[self._tries % len(waiting)]
            self._tries += 1
            self._at = self._clock() + min(FIRST * 2**self._tries, LONGEST)
            return self._tried
        return None

    def paid(self, document_id: str) -> bool:
        """Tell, once, whether the document that went on is the one that was tried: so may the others."""
        if self._tried != document_id:
            return False
        self._begin_again()
        return True

    def _begin_again(self) -> None:
        self._at, self._tries, self._tried = None, 0, ""
