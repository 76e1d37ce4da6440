"""A local server on which a service's REST API can be spoken, with the faults that services have.

with ConfluenceServer() as wiki:
    wiki.fail(Fault(429, {"Retry-After": "0"}), at="/rest/api/content")
    wiki.fail(CUT)                                    # the next request, whatever it is
    ... wiki.url, wiki.calls[-1].query, wiki.requests[-1].headers["authorization"] ...
"""

import json
import socket
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.rag.connectors.site import Page, ReceivedRequest, Site


@dataclass(frozen=True)
class Call:
    """One request as an API sees it: its path decoded, and the values of its query or form."""

    path: str
    values: dict[str, list[str]]
    authorization: str

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in self.values.items()}


@dataclass(frozen=True)
class Fault:
    """What one request gets in place of its answer."""

    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


def cut(connection: socket.socket, closing: threading.Event) -> None:
    """Promise more than is sent, and hang up."""
    del closing
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    connection.shutdown(socket.SHUT_RDWR)


class Service(Site):
    """What every such server has; each says in `answer` what a call gets."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._faults: list[tuple[str, Page]] = []
        self._lock = threading.Lock()

    def fail(self, *faults: Fault, at: str = "") -> None:
        """Let the coming requests whose path or query holds `at` end so, one after the other."""
        self._faults += [(at, _page(fault.body, fault.status, fault.headers)) for fault in faults]

    def cut(self, times: int = 1, *, at: str = "") -> None:
        """Let the coming requests break off."""
        self._faults += [(at, Page(raw=cut))] * times

    def answer(self, call: Call) -> Page:
        raise NotImplementedError

    def take(self, asked: ReceivedRequest) -> Page:
        parts = urlsplit(asked.path)
        values = parse_qs(asked.body.decode() if asked.body else parts.query)
        call = Call(unquote(parts.path), values, asked.headers.get("authorization", ""))
        with self._lock:
            self.requests.append(asked)
            self.calls.append(call)
            for place, (at, page) in enumerate(self._faults):
                if at in call.path or at in asked.path:
                    del self._faults[place]
                    return page
        return self.answer(call)

    def asked(self, holding: str) -> list[Call]:
        return [call for call in self.calls if holding in call.path]


def answered(body: Any, **headers: str) -> Page:
    return _page(body, 200, headers)


def refused(status: int, body: Any = None) -> Page:
    return _page(body, status, {})


def _page(body: Any, status: int, headers: dict[str, str]) -> Page:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Page(content, {"Content-Type": "application/json", **headers}, status)
