"""Whether an index still has the vectors that it was given: damage to a graph's files is often silent."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rag.index.exact import Entries

SAMPLE = 50  # entries looked at
NEAREST = 3  # among which each must find itself
MISSED = 0.1  # of them may be missed: a graph finds nearly every one, a damaged one few
EQUAL = 1e-4  # distances and numbers that differ by less are of the same vector

Search = Callable[[Sequence[float], int], Sequence[tuple[str, float]]]


def sample(ids: Sequence[str]) -> list[str]:
    """Return at most `SAMPLE` of the ids, evenly spread."""
    return sorted(ids)[:: max(1, -(-len(ids) // SAMPLE))]


def sound(entries: Entries, copies: Mapping[str, Any], search: Search) -> bool:
    """Whether entries agree with the copies of their vectors, and are found by them.

    An entry that is not among the nearest to itself is still found where all of those are equal to it.
    """
    missed = 0
    for id_, vector in zip(entries.ids, np.asarray(entries.vectors), strict=True):
        if id_ in copies and not np.allclose(vector, copies[id_], atol=EQUAL):
            return False
        hits = search(vector.tolist(), NEAREST)
        missed += id_ not in {name for name, _ in hits} and not (hits and hits[-1][1] < EQUAL)
    return missed <= MISSED * len(entries.ids)
