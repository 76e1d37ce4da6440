"""One connection to an address that was checked, and the HTTP requests over it, one after another."""

import errno
import os
import select
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import h11

from rag.errors import ConnectionLost, SourceError
from rag.sources.addresses import Address
from rag.sources.fetcher_patience import LOOK, Patience
from rag.sources.fetcher_request import Request
from rag.sources.urls import Target

PIECE = 65_536  # bytes read at once
ADDRESS = 10.0  # seconds for one address of several, before the next one is tried
_MAX_HEAD = 131_072  # bytes of all headers together


@dataclass(frozen=True)
class Head:
    """How an answer begins; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]


class Connection:
    """Connected to the first of `addresses` that answers; with https the certificate is that of the host."""

    def __init__(self, target: Target, addresses: Sequence[Address], tls: ssl.SSLContext, patience: Patience):
        self._target, self._patience, self.heard = target, patience, False
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._socket = self._reach(addresses)
        if target.scheme == "https":
            self._socket = self._secured(tls)

    @property
    def origin(self) -> tuple[str, str, int]:
        """Whom it leads to: scheme, host and port."""
        return self._target.origin

    @property
    def is_free(self) -> bool:
        """Whether what was asked is answered to the end, and the other side has not hung up since."""
        if (self._http.our_state, self._http.their_state) != (h11.DONE, h11.DONE):
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def ask(self, target: Target, request: Request, patience: Patience) -> Head:
        """Send a request and return the head of its answer. Raises SourceError and Cancelled, and is closed.

        `heard` then tells whether anything had come: a server may hang up just as it is asked again.
        """
        self._target, self._patience, self.heard = target, patience, False
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        try:
            self._send(self._written(request))
            return self._head()
        except BaseException:
            self.close()
            raise

    def _written(self, request: Request) -> bytes:
        lines = [("Host", self._target.authority), *request.headers.items()]
        lines += [("Content-Length", str(len(request.body)))] if request.body else []
        try:
            head = h11.Request(method=request.method, target=self._target.path, headers=lines)
        except h11.LocalProtocolError:  # its text quotes the header, which may be a secret
            raise SourceError(
                f"A header for {self._target.authority} holds what no header may, such as a line break. "
                "Check the token."
            ) from None
        parts = [head, *([h11.Data(data=request.body)] if request.body else []), h11.EndOfMessage()]
        return b"".join(self._http.send(part) or b"" for part in parts)

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes. Raises SourceError where it breaks off, and Cancelled."""
        while not isinstance(event := self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _head(self) -> Head:
        while not isinstance(event := self._event(), h11.Response):
            pass
        headers: dict[str, str] = {}
        for raw, value in event.headers:
            name, text = raw.decode("ascii", "replace"), _text(value)
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        return Head(event.status_code, headers)

    def _event(self) -> h11.Event:
        """Return what comes next in the answer, reading as much as it takes."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(self._receive())
        except h11.RemoteProtocolError as error:
            raise _broken(self._target) from error
        if isinstance(event, h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage):
            return event
        raise _broken(self._target)

    def _receive(self) -> bytes:
        try:
            received = self._patience.until_done(partial(self._socket.recv, PIECE))
        except OSError as error:
            raise _broken(self._target) from error
        self.heard = self.heard or bool(received)
        return received

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._patience.until_done(partial(self._socket.send, left)) :]
        except OSError as error:
            raise _broken(self._target) from error

    def _reach(self, addresses: Sequence[Address]) -> socket.socket:
        for address in addresses:
            try:
                return self._connected(address)
            except OSError as error:
                failure = error
        raise ConnectionLost(
            f"No server answers at {self._target.authority} ({failure.strerror or 'no reason given'}). "
            "Check the address; Footnote connects directly, without a proxy."
        ) from failure

    def _connected(self, address: Address) -> socket.socket:
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.settimeout(0)
            self._begin(made, str(address))
            made.settimeout(LOOK)
        except BaseException:
            made.close()
            raise
        return made

    def _begin(self, made: socket.socket, address: str) -> None:
        """Connect, looking at the clock meanwhile; OSError where that takes longer than one address may."""
        until = time.monotonic() + ADDRESS
        number = made.connect_ex((address, self._target.port))

        def arrived() -> int:
            poll = select.poll()
            poll.register(made, select.POLLOUT)
            if poll.poll(LOOK * 1000):
                return made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if time.monotonic() > until:
                return errno.ETIMEDOUT
            raise TimeoutError

        number = self._patience.until_done(arrived) if number == errno.EINPROGRESS else number
        if number:
            raise OSError(number, os.strerror(number))

    def _secured(self, tls: ssl.SSLContext) -> ssl.SSLSocket:
        plain, host = self._socket, self._target.host
        try:
            secured = tls.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        except BaseException:
            plain.close()
            raise
        try:
            self._patience.until_done(secured.do_handshake)
        except BaseException as error:
            secured.close()
            if isinstance(error, OSError):
                raise _untrusted(self._target, error) from error
            raise
        return secured


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _broken(target: Target) -> ConnectionLost:
    return ConnectionLost(f"The connection to {target.authority} broke off. Try again later.")


def _untrusted(target: Target, error: OSError) -> SourceError:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        return SourceError(
            f"The certificate of {target.authority} is not valid ({reason}), so nothing was sent. "
            "Check the address."
        )
    return ConnectionLost(
        f"No secure connection to {target.authority} could be made. Check whether it speaks https."
    )
