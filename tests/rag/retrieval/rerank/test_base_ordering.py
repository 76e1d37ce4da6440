from hypothesis import given
from hypothesis import strategies as st

from rag.chat.prompts import lost_in_the_middle_order
from rag.retrieval.rerank.base import finite_scores, order_by_score

SCORES = st.lists(st.none() | st.floats())


@given(SCORES)
def test_an_order_is_a_permutation_in_which_the_unscored_stay(scores: list[float | None]):
    order, known = order_by_score(scores), finite_scores(scores)
    assert sorted(order) == list(range(len(scores)))
    assert all(order[at] == at for at, score in enumerate(known) if score is None)
    told = [known[at] for at in order if known[at] is not None]
    assert told == sorted(told, reverse=True)


@given(st.lists(st.integers(), unique=True))
def test_the_best_stand_outside_and_none_is_lost(items: list[int]):
    stood = lost_in_the_middle_order(items)
    assert sorted(stood) == sorted(items)
    ranks = [items.index(item) for item in stood]
    weakest = ranks.index(max(ranks)) if ranks else 0
    assert ranks[:weakest] == sorted(ranks[:weakest]) and ranks[weakest:] == sorted(ranks[weakest:])[::-1]
