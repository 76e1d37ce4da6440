"""Following a job from a request: its events as they come, until its end or the client's."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from api.problems import UNEXPECTED, problem, status_of
from rag.jobs import Job
from storage.errors import FootnoteError

KEEP_ALIVE = 10.0  # seconds of silence after which a comment is sent, so that no proxy ends the stream
SILENCE = object()
"""Given in place of an event after KEEP_ALIVE seconds without one."""


class ClientLeft(Exception):
    """The client closed the connection."""


async def follow(job: Job[Any], request: Request, *, cancels: bool = True) -> AsyncGenerator[Any]:
    """Yield a job's events; raise its error at the end.

    Where the client leaves, which raises ClientLeft, or the reader stops reading, the job is cancelled unless
    that `cancels` nothing.
    """
    changed, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell() -> None:
        with suppress(RuntimeError):  # the loop has ended with the server
            loop.call_soon_threadsafe(changed.set)

    left = asyncio.create_task(_left(request, changed))
    try:
        with job.listening(tell):
            async for event in _events(job, changed, left):
                yield event
    finally:
        left.cancel()
        if cancels and not job.done:
            job.cancel()


async def _events(job: Job[Any], changed: asyncio.Event, left: asyncio.Task[None]) -> AsyncIterator[Any]:
    seen = 0
    while True:
        changed.clear()
        done, events = job.done, job.since(seen)
        for event in events:
            yield event
        seen += len(events)
        if left.done():
            raise ClientLeft
        if not events and done:
            break
        if not events:
            try:
                await asyncio.wait_for(changed.wait(), KEEP_ALIVE)
            except TimeoutError:
                yield SILENCE
    if job.error is not None:
        raise job.error


async def _left(request: Request, changed: asyncio.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    changed.set()


def sse(name: str, data: Any) -> str:
    r"""Return a server-sent event.

    >>> sse("token", {"text": "비\n"})
    'event: token\ndata: {"text": "비\\n"}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


EVENT_STREAM = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "required": ["data"],
            "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
        }
    }
}
"""OpenAPI description of a stream, by its events."""
COMMENT = ": still there\n\n"


def problem_event(status: int, sentence: str) -> str:
    """Return the event that ends a stream with an error."""
    return sse("error", problem(status, sentence))


def event_stream(pieces: AsyncIterator[str], failed: Callable[[int, str], str]) -> StreamingResponse:
    """Return a response of server-sent events, which no cache and no proxy holds back.

    `failed` makes the last piece where an error ends them, from its status and sentence.
    """
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_ended(pieces, failed), media_type="text/event-stream", headers=headers)


async def _ended(pieces: AsyncIterator[str], failed: Callable[[int, str], str]) -> AsyncIterator[str]:
    try:
        async for piece in pieces:
            yield piece
    except ClientLeft:
        return
    except FootnoteError as error:
        yield failed(status_of(error), str(error))
    except Exception:
        yield failed(500, UNEXPECTED)
        raise
