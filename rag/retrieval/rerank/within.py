"""Work that may take so long and no longer, and that its reader may cancel."""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import Event, Thread
from typing import TypeVar

from rag.errors import Cancelled, RerankError
from rag.jobs import Cancel, never

T = TypeVar("T")

POLL = 0.05
"""Seconds between looks at whether the reader has cancelled."""


def within(seconds: float, work: Callable[[Cancel], T], *, cancelled: Cancel = never) -> T:
    """Return what `work` returns, or raise what it raises; it is told by its argument when to stop.

    It runs in a thread of its own, and is left behind where it does not stop. Raises RerankError when it
    takes more than `seconds`, Cancelled when `cancelled` says so.
    """
    over: Future[T] = Future()
    stop = Event()
    Thread(target=copy_context().run, args=(_run, work, stop, over), name="rerank", daemon=True).start()
    deadline = time.monotonic() + seconds
    try:
        while not over.done():
            if cancelled():
                raise Cancelled("You stopped the answer.")
            left = deadline - time.monotonic()
            if left <= 0:
                raise RerankError(f"The reranker took more than {_span(seconds)}.")
            wait([over], min(left, POLL))
        return over.result()
    finally:
        stop.set()


def _run(work: Callable[[Cancel], T], stop: Event, over: "Future[T]") -> None:
    try:
        over.set_result(work(stop.is_set))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who waits
        over.set_exception(error)


def _span(seconds: float) -> str:
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"
