import math

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rag.evaluation.metrics import METRICS, measure, mrr, ndcg, percentile, recall

IDS = "abcdefghijklmnopqrst"
FOUND = st.lists(st.sampled_from(IDS), unique=True)
RIGHT = st.dictionaries(st.sampled_from(IDS), st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0]), max_size=20)
AS_TREC_EVAL_SAYS = {
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
    "recall@1": "recall_1",
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "mrr@10": "recip_rank",
}


def trec_eval(found: list[str], right: dict[str, float]) -> dict[str, float]:
    """Return trec_eval's own figures; it sorts by score, and its reciprocal rank has no cut."""
    judged = {"q": {id_: int(score) for id_, score in right.items()}}
    ranked = {"q": {id_: 100.0 - rank for rank, id_ in enumerate(found)}}
    measures = {"ndcg_cut_5,10", "recall_1,5,10", "recip_rank"}
    values = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(ranked)["q"]
    values |= pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(
        {"q": {id_: 100.0 - rank for rank, id_ in enumerate(found[:10])}}
    )["q"]
    return {ours: values[theirs] for ours, theirs in AS_TREC_EVAL_SAYS.items()}


@given(FOUND.filter(bool), RIGHT.filter(bool))
def test_every_metric_agrees_with_trec_eval_on_graded_judgements(found: list[str], right: dict[str, float]):
    assert measure(found, right) == pytest.approx(trec_eval(found, right))


def test_there_is_a_figure_of_trec_eval_for_every_metric():
    assert AS_TREC_EVAL_SAYS.keys() == METRICS.keys()


def ndcg_oracle(found: list[str], right: dict[str, float], k: int) -> float:
    def dcg(gains: list[float]) -> float:
        total = 0.0
        for i in range(min(k, len(gains))):
            total += max(0.0, gains[i]) / math.log2(i + 2)
        return total

    best = dcg(sorted(right.values(), reverse=True))
    return dcg([right.get(id_, 0) for id_ in found]) / best if best else 0.0


@given(FOUND, RIGHT, st.integers(1, 10))
def test_metrics_agree_with_their_definitions(found: list[str], right: dict[str, float], k: int):
    wanted = [id_ for id_ in right if right[id_] > 0]
    places = [place for place, id_ in enumerate(found[:k], start=1) if id_ in wanted]
    assert ndcg(found, right, k) == pytest.approx(ndcg_oracle(found, right, k))
    assert recall(found, right, k) == (len(places) / len(wanted) if wanted else 0)
    assert mrr(found, right, k) == (1 / places[0] if places else 0)


@given(FOUND, RIGHT, st.integers(1, 10))
def test_metrics_lie_in_0_to_1_and_the_best_order_has_1(found: list[str], right: dict[str, float], k: int):
    best = sorted((id_ for id_ in right if right[id_] > 0), key=lambda id_: -right[id_])
    for metric in (ndcg, recall, mrr):
        assert 0 <= metric(found, right, k) <= 1 + 1e-12
    if best:
        assert ndcg(best, right, k) == pytest.approx(1)
        assert mrr(best, right, k) == 1


def test_an_id_found_twice_counts_once():
    assert ndcg(["a", "a", "b"], {"a": 1.0, "b": 1.0}, 2) == pytest.approx(1.0)
    assert recall(["x", "x", "a"], {"a": 1.0}, 2) == 1.0


def test_percentiles_are_values_that_occurred():
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.0
    assert percentile([1.0], 95) == 1.0
    assert percentile([], 95) == 0.0
