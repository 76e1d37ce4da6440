import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.index.vector_index import mmr


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / lengths) if lengths else 0.0


def oracle(question: np.ndarray, vectors: np.ndarray, k: int, lambda_mult: float) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        scores = {
            i: lambda_mult * cosine(question, vectors[i])
            - (1 - lambda_mult) * max((cosine(vectors[i], vectors[j]) for j in chosen), default=0.0)
            for i in range(len(vectors))
            if i not in chosen
        }
        chosen.append(max(scores, key=lambda i: scores[i]))
    return chosen


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 12),
    st.integers(1, 15),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from([np.float32, np.float64]),
)
def test_agrees_with_its_definition(seed: int, n: int, k: int, lambda_mult: float, kind: type):
    random = np.random.default_rng(seed)
    question, vectors = random.normal(size=4), random.normal(size=(n, 4)).astype(kind)
    assert mmr(question, vectors, k=k, lambda_mult=lambda_mult) == oracle(question, vectors, k, lambda_mult)


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e300, 5e-324, float("nan"), float("inf")])
VECTORS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6)


@given(
    st.tuples(NUMBERS, NUMBERS),
    VECTORS,
    st.integers(-1, 9),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_vectors_give_k_positions_each_once(question, vectors, k: int, lambda_mult: float, kind: type):
    """Zero, equal, opposite, huge, no numbers; more asked for than there are."""
    with np.errstate(over="ignore"):
        given = np.array(vectors, np.float64).reshape(-1, 2).astype(kind)
    chosen = mmr(question, given, k=k, lambda_mult=lambda_mult)
    assert len(chosen) == len(set(chosen)) == min(max(k, 0), len(vectors))
    assert set(chosen) <= set(range(len(vectors)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.sampled_from([0.3, 0.5, 1.0]), st.randoms())
def test_the_order_of_the_candidates_does_not_matter(seed: int, n: int, lambda_mult: float, shuffling):
    random = np.random.default_rng(seed)
    question, vectors = random.normal(size=4), random.normal(size=(n, 4))
    order = list(range(n))
    shuffling.shuffle(order)
    chosen = mmr(question, vectors, k=n, lambda_mult=lambda_mult)
    assert [order[i] for i in mmr(question, vectors[order], k=n, lambda_mult=lambda_mult)] == chosen


@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.floats(0.01, 1))
def test_the_first_is_the_most_relevant_and_with_lambda_1_all_are_in_that_order(
    seed: int, n: int, lambda_mult: float
):
    random = np.random.default_rng(seed)
    question, vectors = random.normal(size=4), random.normal(size=(n, 4))
    by_relevance = sorted(range(n), key=lambda i: -cosine(question, vectors[i]))
    assert mmr(question, vectors, k=n, lambda_mult=1.0) == by_relevance
    assert mmr(question, vectors, k=1, lambda_mult=lambda_mult) == by_relevance[:1]


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_lengths_do_not_matter(seed: int, length: float):
    random = np.random.default_rng(seed)
    question, vectors = random.normal(size=4), random.normal(size=(6, 4))
    assert mmr(question * length, vectors / length, k=6) == mmr(question, vectors, k=6)


def test_with_lambda_0_each_is_the_one_furthest_from_those_before():
    vectors = [[1, 0], [0.9, 0.1], [0, 1], [-1, 0]]
    assert mmr([1, 0], vectors, k=4, lambda_mult=0.0) == [0, 3, 2, 1]


def test_a_duplicate_waits_for_what_differs():
    vectors = [[1, 0], [1, 0], [0.5, 0.5]]
    assert mmr([1, 0], vectors, k=3, lambda_mult=0.4) == [0, 2, 1]
    assert mmr([1, 0], vectors, k=3, lambda_mult=1.0) == [0, 1, 2]


@pytest.mark.parametrize("vectors", [[], [[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], ids=str)
def test_nothing_and_vectors_without_direction_are_no_error(vectors: list[list[float]]):
    assert mmr([1, 0], vectors, k=5) == list(range(len(vectors)))
