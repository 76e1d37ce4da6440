import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.retrieval.fusion import (
    convex_combination,
    min_max,
    normalised,
    rrf,
    theoretical_min_max,
    z_score,
)

NORMALISERS = {
    "min_max": min_max,
    "theoretical_min_max": theoretical_min_max(0.0),
    "z_score": z_score,
}
any_normaliser = pytest.mark.parametrize("normaliser", NORMALISERS.values(), ids=NORMALISERS)
SCORES = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, -1.0, 0.3])
RANKINGS = st.dictionaries(
    st.sampled_from(["words", "meaning", "third"]),
    st.lists(st.tuples(st.sampled_from("abcdef"), SCORES), max_size=8),
)


def rrf_oracle(rankings: dict, weights: dict, c: float) -> dict[str, float]:
    scores: dict[str, float] = {}
    for name, ranking in rankings.items():
        seen = []
        for id_, _ in ranking:
            if id_ not in seen:
                seen.append(id_)
                scores[id_] = scores.get(id_, 0) + weights[name] / (c + len(seen))
    return scores


@given(RANKINGS, st.floats(0, 1), st.integers(1, 100))
def test_rrf_agrees_with_its_definition(rankings: dict, weight: float, c: int):
    weights = {"words": weight, "meaning": 1 - weight, "third": 0.5}
    assert rrf(rankings, weights, c) == pytest.approx(rrf_oracle(rankings, weights, c))


def test_rrf_of_a_worked_example():
    rankings = {"words": [("a", 9.0), ("b", 1.0)], "meaning": [("b", 0.9), ("c", 0.1)]}
    assert rrf(rankings) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})


def convex_oracle(words: dict[str, float], meaning: dict[str, float], weight: float) -> dict[str, float]:
    best_w, best_m = max(words.values()), max(meaning.values())
    return {
        id_: (1 - weight) * words.get(id_, 0) / best_w + weight * meaning.get(id_, 0) / best_m
        for id_ in words | meaning
    }


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 50), min_size=1),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 1), min_size=1),
    st.floats(0, 1),
)
def test_convex_combination_agrees_with_its_definition(words: dict, meaning: dict, weight: float):
    fused = convex_combination(
        {"words": list(words.items()), "meaning": list(meaning.items())},
        {"words": 1 - weight, "meaning": weight},
        dict.fromkeys(("words", "meaning"), theoretical_min_max(0.0)),
    )
    assert fused == pytest.approx(convex_oracle(words, meaning, weight))


@any_normaliser
@given(rankings=RANKINGS)
def test_the_order_of_the_lists_never_matters(normaliser, rankings: dict):
    normalisers = dict.fromkeys(rankings, normaliser)
    results = [
        list(convex_combination(dict(order), None, normalisers).items())
        for order in itertools.permutations(rankings.items())
    ]
    assert all(result == results[0] for result in results)
    assert len({tuple(rrf(dict(order)).items()) for order in itertools.permutations(rankings.items())}) <= 1


@any_normaliser
@given(rankings=RANKINGS)
def test_every_id_comes_once_with_a_finite_score_best_first(normaliser, rankings: dict):
    fused = convex_combination(rankings, None, dict.fromkeys(rankings, normaliser))
    assert set(fused) == {id_ for ranking in rankings.values() for id_, _ in ranking}
    assert all(math.isfinite(score) for score in fused.values())
    assert list(fused) == sorted(fused, key=lambda id_: (-fused[id_], id_))


@any_normaliser
@given(scores=st.lists(st.floats(-1e6, 1e6), max_size=10))
def test_normalised_scores_are_never_negative_and_keep_the_order(normaliser, scores: list[float]):
    result = normaliser(scores)
    assert len(result) == len(scores)
    for (a, x), (b, y) in itertools.combinations(zip(scores, result, strict=True), 2):
        assert x >= 0
        assert (a <= b) == (x <= y) or x == y


@any_normaliser
@pytest.mark.parametrize(
    "scores", [[], [5.0], [5.0] * 4, [math.nan], [math.nan, 1.0], [-3.0, -3.0], [1e308, -1e308]], ids=str
)
def test_no_list_divides_by_zero(normaliser, scores: list[float]):
    assert all(0 <= score < math.inf for score in normaliser(scores))


@pytest.mark.parametrize(
    ("normaliser", "expected"),
    [
        (min_max, [1, 0.5, 0]),
        (theoretical_min_max(0), [1, 0.75, 0.5]),
        (theoretical_min_max(-1), [1, 0.8, 0.6]),
        (z_score, [2 * 1.5**0.5, 1.5**0.5, 0]),
    ],
)
def test_normalisers_of_worked_examples(normaliser, expected: list[float]):
    assert normaliser([4.0, 3.0, 2.0]) == pytest.approx(expected)


@any_normaliser
def test_what_is_not_a_number_counts_as_the_lowest(normaliser):
    assert normaliser([4.0, math.nan, 2.0])[1] == min(normaliser([4.0, math.nan, 2.0]))


def test_a_score_at_the_theoretical_minimum_is_worth_nothing():
    assert theoretical_min_max(0.0)([0.0, 0.0]) == [0.0, 0.0]


def test_duplicates_count_once_at_their_best_place():
    assert normalised([("a", 4.0), ("b", 2.0), ("a", 1.0)], min_max) == {"a": 1.0, "b": 0.0}
    assert rrf({"x": [("a", 1.0), ("a", 1.0), ("b", 1.0)]}) == rrf({"x": [("a", 1.0), ("b", 1.0)]})


def test_a_list_without_weight_is_an_error():
    with pytest.raises(KeyError, match="meaning"):
        rrf({"meaning": [("a", 1.0)]}, {"words": 1.0})
