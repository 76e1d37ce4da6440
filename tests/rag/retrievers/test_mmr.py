import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.retrievers.mmr import mmr


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
    st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 15), st.sampled_from([0.0, 0.3, 0.5, 1.0])
)
def test_agrees_with_its_definition(seed: int, n: int, k: int, lambda_mult: float):
    random = np.random.default_rng(seed)
    question, vectors = random.normal(size=4), random.normal(size=(n, 4))
    assert mmr(question, vectors, k=k, lambda_mult=lambda_mult) == oracle(question, vectors, k, lambda_mult)


def test_a_duplicate_waits_for_what_differs():
    vectors = [[1, 0], [1, 0], [0.5, 0.5]]
    assert mmr([1, 0], vectors, k=3, lambda_mult=0.4) == [0, 2, 1]
    assert mmr([1, 0], vectors, k=3, lambda_mult=1.0) == [0, 1, 2]


@pytest.mark.parametrize("vectors", [[], [[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], ids=str)
def test_nothing_and_vectors_without_direction_are_no_error(vectors: list[list[float]]):
    assert mmr([1, 0], vectors, k=5) == list(range(len(vectors)))
