"""Slots: what they hold is opened once, and their state is known at any time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, RLock

import pytest

from rag.errors import IndexUnusable
from rag.index.slot import IndexState, Slot

PATIENCE = 30


class Index:
    """Index that knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def waiting_for(event: Event, begun: Event) -> Callable[[], str]:
    def slowly() -> str:
        begun.set()
        assert event.wait(PATIENCE)
        return "slow"

    return slowly


def test_one_that_takes_long_to_open_blocks_no_other_slot_and_no_look_at_its_state():
    begun, may_open = Event(), Event()
    slow, quick = Slot(waiting_for(may_open, begun)), Slot(lambda: "quick")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(slow.get)
        assert begun.wait(PATIENCE)
        assert pool.submit(quick.get).result(PATIENCE) == "quick"
        assert (slow.state, slow.current, slow.take()) == (IndexState.OPENING, None, None)
        assert slow.state is IndexState.OPENING and not waiting.done()
        may_open.set()
        assert waiting.result(PATIENCE) == "slow"
    assert (slow.state, slow.current) == (IndexState.OPEN, "slow")


def test_it_is_opened_once_for_all_threads_that_ask_at_the_same_time():
    asking, opened = Barrier(8), []
    slot = Slot(lambda: opened.append("index") or f"index {len(opened)}")

    def ask() -> str:
        asking.wait(PATIENCE)
        return slot.get()

    with ThreadPoolExecutor(8) as pool:
        found = [future.result() for future in [pool.submit(ask) for _ in range(8)]]
    assert (set(found), opened) == ({"index 1"}, ["index"])


def test_one_value_may_need_another_under_the_same_lock():
    lock = RLock()
    model = Slot(lambda: "a model", lock)
    assert Slot(lambda: f"an index by {model.get()}", lock).get() == "an index by a model"


@pytest.mark.parametrize(
    ("error", "state"),
    [(OSError("stuck"), IndexState.ABSENT), (IndexUnusable("Torn."), IndexState.DAMAGED)],
)
def test_what_could_not_be_opened_is_opened_again_when_it_is_next_needed(error: Exception, state: IndexState):
    tries = iter((error, "first", "second"))

    def open_value() -> str:
        came = next(tries)
        if isinstance(came, Exception):
            raise came
        return came

    slot = Slot(open_value)
    with pytest.raises(type(error)):
        slot.get()
    assert slot.state is state
    assert (slot.get(), slot.get(), slot.state) == ("first", "first", IndexState.OPEN)
    assert (slot.take(), slot.state) == ("first", IndexState.ABSENT)
    assert slot.get() == "second"


def test_another_way_to_open_counts_where_it_is_not_open_yet():
    slot = Slot(lambda: "usual")
    assert slot.get(lambda: "other") == slot.get() == "other"


def test_a_staged_index_answers_once_it_is_exchanged():
    slot = Slot(Index)
    before, staged = slot.get(), slot.stage(Index())
    assert (slot.state, slot.get()) == (IndexState.REPLACING, before)
    assert slot.exchange() is before and not before.closed
    assert (slot.state, slot.get()) == (IndexState.OPEN, staged)
    assert slot.unstage() is None and slot.exchange() is None and slot.get() is staged


def test_a_staged_index_that_is_given_up_leaves_the_one_that_answers():
    slot = Slot(Index)
    before, staged = slot.get(), slot.stage(Index())
    assert slot.unstage() is staged and not staged.closed
    assert (slot.state, slot.get()) == (IndexState.OPEN, before)


def test_closing_closes_what_answers_and_says_why():
    slot = Slot(Index)
    slot.close()
    assert slot.state is IndexState.ABSENT
    index = slot.get()
    slot.close(IndexState.DAMAGED)
    assert index.closed and slot.state is IndexState.DAMAGED
    assert slot.get() is not index and slot.state is IndexState.OPEN
