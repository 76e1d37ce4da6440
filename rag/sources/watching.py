"""A folder looked at again and again: told when something in it has changed and has come to rest.

By looking, not by notices of the system: those do not come from network drives and mounted folders, and run
out where there are many folders. A look costs a listing; what it took is waited for twenty times over.
"""

import hashlib
import time
from collections.abc import Iterator

from rag.jobs import Cancel
from rag.sources.source import Item, Source

EVERY = 10.0
"""Seconds between two looks, where a look is quick."""
_SHARE = 20
_LOOK = 0.2


def changes(source: Source, cancelled: Cancel, *, every: float = EVERY) -> Iterator[None]:
    """Yield whenever what `source` lists has changed and two looks after each other have found the same.

    Ends when it is cancelled. Raises SourceError where the source cannot be listed.
    """
    told = before = None
    while not cancelled():
        began = time.monotonic()
        now = _state(source, cancelled)
        took = time.monotonic() - began
        told = now if told is None else told
        if now == before and now != told and not cancelled():
            told = now
            yield
        before = now
        _rest(max(every, _SHARE * took), cancelled)


def _state(source: Source, cancelled: Cancel) -> bytes:
    """Return a hash of which items there are in which versions."""
    state = hashlib.sha256()
    for listed in source.list(None, cancelled):
        if isinstance(listed, Item):
            state.update(f"{listed.id}\0{listed.version}\0".encode())
    return state.digest()


def _rest(seconds: float, cancelled: Cancel) -> None:
    until = time.monotonic() + seconds
    while not cancelled() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK))
