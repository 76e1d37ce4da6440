"""URLs that lead where nobody should be led: refused before a connection is made, whatever they look like.

A socket listens on every address of this machine; whoever connects to it anyway is seen.
"""

import ast
import gzip
import ipaddress
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import pytest

from rag.connectors.http import Fetcher, resolve_host
from rag.connectors.ssrf import Address, is_public, parse_allowed
from rag.errors import AddressRefused, ConnectionLost, ItemFailed, SourceError
from tests.rag.connectors.site import Page, Site

OPEN = "open.example"  # a host that is allowed to be private: ours
# What names resolve to that a person on the internet can buy for a private address.
NAMES = {
    OPEN: ["127.0.0.1"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "7f000001.nip.io": ["127.0.0.1"],
    "localtest.example": ["127.0.0.1"],
    "six.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "mixed.example": ["93.184.215.14", "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
}
# Each leads to this machine, or would.
LOOPBACK = [
    "http://127.0.0.1:{port}/",
    "https://127.0.0.1:{port}/",
    "http://127.0.0.2:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7f.0.0.1:{port}/",
    "http://0x7f.1:{port}/",
    "http://017700000001:{port}/",
    "http://0177.0.0.01:{port}/",
    "http://0177.0x0.1:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://１２７.０.０.１:{port}/",
    "http://127。0。0。1:{port}/",
    "http://①②⑦.0.0.①:{port}/",
    "http://[::1]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://ｌｏｃａｌｈｏｓｔ:{port}/",
    "http://127.0.0.1.nip.io:{port}/",
    "http://7f000001.nip.io:{port}/",
    "http://localtest.example:{port}/",
    "http://six.example:{port}/",
    "http://mapped.example:{port}/",
    "http://mixed.example:{port}/",
    "  http://127.0.0.1:{port}/  ",
    "HTTP://127.0.0.1:{port}/",
]
PRIVATE = [
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/latest/meta-data/",
    "http://metadata.example/computeMetadata/v1/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://[2001:db8::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:a00:1::1]/",
    "http://[2a00:1450::5efe:a00:1]/",
]
NOT_OURS = [
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "gopher://127.0.0.1:{port}/_GET",
    "ftp://127.0.0.1:{port}/",
    "dict://127.0.0.1:{port}/info",
    "ldap://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}!/",
    "data:text/html,hello",
    "javascript:alert(1)",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "http://user@127.0.0.1:{port}/",
    "http://user:password@127.0.0.1:{port}/",
    "http://example.org@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@example.org/",
    "http://example.org\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.org/",
    "http://example.org#@127.0.0.1:{port}/ HTTP/1.1\r\nHost: x",
    "http://127.0.0.1:{port}/\r\nX-Injected: yes",
    "http://127.0.0.1:{port}/a\tb",
    "http://127.0.0.1:{port}/\udc80",
    "http:\udc80127.0.0.1:{port}",
    "http://127.0.0.1\0.example.org:{port}/",
    "http://127.0.0.1 .example.org:{port}/",
    "http://127.0.0.1%2f.example.org:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://[::1%25\u202e]:{port}/",
    "http://[::1/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:-1/",
    "http://:{port}/",
    "http:///127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http://..:{port}/",
    "http://*:{port}/",
    "http://xn--:{port}/",
    "http://" + "a" * 300 + ".example:{port}/",
    "http://127.0.0.1:{port}/" + "a" * 9000,
    "",
]


ROOT = Path(__file__).parents[2]
# By what a source could go past the fetcher.
OTHER_WAYS = {
    *("aiohttp", "ftplib", "h11", "http", "httpcore", "httpcore2"),
    *("httpx", "httpx2", "requests", "socket", "urllib3"),
}


def test_every_source_goes_through_the_fetcher():
    for path in (ROOT / "rag" / "sources").glob("*.py"):
        imported: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module)
        ways = {name for name in imported if name.split(".")[0] in OTHER_WAYS or name == "urllib.request"}
        assert path.name == "http.py" or not ways, f"{path.name} imports {ways}"


def resolve(host: str, port: int) -> Sequence[Address]:
    """Resolve as DNS would for the names above, and numbers as this machine does."""
    return [ipaddress.ip_address(text) for text in NAMES[host]] if host in NAMES else resolve_host(host, port)


