"""A throttled stream is read at its first words at once, then a few times a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest

from rag.models.llm_stream import PAUSE, EventDecoder, Throttle, ThrottledStream


async def _words(arrivals: list[tuple[bytes, bool]]) -> AsyncIterator[bytes]:
    """Yield words, each there already or only after the loop has turned."""
    for word, there in arrivals:
        if not there:
            await asyncio.sleep(0)
        yield word


def _read(arrivals: list[tuple[bytes, bool]], *, throttled_from: bytes) -> list[bytes]:
    """Return the words as they are read, with a dash for each pause before one."""
    read: list[bytes] = []

    async def pause() -> None:
        read.append(b"-")

    async def run() -> None:
        stream = ThrottledStream(_words(arrivals), pause)
        async for word in stream:
            read.append(word)
            stream.throttled = stream.throttled or word == throttled_from

    asyncio.run(run())
    return read


def test_it_pauses_after_each_word_that_had_to_be_waited_for_once_it_may():
    arrivals = [(b"a", False), (b"b", False), (b"c", False), (b"d", False)]
    assert _read(arrivals, throttled_from=b"b") == [b"a", b"b", b"-", b"c", b"-", b"d", b"-"]


def test_words_that_are_there_already_are_read_without_a_pause():
    arrivals = [(b"a", False), (b"b", True), (b"c", True), (b"d", False), (b"e", True)]
    assert _read(arrivals, throttled_from=b"a") == [b"a", b"-", b"b", b"c", b"d", b"-", b"e"]


def test_the_more_answers_are_read_at_once_the_longer_each_waits():
    throttle, waits = Throttle(), []
    with ExitStack() as reading:
        for _ in range(200):
            reading.enter_context(throttle.answering())
            waits.append(throttle.seconds)
    assert waits[:40] == [PAUSE] * 40 and waits[199] == 0.5
    assert throttle.seconds == PAUSE


def test_nothing_is_lost_where_it_is_never_throttled():
    arrivals = [(bytes([word]), word % 3 == 0) for word in range(200)]
    assert _read(arrivals, throttled_from=b"") == [word for word, _ in arrivals]


def test_it_tells_when_the_next_word_has_not_arrived_yet():
    arrivals = [(b"a", False), (b"b", True), (b"c", False)]
    happened: list[bytes] = []

    def waits() -> None:
        happened.append(b"-")

    async def pause() -> None:
        await asyncio.sleep(0)

    async def run() -> None:
        stream = ThrottledStream(_words(arrivals), pause, waits)
        while word := await anext(stream, b""):
            happened.append(word)

    asyncio.run(run())
    assert happened == [b"-", b"a", b"b", b"-", b"c"]


BODY = "data: 수\n\n: wait\nid: 7\ndata:2\ndata: 3\n\n\nevent: x\n\ndata: 4\n\ndata: [DONE]\n\ndata: 5\n\n"


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 1000])
def test_events_are_the_same_however_the_body_is_divided(line_end, size):
    body, decoder = BODY.replace("\n", line_end).encode(), EventDecoder()
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    events = [event.decode() for chunk in chunks for event in decoder.feed(chunk)]
    assert events == ["수", "2\n3", "4"] and decoder.done
