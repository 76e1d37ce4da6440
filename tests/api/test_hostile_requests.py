"""Hostile requests: whatever is sent, the server answers in words, goes on, and does not grow."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import psutil
import pytest

from api.limits import BodyLimits
from tests.api.conftest import ApiServer

DEEP = "[" * 100_000
ODD = [
    "",
    "\x00",
    "\ud800",
    "‮abc",
    "a" * 9000,
    "../../etc/passwd",
    "'; DROP TABLE users; --",
    "${jndi:x}",
    "\n\r\n",
]
BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe\x00",
    b'{"question": 1e400}',
    b'{"question": "a", "question": "b"}',
    b'{"question": ' + b"9" * 10_000 + b"}",
    DEEP.encode(),
    ('{"a":' * 50_000).encode(),
    json.dumps({"question": "a", "history": [{"role": "user", "content": "b"}] * 5000}).encode(),
    json.dumps({"question": "a", "k": 10**30}).encode(),
    json.dumps({"question": "a", "collections": ["a" * 100_000]}).encode(),
    json.dumps({"question": {"$gt": ""}}).encode(),
    json.dumps({"question": "a", "__proto__": {"admin": True}}).encode(),
    json.dumps({"question": "a", "stream": "perhaps"}).encode(),
    gzip.compress(b'{"question": "a"}'),
]
TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
PATHS = [
    "/api/documents/../../etc/passwd",
    "/api/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/api/documents/%00",
    "/api/documents/" + "a" * 8000,
    "/api/documents/%ff%fe/text",
    "/api/documents/1/pages/99999999999999999999/image",
    "/api/documents/1/pages/-1/image",
    "/api//documents",
    "/api/documents//",
    "/v1/models/" + "%F0%9F%92%A9" * 100,
    "/api/collections/‮",
    "/api/conversations/1/export?form=exe",
]
HEADERS = [
    {"authorization": "Bearer " + "a" * 20_000},
    {"authorization": "Bearer \u00e9"},
    {"authorization": "Bearer fnk_0000000000000000_" + "A" * 43},
    {"authorization": "bearer"},
    {"authorization": "Basic Zm46Zm4="},
    {"authorization": "Bearer null"},
    {"x-footnote-person": "ann"},
    {"host": "evil.example"},
    {"idempotency-key": "a" * 5000},
]


def answers(api: ApiServer) -> bool:
    with api.client() as client:
        return client.get("/api/collections").status_code == 200


def understood(response: httpx.Response) -> bool:
    return 200 <= response.status_code < 500


@pytest.mark.parametrize(
    "path",
    [
        "/api/ask",
        "/api/search",
        "/api/check",
        "/v1/chat/completions",
        "/api/collections",
        "/api/webhooks",
        "/api/grids",
    ],
)
def test_bodies_of_every_kind_are_answered_in_words(api: ApiServer, path: str):
    with api.client() as client:
        for body in BODIES:
            for kind in TYPES[: 2 if len(body) > 1000 else None]:
                response = client.post(path, content=body, headers={"content-type": kind})
                assert understood(response), (body[:60], kind, response.text)
                assert response.status_code < 300 or response.json(), response.text
        for text in ODD:
            fields = {"question": text, "query": text, "text": text, "name": text}
            fields |= {"messages": [{"role": "user", "content": text}]}
            sent = json.dumps(fields)
            assert understood(client.post(path, content=sent, headers={"content-type": TYPES[0]}))
    assert answers(api)


def test_paths_and_headers_of_every_kind_are_answered(api: ApiServer):
    with api.client() as client:
        for path in PATHS:
            for method in ("GET", "DELETE", "POST", "TRACE", "BREW"):
                response = client.request(method, path)
                assert understood(response), (method, path, response.text)
                assert "root:" not in response.text
    for headers in HEADERS:
        given = {"authorization": f"Bearer {api.keys['bob']}", **headers}
        given = {name: value.encode("latin-1") for name, value in given.items()}
        response = httpx.post(f"{api.url}/api/search", headers=given, content=b"a")
        assert 400 <= response.status_code < 500, (headers, response.text)
    assert answers(api)


def test_file_names_are_names_and_no_paths(api: ApiServer):
    with api.client(api.key("hostile")) as client:
        for name in (*ODD[2:-1], "a/../../b.md", "C:\\a.md", "a" * 255, "‮fdp.exe", "<script>.md", "."):
            sendable = name.encode("utf-8", "replace").decode()
            raw_body = client.post("/api/documents", params={"name": sendable}, content=b"# A\n")
            form = client.post("/api/documents", files={"file": (sendable, b"# A\n")})
            assert understood(raw_body) and understood(form), (name, raw_body.text, form.text)
    assert answers(api)


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: -1",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\n\r\nzz",
        "X: " + "a" * 100_000,
        "X: a\r\n" * 2000,
    ],
)
def test_requests_that_break_the_protocol_end_their_own_connection(api: ApiServer, lines: str):
    with raw(api) as connection:
        key = f"Authorization: Bearer {api.keys['ann']}"
        connection.sendall(f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\n{key}\r\n{lines}\r\n\r\n".encode())
        connection.settimeout(30)
        with suppress(ConnectionError):
            assert connection.recv(4096)[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 422", b"HTTP/1.1 431")
    assert answers(api)


def test_what_is_too_large_is_refused_before_it_is_read(api: ApiServer):
    with raw(api) as connection:
        key = f"Authorization: Bearer {api.keys['ann']}"
        head = f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\n{key}\r\nContent-Length: 99999999999\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(4096)


def test_nothing_is_read_without_a_key(api: ApiServer):
    with raw(api) as connection:
        head = "POST /api/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 401 " in connection.recv(4096)


async def test_a_body_that_comes_too_slowly_ends_in_words():
    async def reader(scope, receive, send):
        while (await receive())["more_body"]:
            pass

    async def forever() -> dict:
        import asyncio

        await asyncio.sleep(60)
        return {"type": "http.request", "body": b"a", "more_body": True}

    limits = BodyLimits(reader, upload_mb=lambda: 1, idle=0.05, json_seconds=5)
    with pytest.raises(Exception, match="too slowly") as slow:
        await limits({"type": "http", "path": "/api/ask", "headers": []}, forever, None)
    assert slow.value.status_code == 408


async def test_a_body_that_never_ends_is_ended_by_the_time_it_may_take():
    async def reader(scope, receive, send):
        while (await receive())["more_body"]:
            pass

    async def drip() -> dict:
        import asyncio

        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"a", "more_body": True}

    limits = BodyLimits(reader, upload_mb=lambda: 1, idle=5, json_seconds=0.2)
    began = time.monotonic()
    with pytest.raises(Exception, match="too slowly"):
        await limits({"type": "http", "path": "/api/ask", "headers": []}, drip, None)
    assert time.monotonic() - began < 5


def test_connections_that_send_nothing_keep_nobody_waiting(api: ApiServer):
    held = [socket.create_connection(api.url.removeprefix("http://").split(":")) for _ in range(100)]
    for one in held:
        one.sendall(b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\n")
    assert answers(api)
    for one in held:
        one.close()


def test_memory_stays_flat(api: ApiServer):
    body = json.dumps({"query": "harbour", "documents": ["x" * 200] * 900}).encode()

    def send(times: int) -> None:
        with api.client() as client:
            for _ in range(times):
                client.post("/api/search", content=body, headers={"content-type": "application/json"})
                client.post("/api/ask", content=DEEP.encode(), headers={"content-type": "application/json"})

    send(40)
    before = psutil.Process().memory_info().rss
    send(160)
    assert psutil.Process().memory_info().rss - before < 40 << 20
    assert threading.active_count() < 150


@contextmanager
def raw(api: ApiServer) -> Iterator[socket.socket]:
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        yield connection
