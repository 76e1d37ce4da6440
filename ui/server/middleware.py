"""Middleware for every request: known hosts, security headers, and the guard of Streamlit's own metrics."""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.file_util import get_static_dir

STREAMLIT_METRICS = "/_stcore/metrics"
UNKNOWN_HOST = (
    "Footnote does not answer to this host name. Open it by a name in server.allowedHosts "
    "(docs/operator/sign-in.md), or add this one there."
)
# Components of our own are loaded from blob: addresses; styles are written into the page while it is drawn.
_POLICY = (
    "default-src 'self'; script-src 'self' blob: {scripts}; style-src 'self' 'unsafe-inline' blob:; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "media-src 'self' blob:; object-src 'none'; frame-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def content_security_policy(page: str) -> str:
    """Return the Content-Security-Policy of a page; of inline scripts only those in `page` may run.

    >>> "script-src 'self' blob: 'sha256-" in content_security_policy("<script>go()</script>")
    True
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in _INLINE.findall(page)]
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return _POLICY.format(scripts=scripts)


@cache
def security_headers() -> dict[str, str]:
    """Return the headers of every response; the policy admits the inline script of Streamlit's page."""
    page = Path(get_static_dir(), "index.html").read_text(encoding="utf-8")
    return {
        "Content-Security-Policy": content_security_policy(page),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",  # for what does not read frame-ancestors
        "Referrer-Policy": "same-origin",
    }


@dataclass(frozen=True)
class SecurityMiddleware:
    """ASGI middleware that refuses unknown hosts and sets the security headers of every response.

    `is_known` judges a `Host` header; `may_see_metrics` judges a request for Streamlit's own metrics.
    """

    app: ASGIApp
    is_known: Callable[[str | None], bool]
    may_see_metrics: Callable[[Request], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with a sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif not self._known(scope):
            await _refuse(scope, receive, _with_headers(send))
        elif await self._is_guarded(scope):
            refusal = PlainTextResponse("Only the server's administrator can see these metrics.\n", 403)
            await refusal(scope, receive, _with_headers(send))
        else:
            await self.app(scope, receive, _with_headers(send))

    def _known(self, scope: Scope) -> bool:
        hosts = Headers(scope=scope).getlist("host")
        return len(hosts) <= 1 and self.is_known(hosts[0] if hosts else None)

    async def _is_guarded(self, scope: Scope) -> bool:
        if scope["type"] != "http" or not scope["path"].rstrip("/").endswith(STREAMLIT_METRICS):
            return False
        return not await run_in_threadpool(self.may_see_metrics, Request(scope))


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(security_headers())
        await send(message)

    return with_headers


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "unknown host"})
        return
    await PlainTextResponse(f"{UNKNOWN_HOST}\n", 421)(scope, receive, send)


async def server_error(_: Request, __: Exception) -> Response:
    """Answer a request that failed, with the security headers that no middleware can add to it."""
    return PlainTextResponse("Internal Server Error", 500, headers=security_headers())