class Listener:
    """A socket on every address of this machine, which tells whether anyone connected."""

    def __init__(self) -> None:
        dual = socket.has_dualstack_ipv6()
        self._socket = socket.create_server(
            ("", 0), family=socket.AF_INET6 if dual else socket.AF_INET, dualstack_ipv6=dual
        )
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def was_connected_to(self) -> bool:
        try:
            self._socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def test_the_listener_sees_who_connects(listener: Listener):
    with socket.create_connection(("127.0.0.1", listener.port)):
        assert listener.was_connected_to()
    assert not listener.was_connected_to()


@pytest.mark.parametrize("url", LOOPBACK)
def test_this_machine_is_not_connected_to_however_it_is_spelt(listener: Listener, url: str):
    with pytest.raises(AddressRefused, match="private network"):
        Fetcher(resolve=resolve).get(url.format(port=listener.port))
    assert not listener.was_connected_to()


@pytest.mark.parametrize("url", PRIVATE)
def test_private_networks_are_not_connected_to(url: str):
    with pytest.raises(AddressRefused, match="private network"):
        Fetcher(resolve=resolve).get(url)


@pytest.mark.parametrize("url", NOT_OURS)
def test_what_is_not_a_plain_web_address_is_not_fetched(listener: Listener, url: str):
    with pytest.raises(SourceError) as caught:
        Fetcher(private=["127.0.0.0/8", "::1"], resolve=resolve).get(
            url.replace("{port}", str(listener.port))
        )
    assert not listener.was_connected_to()
    assert "password" not in str(caught.value).replace("a user or password", "")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("url", [LOOPBACK[0], LOOPBACK[5], LOOPBACK[18], LOOPBACK[21], LOOPBACK[30]])
def test_a_redirect_leads_nowhere_that_a_url_may_not(listener: Listener, site: Site, status: int, url: str):
    site.pages["/"] = Page(status=status, headers={"Location": url.format(port=listener.port)})
    with pytest.raises(AddressRefused):
        Fetcher(private=[OPEN], resolve=resolve).get(f"http://{OPEN}:{site.port}/")
    assert len(site.requests) == 1
    assert not listener.was_connected_to()


@pytest.mark.parametrize(
    "url", [*PRIVATE, "file:///etc/passwd", "gopher://127.0.0.1/", "http://a:b@127.0.0.1/"]
)
def test_a_redirect_to_another_network_or_scheme_is_not_followed(site: Site, url: str):
    site.pages["/"] = Page(status=302, headers={"Location": url})
    with pytest.raises(AddressRefused):
        Fetcher(private=[OPEN], resolve=resolve).get(f"http://{OPEN}:{site.port}/")


def test_a_name_that_resolves_to_something_else_the_next_time_gains_nothing(listener: Listener, site: Site):
    """DNS rebinding: what was checked is connected to, and each hop is resolved once."""
    answers = iter(["127.0.0.1", "127.0.0.9"])

    def rebinding(host: str, port: int) -> Sequence[Address]:
        return [ipaddress.ip_address(next(answers))]

    site.pages["/"] = Page(b"as checked")
    fetcher = Fetcher(private=["127.0.0.1"], resolve=rebinding)
    assert fetcher.get(f"http://rebinding.example:{site.port}/").body == b"as checked"
    with pytest.raises(AddressRefused):
        fetcher.get(f"http://rebinding.example:{listener.port}/")
    assert not listener.was_connected_to()


def test_a_name_that_may_be_private_may_not_be_the_secrets_of_a_cloud_machine():
    with pytest.raises(AddressRefused):
        Fetcher(private=["metadata.example"], resolve=resolve).get("http://metadata.example/")


@pytest.mark.parametrize("count", [11, 30])
def test_redirects_have_an_end(site: Site, count: int):
    for number in range(count):
        site.pages[f"/{number}"] = Page(status=302, headers={"Location": f"/{number + 1}"})
    with pytest.raises(SourceError, match="redirects again and again"):
        Fetcher(private=["127.0.0.1"]).get(site.url + "/0")
    assert len(site.requests) == 11


def test_a_redirect_to_itself_has_an_end(site: Site):
    site.pages["/"] = Page(status=302, headers={"Location": "/"})
    with pytest.raises(SourceError, match="redirects again and again"):
        Fetcher(private=["127.0.0.1"]).get(site.url)


