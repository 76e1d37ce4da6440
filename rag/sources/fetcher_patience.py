"""How long one request may take, and whether its reader still wants it: asked between short waits."""

import ssl
import time
from collections.abc import Callable
from typing import TypeVar

from rag.errors import Cancelled, ConnectionLost
from rag.jobs import Cancel

T = TypeVar("T")
LOOK = 0.2  # seconds between looks at the clock and at the reader
_NOT_YET = (TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Patience:
    """The time that a request has: `silence` seconds without a byte, `longest` seconds in all.

    `host` is who is asked at the moment, for the sentence that says whose fault it was.
    """

    def __init__(self, silence: float, longest: float, cancelled: Cancel):
        self.host = ""
        self._silence, self._longest = silence, longest
        self._until = time.monotonic() + longest
        self._cancelled = cancelled

    def until_done(self, operation: Callable[[], T]) -> T:
        """Return what `operation` gives; it raises TimeoutError as often as it has nothing yet.

        Raises ConnectionLost when it has taken too long, Cancelled when nobody wants it any more.
        """
        began = time.monotonic()
        while True:
            self._look(began)
            try:
                return operation()
            except _NOT_YET:
                continue

    def wait(self, seconds: float) -> None:
        """Wait as the other side asked; that is not held against its time."""
        began = time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            self._stop_if_cancelled()
            time.sleep(min(left, LOOK))
        self._until += seconds

    def _look(self, began: float) -> None:
        self._stop_if_cancelled()
        now = time.monotonic()
        if now > self._until:
            raise ConnectionLost(
                f"{self.host} was not done after {self._longest:g} seconds, so it was left. Try again later."
            )
        if now - began > self._silence:
            raise ConnectionLost(f"{self.host} sent nothing for {self._silence:g} seconds. Try again later.")

    def _stop_if_cancelled(self) -> None:
        if self._cancelled():
            raise Cancelled(f"You stopped the request to {self.host}.")
