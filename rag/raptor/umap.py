"""UMAP in numpy: points in few dimensions, so that those near each other before are near each other after.

McInnes, Healy and Melville, arXiv 1802.03426. Each point's nearest neighbours make a graph of memberships
from 0 to 1, and the layout pulls along its edges and pushes between points drawn at random. The forces are
those of the paper; they act on all points at once, an epoch a step, in place of edge by edge, and each
point's step is divided by how much hangs on it. That moves no point of rest, and needs no compiler.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float32]

# The curve 1 / (1 + A d^2B) that fits min_dist 0.1 and spread 1, the defaults of umap-learn.
A, B = 1.5769, 0.8951
EPOCHS = 150
FIRST_STEP = 0.5  # longer ones swing: an attraction at distance 1 is about twice the distance
PUSHES = 5  # for each pull: umap-learn's negative_sample_rate
DRAWN = 16  # points that push a point in one epoch, for all its pushes together
FARTHEST = 4.0  # a force is cut there, as in umap-learn
EXTENT = 10.0  # of the layout that it starts from
ROWS = 1024  # of distances at once: 20 MB over 5,000 points
HALVINGS = 40  # of the interval that holds a width


def project(vectors: Floats, dimensions: int, neighbours: int, seed: int) -> Floats:
    """Return vectors, float [n, d], in fewer dimensions, float32 [n, dimensions]; the same for the same seed.

    Distances are cosines. `neighbours` is how far "near" reaches, at most n - 1; n must be above
    `dimensions`. Five thousand vectors with 70 neighbours take about 20 seconds on one core.
    """
    distances, nearest_ids = nearest(vectors, min(neighbours, len(vectors) - 1))
    graph = fuzzy_graph(memberships(distances), nearest_ids)
    random = np.random.default_rng(seed)
    return _settled(_first_layout(vectors, dimensions, random), graph, random)


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


def memberships(distances: Floats) -> Floats:
    """Return how much each neighbour belongs to its point, 0 to 1, [n, k]: the nearest one wholly.

    A point's width is such that its memberships add up to log2(k), so that thin regions count as dense ones.

    >>> [round(float(share), 2) for share in memberships(np.array([[0.1, 0.2, 0.3, 0.4]], np.float32))[0]]
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


def fuzzy_graph(belonging: Floats, neighbours: NDArray[np.int64]) -> "csr_array":
    """Return the graph [n, n] in which an edge holds as much as one of its ends says, or both: a + b - ab."""
    from scipy.sparse import csr_array

    count, width = neighbours.shape
    starts = np.arange(0, count * width + 1, width)
    one_way = csr_array((belonging.ravel(), neighbours.ravel(), starts), shape=(count, count))
    other_way = one_way.T.tocsr()
    return csr_array(one_way + other_way - one_way * other_way)


def _first_layout(vectors: Floats, dimensions: int, random: np.random.Generator) -> Floats:
    """Return the directions in which the vectors vary most, and a little noise to part equal ones."""
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


def _settled(layout: Floats, graph: "csr_array", random: np.random.Generator) -> Floats:
    edges = graph.tocoo()
    held: Any = np.maximum(graph.sum(axis=1), 1e-6).astype(np.float32)[:, None]
    for epoch in range(EPOCHS):
        step = FIRST_STEP * (1.0 - epoch / EPOCHS)
        pulled = _pull(layout, edges.row, edges.col, edges.data) / held
        layout = layout + step * (2.0 * pulled + PUSHES * _push(layout, random))
    return layout


def _pull(layout: Floats, heads: Any, tails: Any, weights: Any) -> Floats:
    """Return the attraction on each point, [n, d], added up over its edges."""
    from scipy.sparse import csr_array

    apart = layout[tails] - layout[heads]
    square = np.einsum("ed,ed->e", apart, apart)
    power = np.power(np.maximum(square, 1e-12), B - 1.0)
    force = 2.0 * A * B * power / (1.0 + A * power * square)
    apart = np.clip(apart * force[:, None], -FARTHEST, FARTHEST)
    summing = csr_array((weights, (heads, np.arange(len(heads)))), shape=(len(layout), len(heads)))
    return np.asarray(summing @ apart, np.float32)


def _push(layout: Floats, random: np.random.Generator) -> Floats:
    """Return the mean repulsion on each point, [n, d], by some others drawn at random."""
    others = random.integers(len(layout), size=(len(layout), DRAWN))
    apart = layout[:, None, :] - layout[others]
    square = np.einsum("nkd,nkd->nk", apart, apart)
    force = 2.0 * B / ((0.001 + square) * (1.0 + A * np.power(square, B)))
    return np.asarray(np.clip(apart * force[:, :, None], -FARTHEST, FARTHEST).mean(axis=1), np.float32)
