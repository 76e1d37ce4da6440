"""Streamed chat completions through the openai SDK, tolerant of servers' differences and faults.

Imports the SDK, which takes a second: import this module at the first request, not at start.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
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
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LONGEST_DONE = 40  # bytes of `data: [DONE]` with white space


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

    Waking up for every token kept a core busy for twenty answers. `waits` is called where the next chunk has
    not arrived yet.
    """

    def __init__(
        self,
        body: AsyncIterable[bytes],
        pause: Callable[[], Awaitable[None]],
        waits: Callable[[], None] = lambda: None,
    ):
        self.throttled = False
        self.ended = False
        """True where nothing more is to be read, whatever the server still holds open."""
        self._body, self._chunks = body, aiter(body)
        self._pause, self._waits = pause, waits
        self._waited = False

    def __aiter__(self) -> "ThrottledStream":
        return self

    async def __anext__(self) -> bytes:
        if self.ended:
            raise StopAsyncIteration
        if self.throttled and self._waited:
            await self._pause()
        self._waited = False
        # The loop runs this only where the chunk has not arrived yet.
        notice = asyncio.get_running_loop().call_soon(self._note_wait)
        try:
            return await anext(self._chunks)
        finally:
            notice.cancel()

    async def aclose(self) -> None:
        """Close the response."""
        for part in (self._chunks, self._body):
            if hasattr(part, "aclose"):
                await part.aclose()

    def _note_wait(self) -> None:
        self._waited = True
        self._waits()


class EventDecoder:
    r"""Decoder of a body of server-sent events: their data, however chunks divide them.

    The SDK's decoder passes each line through several generators, which took half of a stream's time.
    `done` is true from `data: [DONE]` on.

    >>> decoder = EventDecoder()
    >>> [decoder.feed(chunk) for chunk in (b"data: 1\r", b"\n\r\n: wait\n\nda", b"ta:2\ndata: 3\n\n")]
    [[], [b'1'], [b'2\n3']]
    >>> decoder.feed(b"data: 4\n\ndata: [DONE]"), decoder.done
    ([b'4'], True)
    """

    def __init__(self) -> None:
        self.done = False
        self._line = bytearray()  # begun
        self._data: list[bytes] = []
        self._carriage_return = False  # at the end of the last chunk, a line feed of the same line may follow

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that a chunk completes; nothing after the end."""
        if self._carriage_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._carriage_return = chunk.endswith(b"\r")
        *lines, begun = _LINE_END.split(chunk)
        if lines:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += begun
        events: list[bytes] = []
        for line in lines:
            self._take(line, events)
        self.done = self.done or (len(self._line) < _LONGEST_DONE and _is_done(bytes(self._line)))
        return events

    def _take(self, line: bytes, events: list[bytes]) -> None:
        """Add the event that a line ends."""
        self.done = self.done or _is_done(line)
        if self.done:
            return
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data = []


def _is_done(line: bytes) -> bool:
    return line.startswith(b"data:") and line[5:].strip() == b"[DONE]"


class _Deadline:
    """Time limit for each event of a stream, which a pause of the reader does not count against.

    It is moved when the reader begins to wait, not at each event: a timer for every token costs more than
    the token.
    """

    def __init__(self, limit: asyncio.Timeout, seconds: float):
        self._limit, self._seconds = limit, seconds
        self.heard = False
        """True where an event has come since it was last moved."""

    def wait(self) -> None:
        """Give the next event its time."""
        if self.heard:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)
            self.heard = False

    async def during(self, pause: Awaitable[None]) -> None:
        """Stand still during a pause."""
        clock = asyncio.get_running_loop().time
        left = (self._limit.when() or 0.0) - clock()
        self._limit.reschedule(None)
        await pause
        self._limit.reschedule(clock() + left)


async def stream_text(
    client: openai.AsyncOpenAI,
    request: dict[str, Any],
    put: Callable[[str], None],
    *,
    most: int,
    idle_timeout: float,
    throttle: Throttle | None,
) -> None:
    """Put the text of one answer, even where the server sends it as one JSON completion.

    What has arrived together is put together. At most `most` characters are put, then LLMGarbled is raised.
    Each event may take `idle_timeout` seconds; with a `throttle` the rest after the first words is read a few
    times a second. Raises the SDK's errors and LLMError; what was put before is valid.
    """
    async with asyncio.timeout(idle_timeout):
        # `chat.completions.create` makes objects of every token, which takes four times the processor time.
        answer = await client.post(
            "/chat/completions",
            body={**request, "stream": True},
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
    async with answer, asyncio.timeout(idle_timeout) as limit:
        text = _Text(put, most)
        with (throttle or Throttle()).answering(), text.told():
            await _read(answer.response, text, _Deadline(limit, idle_timeout), throttle)


async def _read(
    response: httpx2.Response, text: "_Text", deadline: _Deadline, throttle: Throttle | None
) -> None:
    """Read a response to its end."""

    def wait() -> None:
        text.tell()
        deadline.wait()

    async def pause() -> None:
        if throttle is not None:
            await deadline.during(throttle.pause())

    body = ThrottledStream(response.stream, pause, wait)  # type: ignore[arg-type]
    response.stream = body
    events = EventDecoder()
    async for chunk in response.aiter_bytes():
        text.keep(chunk)
        for event in events.feed(chunk):
            text.take(_decoded(event))
            deadline.heard = True
        body.throttled = throttle is not None and text.spoken > 0
        body.ended = events.done
    text.end(done=events.done)


class _Text:
    """Text of an answer, of which `tell` puts what has come since; `spoken` are its characters so far.

    The body is kept until its first event, since it may be one JSON completion.
    """

    def __init__(self, put: Callable[[str], None], most: int):
        self._put, self._most = put, most
        self._untold: list[str] = []
        self._plain, self._size = bytearray(), 0
        self._begun = self._finished = False
        self.spoken = 0

    def keep(self, chunk: bytes) -> None:
        """Count a chunk of the body."""
        self._size += len(chunk)
        if self._size > MAX_BYTES:
            raise LLMGarbled(N_("The model's server sent an answer without an end. Check its address."))
        if not self._begun and len(self._plain) < MAX_PLAIN:
            self._plain += chunk

    def take(self, completion: Any) -> None:
        """Add the text of an event."""
        self._begun = True
        piece, ended = _text_of(completion)
        self._finished = self._finished or ended
        self._add(piece)

    def end(self, *, done: bool) -> None:
        """Take a body without events as a completion; raises LLMError where the answer is not whole."""
        if not (self._begun or done):
            self._add(_completion_text(bytes(self._plain)))
            self._finished = self.spoken > 0
        if not (self._finished or done):
            raise _broken_off()
        if not self.spoken:
            raise LLMGarbled(N_("The model sent an empty answer. Ask again, or choose another model."))

    def _add(self, piece: str) -> None:
        if piece:
            self._untold.append(piece[: self._most - self.spoken])
            self.spoken += len(piece)
        if self.spoken > self._most:
            raise LLMGarbled(N_("The model's answer did not come to an end, so it was cut."))

    def tell(self) -> None:
        """Put what has come since."""
        if piece := "".join(self._untold):
            self._put(piece)
        self._untold.clear()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell the rest at the end, also at that of an error."""
        try:
            yield
        finally:
            self.tell()


def _decoded(event: bytes) -> Any:
    """Return the JSON of an event; raises LLMError."""
    try:
        return json.loads(event.decode())
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
