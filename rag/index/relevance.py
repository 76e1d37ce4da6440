"""Distances of a vector index as relevance: 0 to 1, more is better.

For vectors of length 1, as Footnote's embedders give them, all three are the cosine, cut at 0.
"""

from collections.abc import Callable
from typing import Literal

Space = Literal["cosine", "l2", "ip"]


def cosine_relevance(distance: float) -> float:
    """Return 1 - distance, where distance = 1 - cosine: ``0.2 -> 0.8, 1.3 -> 0``."""
    return _cut(1 - distance)


def euclidean_relevance(distance: float) -> float:
    """Return 1 - distance / 2, where distance = |a - b|²: ``0.4 -> 0.8, 2.6 -> 0``.

    Chroma's "l2" is squared. For vectors of length 1, |a - b|² = 2 - 2 cosine(a, b).
    """
    return _cut(1 - distance / 2)


def inner_product_relevance(distance: float) -> float:
    """Return 1 - distance, where distance = 1 - a·b: ``0.2 -> 0.8, -3 -> 1``."""
    return _cut(1 - distance)


RELEVANCE: dict[Space, Callable[[float], float]] = {
    "cosine": cosine_relevance,
    "l2": euclidean_relevance,
    "ip": inner_product_relevance,
}


def _cut(score: float) -> float:
    """Return the score inside [0, 1]; what is no number is worth nothing."""
    return min(1.0, score) if score > 0 else 0.0
