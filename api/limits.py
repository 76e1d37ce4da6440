"""Limits of connections, of the heads of requests and of their bodies.

A body is limited in bytes, and in seconds until its next part and until its end; a connection in the bytes
and seconds of a request's head, and the seconds of a read.
"""

import asyncio
import re
from asyncio import TimerHandle, Transport
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from api.problems import error_response

HEAD_BYTES = 64 << 10  # of the address and the headers
HEAD_SECONDS = 15.0  # from its first byte, or from the opening of a connection, until its end
READ_SECONDS = 60.0  # until a client has taken some 50 KB of its answer
NOT_HTTP = (
    "The request does not follow HTTP/1.1, so that it could not be read. Correct the program that sent it."
)
NO_SOCKET = "The WebSocket could not be opened: its request is too long or does not follow the protocol."
NO_UPGRADE = "A request with a body cannot change the protocol. Send it without the header “Upgrade”."
HEAD_TOO_LARGE = "The address and headers are larger than 64 KB, the limit. Put what is long into the body."
HEAD_TOO_SLOW = "The request's headers came too slowly. Send it again."


class HeadRefused(ValueError):
    """Ends the parsing of a request whose head is refused."""


class LimitedConnection(HttpToolsProtocol):
    """Connection of uvicorn's that ends where a head is too large or slow, or an answer is not read."""

    url: bytes = b""
    _head: TimerHandle | None = None
    _read: TimerHandle | None = None
    _head_bytes = 0  # received since the head began
    _begun = False  # a head has begun and is not over
    _refusal = (400, NOT_HTTP)  # of what the parser does not read
    _answering: RequestResponseCycle | None = None  # the request that is, or was last, with the application
    _refused = False  # what comes is not read any more

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD_SECONDS, self._on_late_head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks, and let the application go."""
        self._stop_head()
        self._stop_read()
        self._disconnect()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came: a part of a head, of a body, or of one whose request is answered already."""
        if self._refused:
            return
        if self._head is None and (self.cycle is None or self.cycle.response_complete):
            self._head = self.loop.call_later(HEAD_SECONDS, self._on_late_head)
        self._head_bytes += len(data)
        super().data_received(data)
        if self._begun and self._head_bytes > HEAD_BYTES:
            self._refuse(431, HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """End a head. Raises HeadRefused, which the parser turns into an error of its own."""
        self._begun, self._head_bytes = False, 0
        self._stop_head()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            self._refusal = (431, HEAD_TOO_LARGE)
        elif self.parser.should_upgrade() and _has_body(self.headers):  # which the parser would not read
            self._refusal = (400, NO_UPGRADE)
        else:
            super().on_headers_complete()
            return
        raise HeadRefused

    def on_message_complete(self) -> None:
        """End a request, which may have been answered before."""
        self._head_bytes = 0
        self._stop_head()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own words
        """Refuse what the parser could not read, or was told not to."""
        self._refuse(*self._refusal)

    def pause_writing(self) -> None:
        """Give a client that does not read its answer a while."""
        super().pause_writing()
        self._read = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, since the client has read."""
        self._stop_read()
        super().resume_writing()

    def handle_websocket_upgrade(self) -> None:
        """Open a WebSocket, or refuse what its parser refused: uvicorn would never answer that."""
        super().handle_websocket_upgrade()
        opened = self.transport.get_protocol()
        if isinstance(opened, WebSocketsSansIOProtocol) and opened.conn.handshake_exc is not None:
            self._refuse(400, NO_SOCKET)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _should_upgrade(self) -> bool:
        """Return True for a request to open a WebSocket. Others that say so are answered without."""
        return self.scope["method"] == "GET" and super()._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing of a request that is answered without the upgrade that it offers."""

    def _on_late_head(self) -> None:
        self._head = None
        if self._begun:
            self._refuse(408, HEAD_TOO_SLOW)
        else:
            self.transport.close()

    def _stop_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _stop_read(self) -> None:
        if self._read is not None:
            self._read.cancel()
            self._read = None

    def _disconnect(self) -> None:
        """Tell the application that its client is gone, so that it writes nothing more."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer in words, and end the connection; requests before this one are answered first."""
        before = self._answering
        if self.transport.is_closing():
            return
        if (
            before is not None
            and not before.response_complete
            and (before is not self.cycle or not before.more_body)
        ):
            self.cycle.keep_alive = False
            self._refused = True
            return
        within = before is not None and before.more_body and not self._begun
        if not (within and before is not None and before.response_started):
            self.transport.write(_as_bytes(self.url, status, sentence))
        self._disconnect()
        self.transport.close()


def _has_body(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in headers
    )


def _as_bytes(url: bytes, status: int, sentence: str) -> bytes:
    answer = error_response(url.decode("ascii", "replace"), status, sentence, {"Connection": "close"})
    lines = [STATUS_LINE[status], *(b"%s: %s\r\n" % header for header in answer.raw_headers), b"\r\n"]
    return b"".join([*lines, bytes(answer.body)])


def limit_connections() -> None:
    """Limit the connections of every server of this process.

    Streamlit configures its server itself, and has chosen uvicorn's class before it loads the application.
    """

    def limited(*_: Any, **__: Any) -> LimitedConnection:
        return object.__new__(LimitedConnection)

    HttpToolsProtocol.__new__ = limited  # type: ignore[method-assign,assignment]


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
