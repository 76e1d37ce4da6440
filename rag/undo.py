"""Deletions that can be undone for some seconds."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from rag.errors import FootnoteError

OFFERED = 30.0  # seconds in which a deletion is offered to be undone
GRACE = 10.0  # seconds after that, in which what was pressed in time arrives

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WaitingDeletion:
    """Deletion that can still be undone; `said` names what is deleted.

    `act` deletes when its time is over; `restore` brings back, where it is undone, what was hidden elsewhere.
    """

    said: str
    ids: frozenset[str]
    act: Callable[[str], object] | None
    restore: Callable[[str], object] | None
    timer: threading.Timer
    began: float = field(default_factory=time.monotonic)


class Deletions:
    """Deletions of one owner that wait to be undone; thread-safe.

    Nothing is deleted before its time is over, so a crash meanwhile loses the deletion and no data.
    """

    def __init__(self, seconds: float = OFFERED + GRACE):
        """Let each be undone for so long, the last `GRACE` of them unseen."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._waiting: list[WaitingDeletion] = []

    @property
    def hidden(self) -> frozenset[str]:
        """Return the ids of all that is to be deleted, which lists leave out."""
        with self._lock:
            return frozenset[str]().union(*(one.ids for one in self._waiting if one.act is not None))

    @property
    def latest(self) -> WaitingDeletion | None:
        """Return the deletion that would be undone next."""
        with self._lock:
            return self._waiting[-1] if self._waiting else None

    def offered(self) -> tuple[WaitingDeletion, float] | None:
        """Return the latest deletion, and the seconds for which it is still offered to be undone."""
        waiting = self.latest
        left = waiting.began + self._seconds - GRACE - time.monotonic() if waiting else 0.0
        return (waiting, left) if waiting is not None and left > 0 else None

    def start(self, said: str, ids: Collection[str], act: Callable[[str], object]) -> None:
        """Call `act` with each id once the time is over."""
        self._wait(said, ids, act=act)

    def start_discarded(self, said: str, ids: Collection[str], restore: Callable[[str], object]) -> None:
        """Offer to undo what was hidden elsewhere already: `restore` is called with each id."""
        self._wait(said, ids, restore=restore)

    def _wait(
        self,
        said: str,
        ids: Collection[str],
        *,
        act: Callable[[str], object] | None = None,
        restore: Callable[[str], object] | None = None,
    ) -> None:
        timer = threading.Timer(self._seconds, lambda: self._finish(waiting))
        timer.daemon = True
        waiting = WaitingDeletion(said, frozenset(ids), act, restore, timer)
        with self._lock:
            self._waiting.append(waiting)
        timer.start()

    def undo(self) -> WaitingDeletion | None:
        """Take back the latest deletion, and return it; None where its time is over."""
        with self._lock:
            waiting = self._waiting.pop() if self._waiting else None
        if waiting is not None:
            waiting.timer.cancel()
            _do(waiting.restore, waiting.ids)
        return waiting

    def withdraw(self, id_: str) -> None:
        """Offer no longer to undo the deletion of what was restored, or deleted for good, elsewhere."""
        with self._lock:
            for waiting in [one for one in self._waiting if one.restore is not None and id_ in one.ids]:
                waiting.timer.cancel()
                self._waiting.remove(waiting)

    def finish(self) -> None:
        """Delete all that waits now."""
        while (waiting := self.latest) is not None:
            self.complete(waiting)

    def complete(self, waiting: WaitingDeletion) -> None:
        """Delete now what is no longer offered to be undone; nothing where that was done, or undone."""
        waiting.timer.cancel()
        self._finish(waiting)

    def _finish(self, waiting: WaitingDeletion) -> None:
        """Delete, then show again what could not be deleted; what was undone meanwhile stays."""
        with self._lock:
            if waiting not in self._waiting:
                return
            self._waiting.remove(waiting)
        _do(waiting.act, waiting.ids)


def _do(act: Callable[[str], object] | None, ids: Collection[str]) -> None:
    if act is None:
        return
    for id_ in ids:
        try:
            act(id_)
        except FootnoteError as error:  # deleted elsewhere, or the ledger cannot be written
            log.warning("A deletion, or what undoes it, failed: %s", error)
