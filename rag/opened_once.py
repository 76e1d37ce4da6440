"""A part of an object that is opened when it is first needed, once, whoever asks for it at the same time."""

from functools import cached_property
from threading import RLock
from typing import Any, Self, TypeVar, cast, overload

T = TypeVar("T")


class opened_once(cached_property[T]):  # noqa: N801 - read as the decorator that it takes the place of
    """A `functools.cached_property` with a lock of each object's own.

    Python 3.11 locks for all objects of a class, so that whoever opens a large index would have everybody
    wait for it; Python 3.12 does not lock at all, and would open it twice. What failed is tried again.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        """Return what is open, or open it: kept in the object's `__dict__`, from where it can be taken."""
        if instance is None:
            return self
        name, held = cast("str", self.attrname), vars(instance)
        with held.setdefault("_opening", RLock()):  # one step of the interpreter: nobody gets another lock
            if name not in held:
                held[name] = self.func(instance)
            return cast("T", held[name])
