"""Who waits for the first word of an answer, on the whole server: whoever has one gives way to them.

One process draws for all, one step at a time. Where twenty ask at once, the answers of the first and the
pages around them would be drawn while the last still wait to be heard.
"""

import threading
import time
from collections.abc import Callable

LONGEST = 3.0  # seconds: who waits longer waits for something else than for others to be drawn


class FirstWords:
    """The chats in which a question was sent whose passages are not found yet; asked from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._since: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait(self, chat: str) -> None:
        """Note that a question was sent in a chat."""
        with self._lock:
            now = self._clock()
            self._since = {other: since for other, since in self._since.items() if now - since < LONGEST}
            self._since[chat] = now

    def come(self, chat: str) -> None:
        """Note that the rest is the model's: the passages are found, or the answer has ended."""
        with self._lock:
            self._since.pop(chat, None)

    def awaited_beside(self, chat: str) -> bool:
        """Whether someone waits in another chat."""
        with self._lock:
            now = self._clock()
            return any(other != chat and now - since < LONGEST for other, since in self._since.items())
