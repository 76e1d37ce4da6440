"""HTTP client of all connectors: SSRF policy on every hop, size and time limits, retries by Retry-After."""

import ipaddress
import json
import logging
import re
import select
import socket
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar

import httpcore2

from rag.connectors.ssrf import Address, Allowed, Target, parse_allowed, parse_url, redirect_target
from rag.errors import (
    AddressRefused,
    Cancelled,
    ConnectionLost,
    ItemFailed,
    ItemRefused,
    RequestRejected,
    SourceError,
)
from rag.i18n import N_
from rag.jobs import Cancel, never

# At DEBUG, httpcore logs headers, which may hold secrets.
logging.getLogger("httpcore2").setLevel(logging.INFO)

T = TypeVar("T")
Headers = Mapping[str, str]
Resolve = Callable[[str, int], Sequence[Address]]

MAX_BYTES = 50_000_000
MAX_REDIRECTS = 10
TRIES = 4  # with a host that responds 429 or 503
LONGEST_WAIT = 60.0  # seconds; no retry where Retry-After is longer
_FIRST_WAIT = 1.0  # seconds where there is no Retry-After; doubled before each further try
_POLL = 0.2  # seconds between checks of the time limits and of cancellation
_CONNECT_TIMEOUT = 10.0  # seconds for one of several addresses, before the next one is tried
_KEEP_ALIVE = 15.0  # seconds; most servers close idle connections later than that
_MAX_IDLE = 8  # connections
_CHUNK = 65_536  # bytes inflated at once
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED = frozenset({429, 503})
_NO_HEADERS: Headers = MappingProxyType({})
_DEFAULT_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; Footnote)", "Accept": "*/*"}
_ENCODINGS = "gzip, deflate"
_RESERVED = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})
# A caller's headers that may be sent to another origin: neither Authorization nor cookies.
_CROSS_ORIGIN = frozenset({"accept", "accept-language", "range", "user-agent"})
_GZIP_MAGIC = b"\x1f"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Response:
    """Response with its whole body: the URL after all redirects, and headers by their names in lower case."""

    url: str
    status: int
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)

    def checked(self) -> "Response":
        """Return this response; raise RequestRejected with its status unless it is a success."""
        if 200 <= self.status < 300:
            return self
        meanings = {
            401: "does not accept the credentials. Renew the token or password",
            403: "does not let us read this. Ask for access",
            404: "has nothing under this address. Correct it",
            410: "has removed this",
        }
        meaning = meanings.get(self.status, f"answered with status {self.status}. Try again later")
        raise RequestRejected(
            N_("{authority} {meaning}.", authority=parse_url(self.url).authority, meaning=meaning),
            self.status,
        )

    def json(self) -> Any:
        """Return the body as JSON; raise SourceError where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            host = parse_url(self.url).authority
            raise SourceError(N_("{host} did not answer with JSON. Check the address.", host=host)) from error


class Fetcher:
    """HTTP client without cookies and without the proxies of the environment. May be shared by threads.

    Addresses must be public, or named in `private` as hosts or networks. `patience` limits the seconds
    without a byte, `longest` those of a request without waits for Retry-After, of which there is one after
    each of `tries` but the last. Raises AddressRefused before anything is sent, SourceError which names the
    host, and Cancelled.
    """

    def __init__(
        self,
        *,
        private: Collection[str] = (),
        patience: float = 30.0,
        longest: float = 600.0,
        max_bytes: int = MAX_BYTES,
        tries: int = TRIES,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ):
        pool = partial(
            httpcore2.ConnectionPool,
            ssl_context=tls or tls_context(),
            max_connections=None,
            keepalive_expiry=_KEEP_ALIVE,
            network_backend=_Network(parse_allowed(private), resolve or resolve_host),
        )
        self._pool = pool(max_keepalive_connections=_MAX_IDLE)
        # An idle connection may be closing, so a request that must not be repeated gets a new one.
        self._single_use = pool(max_keepalive_connections=0)
        self._patience, self._longest, self._max_bytes = patience, longest, max_bytes
        self._tries = tries
        weakref.finalize(self, self._pool.close)

    def get(self, url: str, *, headers: Headers = _NO_HEADERS, cancelled: Cancel = never) -> Response:
        """Return the response at `url`, after redirects, of any status but 429 and 503.

        These two are retried as Retry-After demands; then they raise RequestRejected. A body of more than
        the fetcher's `max_bytes` raises ItemRefused.
        """
        with self.open(url, headers=headers, cancelled=cancelled) as response:
            return response.read()

    def post(
        self, url: str, *, body: bytes = b"", headers: Headers = _NO_HEADERS, cancelled: Cancel = never
    ) -> Response:
        """Send a `body` and return the response; a redirect is not followed."""
        with self._send(_Request.of("POST", headers, body), url, cancelled) as response:
            return response.read()

    @contextmanager
    def open(
        self, url: str, *, headers: Headers = _NO_HEADERS, cancelled: Cancel = never
    ) -> Iterator["OpenResponse"]:
        """Open the response at `url` as `get` does; its body is still to be read."""
        with self._send(_Request.of("GET", headers), url, cancelled) as response:
            yield response

    @contextmanager
    def _send(self, request: "_Request", url: str, cancelled: Cancel) -> Iterator["OpenResponse"]:
        """Follow redirects to the final response; its body is still to be read."""
        here = parse_url(url)
        deadline = Deadline(self._patience, self._longest, cancelled)
        for _ in range(MAX_REDIRECTS + 1):
            deadline.host = here.authority
            with closing(self._send_with_retries(here, request, deadline)) as response:
                there = response.redirect() if request.method == "GET" else None
                if there is None:
                    yield response
                    return
            request = request if there.origin == here.origin else request.for_other_origin()
            here = there
        raise SourceError(
            N_(
                "{authority} redirects again and again, so the page cannot be reached.",
                authority=here.authority,
            )
        )

    def _send_with_retries(self, here: Target, request: "_Request", deadline: "Deadline") -> "OpenResponse":
        for attempt in range(1, self._tries + 1):
            response = self._send_once(here, request, deadline)
            if response.status not in _RETRIED:
                return response
            response.close()
            wait = retry_wait(attempt, response.headers, datetime.now(UTC))
            if wait > LONGEST_WAIT or attempt == self._tries:
                break
            deadline.wait(wait)
        raise RequestRejected(
            N_(
                "{authority} does not want to be asked now (status {status}). Try again later.",
                authority=here.authority,
                status=response.status,
            ),
            response.status,
        )

    def _send_once(self, here: Target, request: "_Request", deadline: "Deadline") -> "OpenResponse":
        """Send a request; once more where a kept connection was closed before any byte came."""
        pool = self._pool if request.method == "GET" else self._single_use
        while True:
            deadline.new_connection = deadline.received = False
            try:
                return OpenResponse(here, pool.handle_request(request.to(here, deadline)), self._max_bytes)
            except httpcore2.LocalProtocolError:  # its text quotes the header, which may be a secret
                raise _bad_header(here) from None
            except (httpcore2.NetworkError, httpcore2.ProtocolError, ConnectionLost) as error:
                if deadline.new_connection or deadline.received:
                    raise error if isinstance(error, ConnectionLost) else _broken(here) from error


@dataclass(frozen=True)
class _Request:
    method: str
    headers: Headers = field(repr=False)
    body: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, method: str, headers: Headers, body: bytes = b"") -> "_Request":
        given = {name: value for name, value in headers.items() if name.lower() not in _RESERVED}
        named = {name.lower() for name in given}
        missing = {name: value for name, value in _DEFAULT_HEADERS.items() if name.lower() not in named}
        return cls(method, {**missing, **given, "Accept-Encoding": _ENCODINGS}, body)

    def for_other_origin(self) -> "_Request":
        """Return the request without headers that only the first origin may see."""
        return _Request.of(self.method, {n: v for n, v in self.headers.items() if n.lower() in _CROSS_ORIGIN})

    def to(self, here: Target, deadline: "Deadline") -> httpcore2.Request:
        """Return the request to `here` in the form of httpcore."""
        headers = {"Host": here.authority, **self.headers}
        if self.body:
            headers["Content-Length"] = str(len(self.body))
        try:
            raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        except UnicodeEncodeError:
            raise _bad_header(here) from None
        url = httpcore2.URL(scheme=here.scheme, host=here.host, port=here.port, target=here.path)
        timeouts = dict.fromkeys(("connect", "read", "write"), deadline)
        return httpcore2.Request(
            self.method, url, headers=raw, content=self.body, extensions={"timeout": timeouts}
        )


@dataclass(frozen=True)
class OpenResponse:
    """Response whose body is still to be read, of at most `limit` bytes."""

    target: Target
    raw: httpcore2.Response
    limit: int

    @property
    def status(self) -> int:
        """Status code."""
        return self.raw.status

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Headers by their names in lower case."""
        headers: dict[str, str] = {}
        for raw, value in self.raw.headers:
            name, text = raw.decode("ascii", "replace").lower(), _decoded(value)
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        return headers

    def redirect(self) -> Target | None:
        """Return the target of a redirect; None for any other response."""
        location = self.headers.get("location", "")
        return redirect_target(self.target, location) if location and self.status in _REDIRECTS else None

    def read(self) -> Response:
        """Return the response with its whole body."""
        return Response(self.target.url, self.status, self.headers, b"".join(self.pieces()))

    def pieces(self) -> Iterator[bytes]:
        """Return the body in pieces; raise ItemRefused where it is too large."""
        host, encoding = self.target.authority, self.headers.get("content-encoding", "")
        length = self.headers.get("content-length", "")
        if not encoding and length.isdecimal() and int(length) > self.limit:
            raise _too_large(self.limit, host)
        # Compressed bytes are limited, too: some inflate to nothing. A small body may grow when compressed.
        received = _capped(self._received(), self.limit + _CHUNK, host)
        return _capped(_decompressed(received, encoding, host), self.limit, host)

    def close(self) -> None:
        """Return the connection to its pool, which keeps it if the body was read to its end."""
        self.raw.close()

    def _received(self) -> Iterator[bytes]:
        try:
            yield from self.raw.iter_stream()
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise _broken(self.target) from error


@dataclass
class Deadline:
    """Time limits and cancellation of one request, passed through httpcore as its timeout.

    `silence` is the seconds that may pass without a byte; `longest` limits the whole request. `host` is named
    in errors. The network backend sets `new_connection` where it made one, and `received` once any byte came.
    """

    silence: float
    longest: float
    cancelled: Cancel
    host: str = ""
    new_connection: bool = False
    received: bool = False

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.longest

    def until_done(self, operation: Callable[[], T]) -> T:
        """Return the result of `operation`, called again while it raises TimeoutError."""
        began = time.monotonic()
        while True:
            self._check(began)
            try:
                return operation()
            except (TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue

    def in_thread(self, operation: Callable[[], T]) -> T:
        """Return the result of an operation that cannot be stopped, such as that of a resolver that hangs."""
        found: Future[T] = Future()

        def run() -> None:
            try:
                found.set_result(operation())
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                found.set_exception(error)

        threading.Thread(target=run, name="connecting", daemon=True).start()
        began = time.monotonic()
        while not wait_for([found], _POLL).done:
            self._check(began)
        return found.result()

    def wait(self, seconds: float) -> None:
        """Wait before a retry; the wait does not count towards the limit of the request."""
        wait(seconds, self.host, self.cancelled)
        self._until += seconds

    def _check(self, began: float) -> None:
        _stop_if_cancelled(self.host, self.cancelled)
        now = time.monotonic()
        if now > self._until:
            raise ConnectionLost(
                N_(
                    "{host} was not done after {longest} seconds, so it was left. Try again later.",
                    host=self.host,
                    longest=f"{self.longest:g}",
                )
            )
        if now - began > self.silence:
            raise ConnectionLost(
                N_(
                    "{host} sent nothing for {silence} seconds. Try again later.",
                    host=self.host,
                    silence=f"{self.silence:g}",
                )
            )


class _Network(httpcore2.NetworkBackend):
    """Network backend that resolves a host once, and connects only to addresses that it has checked."""

    def __init__(self, permitted: Allowed, resolve: Resolve):
        self._permitted, self._resolve = permitted, resolve

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> "_Stream":
        """Connect to a host; raise AddressRefused if any of its addresses is not permitted."""
        del local_address, socket_options
        deadline = _deadline(timeout)
        deadline.new_connection = True
        addresses = deadline.in_thread(partial(self._resolve, host, port))
        if not addresses:
            raise SourceError(N_("There is no host {host}. Correct the address.", host=host))
        if not all((host, address) in self._permitted for address in addresses):
            raise AddressRefused(
                N_(
                    "{host} is an address of this computer or of a private network, so Footnote does not "
                    "open it. Whoever runs the server can allow it with FOOTNOTE_PRIVATE_HOSTS.",
                    host=deadline.host,
                )
            )
        return _Stream(_connected_to_first(addresses, port, deadline))


class _Stream(httpcore2.NetworkStream):
    """Connected socket, polled so that time limits and cancellation hold while it is silent."""

    def __init__(self, connection: socket.socket):
        connection.settimeout(_POLL)
        self._socket = connection

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return received bytes, at most `max_bytes`; none where the other side has closed."""
        deadline = _deadline(timeout)
        try:
            received = deadline.until_done(partial(self._socket.recv, max_bytes))
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error
        deadline.received = deadline.received or bool(received)
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of `buffer`."""
        deadline, left = _deadline(timeout), memoryview(buffer)
        try:
            while left:
                left = left[deadline.until_done(partial(self._socket.send, left)) :]
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        """Return the connection over TLS; raise SourceError where the certificate is not valid."""
        deadline = _deadline(timeout)
        secured: socket.socket = self._socket
        try:
            secured = tls = ssl_context.wrap_socket(
                self._socket, server_hostname=server_hostname, do_handshake_on_connect=False
            )
            deadline.until_done(tls.do_handshake)
        except BaseException as error:
            secured.close()
            if isinstance(error, OSError) and secured is not self._socket:
                raise _untrusted(deadline.host, error) from error
            raise
        return _Stream(secured)

    def get_extra_info(self, info: str) -> Any:
        """Return whether anything can be read, which on an idle connection means that it was closed."""
        if info != "is_readable":
            return None
        if self._socket.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))


def _deadline(timeout: object) -> Deadline:
    if not isinstance(timeout, Deadline):
        raise TypeError("Requests of connectors have a Deadline as their timeout.")
    return timeout


def _connected_to_first(addresses: Sequence[Address], port: int, deadline: Deadline) -> socket.socket:
    """Connect to the first of `addresses` that answers; raise ConnectionLost where none does."""
    for address in addresses:
        place = str(address), port
        try:
            made = deadline.in_thread(partial(socket.create_connection, place, _CONNECT_TIMEOUT))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            failure = error
    raise ConnectionLost(
        f"No server answers at {deadline.host} ({failure.strerror or failure}). "
        "Check the address; Footnote connects directly, without a proxy."
    ) from failure


def resolve_host(host: str, port: int) -> Sequence[Address]:
    """Return the addresses of a host as this machine resolves it, in the order to try them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
            raise ConnectionLost(
                N_(
                    "The address of {host} cannot be looked up now. Check the network, and try again.",
                    host=host,
                )
            ) from error
        raise SourceError(N_("There is no host {host}. Correct the address.", host=host)) from error
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))


def tls_context() -> ssl.SSLContext:
    """Return a TLS context with this machine's certificates, or those of `SSL_CERT_FILE`, else Mozilla's."""
    import certifi

    paths = ssl.get_default_verify_paths()
    known = paths.cafile or paths.capath
    return ssl.create_default_context(cafile=None if known else certifi.where())


def wait(seconds: float, host: str, cancelled: Cancel) -> None:
    """Wait before a retry of a request to `host`. Raises Cancelled."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        _stop_if_cancelled(host, cancelled)
        time.sleep(min(left, _POLL))


def _stop_if_cancelled(host: str, cancelled: Cancel) -> None:
    if cancelled():
        raise Cancelled(N_("You stopped the request to {host}.", host=host))


def retry_wait(attempt: int, headers: Headers, now: datetime) -> float:
    """Return the seconds to wait after `attempt` (from 1), by its Retry-After."""
    after = _retry_after(headers.get("retry-after", "").strip(), _date(headers.get("date", "")) or now)
    return after if after is not None else _FIRST_WAIT * 2.0 ** (attempt - 1)


def _retry_after(value: str, now: datetime) -> float | None:
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    date = _date(value)
    return max(0.0, (date - now).total_seconds()) if date else None


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _decompressed(pieces: Iterator[bytes], encoding: str, host: str) -> Iterator[bytes]:
    """Yield a decompressed body, at most 64 KiB at a time. Raises ItemFailed."""
    encodings = [
        name for name in encoding.lower().replace(" ", "").split(",") if name not in ("", "identity")
    ]
    if not encodings:
        yield from pieces
    elif encodings[0] in ("gzip", "x-gzip", "deflate") and len(encodings) == 1:
        try:
            yield from _inflated(pieces, encodings[0] == "deflate")
        except (zlib.error, EOFError) as error:
            raise ItemFailed(
                N_("{host} sent something compressed that cannot be unpacked.", host=host)
            ) from error
    else:
        raise ItemFailed(N_("{host} sent something compressed in a way that was not asked for.", host=host))


def _inflated(pieces: Iterator[bytes], deflate: bool) -> Iterator[bytes]:
    inflater, begun = zlib.decompressobj(_GZIP_OR_ZLIB), False
    for piece in pieces:
        if deflate and not begun and piece and piece[0] & 0x0F != zlib.DEFLATED:
            inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers send it without its zlib header
        begun = begun or bool(piece)
        while piece:
            if inflater.eof and not piece.startswith(_GZIP_MAGIC):
                return  # padding behind the end
            inflater = zlib.decompressobj(_GZIP_OR_ZLIB) if inflater.eof else inflater
            yield inflater.decompress(piece, _CHUNK)
            piece = inflater.unconsumed_tail or inflater.unused_data
    yield inflater.flush()
    if begun and not inflater.eof:
        raise EOFError


def _capped(pieces: Iterator[bytes], limit: int, host: str) -> Iterator[bytes]:
    """Yield `pieces`; raise ItemFailed as soon as they exceed `limit` bytes."""
    read = 0
    for piece in pieces:
        read += len(piece)
        if read > limit:
            raise _too_large(limit, host)
        yield piece


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _too_large(limit: int, host: str) -> ItemRefused:
    size = f"{limit / 1_000_000:.0f} MB" if limit >= 1_000_000 else f"{limit:,} bytes"
    return ItemRefused(
        N_("{host} sends more than {size} here, which is the most that is fetched.", host=host, size=size)
    )


def _bad_header(here: Target) -> SourceError:
    return SourceError(
        N_(
            "A header for {authority} holds what no header may, such as a line break. Check the token.",
            authority=here.authority,
        )
    )


def _broken(here: Target) -> ConnectionLost:
    return ConnectionLost(
        N_("The connection to {authority} broke off. Try again later.", authority=here.authority)
    )


def _untrusted(host: str, error: OSError) -> SourceError:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        return SourceError(
            N_(
                "The certificate of {host} is not valid ({reason}), so nothing was sent. Check the address.",
                host=host,
                reason=reason,
            )
        )
    return ConnectionLost(
        N_("No secure connection to {host} could be made. Check whether it speaks https.", host=host)
    )
