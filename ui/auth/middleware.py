"""Authentication middleware for every connection, and the browser sessions that were admitted."""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from rag.errors import EntryRefused
from rag.local_server import is_loopback
from rag.settings import Settings
from ui.auth import identity

PERSON, AUTH_MODE = "x-footnote-person", "x-footnote-entrance"  # headers that only the middleware sets
# They check access themselves, or reveal nothing.
OPEN_PATHS = ("/healthz", "/readyz", "/metrics", "/_stcore/health")
KEY_PATHS = ("/api/", "/v1/", "/mcp")  # prefixes of what asks each request for a key of its own
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
UPLOAD = re.compile(r".*/_stcore/upload_file/([^/]+)/[^/]+/?")
FORWARDED = b"x-forwarded-for"
SUBPROTOCOLS = b"sec-websocket-protocol"
NOT_HERE = "Sign-in is not set up, so Footnote answers this computer only."
FROM_ELSEWHERE = "This request came from another site and was refused."
UNKNOWN = "The proxy in front of Footnote did not identify you. Open Footnote where you sign in."
NO_SESSION = "Sign in first. Nothing was saved."


@dataclass(frozen=True)
class AuthMiddleware:
    """ASGI middleware that admits connections by sign-in mode, origin and session owner."""

    app: ASGIApp
    mode: identity.AuthMode
    owner_of: Callable[[str], str | None]
    origins: Callable[[], list[str]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, with the person that a proxy names, or refuse it with a sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        person = self._person(scope, receive)
        refusal = self._refusal(scope, person)
        if refusal:
            await _refuse(refusal, scope, receive, send)
        else:
            await self.app(self._marked(scope, person), receive, send)

    def _refusal(self, scope: Scope, person: str | None) -> str:
        server = scope.get("server") or (None,)
        if isinstance(self.mode, identity.LocalUser) and not is_loopback(server[0]):
            return NOT_HERE
        acts = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if acts and not _same_site(scope, self.origins()):
            return FROM_ELSEWHERE
        if isinstance(self.mode, identity.Proxy) and person is None and not _is_open(scope["path"]):
            return UNKNOWN
        upload = UPLOAD.fullmatch(scope["path"])
        if upload and scope.get("method") != "OPTIONS" and not self._is_theirs(upload[1], scope, person):
            return NO_SESSION
        return ""

    def _is_theirs(self, session_id: str, scope: Scope, person: str | None) -> bool:
        """Return True for a session of the connecting person; its id alone, as in a log, proves nothing."""
        if isinstance(self.mode, identity.LocalUser):
            return True
        owner = self.owner_of(session_id)
        known = person_in_cookie(scope) if isinstance(self.mode, identity.OpenID) else f"proxy:{person}"
        return owner is not None and owner == known

    def _person(self, scope: Scope, receive: Receive) -> str | None:
        """Return the person that the proxy names; None if it names none or several, or is not trusted."""
        if not isinstance(self.mode, identity.Proxy) or not self.mode.trusts(peer_of(scope, receive)):
            return None
        named = [value for name, value in scope["headers"] if name == self.mode.header.encode()]
        return _readable(named[0]) if len(named) == 1 else None

    def _marked(self, scope: Scope, person: str | None) -> Scope:
        """Return the scope with our headers, replacing any that the client sent under the same names."""
        ours = {PERSON.encode(), AUTH_MODE.encode()}
        if isinstance(self.mode, identity.Proxy):
            ours.add(self.mode.header.encode())
        headers = [
            (name, self._bound(value, scope, person) if name == SUBPROTOCOLS else value)
            for name, value in scope["headers"]
            if name.replace(b"_", b"-") not in ours
        ]
        headers.append((AUTH_MODE.encode(), self.mode.name.encode()))
        if person is not None:
            headers.append((PERSON.encode(), person.encode()))
        return {**scope, "headers": headers}

    def _bound(self, subprotocols: bytes, scope: Scope, person: str | None) -> bytes:
        """Return the subprotocols without a session id that is not of the connecting person.

        Streamlit's page names the session to resume in the third; without one it begins a new session.
        """
        entries = subprotocols.split(b",")
        session_id = entries[2].strip().decode("latin-1") if len(entries) > 2 else ""
        resumes = not session_id or self._is_theirs(session_id, scope, person)
        return subprotocols if resumes else b",".join(entries[:2])


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(KEY_PATHS)


def person_in_cookie(scope: Scope) -> str | None:
    """Return the id of the person in Streamlit's signed sign-in cookie; None without one that is valid."""
    cookies = HTTPConnection(scope).cookies

    def signed(name: str) -> bytes | None:
        value = cookies.get(name, "").encode("latin-1", "replace")
        return decode_signed_value(get_cookie_secret(), name, value) if value else None

    try:
        claims = json.loads(get_cookie_with_chunks(signed, USER_COOKIE_NAME) or b"{}")
        return f"{claims['iss']}#{claims['sub']}"
    except (ValueError, KeyError, TypeError):
        return None


def peer_of(scope: Scope, receive: Receive) -> str | None:
    """Return the address of the connected peer; None if unknown.

    For local peers Uvicorn replaces it by `X-Forwarded-For`, so any local program could pose as the proxy.
    The address is therefore read from the socket; without a socket, only if that header is absent.
    """
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    if transport is not None:
        named = transport.get_extra_info("peername")
        return str(named[0]) if isinstance(named, tuple) else None
    if any(name == FORWARDED for name, _ in scope["headers"]):
        return None
    client = scope.get("client")
    return str(client[0]) if client else None


def _readable(value: bytes) -> str | None:
    """Decode a name from a header; None if it is empty, too long, or not printable."""
    try:
        text = value.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
    return text if 0 < len(text) <= identity.MAX_NAME and text.isprintable() else None


def _same_site(scope: Scope, origins: list[str]) -> bool:
    """Return True for requests from our own pages or allowed origins, and for clients that are no browser."""
    headers: dict[bytes, Any] = dict(scope["headers"])
    origin = headers.get(b"origin")
    if origin is None:
        return True
    named = origin.decode("latin-1")
    return urlsplit(named).netloc == headers.get(b"host", b"").decode("latin-1") or named in origins


async def _refuse(sentence: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": sentence[:120]})
        return
    await PlainTextResponse(f"{sentence}\n", 403)(scope, receive, send)


MAX_SESSIONS = 10_000  # the oldest are forgotten, and uploads into them refused until a page is drawn


class Sessions:
    """Owners of the admitted browser sessions, by Streamlit's session id; thread-safe."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}
        self._lock = threading.Lock()

    def admit(self, session_id: str, owner: str) -> None:
        """Record a session as admitted."""
        with self._lock:
            self._owners.pop(session_id, None)
            self._owners[session_id] = owner
            while len(self._owners) > MAX_SESSIONS:
                del self._owners[next(iter(self._owners))]

    def refuse(self, session_id: str) -> None:
        """Forget a session, as on sign-out."""
        with self._lock:
            self._owners.pop(session_id, None)

    def end(self, owner: str) -> None:
        """Forget every session of an owner."""
        with self._lock:
            self._owners = {id_: whose for id_, whose in self._owners.items() if whose != owner}

    def owner_of(self, session_id: str) -> str | None:
        """Return a session's owner; None if it was not admitted."""
        return self._owners.get(session_id)


SESSION_START = "here-since"


def read_auth_mode(settings: Settings) -> identity.AuthMode:
    """Return the sign-in mode from settings and Streamlit's secrets; raises SettingsError."""
    there = st.secrets.load_if_toml_exists() and "auth" in st.secrets
    return identity.auth_mode(settings, dict(st.secrets["auth"]) if there else None)


def current_visitor(mode: identity.AuthMode, settings: Settings) -> identity.Visitor | None:
    """Return the visitor of the page that is being drawn; None if not signed in. Raises EntryRefused."""
    _confirm_middleware(mode)
    if isinstance(mode, identity.LocalUser):
        return identity.LOCAL_VISITOR
    if isinstance(mode, identity.OpenID):
        if not st.user.is_logged_in:
            return None
        return identity.visitor_from_token(st.user.to_dict(), settings, datetime.now(UTC))
    named = st.context.headers.get_all(PERSON)
    if len(named) != 1:
        return None
    since = st.session_state.setdefault(SESSION_START, datetime.now(UTC))  # a proxy does not send it
    return identity.visitor_from_header(named[0], settings, since)


def _confirm_middleware(mode: identity.AuthMode) -> None:
    """Raise EntryRefused unless the connection came through the middleware, in the same sign-in mode.

    Without a connection, as in tests of single pages, there is nothing to confirm.
    """
    headers = st.context.headers
    if list(headers) and headers.get_all(AUTH_MODE) != [mode.name]:
        raise EntryRefused(
            "The sign-in method has changed since this server started, or the server was not started with "
            "app.py. Restart it: streamlit run app.py"
        )
