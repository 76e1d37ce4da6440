"""One fetcher for every source: what each hop resolves to is checked, then connected to; all is capped."""

import ipaddress
import json
import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from rag.errors import AddressRefused, RequestRejected, SourceError
from rag.jobs import Cancel, never
from rag.sources.addresses import Address, allowed
from rag.sources.fetcher_bodies import ENCODINGS, read
from rag.sources.fetcher_connection import Connection, Head
from rag.sources.fetcher_patience import Patience
from rag.sources.fetcher_retries import LONGEST_WAIT, NOT_NOW, TRIES, wait_before
from rag.sources.urls import Target, onward, target

Resolve = Callable[[str, int], Sequence[Address]]

MAX_BYTES = 50_000_000
MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NONE: Mapping[str, str] = MappingProxyType({})
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})
# What another host may see of our headers. All else, Authorization before all, is for the one that was asked.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})


@dataclass(frozen=True)
class Fetched:
    """An answer: the URL that it came from at last, and its headers by their names in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

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
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ):
        self._allowed = allowed(private)
        self._patience, self._longest, self._max_bytes = patience, longest, max_bytes
        self._resolve = resolve or resolved
        self._tls = tls or ssl.create_default_context()

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
        with self._opened("GET", url, headers, b"", cancelled) as answer:
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
        with self._opened("POST", url, headers, body, cancelled) as answer:
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
        with self._opened("GET", url, headers, b"", cancelled) as answer:
            require_success(answer.target, answer.head.status)
            yield from answer.pieces(self._most(max_bytes))

    def _most(self, max_bytes: int | None) -> int:
        return self._max_bytes if max_bytes is None else max_bytes

    @contextmanager
    def _opened(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, cancelled: Cancel
    ) -> Iterator["_Answer"]:
        """Ask until there is an answer that leads nowhere else; its body is still to be read."""
        here = target(url)
        headers = _completed(headers)
        patience = Patience(self._patience, self._longest, cancelled)
        for _ in range(MAX_REDIRECTS + 1):
            patience.host = here.authority
            head, connection = self._answered(here, method, headers, body, patience)
            try:
                location = head.headers.get("location")
                if method != "GET" or head.status not in _REDIRECTS or not location:
                    yield _Answer(here, head, connection)
                    return
            finally:
                connection.close()
            there = onward(here, location)
            headers = headers if there.origin == here.origin else _harmless(headers)
            here = there
        raise SourceError(f"{here.authority} redirects again and again, so the page cannot be reached.")

    def _answered(
        self, here: Target, method: str, headers: Mapping[str, str], body: bytes, patience: Patience
    ) -> tuple[Head, Connection]:
        """Return an answer of one hop, asked again as long as the host says "not now"."""
        for attempt in range(1, TRIES + 1):
            connection = Connection(here, self._checked(here), self._tls, patience)
            try:
                head = connection.ask(method, headers, body)
            except BaseException:
                connection.close()
                raise
            if head.status not in NOT_NOW:
                return head, connection
            connection.close()
            wait = wait_before(attempt, head.headers, datetime.now(UTC))
            if wait > LONGEST_WAIT or attempt == TRIES:
                break
            patience.wait(wait)
        raise RequestRejected(
            f"{here.authority} does not want to be asked now (status {head.status}). Try again later.",
            head.status,
        )

    def _checked(self, here: Target) -> Sequence[Address]:
        """Return the addresses of a host; AddressRefused where any of them is one we do not go to."""
        addresses = self._resolve(here.host, here.port)
        if not addresses:
            raise SourceError(f"There is no host {here.host}. Correct the address.")
        for address in addresses:
            if (here.host, address) not in self._allowed:
                raise AddressRefused(
                    f"{here.authority} leads into a private network, where Footnote does not go. "
                    "Whoever runs the server can allow it with FOOTNOTE_PRIVATE_HOSTS."
                )
        return addresses


@dataclass(frozen=True)
class _Answer:
    """An answer whose body is still to be read, and where it comes from."""

    target: Target
    head: Head
    connection: Connection

    def fetched(self, most: int) -> Fetched:
        return Fetched(self.target.url, self.head.status, self.head.headers, b"".join(self.pieces(most)))

    def pieces(self, most: int) -> Iterator[bytes]:
        return read(self.connection.pieces(), self.head.headers, most, self.target.authority)


def resolved(host: str, port: int) -> Sequence[Address]:
    """Return the addresses of a host as this machine resolves it, in the order to try them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SourceError(f"There is no host {host}. Correct the address.") from error
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))


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


def _completed(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's headers with those that every request has."""
    given = {name: value for name, value in headers.items() if name.lower() not in _OURS}
    names = {name.lower() for name in given}
    usual = {"User-Agent": "Footnote", "Accept": "*/*"}
    return {
        **{n: v for n, v in usual.items() if n.lower() not in names},
        **given,
        "Accept-Encoding": ENCODINGS,
    }


def _harmless(headers: Mapping[str, str]) -> dict[str, str]:
    kept = _HARMLESS | {"accept-encoding"}
    return {name: value for name, value in headers.items() if name.lower() in kept}
