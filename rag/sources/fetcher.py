"""One fetcher for every source: what each hop resolves to is checked, then connected to; all is capped."""

import json
import ssl
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from rag.errors import RequestRejected, SourceError
from rag.jobs import Cancel, never
from rag.sources.addresses import allowed
from rag.sources.fetcher_bodies import read
from rag.sources.fetcher_connection import Connection, Head
from rag.sources.fetcher_idle import Idle
from rag.sources.fetcher_patience import Patience
from rag.sources.fetcher_reach import Reach, Resolve, resolved, trusted
from rag.sources.fetcher_request import Request
from rag.sources.fetcher_retries import LONGEST_WAIT, NOT_NOW, TRIES, wait_before
from rag.sources.urls import Target, onward, target

MAX_BYTES = 50_000_000
MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Fetched:
    """An answer: the URL that it came from at last, and its headers by their names in lower case."""

    url: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def checked(self) -> "Fetched":
        """Return this answer; RequestRejected, with its status, where it is not a success."""
        require_success(target(self.url), self.status)
        return self

    def text(self) -> str:
        """Return the body as text: in the encoding that the answer names, else UTF-8."""
        content = Message()
        content["content-type"] = self.headers.get("content-type", "")
        try:
            return self.body.decode(content.get_content_charset("utf-8"), "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body as JSON; SourceError where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            host = target(self.url).authority
            raise SourceError(f"{host} did not answer with JSON. Check the address.") from error


class Fetcher:
    """Fetches over http and https, directly: proxies that the environment names are not used.

    Addresses must be public, or named in `private`: hosts (`wiki.corp`) and networks (`10.0.0.0/8`).
    `patience` is how many seconds may pass without a byte, `longest` how many a whole request may take, apart
    from what Retry-After asks for. Raises AddressRefused before anything is sent, SourceError which names the
    host, and Cancelled. May be shared by threads.
    """

    def __init__(
        self,
        *,
        private: Collection[str] = (),
        patience: float = 30.0,
        longest: float = 600.0,
        max_bytes: int = MAX_BYTES,
        resolve: Resolve = resolved,
        tls: ssl.SSLContext | None = None,
    ):
        self._reach, self._idle = Reach(allowed(private), resolve, tls or trusted()), Idle()
        self._patience, self._longest, self._max_bytes = patience, longest, max_bytes

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = _NONE,
        max_bytes: int | None = None,
        cancelled: Cancel = never,
    ) -> Fetched:
        """Return the answer at `url`, whatever its status, after at most ten redirects.

        Where it is 429 or 503 the request is repeated as Retry-After asks, at most three times; then it is
        a RequestRejected. More than `max_bytes` of body are an ItemFailed.
        """
        with self._opened(Request.of("GET", headers), url, cancelled) as answer:
            return answer.fetched(self._most(max_bytes))

    def post(
        self,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] = _NONE,
        cancelled: Cancel = never,
    ) -> Fetched:
        """Send a `form`, or a `body`, and return the answer; a redirect is the answer, and not followed."""
        if form is not None:
            body = urlencode(form).encode("ascii")
            headers = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
        with self._opened(Request.of("POST", headers, body), url, cancelled) as answer:
            return answer.fetched(self._max_bytes)

    def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = _NONE,
        max_bytes: int | None = None,
        cancelled: Cancel = never,
    ) -> Iterator[bytes]:
        """Yield the body at `url` in pieces. Where the status is no success: RequestRejected."""
        with self._opened(Request.of("GET", headers), url, cancelled) as answer:
            require_success(answer.target, answer.head.status)
            yield from answer.pieces(self._most(max_bytes))

    def _most(self, max_bytes: int | None) -> int:
        return self._max_bytes if max_bytes is None else max_bytes

    @contextmanager
    def _opened(self, request: Request, url: str, cancelled: Cancel) -> Iterator["_Answer"]:
        """Ask until there is an answer that leads nowhere else; its body is still to be read."""
        here = target(url)
        patience = Patience(self._patience, self._longest, cancelled)
        for _ in range(MAX_REDIRECTS + 1):
            patience.host = here.authority
            with closing(self._answered(here, request, patience)) as answer:
                there = answer.leads_to() if request.method == "GET" else None
                if there is None:
                    yield answer
                    return
            request = request if there.origin == here.origin else request.for_strangers()
            here = there
        raise SourceError(f"{here.authority} redirects again and again, so the page cannot be reached.")

    def _answered(self, here: Target, request: Request, patience: Patience) -> "_Answer":
        """Return an answer of one host, asked again as long as it says "not now"."""
        for attempt in range(1, TRIES + 1):
            answer = self._asked(here, request, patience)
            if answer.head.status not in NOT_NOW:
                return answer
            answer.close()
            wait = wait_before(attempt, answer.head.headers, datetime.now(UTC))
            if wait > LONGEST_WAIT or attempt == TRIES:
                break
            patience.wait(wait)
        status = answer.head.status
        raise RequestRejected(
            f"{here.authority} does not want to be asked now (status {status}). Try again later.", status
        )

    def _asked(self, here: Target, request: Request, patience: Patience) -> "_Answer":
        """Ask over a connection that is open already, else over a new one."""
        kept = self._idle.take(here.origin) if request.method == "GET" else None
        if kept:
            try:
                return _Answer(here, kept.ask(here, request, patience), kept, self._idle)
            except SourceError:
                if kept.heard:
                    raise
        connection = self._reach.connect(here, patience)
        return _Answer(here, connection.ask(here, request, patience), connection, self._idle)


@dataclass(frozen=True)
class _Answer:
    """An answer whose body is still to be read, and where it comes from."""

    target: Target
    head: Head
    connection: Connection
    idle: Idle

    def leads_to(self) -> Target | None:
        """Return where a redirect leads; None where this is not one."""
        location = self.head.headers.get("location", "")
        return onward(self.target, location) if location and self.head.status in _REDIRECTS else None

    def fetched(self, most: int) -> Fetched:
        return Fetched(self.target.url, self.head.status, self.head.headers, b"".join(self.pieces(most)))

    def pieces(self, most: int) -> Iterator[bytes]:
        return read(self.connection.pieces(), self.head.headers, most, self.target.authority)

    def close(self) -> None:
        """Keep the connection for the next request where the answer was read to its end."""
        self.idle.keep(self.connection)


def require_success(here: Target, status: int) -> None:
    """Raise RequestRejected, with what the status means, unless it is one of success."""
    if 200 <= status < 300:
        return
    meanings = {
        401: "does not accept the credentials. Renew the token or password",
        403: "does not let us read this. Ask for access",
        404: "has nothing under this address. Correct it",
        410: "has removed this",
    }
    meaning = meanings.get(status, f"answered with status {status}. Try again later")
    raise RequestRejected(f"{here.authority} {meaning}.", status)
