"""Maximal marginal relevance: choose what fits the question and differs from what is chosen."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]

SMALL, LARGE = 1e-30, 1e30  # squares of lengths between which nothing overflows or is lost


def mmr(question: ArrayLike, vectors: ArrayLike, *, k: int, lambda_mult: float = 0.5) -> list[int]:
    """Return the positions of `k` vectors [n, d], each the best of those left when it was chosen.

    Best is lambda * cosine to the question [d] - (1 - lambda) * highest cosine to one chosen before
    (Carbonell and Goldstein, SIGIR 1998); the first of equals. lambda 1 is plain relevance. A vector
    of zeros, or with anything in it that is no finite number, is like none: its cosines are 0. What is
    given as float32, as an index keeps it, is compared as such, which takes less time.

    >>> mmr([1, 0], [[1, 0], [0.9, 0.1], [0.6, -0.8]], k=2, lambda_mult=0.3)
    [0, 2]
    """
    given = np.atleast_2d(np.asarray(vectors))
    if given.size == 0:
        return []
    candidates = _unit(given if given.dtype == np.float32 else given.astype(np.float64))
    asked = _unit(np.asarray(question, np.float64)[None])[0].astype(candidates.dtype)
    relevance = lambda_mult * (candidates @ asked)
    scores, least = relevance, np.full(len(candidates), np.inf, candidates.dtype)
    chosen: list[int] = []
    for _ in range(min(k, len(candidates))):
        best = int(scores.argmax())
        chosen.append(best)
        if len(chosen) == k:  # nothing is chosen after it
            break
        likeness = candidates @ candidates[best]  # of the few chosen: all pairs would take longer
        scores = np.minimum(least, relevance - (1 - lambda_mult) * likeness, out=least)
        scores[best] = -np.inf  # for good: nothing is less
    return chosen


def _unit(vectors: Floats) -> Floats:
    """Return vectors [n, d] of length 1, or 0 where there is no direction; no size overflows."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if squares.min() > SMALL and squares.max() < LARGE:  # as nearly always, and false for what is no number
        return np.asarray(vectors / np.sqrt(squares)[:, None])
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0).astype(np.float64)
    scaled = finite / _above_zero(np.abs(finite).max(axis=1, keepdims=True))
    return (scaled / _above_zero(np.linalg.norm(scaled, axis=1, keepdims=True))).astype(vectors.dtype)


def _above_zero(lengths: Floats) -> Floats:
    return np.where(lengths > 0, lengths, 1.0)
