"""Ranking metrics against judgements: nDCG, recall and MRR, as trec_eval computes them.

A list is taken in the order given: its ties are settled already (ours by id), where trec_eval would sort by
score again. An id found twice counts once, at its better place. A judgement of 0 or less, or a missing one,
is wrong. Without a right passage every metric is 0.

Bootstrap intervals of a mean over questions, and of the difference of two searches on the same questions:
Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13 (percentile intervals).
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Judgements = Mapping[str, float]  # grade by id; a missing id is wrong
Metric = Callable[[Sequence[str], Judgements], float]
DRAWS = 2000  # bootstrap samples
LEVEL = 0.95
SEED = 20  # of the draws, so that a page shows the same interval each time

Interval = tuple[float, float]


def ndcg(found: Sequence[str], right: Judgements, k: int) -> float:
    """Return the discounted gain of the first `k` against the best order's, 0 to 1.

    Gain is the judgement itself, discount log2(rank + 1) (Järvelin and Kekäläinen, TOIS 2002). Below,
    1 / log2(3) of the best possible 1 / log2(2):

    >>> round(ndcg(["x", "a"], {"a": 1.0}, k=10), 4)
    0.6309
    """
    best = _gain(sorted(right.values(), reverse=True)[:k])
    return _gain([right.get(id_, 0.0) for id_ in _distinct(found)[:k]]) / best if best else 0.0


def recall(found: Sequence[str], right: Judgements, k: int) -> float:
    """Return the share of the right ones among the first `k`: ``1 of 2 -> 0.5``."""
    wanted = _wanted(right)
    return len(wanted & set(_distinct(found)[:k])) / len(wanted) if wanted else 0.0


def mrr(found: Sequence[str], right: Judgements, k: int) -> float:
    """Return 1 / the rank of the first right one among the first `k`, or 0: ``rank 2 -> 0.5``."""
    wanted = _wanted(right)
    return next((1 / rank for rank, id_ in enumerate(_distinct(found)[:k], start=1) if id_ in wanted), 0.0)


METRICS: dict[str, Metric] = {
    "ndcg@5": lambda found, right: ndcg(found, right, 5),
    "ndcg@10": lambda found, right: ndcg(found, right, 10),
    "recall@1": lambda found, right: recall(found, right, 1),
    "recall@5": lambda found, right: recall(found, right, 5),
    "recall@10": lambda found, right: recall(found, right, 10),
    "mrr@10": lambda found, right: mrr(found, right, 10),
}


def measure(found: Sequence[str], right: Judgements) -> dict[str, float]:
    """Return every metric of one question: ``{"ndcg@5": 1.0, ...}``."""
    return {name: metric(found, right) for name, metric in METRICS.items()}


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that `percent` of the values do not exceed: ``[1, 2, 3, 4], 50 -> 2``."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else 0.0


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, a row of bits at a time (Hyyrö, 2004).

    >>> longest_common("abcbdab", "bdcaba")
    4
    """
    places: dict[str, int] = {}
    for at, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << at
    every = (1 << len(first)) - 1
    row = every
    for word in second:
        same = row & places.get(word, 0)
        row = (row + same | row - same) & every
    return len(first) - row.bit_count()


def _gain(judged: Sequence[float]) -> float:
    return math.fsum(max(0.0, score) / math.log2(rank + 1) for rank, score in enumerate(judged, start=1))


def _wanted(right: Judgements) -> set[str]:
    return {id_ for id_, score in right.items() if score > 0}


def _distinct(found: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(found))


def interval(values: Sequence[float]) -> Interval:
    """Return the interval in which the mean of such questions lies with a probability of 95 %.

    >>> interval([1.0, 1.0, 1.0])
    (1.0, 1.0)
    """
    if not values:
        return 0.0, 0.0
    told = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(SEED).integers(0, len(told), (DRAWS, len(told)))
    means = told[drawn].mean(axis=1)
    rest = (1 - LEVEL) / 2
    low, high = np.quantile(means, [rest, 1 - rest])
    return float(low), float(high)


def better(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return True where the first did better on the same questions, beyond what chance would give."""
    low, _ = interval([a - b for a, b in zip(one, other, strict=True)])
    return low > 0


def recommended(values: Mapping[str, Sequence[float]], current: str) -> str | None:
    """Return the search with the best mean if it is better than the `current` one beyond chance, else None.

    `values` has a value for each question, in one order, by search; of equal ones the first counts. None,
    too, where the current one was not asked.

    >>> recommended({"words": [1.0] * 30, "meaning": [0.5] * 30}, "meaning")
    'words'
    >>> recommended({"words": [1.0, 0.0], "meaning": [0.0, 1.0]}, "meaning") is None
    True
    """
    if current not in values or not values[current]:
        return None
    leader = max(values, key=lambda name: sum(values[name]))
    return leader if better(values[leader], values[current]) else None
