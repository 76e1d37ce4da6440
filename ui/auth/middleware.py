"""The door: every connection passes it first. What a stranger says of who they are goes no further."""

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rag.errors import EntryRefused
from rag.settings import Settings
from ui.auth.identity import (
    LOCAL_VISITOR,
    LONGEST,
    Alone,
    Entrance,
    OpenID,
    Proxy,
    Visitor,
    by_header,
    by_token,
    on_this_machine,
)

PERSON, ENTRANCE = "x-footnote-person", "x-footnote-entrance"  # headers that only the door sets
FOR_ALL = ("/healthz", "/readyz", "/metrics", "/_stcore/health")  # which ask by themselves, or tell nothing
SAFE = ("GET", "HEAD", "OPTIONS")
UPLOAD = re.compile(r".*/_stcore/upload_file/([^/]+)/[^/]+/?")
FORWARDED = b"x-forwarded-for"
NOT_HERE = "Sign-in is not set up, so Footnote answers this computer only."
FROM_ELSEWHERE = "This request came from another site and was refused."
UNKNOWN = "The proxy in front of Footnote did not identify you. Open Footnote where you sign in."
NO_SESSION = "Sign in first. Nothing was saved."


class Door:
    """Lets connections in: `entrance` says how people are known, `owner_of` whose a session is."""

    def __init__(
        self,
        app: ASGIApp,
        entrance: Entrance,
        owner_of: Callable[[str], str | None],
        origins: Callable[[], list[str]],
    ):
        """`origins` are those of pages elsewhere that may connect, such as "https://docs.example.org"."""
        self._app = app
        self._entrance = entrance
        self._owner_of = owner_of
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, with who it is from where a proxy may tell, or refuse it in a sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        person = self._person(scope, receive)
        refusal = self._refusal(scope, person)
        if refusal:
            await _refuse(refusal, scope, receive, send)
        else:
            await self._app(self._marked(scope, person), receive, send)

    def _refusal(self, scope: Scope, person: str | None) -> str:
        server = scope.get("server") or (None,)
        if isinstance(self._entrance, Alone) and not on_this_machine(server[0]):
            return NOT_HERE
        if _acts(scope) and not _same_site(scope, self._origins()):
            return FROM_ELSEWHERE
        if isinstance(self._entrance, Proxy) and person is None and scope["path"] not in FOR_ALL:
            return UNKNOWN
        upload = UPLOAD.fullmatch(scope["path"])
        if upload and scope.get("method") != "OPTIONS" and not self._is_theirs(upload[1], person):
            return NO_SESSION
        return ""

    def _is_theirs(self, session_id: str, person: str | None) -> bool:
        if isinstance(self._entrance, Alone):
            return True
        owner = self._owner_of(session_id)
        return owner is not None and (person is None or owner == f"proxy:{person}")

    def _person(self, scope: Scope, receive: Receive) -> str | None:
        """Return whom the proxy names; None where it names nobody, or several, or is not the proxy."""
        if not isinstance(self._entrance, Proxy) or not self._entrance.believes(peer_of(scope, receive)):
            return None
        named = [value for name, value in scope["headers"] if name == self._entrance.header.encode()]
        return _readable(named[0]) if len(named) == 1 else None

    def _marked(self, scope: Scope, person: str | None) -> Scope:
        """Return the scope with what the door knows, in the place of what was sent under the same names."""
        ours = {PERSON.encode(), ENTRANCE.encode()}
        if isinstance(self._entrance, Proxy):
            ours.add(self._entrance.header.encode())
        headers = [(name, value) for name, value in scope["headers"] if name.replace(b"_", b"-") not in ours]
        headers.append((ENTRANCE.encode(), self._entrance.name.encode()))
        if person is not None:
            headers.append((PERSON.encode(), person.encode()))
        return {**scope, "headers": headers}


def peer_of(scope: Scope, receive: Receive) -> str | None:
    """Return the address at the other end of the wire; None where it cannot be told.

    Uvicorn puts what `X-Forwarded-For` says in the place of it where the peer is this computer: any program
    here could then say that it is the proxy. So the socket is asked; where there is none to ask, only a
    connection without that header is taken at its word.
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
    """Return a name as it was sent; None for one that is empty, too long, or not to be shown."""
    try:
        text = value.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
    return text if 0 < len(text) <= LONGEST and text.isprintable() else None


def _acts(scope: Scope) -> bool:
    return scope["type"] == "websocket" or scope["method"] not in SAFE


def _same_site(scope: Scope, origins: list[str]) -> bool:
    """Tell whether the page that asks is one of ours; what is no browser names none."""
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


# The browser sessions that were let in, and whose each is: what is uploaded into another is refused.
MOST = 10_000  # sessions: the oldest are forgotten, and uploads into them refused until a page is drawn


class Sessions:
    """Whose each session is, by the id that Streamlit gives it; asked from any thread."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}
        self._lock = threading.Lock()

    def admit(self, session_id: str, owner: str) -> None:
        """Note that a session was let in."""
        with self._lock:
            self._owners.pop(session_id, None)
            self._owners[session_id] = owner
            while len(self._owners) > MOST:
                del self._owners[next(iter(self._owners))]

    def refuse(self, session_id: str) -> None:
        """Forget a session, as at sign-out."""
        with self._lock:
            self._owners.pop(session_id, None)

    def end(self, owner: str) -> None:
        """Forget every session of an owner."""
        with self._lock:
            self._owners = {id_: whose for id_, whose in self._owners.items() if whose != owner}

    def owner_of(self, session_id: str) -> str | None:
        """Return whose a session is; None where it was not let in."""
        return self._owners.get(session_id)


# Who is at the page that is being drawn, as the door and Streamlit's sign-in know it.
SINCE = "here-since"


def visitor(entrance: Entrance, settings: Settings) -> Visitor | None:
    """Return who is here; None where nobody has signed in. Raises EntryRefused for one who is not let in."""
    _confirm_door(entrance)
    if isinstance(entrance, Alone):
        return LOCAL_VISITOR
    if isinstance(entrance, OpenID):
        return by_token(st.user.to_dict(), settings, datetime.now(UTC)) if st.user.is_logged_in else None
    named = st.context.headers.get_all(PERSON)
    return by_header(named[0], settings, _since()) if len(named) == 1 else None


def _confirm_door(entrance: Entrance) -> None:
    """Raise EntryRefused unless the connection came through the door, by the same way of knowing people.

    Where there is no connection at all, as in tests of single pages, nobody is at the other end.
    """
    headers = st.context.headers
    if list(headers) and headers.get_all(ENTRANCE) != [entrance.name]:
        raise EntryRefused(
            "The sign-in method has changed since this server started, or the server was not started with "
            "app.py. Restart it: streamlit run app.py"
        )


def _since() -> datetime:
    """Return when this session began, where the proxy does not say since when someone is signed in."""
    since: datetime = st.session_state.setdefault(SINCE, datetime.now(UTC))
    return since
