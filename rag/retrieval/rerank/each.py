"""A model asked once for each passage: the first alone, then several at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

WIDTH = 4
"""Requests at a time: what a server of one's own works on together, and no service refuses."""


def each(items: Sequence[T], ask: Callable[[T], R], *, width: int = WIDTH) -> list[R]:
    """Return `ask` of each item, in their order; raises what the first that fails raises.

    The first is waited for alone, so that the others find what all prompts begin with in a server's cache.
    """
    first = [ask(item) for item in items[:1]]
    with ThreadPoolExecutor(width, thread_name_prefix="rerank") as pool:
        return [*first, *pool.map(ask, items[1:])]
