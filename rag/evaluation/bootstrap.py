"""Bootstrap intervals of a mean over questions, and of the difference of two searches on the same questions.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13 (percentile intervals).
"""

from collections.abc import Mapping, Sequence

import numpy as np

DRAWS = 2000
LEVEL = 0.95
SEED = 20  # of the draws, so that a page shows the same interval each time

Interval = tuple[float, float]


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
