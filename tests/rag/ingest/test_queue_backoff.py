from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag.ingest.queue import FIRST_WAIT, LONGEST_WAIT, Backoff


def test_what_never_goes_on_is_tried_at_most_once_an_hour_for_ever():
    now = [0.0]
    patience = Backoff(lambda: now[0])
    assert patience.due(["a"]) is None
    tried = []
    for hour in range(5000):
        now[0] = hour * LONGEST_WAIT
        if patience.due(["a"]):
            tried.append(now[0])
    assert 4990 <= len(tried) <= 5000


def test_others_that_come_to_wait_are_not_made_to_wait_for_one_that_never_goes_on():
    now = [0.0]
    patience = Backoff(lambda: now[0])
    for hour in range(50):
        now[0] = hour * LONGEST_WAIT
        patience.due(["lost"])
    assert patience.due(["lost", "new"]) is None
    now[0] += FIRST_WAIT
    assert patience.due(["lost", "new"]) == "new"


def test_nobody_is_let_go_on_where_nobody_waits():
    patience = Backoff()
    assert not patience.succeeded()
    patience.due(["a"])
    patience.due([])
    assert not patience.succeeded()


@given(st.lists(st.tuples(st.floats(0, 4000), st.lists(st.sampled_from("abcd"), unique=True)), max_size=30))
def test_only_who_waits_is_tried_and_never_two_in_less_than_the_first_wait(steps):
    now, tried = [0.0], []
    patience = Backoff(lambda: now[0])
    for seconds, waiting in steps:
        now[0] += seconds
        one = patience.due(waiting)
        assert one is None or one in waiting
        tried += [now[0]] if one else []
    assert all(later - earlier >= FIRST_WAIT for earlier, later in pairwise(tried))
