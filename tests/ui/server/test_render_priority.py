"""Whoever has the first word of an answer gives way to those who still wait for theirs."""

from ui.server.services import MAX_WAIT, RenderPriority


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_question_is_awaited_by_its_chat_until_its_passages_are_found():
    priority = RenderPriority(Clock())
    assert not priority.others_waiting("mine")
    priority.start("theirs")
    assert priority.others_waiting("mine")
    assert not priority.others_waiting("theirs")
    priority.finish("theirs")
    priority.finish("never asked")
    assert not priority.others_waiting("mine")


def test_one_who_waits_for_long_is_waited_for_no_more():
    clock = Clock()
    priority = RenderPriority(clock)
    priority.start("theirs")
    clock.now = MAX_WAIT
    assert not priority.others_waiting("mine")
    priority.start("theirs")
    assert priority.others_waiting("mine")
