"""Content-Security-Policy of the page, and the answer to a request that failed."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from streamlit.file_util import get_static_dir

from api.security import HEADERS

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
    return {"Content-Security-Policy": content_security_policy(page), **HEADERS}


async def server_error(_: Request, __: Exception) -> Response:
    """Answer a request that failed, with the security headers that no middleware can add to it."""
    return PlainTextResponse("Internal Server Error", 500, headers=security_headers())
