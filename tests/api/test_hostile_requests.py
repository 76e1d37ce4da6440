"""Hostile requests: whatever is sent, the running server answers in words, goes on, and does not grow."""

import json
import random
import re
import socket
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pytest

from api.limits import HEAD_SECONDS, IDLE_SECONDS, JSON_SECONDS, BodyLimits
from tests.api.hostile_requests import JSON, KEY, QUERY, Case, cases, raw, request
from tests.api.serving import ServedProcess, serving

CASES = cases()
LARGE = 50_000  # bytes, from which a request is of a kind of its own
SAMPLED = ("body", "file", "form", "header", "large", "path", "query", "tools")  # dozens that are alike
OF = 6  # the usual run sends one of so many of theirs, and all of the others
BOUND = 30  # seconds in which each is answered on a busy machine
SLACK = 40 << 20  # bytes that the server may grow by when they are sent again
MARK = "root:x:0"  # of /etc/passwd


def sample(of: int) -> list[Case]:
    """Choose cases of the kinds that are sampled, the same ones each time, beside all of the others."""
    chance, kinds = random.Random(1), defaultdict(list)
    for case in CASES:
        kinds["large" if len(case.sent) > LARGE else case.name.partition(":")[0]].append(case)
    for kind in SAMPLED:
        kinds[kind] = chance.sample(kinds[kind], -(-len(kinds[kind]) // of))
    return [case for kind in kinds.values() for case in kind]


SOME = sample(OF)
REST = pytest.mark.slow(reason="a sixth of the cases of its kind is sent in the usual run")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with serving(tmp_path_factory.mktemp("hostile"), FOOTNOTE_MAX_UPLOAD_MB="2") as running:
        yield running


@dataclass(frozen=True)
class Answer:
    """The first final answer on a connection; without one the connection was ended, as `status` 0."""

    status: int = 0
    headers: str = ""
    body: bytes = b""

    def sentence(self) -> str:
        """Return the sentence of a refusal in one of the three forms, and check the form."""
        told = json.loads(self.body)
        if "application/problem+json" in self.headers:
            assert told["status"] == self.status and told["title"], told
            return str(told["detail"])
        assert "application/json" in self.headers, self.headers
        return str(told["error"]["message"])


def sent(server: ServedProcess, case: Case) -> Answer:
    with connected(server) as connection:
        with suppress(ConnectionError):  # refused before all of it was sent
            connection.sendall(case.sent.replace(KEY, server.keys["ann"].encode()))
        if case.half:
            connection.shutdown(socket.SHUT_WR)
        return answer(connection, bodiless=case.is_head)


def answer(connection: socket.socket, *, bodiless: bool = False) -> Answer:
    """Read an answer to its end, which comes within the bound."""
    deadline = time.monotonic() + BOUND
    got = b""
    while True:
        head, found, rest = got.partition(b"\r\n\r\n")
        if found and head.startswith(b"HTTP/1.1 100"):
            got = rest
            continue
        if found and _is_whole(head, rest, bodiless=bodiless):
            break
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            part = connection.recv(1 << 16)
        except ConnectionError:
            part = b""
        if not part:
            break
        got += part
    if not found:
        return Answer()
    length = _length(head)
    return Answer(int(head[9:12]), head.decode("latin-1").lower(), rest if length is None else rest[:length])


def _length(head: bytes) -> int | None:
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return None if length is None else int(length[1])


def _is_whole(head: bytes, rest: bytes, *, bodiless: bool) -> bool:
    if bodiless or head[9:12] in (b"204", b"304"):
        return True
    length = _length(head)
    return rest.endswith(b"0\r\n\r\n") if length is None else len(rest) >= length


@contextmanager
def connected(server: ServedProcess) -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=BOUND) as connection:
        yield connection


def answers(server: ServedProcess) -> bool:
    return sent(server, Case("", request("GET", "/api/collections"))).status == 200


def is_in_words(case: Case, got: Answer) -> bool:
    """Return True for an answer that a client can go on with; a refusal is a sentence."""
    if got.status == 0:
        return case.closes
    if got.status < 400 or case.is_head:
        return 200 <= got.status < 500
    sentence = got.sentence()
    return got.status < 500 and len(sentence) > 15 and "Traceback" not in sentence


def test_the_table_is_large_and_names_each_once():
    assert len(CASES) >= 400
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case in SOME else REST) for case in CASES]
)
def test_a_hostile_request_is_answered_in_words(server: ServedProcess, case: Case):
    got = sent(server, case)
    assert is_in_words(case, got), got
    assert MARK.encode() not in got.body and b"whale oil" not in got.body


