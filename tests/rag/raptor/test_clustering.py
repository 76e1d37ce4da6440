import numpy as np
import pytest

from rag.raptor.clustering import (
    ClusteringOptions,
    argmin_unimodal,
    bic,
    clusters,
    e_step,
    fit,
    memberships,
    mixture_clusters,
)


def made(sizes, dimensions=64, seed=0, noise=0.5):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(len(sizes), dimensions))
    of = np.repeat(np.arange(len(sizes)), sizes)
    return (centres[of] + random.normal(scale=noise, size=(len(of), dimensions))).astype(np.float32), of


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 11, 12, 13, 30])
def test_every_node_of_a_small_layer_is_in_a_cluster(count):
    vectors, _ = made([1] * count) if count else (np.empty((0, 64), np.float32), None)
    found = clusters(vectors, [100] * count)
    wanted = set(range(count)) if count > 1 else set()
    assert {node for members in found for node in members} == wanted


def test_up_to_eleven_nodes_are_one_cluster():
    vectors, _ = made([1] * 11)
    assert clusters(vectors, [100] * 11) == [tuple(range(11))]


def test_nodes_of_one_theme_come_together():
    vectors, of = made([30, 30, 30])
    found = clusters(vectors, [100] * 90)
    pure = [len(set(of[list(members)])) == 1 for members in found]
    assert len(found) >= 3
    assert np.mean(pure) > 0.9


def test_clusters_are_the_same_for_the_same_seed():
    vectors, _ = made([20, 20, 20])
    assert clusters(vectors, [100] * 60) == clusters(vectors, [100] * 60)


@pytest.mark.parametrize("vectors", [np.ones((40, 8)), made([40])[0]], ids=["equal", "one theme"])
def test_a_cluster_too_long_to_summarise_is_clustered_again_or_cut(vectors):
    found = clusters(vectors.astype(np.float32), [100] * 40, ClusteringOptions(tokens=600))
    assert max(map(len, found)) <= 6
    assert {node for members in found for node in members} == set(range(40))


def test_a_node_longer_than_a_summary_can_be_made_from_stands_alone():
    vectors, _ = made([1] * 5)
    found = clusters(vectors, [100, 9000, 100, 100, 100], ClusteringOptions(tokens=1000))
    assert (1,) in found


def test_a_node_between_two_themes_is_in_both():
    random = np.random.default_rng(0)
    side = random.normal((4.0, 0.0), 1.0, (60, 2))
    points = np.vstack([side, -side, [[0.0, 0.0]]]).astype(np.float32)
    of_node = [members for members in mixture_clusters(points, ClusteringOptions(most=2)) if 120 in members]
    assert len(of_node) == 2


def test_a_node_that_no_theme_wants_goes_to_the_nearest():
    assert memberships(np.full((1, 20), 0.05), 0.1)[0] == (0,)


def test_the_least_is_found_as_by_asking_for_every_number():
    vectors, _ = made([25, 25, 25, 25], dimensions=4, noise=0.2)
    points = vectors.astype(np.float64)

    def worth(count):
        return bic(e_step(fit(points, count, 0), points)[0], *points.shape, count)

    assert argmin_unimodal(worth, 20) == min(range(1, 21), key=worth)
    asked: list[int] = []
    assert argmin_unimodal(lambda n: asked.append(n) or (n - 37) ** 2, 50) == 37
    assert len(asked) == len(set(asked)) < 25


def test_every_number_of_clusters_is_tried_where_that_is_asked(monkeypatch: pytest.MonkeyPatch):
    def two_valleys(likelihood: float, points: int, dimensions: int, components: int) -> float:
        return -1.0 if components == 7 else abs(components - 2.0)

    monkeypatch.setattr("rag.raptor.clustering.bic", two_valleys)
    points, _ = made([20] * 7, dimensions=3)
    assert len(mixture_clusters(points, ClusteringOptions(most=12))) == 2
    assert len(mixture_clusters(points, ClusteringOptions(most=12, every_number=True))) == 7
