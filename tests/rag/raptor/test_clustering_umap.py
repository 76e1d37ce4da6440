import numpy as np
import pytest

from rag.raptor.clustering import nearest, project


def themes(count=4, size=40, dimensions=64, seed=0):
    """Vectors around some directions, with which one each is of."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(count, dimensions))
    of = np.repeat(np.arange(count), size)
    return (centres[of] + random.normal(scale=0.6, size=(len(of), dimensions))).astype(np.float32), of


def test_neighbours_before_are_neighbours_after():
    vectors, of = themes()
    layout = project(vectors, 10, 12, seed=0)
    assert layout.shape == (160, 10)
    apart = ((layout[:, None] - layout[None]) ** 2).sum(axis=2) + np.diag(np.full(160, np.inf))
    assert (of[apart.argmin(axis=1)] == of).mean() > 0.98


def test_neighbours_are_those_of_all_distances(monkeypatch):
    monkeypatch.setattr("rag.raptor.clustering.ROWS", 7)
    vectors, _ = themes(size=6)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    all_of_them = 1.0 - unit @ unit.T
    np.fill_diagonal(all_of_them, np.inf)
    distances, positions = nearest(vectors, 5)
    assert (positions == np.argsort(all_of_them, axis=1)[:, :5]).all()
    assert distances == pytest.approx(np.sort(all_of_them, axis=1)[:, :5], abs=1e-5)


def test_the_same_seed_gives_the_same_layout_and_another_another():
    vectors, _ = themes()
    first, again, other = (project(vectors, 5, 10, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    "vectors", [np.ones((20, 8)), np.zeros((20, 8)), np.eye(20)], ids=["equal", "zero", "apart"]
)
def test_vectors_without_a_shape_have_a_layout_too(vectors):
    assert np.isfinite(project(vectors.astype(np.float32), 4, 6, 0)).all()
