from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from rag.opened_once import opened_once

PATIENCE = 30


class Shop:
    def __init__(self, open_door: Callable[[], str]):
        self.open_door = open_door

    @opened_once
    def door(self) -> str:
        """The door."""
        return self.open_door()

    @opened_once
    def window(self) -> str:
        return f"a window beside {self.door}"


def test_one_that_takes_long_to_open_keeps_nobody_else_waiting():
    begun, may_open = Event(), Event()

    def slowly() -> str:
        begun.set()
        assert may_open.wait(PATIENCE)
        return "slow"

    slow, quick = Shop(slowly), Shop(lambda: "quick")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(lambda: slow.door)
        assert begun.wait(PATIENCE)
        assert pool.submit(lambda: quick.door).result(PATIENCE) == "quick"
        assert not waiting.done()
        may_open.set()
        assert waiting.result(PATIENCE) == "slow"


def test_it_is_opened_once_for_all_who_ask_at_the_same_time():
    asking, opened = Barrier(8), []
    shop = Shop(lambda: opened.append("door") or f"door {len(opened)}")

    def ask() -> str:
        asking.wait(PATIENCE)
        return shop.door

    with ThreadPoolExecutor(8) as pool:
        told = [future.result() for future in [pool.submit(ask) for _ in range(8)]]
    assert (set(told), opened) == ({"door 1"}, ["door"])


def test_one_part_may_need_another_one():
    assert Shop(lambda: "an oak door").window == "a window beside an oak door"


def test_what_failed_to_open_and_what_was_taken_away_is_opened_again():
    tries = iter((OSError("stuck"), "first", "second"))

    def open_door() -> str:
        came = next(tries)
        if isinstance(came, Exception):
            raise came
        return came

    shop = Shop(open_door)
    with pytest.raises(OSError, match="stuck"):
        shop.door  # noqa: B018
    assert (shop.door, shop.door) == ("first", "first")
    del shop.__dict__["door"]
    assert shop.door == "second"


def test_of_the_class_it_is_what_describes_it():
    assert Shop.door.__doc__ == "The door."
