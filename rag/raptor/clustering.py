"""Clustering of a layer of nodes: UMAP and Gaussian mixtures, with a node in one or more clusters.

As in RAPTOR (arXiv 2401.18059, section 3): UMAP over a whole layer finds large themes, within each theme
small ones; the BIC gives the number of clusters. All functions are deterministic in their arguments and the
seed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MixtureFloats = NDArray[np.float64]
Members = tuple[int, ...]  # positions in the layer, in order

# UMAP. The curve 1 / (1 + A d^2B) that fits min_dist 0.1 and spread 1, the defaults of umap-learn.
A, B = 1.5769, 0.8951
EPOCHS = 150
FIRST_STEP = 0.5  # longer steps oscillate: an attraction at distance 1 is about twice the distance
PUSHES = 5  # repulsions for each attraction: umap-learn's negative_sample_rate
DRAWN = 16  # points that repel a point in one epoch
FARTHEST = 4.0  # limit of a force, as in umap-learn
EXTENT = 10.0  # of the first layout
ROWS = 1024  # of distances at once: 20 MB over 5,000 points
HALVINGS = 40  # of the interval in the search of a width


def project(vectors: Floats, dimensions: int, neighbours: int, seed: int) -> Floats:
    """Return the UMAP projection of vectors, float [n, d], by cosine as float32 [n, dimensions].

    `neighbours` is at most n - 1; n must be above `dimensions`. 5,000 vectors with 70 neighbours take 20
    seconds.
    """
    distances, nearest_ids = nearest(vectors, min(neighbours, len(vectors) - 1))
    graph = fuzzy_graph(edge_weights(distances), nearest_ids)
    random = np.random.default_rng(seed)
    return _optimise_layout(_first_layout(vectors, dimensions, random), graph, random)


def nearest(vectors: Floats, count: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return cosine distances and positions of each vector's `count` nearest others, [n, count], near first.

    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], np.float32), 1)[1].tolist()
    [[2], [2], [1]]
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    distances = np.empty((len(unit), count), np.float32)
    positions = np.empty((len(unit), count), np.int64)
    for start in range(0, len(unit), ROWS):
        rows = np.arange(start, min(start + ROWS, len(unit)))
        away = 1.0 - unit[rows] @ unit.T
        away[rows - start, rows] = np.inf
        near = np.argpartition(away, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(away, near, 1), axis=1, kind="stable")
        positions[rows] = np.take_along_axis(near, order, 1)
        distances[rows] = np.maximum(np.take_along_axis(away, positions[rows], 1), 0.0)
    return distances, positions


def edge_weights(distances: Floats) -> Floats:
    """Return the membership of each neighbour in its point's neighbourhood, 0 to 1, [n, k].

    The nearest has 1; each point's memberships add up to log2(k), which makes up for different densities.

    >>> [round(float(share), 2) for share in edge_weights(np.array([[0.1, 0.2, 0.3, 0.4]], np.float32))[0]]
    [1.0, 0.54, 0.3, 0.16]
    """
    beyond = distances - distances[:, :1]
    wanted = np.log2(max(distances.shape[1], 2))
    low, high = np.zeros(len(distances)), np.full(len(distances), 4.0)  # a cosine distance is 2 at most
    for _ in range(HALVINGS):
        width = (low + high) / 2
        many = np.exp(-beyond / width[:, None]).sum(axis=1) > wanted
        low, high = np.where(many, low, width), np.where(many, width, high)
    floor = 1e-3 * max(float(distances.mean()), 1e-6)  # where most neighbours are at one distance
    return np.asarray(np.exp(-beyond / np.maximum(high, floor)[:, None]), np.float32)


@dataclass(frozen=True)
class FuzzyGraph:
    """Edges of a symmetric graph, by their heads: of each its two points and its weight."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    weights: Floats

    def summed(self, values: Floats) -> Floats:
        """Return the sum of the weighted values of each point's edges, [n, d]; every point has an edge."""
        first = np.flatnonzero(np.diff(self.heads, prepend=-1))
        return np.asarray(np.add.reduceat(values * self.weights[:, None], first), np.float32)


