"""Middleware for every request: known hosts, security headers, and the guard of Streamlit's own metrics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import error_response

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",  # for what does not read frame-ancestors
    "Referrer-Policy": "same-origin",
}
STREAMLIT_METRICS = "/_stcore/metrics"
FOR_PROGRAMS = ("/api/", "/v1/", "/mcp")  # paths whose refusals are read by programs
UNKNOWN_HOST = (
    "Footnote does not answer to this host name. Open it by a name in server.allowedHosts "
    "(docs/operator/sign-in.md), or add this one there."
)


@dataclass(frozen=True)
class SecurityMiddleware:
    """ASGI middleware that refuses unknown hosts and sets the security `headers` of every response.

    `is_known` judges a `Host` header; `may_see_metrics` judges a request for Streamlit's own metrics.
    """

    app: ASGIApp
    headers: Callable[[], Mapping[str, str]]
    is_known: Callable[[str | None], bool]
    may_see_metrics: Callable[[Request], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with a sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif not self._known(scope):
            await _refuse(scope, receive, self._with_headers(send))
        elif await self._is_guarded(scope):
            refusal = PlainTextResponse("Only the server's administrator can see these metrics.\n", 403)
            await refusal(scope, receive, self._with_headers(send))
        else:
            await self.app(scope, receive, self._with_headers(send))

    def _known(self, scope: Scope) -> bool:
        hosts = Headers(scope=scope).getlist("host")
        return len(hosts) <= 1 and self.is_known(hosts[0] if hosts else None)

    async def _is_guarded(self, scope: Scope) -> bool:
        if scope["type"] != "http" or not scope["path"].rstrip("/").endswith(STREAMLIT_METRICS):
            return False
        return not await run_in_threadpool(self.may_see_metrics, Request(scope))

    def _with_headers(self, send: Send) -> Send:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers())
            await send(message)

        return with_headers


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "unknown host"})
        return
    if scope["path"].startswith(FOR_PROGRAMS):
        refusal: Response = error_response(scope["path"], 421, UNKNOWN_HOST)
    else:
        refusal = PlainTextResponse(f"{UNKNOWN_HOST}\n", 421)
    await refusal(scope, receive, send)
