"""A real local web server with scripted pages, over http or https, that remembers what it was asked.

    with Site() as site:
        site.pages["/a"] = Page(b"<p>Hello", {"Content-Type": "text/html"})
        site.pages["/b"] = Page(status=302, headers={"Location": "/a"})
        site.pages["/c"] = Page(raw=drip)      # drip(socket, site.closing) says what it likes
        ... site.url + "/a" ...
        site.requests[-1].headers["authorization"]

Several pages in a list are answered in their order, the last one again and again.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Raw = Callable[[socket.socket, threading.Event], None]


@dataclass(frozen=True)
class Page:
    """What to answer: a body with its headers, or whatever `raw` sends."""

    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    raw: Raw | None = None


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as it came, its headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Site:
    """The server, in threads of its own, from `with` to the end of its block."""

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1", keeps_open: bool = False
    ):
        self.pages: dict[str, Page | list[Page]] = {}
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        self.closing = threading.Event()
        self._server = _Server((address, 0), _KeepAliveHandler if keeps_open else _Handler)
        self._server.site = self
        if tls:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://{address}:{self.port}"

    def __enter__(self) -> "Site":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, asked: ReceivedRequest) -> Page:
        self.requests.append(asked)
        page = self.pages.get(asked.path, Page(b"nothing here", status=404))
        if isinstance(page, list):
            page = page.pop(0) if len(page) > 1 else page[0]
        return page


class _Server(ThreadingHTTPServer):
    site: Site
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up, or do not trust us, are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.site.connections += 1

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        page = self.server.site.take(
            ReceivedRequest(self.command, self.path, headers, self.rfile.read(length))
        )
        if page.raw:
            page.raw(self.connection, self.server.site.closing)
            self.close_connection = True
            return
        self.send_response(page.status)
        for name, value in {"Content-Length": str(len(page.body)), **page.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page.body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _KeepAliveHandler(_Handler):
    protocol_version = "HTTP/1.1"