def fuzzy_graph(belonging: Floats, neighbours: NDArray[np.int64]) -> FuzzyGraph:
    """Return the symmetric graph of fuzzy memberships: an edge is a + b - ab of its directions.

    >>> graph = fuzzy_graph(np.array([[0.5], [0.5], [1.0]], np.float32), np.array([[1], [0], [0]]))
    >>> list(zip(graph.heads.tolist(), graph.tails.tolist(), graph.weights.tolist()))
    [(0, 1, 0.75), (0, 2, 1.0), (1, 0, 0.75), (2, 0, 1.0)]
    """
    count, width = neighbours.shape
    heads, tails = np.repeat(np.arange(count), width), neighbours.ravel()
    edges = np.unique(np.concatenate([heads * count + tails, tails * count + heads]))
    one_way, other_way = np.zeros(len(edges), np.float32), np.zeros(len(edges), np.float32)
    one_way[np.searchsorted(edges, heads * count + tails)] = belonging.ravel()
    other_way[np.searchsorted(edges, tails * count + heads)] = belonging.ravel()
    return FuzzyGraph(edges // count, edges % count, one_way + other_way - one_way * other_way)


def _first_layout(vectors: Floats, dimensions: int, random: np.random.Generator) -> Floats:
    """Return the principal components of the vectors, with a little noise to separate equal ones."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    if len(centred) < centred.shape[1]:
        _, along = np.linalg.eigh(centred @ centred.T)
        directions = centred.T @ along
        directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-12)
    else:
        _, directions = np.linalg.eigh(centred.T @ centred)
    placed = centred @ directions[:, ::-1][:, :dimensions]
    placed *= EXTENT / max(float(np.abs(placed).max()), 1e-12)
    return np.asarray(placed + random.normal(scale=1e-3, size=placed.shape), np.float32)


def _optimise_layout(layout: Floats, graph: FuzzyGraph, random: np.random.Generator) -> Floats:
    ones = np.ones((len(graph.heads), 1), np.float32)
    held = np.asarray(np.maximum(graph.summed(ones), 1e-6), np.float32)
    for epoch in range(EPOCHS):
        step = FIRST_STEP * (1.0 - epoch / EPOCHS)
        pulled = _pull(layout, graph) / held
        layout = layout + step * (2.0 * pulled + PUSHES * _push(layout, random))
    return layout


def _pull(layout: Floats, graph: FuzzyGraph) -> Floats:
    """Return the attraction on each point, [n, d], summed over its edges."""
    apart = layout[graph.tails] - layout[graph.heads]
    square = np.einsum("ed,ed->e", apart, apart)
    power = np.power(np.maximum(square, 1e-12), B - 1.0)
    force = 2.0 * A * B * power / (1.0 + A * power * square)
    return graph.summed(np.clip(apart * force[:, None], -FARTHEST, FARTHEST))


def _push(layout: Floats, random: np.random.Generator) -> Floats:
    """Return the mean repulsion on each point, [n, d], by random others."""
    others = random.integers(len(layout), size=(len(layout), DRAWN))
    apart = layout[:, None, :] - layout[others]
    square = np.einsum("nkd,nkd->nk", apart, apart)
    force = 2.0 * B / ((0.001 + square) * (1.0 + A * np.power(square, B)))
    return np.asarray(np.clip(apart * force[:, :, None], -FARTHEST, FARTHEST).mean(axis=1), np.float32)


# Gaussian mixtures with full covariances.
LEAST_VARIANCE = 1e-5  # added to each variance: equal points have none
ENOUGH = 1e-3  # gain in log likelihood per point below which fitting ends
ITERATIONS = 100
MOVES = 5  # k-means iterations for the first centres


@dataclass(frozen=True)
class GaussianComponents:
    """Weights [k], means [k, d] and covariances [k, d, d] of k components."""

    weights: MixtureFloats
    means: MixtureFloats
    covariances: MixtureFloats


def fit(points: MixtureFloats, components: int, seed: int) -> GaussianComponents:
    """Return the mixture fitted to points, [n, d], n >= `components`; the same for the same seed."""
    return expectation_maximisation(
        m_step(points, _initial_shares(points, components, np.random.default_rng(seed))), points
    )


def expectation_maximisation(mixture: GaussianComponents, points: MixtureFloats) -> GaussianComponents:
    """Return the mixture fitted to points by expectation maximisation, starting from itself."""
    before = -np.inf
    for _ in range(ITERATIONS):
        likelihood, shares = e_step(mixture, points)
        mixture = m_step(points, shares)
        if abs(likelihood / len(points) - before) < ENOUGH:
            break
        before = likelihood / len(points)
    return mixture


def e_step(mixture: GaussianComponents, points: MixtureFloats) -> tuple[float, MixtureFloats]:
    """Return the log likelihood of points, [n, d], and the components' shares of each, [n, k].

    >>> alike = GaussianComponents(np.array([0.5, 0.5]), np.array([[0.0], [2.0]]), np.ones((2, 1, 1)))
    >>> [round(float(share), 2) for share in e_step(alike, np.array([[0.5]]))[1][0]]
    [0.73, 0.27]
    """
    factors = np.linalg.cholesky(mixture.covariances)
    whitening = np.linalg.inv(factors)  # [k, d, d]
    white = points @ np.swapaxes(whitening, 1, 2) - np.einsum("kij,kj->ki", whitening, mixture.means)[:, None]
    logs = np.log(mixture.weights)[:, None] - 0.5 * np.einsum("knd,knd->kn", white, white)
    logs -= np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)[:, None]
    logs -= 0.5 * points.shape[1] * np.log(2.0 * np.pi)
    highest = logs.max(axis=0)
    totals = highest + np.log(np.exp(logs - highest).sum(axis=0))
    return float(totals.sum()), np.exp(logs - totals).T


def m_step(points: MixtureFloats, shares: MixtureFloats) -> GaussianComponents:
    """Return the mixture of highest likelihood for the components' shares of the points, [n, k]."""
    counts = shares.sum(axis=0) + 10 * np.finfo(np.float64).eps
    means = shares.T @ points / counts[:, None]
    apart = points[None] - means[:, None]  # [k, n, d]
    covariances: Any = np.swapaxes(apart * shares.T[:, :, None], 1, 2) @ apart / counts[:, None, None]
    covariances = covariances + LEAST_VARIANCE * np.eye(points.shape[1])
    return GaussianComponents(counts / counts.sum(), means, covariances)


def bic(log_likelihood: float, points: int, dimensions: int, components: int) -> float:
    """Return the Bayesian information criterion, ln(n) k - 2 ln(L): less is better.

    >>> round(bic(-100.0, points=50, dimensions=1, components=2), 2)
    219.56
    """
    free = components - 1 + components * (dimensions + dimensions * (dimensions + 1) // 2)
    return float(np.log(points) * free - 2.0 * log_likelihood)


def _initial_shares(points: MixtureFloats, components: int, random: np.random.Generator) -> MixtureFloats:
    """Return shares of 0 and 1, [n, k], by k-means++ centres and a few k-means iterations."""
    centres = points[[int(random.integers(len(points)))]]
    away = _squares(points, centres)[:, 0]
    while len(centres) < components:
        drawn = random.choice(len(points), p=away / away.sum()) if away.sum() > 0 else len(centres)
        centres = np.vstack([centres, points[drawn]])
        away = np.minimum(away, _squares(points, points[[drawn]])[:, 0])
    for _ in range(MOVES):
        near = np.eye(components)[_squares(points, centres).argmin(axis=1)]
        counts = near.sum(axis=0)[:, None]
        centres = np.where(counts > 0, near.T @ points / np.maximum(counts, 1), centres)
    shares: MixtureFloats = np.eye(components)[_squares(points, centres).argmin(axis=1)]
    return shares


def _squares(points: MixtureFloats, centres: MixtureFloats) -> MixtureFloats:
    """Return the squared distance of each point from each centre, [n, k]."""
    squares: MixtureFloats = (
        (points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T + (centres**2).sum(axis=1)[None]
    )
    return np.maximum(squares, 0.0)


@dataclass(frozen=True)
class ClusteringOptions:
    """Options of clustering, by default the paper's.

    `threshold` is of a membership, `most` the largest number of clusters tried, `tokens` the largest cluster.
    With `every_number` each number up to `most` is tried, as in the paper; without, about a dozen around the
    best are.
    """

    dimensions: int = 10
    threshold: float = 0.1
    most: int = 50
    local_neighbours: int = 10
    tokens: int = 3500
    seed: int = 224
    every_number: bool = False


def clusters(
    vectors: Floats, tokens: Sequence[int], rule: ClusteringOptions = ClusteringOptions()
) -> list[Members]:
    """Return the clusters of nodes with these vectors, float [n, d], and lengths in tokens.

    Every node is in at least one cluster. One that is too long is clustered again, and cut in order where
    that does not divide it. Up to `dimensions` + 1 nodes are one cluster; a single node is none.
    """
    if len(vectors) < 2:
        return []
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(
        1, user_api="blas"
    ):  # the matrices are small: a second core only waits for the first
        return sorted(set(_clusters_within(vectors, np.arange(len(vectors)), tokens, rule)))


def memberships(probabilities: NDArray[Any], threshold: float) -> list[Members]:
    """Return the members of each component, [n, k] -> k: those above the threshold, or nearest to it.

    >>> memberships(np.array([[0.95, 0.05], [0.6, 0.4]]), 0.1)
    [(0, 1), (1,)]
    """
    belongs = probabilities > threshold
    belongs[np.arange(len(probabilities)), probabilities.argmax(axis=1)] = True
    return [tuple(np.flatnonzero(column).tolist()) for column in belongs.T]


def argmin_unimodal(score: Callable[[int], float], most: int) -> int:
    """Return the number from 1 to `most` with the least score, evaluating about a dozen of 50.

    Exact where the score falls and then rises, as the criterion does but for noise.

    >>> argmin_unimodal(lambda n: abs(n - 23), 50)
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


def mixture_clusters(points: Floats, rule: ClusteringOptions) -> list[Members]:
    """Return the clusters of points, float [n, d]: those of the mixture with the least BIC."""
    wide = points.astype(np.float64)
    fitted: dict[int, Any] = {}

    def score(components: int) -> float:
        found = fit(wide, components, rule.seed)
        likelihood, fitted[components] = e_step(found, wide)
        return bic(likelihood, len(wide), wide.shape[1], components)

    most = max(1, min(rule.most, len(wide) - 1))
    best = min(range(1, most + 1), key=score) if rule.every_number else argmin_unimodal(score, most)
    return memberships(fitted[best], rule.threshold)


def _clusters_within(
    vectors: Floats, nodes: NDArray[np.int64], tokens: Sequence[int], rule: ClusteringOptions
) -> Iterator[Members]:
    """Yield the clusters of some nodes, none longer than `rule.tokens`."""
    for found in _two_scales(vectors[nodes], rule):
        members = nodes[list(found)]
        if len(members) == 1 or sum(tokens[node] for node in members) <= rule.tokens:
            yield tuple(members.tolist())
        elif len(members) < len(nodes):
            yield from _clusters_within(vectors, members, tokens, rule)
        else:
            yield from _split_by_tokens(members, tokens, rule.tokens)


def _two_scales(vectors: Floats, rule: ClusteringOptions) -> Iterator[Members]:
    """Yield the small clusters of each large one."""
    for theme in _at_one_scale(vectors, max(2, int((len(vectors) - 1) ** 0.5)), rule):
        inner = np.asarray(theme)
        for found in _at_one_scale(vectors[inner], rule.local_neighbours, rule):
            if found:
                yield tuple(inner[list(found)].tolist())


def _at_one_scale(vectors: Floats, neighbours: int, rule: ClusteringOptions) -> list[Members]:
    """Return the clusters at one scale; few nodes are one."""
    if len(vectors) <= rule.dimensions + 1:
        return [tuple(range(len(vectors)))]
    return mixture_clusters(project(vectors, rule.dimensions, neighbours, rule.seed), rule)


def _split_by_tokens(nodes: NDArray[np.int64], tokens: Sequence[int], most: int) -> Iterator[Members]:
    taken: list[int] = []
    for node in nodes.tolist():
        if taken and sum(tokens[other] for other in taken) + tokens[node] > most:
            yield tuple(taken)
            taken = []
        taken.append(node)
    if taken:
        yield tuple(taken)
