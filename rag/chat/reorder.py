"""The order in which passages stand in a prompt: the best first and last. Pure."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def best_outside(items: Sequence[T]) -> list[T]:
    """Return items, best first, so that the best stand first and last and the weakest in the middle.

    What stands in the middle of a long prompt is read worst: Liu et al., "Lost in the Middle" (TACL 2024).

    >>> best_outside([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*items[::2], *items[1::2][::-1]]
