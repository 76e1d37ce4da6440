"""Draining: a server that is told to stop says so for a while, and serves as before meanwhile."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def draining(begin: Callable[[], float]) -> Iterator[None]:
    """Call `begin` at SIGTERM, and let the server stop after as many seconds as it returns.

    A second SIGTERM stops it at once, as Ctrl-C does. Where the main thread does not serve, or nothing of the
    server's handles the signal, it is left as it is.
    """
    stop = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(stop):
        yield
        return
    loop = asyncio.get_running_loop()

    def drain(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, stop)
        loop.call_soon_threadsafe(stop_later, number, frame)

    def stop_later(number: int, frame: FrameType | None) -> None:
        loop.call_later(begin(), stop, number, frame)

    signal.signal(signal.SIGTERM, drain)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, stop)
