import pytest

from rag.evaluation.metrics import better, interval, recommended

MIXED = [1.0, 0.5, 0.0, 1.0, 0.33, 1.0, 0.0, 0.5] * 4


def test_an_interval_holds_the_mean_and_narrows_with_more_questions():
    few, many = interval(MIXED[:8]), interval(MIXED * 4)
    mean = sum(MIXED) / len(MIXED)
    assert few[0] < mean < few[1] and many[0] < mean < many[1]
    assert many[1] - many[0] < (few[1] - few[0]) / 2
    assert interval(MIXED) == interval(MIXED)


@pytest.mark.parametrize("values", [[], [0.5], [1.0] * 9])
def test_what_does_not_vary_has_no_width(values: list[float]):
    low, high = interval(values)
    assert low == high == (values[0] if values else 0.0)


def test_a_search_is_better_only_beyond_chance():
    assert better([1.0] * 20, MIXED[:20])
    assert not better([1.0, 0.0, 1.0, 0.5], [0.5, 0.5, 1.0, 0.0])
    assert not better(MIXED, MIXED)


def test_small_but_steady_gains_on_the_same_questions_count():
    improved = [min(1.0, value + 0.1) for value in MIXED]
    assert better(improved, MIXED)
    assert interval(improved)[0] < interval(MIXED)[1]  # by themselves the two would not be told apart


def test_nothing_is_recommended_below_its_own_noise():
    one_more = [1.0, *MIXED[:7]]
    assert recommended({"bm25": one_more, "mmr": MIXED[:8]}, "mmr") is None
    assert recommended({"bm25": [1.0] * 30, "mmr": [0.4] * 30}, "mmr") == "bm25"
    assert recommended({"bm25": [1.0] * 30, "mmr": [0.4] * 30}, "bm25") is None
    assert recommended({"bm25": [1.0] * 30}, "similarity") is None
    assert recommended({}, "bm25") is None and recommended({"bm25": []}, "bm25") is None
