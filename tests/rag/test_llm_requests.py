"""What was opened to read an answer is closed where it was opened, however the answer ends."""

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from tests.rag.fake_llm import FakeLLM, Reply


def left_over(url: str, *, cancelled: bool) -> list[str]:
    """Read an answer, or cancel it after its first piece; returns what was left to the collector."""
    left: list[str] = []

    def note(abandoned: AsyncGenerator[Any, Any]) -> None:
        if "httpcore" not in abandoned.ag_code.co_filename:  # which ends its own in its own way
            left.append(abandoned.__qualname__)

    async def read() -> None:
        sys.set_asyncgen_hooks(finalizer=note)
        llm = LLM(LLMSettings(url, "fake-model", timeout=5.0, idle_timeout=1.0))
        came = asyncio.Event()
        request = {"model": "fake-model", "messages": [{"role": "user", "content": "Hello"}]}
        async with llm._open_client() as client:
            reading = asyncio.create_task(llm._stream(client, request, lambda _: came.set(), throttled=True))
            if cancelled:
                await came.wait()
                reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        del reading
        gc.collect()

    asyncio.run(read())
    return left


@pytest.mark.parametrize(
    "reply",
    [
        Reply("One two three."),
        Reply("One two three.", drop_after=1),
        Reply("One two three.", hang_after=1),
        Reply(body=b"<html>No model is here.</html>"),
    ],
    ids=["whole", "dropped", "hanging", "garbled"],
)
def test_an_answer_that_ends_leaves_nothing_open(fake_llm: FakeLLM, reply: Reply):
    fake_llm.reply(*[reply] * 3)
    assert left_over(fake_llm.url, cancelled=False) == []


def test_an_answer_that_is_cancelled_between_two_pieces_leaves_nothing_open(fake_llm: FakeLLM):
    fake_llm.reply(Reply("One two three four five six.", pause=0.05))
    assert left_over(fake_llm.url, cancelled=True) == []
