"""Streamed chat completions through the openai SDK, tolerant of servers' differences and faults.

Imports the SDK, which takes a second: import this module at the first request, not at start.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import httpx2
import openai

from rag.errors import LLMError, LLMGarbled, LLMRejected, LLMUnreachable
from rag.i18n import N_
from rag.text.normalize import clean

PAUSE = 0.1  # seconds: the page draws an answer no more often
READS = 400  # a second, of all answers together: each wakes four threads up
MAX_BYTES = 64_000_000  # of one answer
MAX_PLAIN = 4_000_000  # bytes kept of an answer without events, which may be one JSON completion
_DONE = re.compile(rb"^data:\s*\[DONE\]", re.MULTILINE)
_LINE = 40  # bytes kept of an unfinished line: longer than a match of `_DONE`


class Throttle:
    """Pause of the answers that are read at once: the more there are, the longer each waits.

    Of one event loop, in whose thread answers `begin` and `end`.
    """

    def __init__(self) -> None:
        self._answers = 0

    @property
    def seconds(self) -> float:
        """The pause of each answer."""
        return max(PAUSE, self._answers / READS)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count an answer."""
        self._answers += 1
        try:
            yield
        finally:
            self._answers -= 1

    async def pause(self) -> None:
        """Wait for more of an answer to come."""
        await asyncio.sleep(self.seconds)


class ThrottledStream(httpx2.AsyncByteStream):
    """Response body that coalesces chunks: while `throttled`, it pauses after each chunk it waited for.

    Waking up for every token kept a core busy for twenty answers. The body ends, and `done` is true, where
    the server sent `data: [DONE]`; `plain` is what came before `keep_plain` was set to false.
    """

    def __init__(self, body: AsyncIterable[bytes], pause: Callable[[], Awaitable[None]]):
        self.throttled = self.done = False
        self.keep_plain, self.plain = True, bytearray()
        self._body, self._chunks = body, aiter(body)
        self._pause = pause
        self._waited = False
        self._bytes, self._line = 0, b""

    def __aiter__(self) -> "ThrottledStream":
        return self

    async def __anext__(self) -> bytes:
        if self.done:
            raise StopAsyncIteration
        if self.throttled and self._waited:
            await self._pause()
        self._waited = False
        # The loop runs this only where the chunk has not arrived yet.
        notice = asyncio.get_running_loop().call_soon(self._note_wait)
        try:
            return self._up_to_done(await anext(self._chunks))
        finally:
            notice.cancel()

    async def aclose(self) -> None:
        """Close the response."""
        for part in (self._chunks, self._body):
            if hasattr(part, "aclose"):
                await part.aclose()

    def _note_wait(self) -> None:
        self._waited = True

    def _up_to_done(self, chunk: bytes) -> bytes:
        self._bytes += len(chunk)
        if self._bytes > MAX_BYTES:
            raise LLMGarbled(N_("The model's server sent an answer without an end. Check its address."))
        if self.keep_plain and len(self.plain) < MAX_PLAIN:
            self.plain += chunk
        recent = self._line + chunk
        if b"[DONE]" in recent and (found := _DONE.search(recent)):
            self.done = True
            return chunk[: max(0, found.start() - len(self._line))]
        self._line = recent.rpartition(b"\n")[2][:_LINE]
        return chunk


async def stream_text(
    client: openai.AsyncOpenAI,
    request: dict[str, Any],
    *,
    idle_timeout: float,
    throttle: Throttle | None,
) -> AsyncGenerator[str, None]:
    """Yield the text of one answer, even where the server sends it as one JSON completion.

    Each chunk may take `idle_timeout` seconds; with a `throttle` the rest after the first words is read a few
    times a second. Raises the SDK's errors and LLMError.
    """
    async with asyncio.timeout(idle_timeout):
        # `chat.completions.create` makes objects of every token, which takes four times the processor time.
        chunks = await client.post(
            "/chat/completions",
            body={**request, "stream": True},
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
    shared = throttle or Throttle()
    async with chunks:
        body = ThrottledStream(chunks.response.stream, shared.pause)  # type: ignore[arg-type]
        chunks.response.stream = body
        finished = spoke = False
        with shared.answering():
            while True:
                async with asyncio.timeout(idle_timeout):
                    chunk = await _next_chunk(chunks)
                if chunk is None:
                    break
                body.keep_plain = False
                text, ended = _text_of(chunk)
                finished = finished or ended
                if text:
                    spoke = True
                    yield text
                    body.throttled = throttle is not None
    if body.keep_plain and not body.done:
        text = _completion_text(bytes(body.plain))
        spoke = finished = bool(text)
        yield text
    if not finished and not body.done:
        raise _broken_off()
    if not spoke:
        raise LLMGarbled(N_("The model sent an empty answer. Ask again, or choose another model."))


async def _next_chunk(chunks: openai.AsyncStream[object]) -> Any:
    """Return the next chunk, None after the last; raises LLMError for one that cannot be decoded."""
    try:
        return await anext(chunks, None)
    except openai.APIError as error:
        if type(error) is not openai.APIError:  # its subclasses are statuses and connection errors
            raise
        _raise_reported_error()
    except (ValueError, RecursionError) as error:
        raise _decoding_error(error) from error


def _raise_reported_error() -> NoReturn:
    sentence = N_("The model's server reported an error while it answered. Ask again in a moment.")
    raise LLMRejected(sentence) from None  # the server's message may hold the key


def _decoding_error(error: ValueError | RecursionError) -> LLMError:
    if isinstance(error, RecursionError):
        return LLMGarbled(N_("The model's server sent JSON nested too deeply to be an answer."))
    if isinstance(error, UnicodeDecodeError) and error.reason == "unexpected end of data":
        return _broken_off()
    return LLMGarbled(N_("The model's server sent something that is not JSON. Check its address."))


def _broken_off() -> LLMError:
    return LLMUnreachable(
        N_("The connection to the model broke off before the answer was complete. Ask again.")
    )


def _completion_text(body: bytes) -> str:
    """Return the text of a completion sent in one piece, by a server that does not stream."""
    body = body.strip(b" \r\n\0")
    if body.startswith(b"<"):
        raise LLMGarbled(
            N_("The model's server sent a web page instead of an answer. Check that its address ends in /v1.")
        )
    if not body.startswith(b"{"):
        return ""
    try:
        return _text_of(json.loads(body))[0]
    except (ValueError, RecursionError) as error:
        raise _decoding_error(error) from error


def _text_of(completion: Any) -> tuple[str, bool]:
    """Return the text of a completion or a chunk of one, and whether the answer is complete."""
    if not isinstance(completion, dict):
        raise LLMGarbled(N_("The model's server sent JSON that is not a chat completion. Check its address."))
    if completion.get("error"):
        _raise_reported_error()
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "", False
    part = choices[0].get("delta") or choices[0].get("message") or {}
    text = part.get("content") if isinstance(part, dict) else None
    if text is not None and not isinstance(text, str):
        raise LLMGarbled(N_("The model's server sent an answer that is not text. Choose another model."))
    return clean(text or ""), bool(choices[0].get("finish_reason"))
