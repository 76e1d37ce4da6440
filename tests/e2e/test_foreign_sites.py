"""A page of another site that frames the application, and programs that reach it by another name."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor

Visit = Callable[..., Visitor]


@pytest.fixture
def hostile(server: Server) -> Iterator[str]:
    """The URL of a page of another site that frames the application and sends it commands."""
    framing = f"""<iframe id="framed" src="{server.url}"></iframe><script>
      const frame = document.getElementById("framed");
      frame.onload = () => {{
        frame.contentWindow.postMessage({{stCommVersion: 1, type: "SET_FILE_UPLOAD_CLIENT_CONFIG"}}, "*");
        document.title = "loaded";
      }};
    </script>"""

    class Framing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(framing.encode())

        def log_message(self, *_: object) -> None:
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Framing)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    yield f"http://localhost:{other.server_address[1]}/"
    other.shutdown()
    other.server_close()


def test_another_site_cannot_frame_the_page(server: Server, visit: Visit, hostile: str):
    visitor = visit(hostile)
    visitor.page.wait_for_function("document.title == 'loaded'")
    framed = visitor.page.frames[1]
    assert not framed.url.startswith(server.url)  # Chromium shows a page of its own in its place
    assert framed.locator(".stApp").count() == 0
    assert not any(url.startswith(server.url + "/") and "/static/" in url for url in visitor.requests)


def asked(server: Server, path: str, host: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as connection:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_no_site_may_send_the_page_commands(server: Server):
    status, told = asked(server, "/_stcore/host-config", urlsplit(server.url).netloc)
    assert status == 200 and json.loads(told)["allowedOrigins"] == []


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/metrics", "/_stcore/metrics", "/_stcore/host-config", "/media/x"]
)
def test_no_route_answers_under_another_name(server: Server, path: str):
    assert asked(server, path, "evil.example")[0] == 421
    assert asked(server, path, "localhost")[0] != 421


UPGRADE = (
    b"Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /_stcore/stream HTTP/1.1\r\n" + UPGRADE + b"Content-Length: 3\r\n\r\nabc",
        b"POST /_stcore/stream HTTP/1.1\r\n" + UPGRADE + b"\r\n",
        b"GET /_stcore/stream HTTP/1.1\r\n" + UPGRADE + b"X: " + b"a" * 9000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + UPGRADE + b"X: a\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000,
        b"GET /\x00 HTTP/1.1\r\n\r\n",
    ],
    ids=["a body", "a POST", "a long header", "many headers", "an endless header", "a null"],
)
def test_a_request_that_the_page_cannot_read_is_refused_at_once(server: Server, request_: bytes):
    host, _, port = urlsplit(server.url).netloc.partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request_)
        assert connection.recv(1 << 16)[9:10] == b"4"
