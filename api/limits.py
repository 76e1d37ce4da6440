"""Limits of request bodies: bytes in all, and seconds until the next part and until the end."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import error_response

JSON_BYTES = 4 << 20
IDLE_SECONDS = 15.0  # until the next part of a body
JSON_SECONDS = 30.0  # until its end
UPLOAD_SECONDS = 600.0
OVERHEAD = 64 << 10  # bytes of a multipart body around its file
UPLOADS = re.compile(r"/api/(documents|check)/?")  # a file to check comes in base64
TOO_SLOW = "The request's body came too slowly. Send it again."
TOO_LARGE = "The request is larger than {} MB, the limit. Send it in parts."
TOO_LARGE_FILE = "The file is larger than {} MB, the limit. Split it, or ask for a higher limit."


@dataclass(frozen=True)
class BodyLimits:
    """ASGI middleware that refuses bodies that are too large or too slow; `upload_mb` limits a file."""

    app: ASGIApp
    upload_mb: Callable[[], int]
    idle: float = IDLE_SECONDS
    json_seconds: float = JSON_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a body that ends, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        uploads = UPLOADS.fullmatch(scope["path"])
        most, sentence = JSON_BYTES, TOO_LARGE.format(JSON_BYTES >> 20)
        if uploads is not None:
            limit = self.upload_mb()
            sentence = TOO_LARGE_FILE.format(limit)
            most = (limit << 20) * (4 if uploads[1] == "check" else 3) // 3 + OVERHEAD
        if _announced(scope) > most:
            await error_response(scope["path"], 413, sentence)(scope, receive, send)
            return
        seconds = UPLOAD_SECONDS if uploads else self.json_seconds
        await self.app(scope, _Bounded(receive, most, sentence, self.idle, seconds), send)


@dataclass(frozen=True)
class WholeBody:
    """ASGI middleware that reads a body to its end before the application sees the request.

    For applications that answer no HTTPException: a body that BodyLimits refuses is answered here.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with the body that was read, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            parts = [part async for part in _parts(receive)]
        except HTTPException as refused:
            answer = error_response(scope["path"], refused.status_code, refused.detail, refused.headers)
            await answer(scope, receive, send)
            return
        except ClientDisconnect:
            return
        read: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def again() -> Message:
            return read.pop() if read else await receive()

        await self.app(scope, again, send)


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        yield message.get("body", b"")
        more = message.get("more_body", False)


class _Bounded:
    """`receive` of a request, which raises HTTPException 413 or 408 while the body is read."""

    def __init__(self, receive: Receive, most: int, sentence: str, idle: float, seconds: float):
        self._receive, self._most, self._sentence = receive, most, sentence
        self._idle, self._seconds = idle, seconds
        self._began: float | None = None
        self._read = 0
        self._over = False

    async def __call__(self) -> Message:
        if self._over:  # only the end of the connection is waited for
            return await self._receive()
        now = asyncio.get_running_loop().time()
        self._began = now if self._began is None else self._began
        try:
            wait = min(self._idle, self._began + self._seconds - now)
            message = await asyncio.wait_for(self._receive(), max(wait, 0.001))
        except TimeoutError:
            raise HTTPException(408, TOO_SLOW, {"Connection": "close"}) from None
        self._read += len(message.get("body", b""))
        if self._read > self._most:
            raise HTTPException(413, self._sentence, {"Connection": "close"})
        self._over = not message.get("more_body", False)
        return message


def _announced(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0
