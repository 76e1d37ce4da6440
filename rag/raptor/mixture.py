"""Gaussian mixtures with full covariances, fitted by expectation maximisation, and what each is worth.

The formulas are those of scikit-learn's GaussianMixture, with which the tests compare. All components are
reckoned at once here: a layer of 5,000 nodes is fitted some 1,500 times, mostly over a hundred points, and
scikit-learn, which takes them one after the other, needs 1.6 times as long for a layer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_VARIANCE = 1e-5  # added to each: points that coincide have none
ENOUGH = 1e-3  # gain of an iteration in log likelihood a point, below which it is the last
ITERATIONS = 100
MOVES = 5  # of the centres that it starts from


@dataclass(frozen=True)
class GaussianComponents:
    """Weights [k], means [k, d] and covariances [k, d, d] of k components."""

    weights: Floats
    means: Floats
    covariances: Floats


def fit(points: Floats, components: int, seed: int) -> GaussianComponents:
    """Return the mixture fitted to points, [n, d], n >= `components`; the same for the same seed."""
    return refined(maximised(points, _first(points, components, np.random.default_rng(seed))), points)


def refined(mixture: GaussianComponents, points: Floats) -> GaussianComponents:
    """Return what a mixture becomes when it is fitted to points, starting from itself."""
    before = -np.inf
    for _ in range(ITERATIONS):
        likelihood, shares = expected(mixture, points)
        mixture = maximised(points, shares)
        if abs(likelihood / len(points) - before) < ENOUGH:
            break
        before = likelihood / len(points)
    return mixture


def expected(mixture: GaussianComponents, points: Floats) -> tuple[float, Floats]:
    """Return the log likelihood of points, [n, d], and how much of each every component has, [n, k].

    >>> alike = GaussianComponents(np.array([0.5, 0.5]), np.array([[0.0], [2.0]]), np.ones((2, 1, 1)))
    >>> [round(float(share), 2) for share in expected(alike, np.array([[0.5]]))[1][0]]
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


def maximised(points: Floats, shares: Floats) -> GaussianComponents:
    """Return the mixture that fits points best when each component has these shares of them, [n, k]."""
    counts = shares.sum(axis=0) + 10 * np.finfo(np.float64).eps
    means = shares.T @ points / counts[:, None]
    apart = points[None] - means[:, None]  # [k, n, d]
    covariances: Any = np.swapaxes(apart * shares.T[:, :, None], 1, 2) @ apart / counts[:, None, None]
    covariances = covariances + LEAST_VARIANCE * np.eye(points.shape[1])
    return GaussianComponents(counts / counts.sum(), means, covariances)


def bic(log_likelihood: float, points: int, dimensions: int, components: int) -> float:
    """Return the Bayesian information criterion, ln(n) k - 2 ln(L): less is better.

    `k` counts the weights but one, the means and the covariances: 2 components in 1 dimension have 5.

    >>> round(bic(-100.0, points=50, dimensions=1, components=2), 2)
    219.56
    """
    free = components - 1 + components * (dimensions + dimensions * (dimensions + 1) // 2)
    return float(np.log(points) * free - 2.0 * log_likelihood)


def _first(points: Floats, components: int, random: np.random.Generator) -> Floats:
    """Return shares of 0 and 1, [n, k]: each point goes to the nearest of centres far from one another."""
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
    shares: Floats = np.eye(components)[_squares(points, centres).argmin(axis=1)]
    return shares


def _squares(points: Floats, centres: Floats) -> Floats:
    """Return the squared distance of each point from each centre, [n, k]."""
    squares: Floats = (
        (points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T + (centres**2).sum(axis=1)[None]
    )
    return np.maximum(squares, 0.0)
