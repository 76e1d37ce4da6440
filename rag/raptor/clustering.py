"""Which nodes of a layer belong together: Gaussian mixtures in few dimensions, a node in several clusters.

As in RAPTOR (arXiv 2401.18059, section 3): UMAP over all of a layer finds its large themes, UMAP within
each theme the small ones; how many clusters there are is what the Bayesian information criterion says.
Everything here is a function of its arguments and the seed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.raptor.mixture import bic, expected, fit
from rag.raptor.umap import Floats, project

Members = tuple[int, ...]  # positions in the layer, in order


@dataclass(frozen=True)
class Rule:
    """How a layer is clustered; the defaults are the paper's.

    `dimensions` are what UMAP leaves of a vector, `threshold` is the probability from which a node belongs
    to a cluster, `most` how many clusters are tried at once, `tokens` what one summary can be made from.
    """

    dimensions: int = 10
    threshold: float = 0.1
    most: int = 50
    local_neighbours: int = 10
    tokens: int = 3500
    seed: int = 224


def clusters(vectors: Floats, tokens: Sequence[int], rule: Rule = Rule()) -> list[Members]:
    """Return the clusters of nodes with these vectors, float [n, d], and lengths in tokens.

    Every node is in at least one, and no two are equal. One that is longer than the rule allows is clustered
    again, and cut in order where that parts nothing. Up to `dimensions` + 1 nodes are one cluster, one node
    or none is no cluster: there is nothing to summarise.
    """
    if len(vectors) < 2:
        return []
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(
        1, user_api="blas"
    ):  # the matrices are small: a second core only waits for the first
        return sorted(set(_within(vectors, np.arange(len(vectors)), tokens, rule)))


def memberships(probabilities: NDArray[Any], threshold: float) -> list[Members]:
    """Return the members of each component, [n, k] -> k: those above the threshold, or nearest to it.

    >>> memberships(np.array([[0.95, 0.05], [0.6, 0.4]]), 0.1)
    [(0, 1), (1,)]
    """
    belongs = probabilities > threshold
    belongs[np.arange(len(probabilities)), probabilities.argmax(axis=1)] = True
    return [tuple(np.flatnonzero(column).tolist()) for column in belongs.T]


def least(score: Callable[[int], float], most: int) -> int:
    """Return the number from 1 to `most` with the least score, asking for about a dozen of 50.

    The numbers are tried at growing distances, then halfway on both sides of the best until none is left:
    right where the score falls and then rises, as the criterion does but for noise.

    >>> least(lambda n: abs(n - 23), 50)
    23
    """
    coarse = sorted({min(most, max(1, round(1.5**power))) for power in range(12)})
    scores = {number: score(number) for number in coarse}
    while True:
        best = min(scores, key=lambda number: (scores[number], number))
        tried = sorted(scores)
        at = tried.index(best)
        ends = (*tried[max(0, at - 1) : at + 1], *tried[at + 1 : at + 2])
        middles = {(a + b) // 2 for a, b in pairwise(ends)} - scores.keys()
        if not middles:
            return best
        scores |= {number: score(number) for number in sorted(middles)}


def themes(points: Floats, rule: Rule) -> list[Members]:
    """Return the clusters of points, float [n, d]: those of the mixture with the least BIC."""
    wide = points.astype(np.float64)
    fitted: dict[int, Any] = {}

    def score(components: int) -> float:
        found = fit(wide, components, rule.seed)
        likelihood, fitted[components] = expected(found, wide)
        return bic(likelihood, len(wide), wide.shape[1], components)

    best = least(score, max(1, min(rule.most, len(wide) - 1)))
    return memberships(fitted[best], rule.threshold)


def _within(
    vectors: Floats, nodes: NDArray[np.int64], tokens: Sequence[int], rule: Rule
) -> Iterator[Members]:
    """Yield the clusters of some nodes, none of them too long to summarise."""
    for found in _parted(vectors[nodes], rule):
        members = nodes[list(found)]
        if len(members) == 1 or sum(tokens[node] for node in members) <= rule.tokens:
            yield tuple(members.tolist())
        elif len(members) < len(nodes):
            yield from _within(vectors, members, tokens, rule)
        else:
            yield from _cut(members, tokens, rule.tokens)


def _parted(vectors: Floats, rule: Rule) -> Iterator[Members]:
    """Yield the small themes of each large one."""
    for theme in _at_one_scale(vectors, max(2, int((len(vectors) - 1) ** 0.5)), rule):
        inner = np.asarray(theme)
        for found in _at_one_scale(vectors[inner], rule.local_neighbours, rule):
            if found:
                yield tuple(inner[list(found)].tolist())


def _at_one_scale(vectors: Floats, neighbours: int, rule: Rule) -> list[Members]:
    """Return the clusters at one scale; few nodes are one."""
    if len(vectors) <= rule.dimensions + 1:
        return [tuple(range(len(vectors)))]
    return themes(project(vectors, rule.dimensions, neighbours, rule.seed), rule)


def _cut(nodes: NDArray[np.int64], tokens: Sequence[int], most: int) -> Iterator[Members]:
    """Yield nodes in their order, as many at a time as one summary can be made from."""
    taken: list[int] = []
    for node in nodes.tolist():
        if taken and sum(tokens[other] for other in taken) + tokens[node] > most:
            yield tuple(taken)
            taken = []
        taken.append(node)
    if taken:
        yield tuple(taken)
