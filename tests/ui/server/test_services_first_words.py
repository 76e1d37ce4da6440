"""Whoever has the first word of an answer gives way to those who still wait for theirs."""

from ui.server.services import LONGEST, FirstWords


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_question_is_awaited_by_its_chat_until_its_passages_are_found():
    words = FirstWords(Clock())
    assert not words.awaited_beside("mine")
    words.wait("theirs")
    assert words.awaited_beside("mine")
    assert not words.awaited_beside("theirs")
    words.come("theirs")
    words.come("never asked")
    assert not words.awaited_beside("mine")


def test_one_who_waits_for_long_is_waited_for_no_more():
    clock = Clock()
    words = FirstWords(clock)
    words.wait("theirs")
    clock.now = LONGEST
    assert not words.awaited_beside("mine")
    words.wait("theirs")
    assert words.awaited_beside("mine")
