"""Slots for an index or a model: opened on first use, with an explicit state."""

from collections.abc import Callable
from enum import Enum
from threading import Lock, RLock
from typing import Generic, Protocol, TypeVar, runtime_checkable

from rag.errors import IndexUnusable


class IndexState(Enum):
    """State of an index slot."""

    ABSENT = "absent"  # opened when it is next needed
    OPENING = "opening"
    OPEN = "open"
    REPLACING = "replacing"  # open, while a staged index is filled beside it
    DAMAGED = "damaged"  # found unusable; opened again when it is next needed


@runtime_checkable
class Closeable(Protocol):
    """Index that holds files or threads."""

    def close(self) -> None:
        """Release files and threads."""


T = TypeVar("T")


class Slot(Generic[T]):
    """Value opened on first use, once, for all threads; what could not be opened is tried again.

    A staged index may be held beside an index in use, and replace it.
    Slots whose values need each other share a `lock`; reading an open value takes none.
    """

    def __init__(self, open_value: Callable[[], T], lock: "RLock | None" = None):
        self._open_value = open_value
        self._opening = lock or RLock()
        self._changing = Lock()
        self._value: T | None = None
        self._staged: T | None = None
        self._state = IndexState.ABSENT  # while there is no value

    @property
    def state(self) -> IndexState:
        """The state, at this moment."""
        if self._value is None:
            return self._state
        return IndexState.OPEN if self._staged is None else IndexState.REPLACING

    @property
    def current(self) -> T | None:
        """The value where it is open; never waits."""
        return self._value

    def get(self, open_value: Callable[[], T] | None = None) -> T:
        """Return the value, opened by `open_value` or the slot's own function where it is not open."""
        value = self._value
        return self._open(open_value or self._open_value) if value is None else value

    def put(self, value: T) -> T | None:
        """Hold another value; return the one before."""
        with self._changing:
            before, self._value = self._value, value
        return before

    def take(self, state: IndexState = IndexState.ABSENT) -> T | None:
        """Empty the slot and return its value, which stays open; the slot is then in `state`."""
        with self._changing:
            before, self._value = self._value, None
            if self._state is not IndexState.OPENING:
                self._state = state
        return before

    def _open(self, open_value: Callable[[], T]) -> T:
        with self._opening:
            value = self._value
            if value is not None:
                return value
            self._state = IndexState.OPENING
            closed = IndexState.ABSENT
            try:
                value = open_value()
                self.put(value)
            except IndexUnusable:
                closed = IndexState.DAMAGED
                raise
            finally:
                self._state = closed
            return value

    def stage(self, staged: T) -> T:
        """Hold an index that is filled beside the one in use; return it."""
        self._staged = staged
        return staged

    def unstage(self) -> T | None:
        """Give up the staged index without closing it; return it."""
        staged, self._staged = self._staged, None
        return staged

    def exchange(self) -> T | None:
        """Use the staged index; return the one before, which searches may still use."""
        staged = self.unstage()
        return None if staged is None else self.put(staged)

    def close(self, state: IndexState = IndexState.ABSENT) -> None:
        """Close the index where it is open; it can be opened again. A staged one stays."""
        index = self.take(state)
        if isinstance(index, Closeable):
            index.close()
