"""Maximal marginal relevance: choose what fits the question and differs from what is chosen."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mmr(question: ArrayLike, vectors: ArrayLike, *, k: int, lambda_mult: float = 0.5) -> list[int]:
    """Return the positions of `k` vectors [n, d], each the best of those left when it was chosen.

    Best is lambda * cosine to the question [d] - (1 - lambda) * highest cosine to one chosen before
    (Carbonell and Goldstein, SIGIR 1998); the first of equals. lambda 1 is plain relevance.

    >>> mmr([1, 0], [[1, 0], [0.9, 0.1], [0.6, -0.8]], k=2, lambda_mult=0.3)
    [0, 2]
    """
    candidates = _unit(np.atleast_2d(np.asarray(vectors, np.float64)))
    if candidates.size == 0:
        return []
    relevance = candidates @ _unit(np.asarray(question, np.float64)[None])[0]
    redundancy = np.full(len(candidates), -np.inf)
    chosen: list[int] = []
    for _ in range(min(k, len(candidates))):
        penalty = redundancy if chosen else np.zeros(len(candidates))
        scores = lambda_mult * relevance - (1 - lambda_mult) * penalty
        scores[chosen] = -np.inf
        chosen.append(int(np.argmax(scores)))
        redundancy = np.maximum(redundancy, candidates @ candidates[chosen[-1]])
    return chosen


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