def test_what_was_sent_failed_nowhere_and_is_not_in_the_log(server: ServedProcess):
    assert answers(server)
    log = server.log.read_text()
    assert "A request failed" not in log and "Traceback" not in log, log
    assert not any(word in log for word in ("passwd", "evil.example", "DROP TABLE", server.keys["ann"][21:]))


@pytest.mark.parametrize("path", ["/api/ask", "/api/search", "/v1/chat/completions", "/api/webhooks"])
def test_odd_texts_in_every_field_are_answered(server: ServedProcess, path: str):
    odd = [
        "",
        "\x00",
        "\ud800",
        "‮abc",
        "a" * 9000,
        "../../etc/passwd",
        "'; DROP TABLE users; --",
        "${jndi:x}",
    ]
    with server.client() as client:
        for text in odd:
            fields = {"question": text, "query": text, "name": text, "url": text, "events": [text]}
            fields |= {"messages": [{"role": "user", "content": text}], "model": text}
            response = client.post(path, content=json.dumps(fields), headers=JSON)
            assert 200 <= response.status_code < 500, (text, response.text)


def test_nothing_is_read_without_a_key(server: ServedProcess):
    with connected(server) as connection:
        connection.sendall(
            b"POST /api/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        )
        assert answer(connection).status == 401


def test_an_upgraded_post_is_answered_as_any_other_or_told_what_to_leave_out(server: ServedProcess):
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    without = sent(
        server, Case("", raw(upgrade + b"Content-Length: 0", first=b"POST /api/sources/1/sync HTTP/1.1"))
    )
    assert (without.status, "conn" in without.headers) == (404, False)
    body = upgrade + b"Content-Type: application/json\r\nContent-Length: %d" % len(QUERY)
    refused = sent(server, Case("", raw(body, QUERY, b"POST /api/search HTTP/1.1")))
    assert (refused.status, "“Upgrade”" in refused.sentence()) == (400, True)


@pytest.mark.parametrize(
    "broken", [b"\x00\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 400_000], ids=["no line", "no end"]
)
def test_requests_before_one_that_breaks_the_protocol_are_answered(server: ServedProcess, broken: bytes):
    good = request("POST", "/api/search", JSON, QUERY)
    with connected(server) as connection:
        connection.sendall((good * 3).replace(KEY, server.keys["ann"].encode()))
        with suppress(ConnectionError):  # ended before all of it was sent
            connection.sendall(broken)
        got = b""
        with suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                got += part
    assert got.count(b"4.1 million") == got.count(b"HTTP/1.1 200") == 3


@dataclass(frozen=True)
class Slow:
    """A client that sends a beginning, then a part each second; it is answered, or ended, by `seconds`."""

    name: str
    begins: bytes
    part: bytes
    seconds: float
    status: int


def _slow() -> list[Slow]:
    body = b"Content-Length: 100000\r\nContent-Type: application/json"
    chunked = b"Transfer-Encoding: chunked\r\nContent-Type: application/json"
    tools, upload = b"POST /mcp HTTP/1.1", b"POST /api/documents?name=a.md HTTP/1.1"
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    refused = request("POST", "/api/ask", {"content-length": "100000"}, key=False)
    return [
        Slow("nothing", b"", b"", HEAD_SECONDS, 0),
        Slow("empty lines", b"", b"\r\n", HEAD_SECONDS, 0),
        Slow("half a line", b"GET /api/coll", b"", HEAD_SECONDS, 408),
        Slow("a head, letter by letter", b"GET /api/collections HTTP/1.1\r\nX: ", b"a", HEAD_SECONDS, 408),
        Slow("a head, header by header", b"GET /v1/models HTTP/1.1\r\n", b"X: a\r\n", HEAD_SECONDS, 408),
        Slow("a head of an upgrade", b"GET /api/ask HTTP/1.1\r\n" + upgrade, b"X: a\r\n", HEAD_SECONDS, 408),
        Slow("no body", raw(body), b"", IDLE_SECONDS, 408),
        Slow("a body, letter by letter", raw(body), b"a", JSON_SECONDS, 408),
        Slow("a body in chunks", raw(chunked), b"1\r\na\r\n", JSON_SECONDS, 408),
        Slow("the size of a chunk", raw(chunked), b"0", IDLE_SECONDS, 408),
        Slow("the trailers of chunks", raw(chunked, b"1\r\na\r\n0\r\n"), b"X: a\r\n", IDLE_SECONDS, 408),
        Slow("a body with an upgrade", raw(upgrade + body), b"a", HEAD_SECONDS, 400),
        Slow("no message to tools", raw(body, first=tools), b"", IDLE_SECONDS, 408),
        Slow("a message to tools", raw(body, first=tools), b"a", JSON_SECONDS, 408),
        Slow("no file", raw(body, first=upload), b"", IDLE_SECONDS, 408),
        Slow("a body that is refused already", refused, b"a", HEAD_SECONDS, 401),
        Slow(
            "a body that nothing reads", raw(body, first=b"POST /healthz HTTP/1.1"), b"a", HEAD_SECONDS, 405
        ),
    ]


def _drip(server: ServedProcess, slow: Slow) -> int:
    """Send slowly until the connection ends, which it must in time; return the status that came, or 0."""
    limit = time.monotonic() + slow.seconds + BOUND
    got = b""
    with connected(server) as connection:
        connection.sendall(slow.begins.replace(KEY, server.keys["ann"].encode()))
        connection.settimeout(1)
        while time.monotonic() < limit:
            with suppress(TimeoutError):
                try:
                    part = connection.recv(1 << 16)
                except ConnectionError:
                    part = b""
                if not part:
                    return int(got[9:12] or 0)
                got += part
                continue
            with suppress(ConnectionError):
                connection.sendall(slow.part)
    pytest.fail(f"{slow.name}: still open after {slow.seconds + BOUND} seconds, {got!r}")


def test_slow_clients_are_ended_in_time_and_nobody_waits_for_them(server: ServedProcess):
    slow = _slow()
    with ThreadPoolExecutor(len(slow)) as threads, ExitStack() as open_:
        ended = [threads.submit(_drip, server, one) for one in slow]
        idle = [open_.enter_context(connected(server)) for _ in range(100)]
        assert answers(server)
        assert [(one.name, end.result()) for one, end in zip(slow, ended, strict=True)] == [
            (one.name, one.status) for one in slow
        ]
        assert {connection.recv(1) for connection in idle} == {b""}
    assert answers(server)


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


def test_memory_stays_flat(server: ServedProcess):
    again = [case for case in SOME[::2] if not case.name.startswith("file: ")]
    before = server.memory()
    for case in again:
        sent(server, case)
    assert server.memory() - before < SLACK
    assert server.process.num_threads() < 150
    assert answers(server)


def test_others_are_answered_while_hostile_requests_come(server: ServedProcess):
    flood = [case for case in SOME if case.name.startswith(("upgrade: ", "form: "))]
    with ThreadPoolExecutor(4) as threads:
        for one in [threads.submit(sent, server, case) for case in flood]:
            assert answers(server)
            one.result()
