"""A clock of the server: it calls what looks whether something is due, over and over, until it is stopped."""

import logging
import threading
from collections.abc import Callable

from rag.errors import FootnoteError

log = logging.getLogger(__name__)


class Schedule:
    """Calls `look` every so many seconds in a thread of its own; a look that fails is not the last."""

    def __init__(self, look: Callable[[], None], seconds: float = 20.0):
        self._look, self._seconds, self._failed = look, seconds, ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedule", daemon=True)

    def start(self) -> None:
        """Begin to look, the first time at once."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; a look that has begun is waited for."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(self._seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._look()
                self._failed = ""
            except FootnoteError as error:
                if str(error) != self._failed:  # what lasts is said once
                    log.warning("%s", error)
                self._failed = str(error)
            except Exception:
                log.exception("A look at what is due failed")
            self._stopped.wait(self._seconds)
