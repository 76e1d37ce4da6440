import threading

import pytest

from rag.connectors.sync import Scheduler
from rag.errors import SourceError

PATIENCE = 30


def test_it_looks_at_once_and_again_even_after_a_failure():
    looks, thrice = [], threading.Event()

    def look():
        looks.append(1)
        if len(looks) == 3:
            thrice.set()
        raise SourceError("The wiki did not answer.")

    schedule = Scheduler(look, seconds=0.01)
    schedule.start()
    assert thrice.wait(PATIENCE)
    schedule.close()
    seen = len(looks)
    assert not thrice.wait(0) or len(looks) == seen


@pytest.mark.parametrize(
    "failure", [SourceError("The wiki did not answer."), OverflowError("A fault of ours.")]
)
def test_a_look_that_fails_is_not_the_last(failure):
    twice, looks = threading.Event(), []

    def look():
        looks.append(1)
        if len(looks) == 2:
            twice.set()
        raise failure

    schedule = Scheduler(look, seconds=0.01)
    schedule.start()
    assert twice.wait(PATIENCE)
    schedule.close()


def test_a_failure_that_lasts_is_logged_once_and_the_next_one_again(caplog):
    failures = iter(["The disk is full."] * 3 + [""] + ["The disk is full."] * 2)
    over = threading.Event()

    def look():
        failure = next(failures, None)
        if failure is None:
            over.set()
        elif failure:
            raise SourceError(failure)

    schedule = Scheduler(look, seconds=0.01)
    schedule.start()
    assert over.wait(PATIENCE)
    schedule.close()
    assert [record.getMessage() for record in caplog.records] == ["The disk is full."] * 2


def test_one_that_was_never_started_can_be_closed():
    Scheduler(lambda: None).close()
