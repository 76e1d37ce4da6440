"""Fitted mixtures beside scikit-learn's, from the same start and over the same points."""

import numpy as np
import pytest

from rag.raptor.clustering import (
    LEAST_VARIANCE,
    GaussianComponents,
    bic,
    e_step,
    expectation_maximisation,
    fit,
    m_step,
)


def blobs(*sizes, dimensions=3, apart=6.0, seed=0):
    random = np.random.default_rng(seed)
    centres = random.normal(scale=apart, size=(len(sizes), dimensions))
    return np.vstack(
        [random.normal(centre, 1.0, (n, dimensions)) for centre, n in zip(centres, sizes, strict=True)]
    )


def sklearn_from(start: GaussianComponents, points):
    from sklearn.mixture import GaussianMixture  # seconds to import, for two tests

    return GaussianMixture(
        len(start.weights),
        reg_covar=LEAST_VARIANCE,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    ).fit(points)


@pytest.mark.parametrize("components", [1, 2, 4])
def test_fitting_ends_where_scikit_learn_ends_from_the_same_start(components):
    points = blobs(60, 40, 50, apart=2.0)
    shares = np.random.default_rng(1).dirichlet(np.ones(components), len(points))
    start = m_step(points, shares)
    theirs, ours = sklearn_from(start, points), expectation_maximisation(start, points)
    assert ours.means == pytest.approx(theirs.means_, abs=1e-6)
    assert ours.covariances == pytest.approx(theirs.covariances_, abs=1e-6)
    likelihood, belongs = e_step(ours, points)
    assert belongs == pytest.approx(theirs.predict_proba(points), abs=1e-6)
    assert likelihood == pytest.approx(theirs.score(points) * len(points))
    assert bic(likelihood, *points.shape, components) == pytest.approx(theirs.bic(points))


def test_the_criterion_is_least_for_as_many_components_as_there_are_blobs():
    points = blobs(40, 40, 40, 40, apart=12.0)
    worth = {n: bic(e_step(fit(points, n, 0), points)[0], *points.shape, n) for n in range(1, 9)}
    assert min(worth, key=worth.get) == 4


def test_points_that_coincide_are_fitted_too():
    likelihood, shares = e_step(fit(np.zeros((20, 3)), 5, 0), np.zeros((20, 3)))
    assert np.isfinite(likelihood)
    assert shares.sum(axis=1) == pytest.approx(np.ones(20))
