"""Maximal marginal relevance: choose what fits the question and differs from what is chosen."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALL, LARGE = 1e-100, 1e100  # squares of lengths between which nothing overflows or is lost


def mmr(question: ArrayLike, vectors: ArrayLike, *, k: int, lambda_mult: float = 0.5) -> list[int]:
    """Return the positions of `k` vectors [n, d], each the best of those left when it was chosen.

    Best is lambda * cosine to the question [d] - (1 - lambda) * highest cosine to one chosen before
    (Carbonell and Goldstein, SIGIR 1998); the first of equals. lambda 1 is plain relevance. A vector
    of zeros, or with anything in it that is no finite number, is like none: its cosines are 0.

    >>> mmr([1, 0], [[1, 0], [0.9, 0.1], [0.6, -0.8]], k=2, lambda_mult=0.3)
    [0, 2]
    """
    given = np.atleast_2d(np.asarray(vectors, np.float64))
    if given.size == 0:
        return []
    candidates = _unit(given)
    relevance = lambda_mult * (candidates @ _unit(np.asarray(question, np.float64)[None])[0])
    scores, least = relevance, np.full(len(candidates), np.inf)
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


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors [n, d] of length 1, or 0 where there is no direction; no size overflows."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if squares.min() > SMALL and squares.max() < LARGE:  # as nearly always, and false for what is no number
        return np.asarray(vectors / np.sqrt(squares)[:, None])
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0)
    scaled = finite / _above_zero(np.abs(finite).max(axis=1, keepdims=True))
    return np.asarray(scaled / _above_zero(np.linalg.norm(scaled, axis=1, keepdims=True)))


def _above_zero(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(lengths > 0, lengths, 1.0)