def _endless(head: bytes, piece: bytes) -> Page:
    def send(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(head)
        try:
            while not closing.is_set():
                connection.sendall(piece)
        except OSError:
            return

    return Page(raw=send)


@cache
def _bomb(size: int) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(size // 1_000_000))
    return packed + packer.flush()


TOO_MUCH: dict[str, Callable[[], Page]] = {
    "10 GB announced": partial(_endless, b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", b""),
    "endless": partial(_endless, b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65_536),
    "endless in chunks": partial(
        _endless,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1000\r\n" + b"x" * 4096 + b"\r\n",
    ),
    "a bomb": lambda: Page(_bomb(100_000_000), {"Content-Encoding": "gzip"}),
    "a bomb of bombs": lambda: Page(gzip.compress(_bomb(100_000_000)), {"Content-Encoding": "gzip, gzip"}),
    "empty packages without end": partial(
        _endless, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzip.compress(b"") * 1000
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_body_is_read_to_its_cap_and_no_further(site: Site, name: str):
    site.pages["/"] = TOO_MUCH[name]()
    fetcher = Fetcher(private=["127.0.0.1"], max_bytes=1_000_000)
    with pytest.raises(ItemFailed, match=r"more than 1 MB|was not asked for"):
        fetcher.get(site.url)
    received = 0
    with pytest.raises(ItemFailed), fetcher.open(site.url) as response:
        for piece in response.pieces():
            received += len(piece)
    assert received <= 1_000_000


def _once(answer: bytes) -> Page:
    def send(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(answer)

    return Page(raw=send)


@pytest.mark.parametrize(
    "page",
    [
        _endless(b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"x" * 10_000 + b"\r\n"),
        _endless(b"HTTP/1.1 200 OK\r\nX-Header: ", b"x" * 10_000),
        _once(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        _once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFFFF\r\n"),
    ],
    ids=["headers without end", "a header without end", "a negative length", "a chunk without measure"],
)
def test_a_head_without_end_or_sense_is_left(site: Site, page: Page):
    site.pages["/"] = page
    with pytest.raises(ConnectionLost, match="broke off"):
        Fetcher(private=["127.0.0.1"]).get(site.url)


def _drip(head: bytes) -> Page:
    def send(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(head)
        try:
            while not closing.wait(0.05):
                connection.sendall(b"x")
        except OSError:
            return

    return Page(raw=send)


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Slow: ", b""],
    ids=["body", "header", "status line"],
)
def test_a_slow_drip_has_an_end(site: Site, head: bytes):
    site.pages["/"] = _drip(head)
    with pytest.raises(ConnectionLost, match=r"was not done after 0\.5 seconds"):
        Fetcher(private=["127.0.0.1"], longest=0.5).get(site.url)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("93.184.215.14", True),
        ("172.32.0.1", True),
        ("2606:4700:4700::1111", True),
        ("64:ff9b::808:808", True),
        ("2002:808:808::1", True),
        ("::ffff:8.8.8.8", True),
        ("192.88.99.1", False),
        ("::8.8.8.8", False),
        ("3fff::1", False),
        ("2001:2::1", False),
        ("100::1", False),
        ("::ffff:0:7f00:1", False),
    ],
)
def test_public_is_what_everyone_reaches(address: str, public: bool):
    assert is_public(ipaddress.ip_address(address)) is public


@pytest.mark.parametrize(
    ("private", "host", "address", "reached"),
    [
        ("wiki.corp", "wiki.corp", "10.1.2.3", True),
        ("WIKI.corp.", "wiki.corp", "fd00::7", True),
        ("wiki.corp", "other.corp", "10.1.2.3", False),
        ("wiki.corp", "sub.wiki.corp", "10.1.2.3", False),
        ("10.0.0.0/8", "any.example", "10.1.2.3", True),
        ("10.0.0.0/8", "any.example", "::ffff:10.1.2.3", True),
        ("10.0.0.0/8", "any.example", "11.0.0.1", True),
        ("10.0.0.0/8", "any.example", "192.168.0.1", False),
        ("10.0.0.0/8", "any.example", "64:ff9b::a00:1", False),
        ("127.0.0.1", "any.example", "127.0.0.2", False),
        ("[::1]", "any.example", "::1", True),
        ("169.254.169.254", "any.example", "169.254.169.254", True),
    ],
)
def test_what_is_named_as_private_is_reached_and_nothing_beside_it(
    private: str, host: str, address: str, reached: bool
):
    assert ((host, ipaddress.ip_address(address)) in parse_allowed([private])) is reached
