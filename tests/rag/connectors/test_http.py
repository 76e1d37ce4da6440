"""The fetcher against a real local server: what it brings, how it waits, and what it keeps to itself."""

import gc
import gzip
import ipaddress
import logging
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator, Sequence

import pytest
import trustme

from rag.connectors.http import Fetcher
from rag.connectors.ssrf import Address
from rag.errors import Cancelled, ConnectionLost, ItemFailed, RequestRejected, SourceError
from tests.rag.connectors.site import Page, Site

SECRET = "Bearer marked-secret"


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def fetcher() -> Fetcher:
    return Fetcher(private=["127.0.0.1"])


def stream(fetcher: Fetcher, url: str) -> Iterator[bytes]:
    with fetcher.open(url) as response:
        yield from response.pieces()


def test_an_answer_has_its_body_status_headers_and_final_url(site: Site, fetcher: Fetcher):
    site.pages["/b"] = Page("한국어".encode("euc-kr"), {"Content-Type": "text/html; charset=euc-kr"})
    site.pages["/a"] = Page(status=301, headers={"Location": "/b"})
    answer = fetcher.get(site.url + "/a")
    assert (answer.status, answer.url, answer.body.decode("euc-kr")) == (200, site.url + "/b", "한국어")
    assert answer.headers["content-type"] == "text/html; charset=euc-kr"


def test_an_error_status_is_an_answer_until_it_is_checked(site: Site, fetcher: Fetcher):
    answer = fetcher.get(site.url + "/nowhere")
    assert (answer.status, answer.body) == (404, b"nothing here")
    with pytest.raises(RequestRejected, match="has nothing under this address") as caught:
        answer.checked()
    assert caught.value.status == 404


def test_json_is_read_and_what_is_none_is_said(site: Site, fetcher: Fetcher):
    site.pages["/json"] = Page(b'{"results": [1]}')
    site.pages["/login"] = Page(b"<html>Log in")
    assert fetcher.get(site.url + "/json").json() == {"results": [1]}
    with pytest.raises(SourceError, match="did not answer with JSON"):
        fetcher.get(site.url + "/login").json()


def test_a_stream_comes_in_pieces(site: Site, fetcher: Fetcher):
    site.pages["/big"] = Page(b"x" * 300_000)
    pieces = list(stream(fetcher, site.url + "/big"))
    assert len(pieces) > 1
    assert b"".join(pieces) == b"x" * 300_000


def test_a_stream_that_is_left_closes_its_connection(site: Site, fetcher: Fetcher):
    hung_up = threading.Event()

    def endless(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while not closing.is_set():
                connection.sendall(b"x" * 65_536)
        except OSError:
            hung_up.set()

    site.pages["/endless"] = Page(raw=endless)
    left = stream(fetcher, site.url + "/endless")
    next(left)
    left.close()
    assert hung_up.wait(60)


def test_a_body_is_posted_and_a_redirect_of_it_not_followed(site: Site, fetcher: Fetcher):
    site.pages["/token"] = Page(b"{}")
    site.pages["/moved"] = Page(status=307, headers={"Location": "/token"})
    assert fetcher.post(site.url + "/token", body=b"grant=a+b%26c").status == 200
    assert (site.requests[0].method, site.requests[0].body) == ("POST", b"grant=a+b%26c")
    assert fetcher.post(site.url + "/moved", body=b"key=secret").status == 307
    assert [request.path for request in site.requests] == ["/token", "/moved"]


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"text" * 999, mtime=0)),
        ("GZIP", gzip.compress(b"text" * 500, mtime=0) + gzip.compress(b"text" * 499, mtime=0)),
        ("deflate", zlib.compress(b"text" * 999)),
        ("deflate", zlib.compressobj(wbits=-15).compress(b"") + zlib.compress(b"text" * 999)[2:-4]),
        ("identity", b"text" * 999),
    ],
)
def test_a_packed_body_is_unpacked(site: Site, fetcher: Fetcher, encoding: str, packed: bytes):
    site.pages["/a"] = Page(packed, {"Content-Encoding": encoding})
    assert fetcher.get(site.url + "/a").body == b"text" * 999


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(b"text" * 999, mtime=0)[:-20]),
        ("br", b"?"),
        ("gzip, gzip", b"?"),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_said(site: Site, fetcher: Fetcher, encoding: str, packed: bytes):
    site.pages["/a"] = Page(packed, {"Content-Encoding": encoding})
    with pytest.raises(ItemFailed, match="something compressed"):
        fetcher.get(site.url + "/a")


def test_credentials_stay_with_the_origin_they_were_given_for(site: Site, fetcher: Fetcher):
    with Site() as other:
        site.pages["/here"] = Page(status=302, headers={"Location": "/end"})
        site.pages["/there"] = Page(status=302, headers={"Location": other.url + "/back"})
        other.pages["/back"] = Page(status=302, headers={"Location": site.url + "/end"})
        given = {"Authorization": SECRET, "X-Api-Key": SECRET, "Cookie": SECRET, "Accept-Language": "ko"}
        fetcher.get(site.url + "/here", headers=given)
        assert site.requests[-1].headers["authorization"] == SECRET
        fetcher.get(site.url + "/there", headers=given)
        assert SECRET not in other.requests[-1].headers.values()
        assert other.requests[-1].headers["accept-language"] == "ko"
        assert SECRET not in site.requests[-1].headers.values()  # once gone, not given again


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("after", ["0", "Fri, 01 Jan 2021 00:00:00 GMT"])
def test_a_host_that_says_not_now_is_asked_again(site: Site, fetcher: Fetcher, status: int, after: str):
    later = Page(b"busy", {"Retry-After": after}, status=status)
    site.pages["/a"] = [later, later, Page(b"now")]
    assert fetcher.get(site.url + "/a").body == b"now"
    assert len(site.requests) == 3


def test_a_host_that_never_says_now_is_left_alone(site: Site, fetcher: Fetcher):
    site.pages["/a"] = Page(headers={"Retry-After": "0"}, status=429)
    with pytest.raises(RequestRejected, match="does not want to be asked now") as caught:
        fetcher.get(site.url + "/a")
    assert (caught.value.status, len(site.requests)) == (429, 4)


@pytest.mark.parametrize("after", ["3600", "999999999", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_host_that_asks_for_an_hour_is_not_waited_for(site: Site, fetcher: Fetcher, after: str):
    site.pages["/a"] = Page(headers={"Retry-After": after}, status=429)
    with pytest.raises(RequestRejected):
        fetcher.get(site.url + "/a")
    assert len(site.requests) == 1


def test_waiting_for_a_host_can_be_cancelled(site: Site, fetcher: Fetcher):
    site.pages["/a"] = Page(headers={"Retry-After": "50"}, status=429)
    with pytest.raises(Cancelled):
        fetcher.get(site.url + "/a", cancelled=lambda: bool(site.requests))


def silent(connection: socket.socket, closing: threading.Event) -> None:
    closing.wait()


def test_a_silent_host_can_be_cancelled(site: Site, fetcher: Fetcher):
    site.pages["/a"] = Page(raw=silent)
    with pytest.raises(Cancelled):
        fetcher.get(site.url + "/a", cancelled=lambda: bool(site.requests))


def test_a_resolver_that_hangs_can_be_cancelled():
    hanging, asked = threading.Event(), threading.Event()

    def hang(host: str, port: int) -> Sequence[Address]:
        asked.set()
        hanging.wait()
        return []

    with pytest.raises(Cancelled):
        Fetcher(resolve=hang).get("http://slow.example", cancelled=asked.is_set)
    hanging.set()


def test_a_silent_host_is_left_in_time(site: Site):
    site.pages["/a"] = Page(raw=silent)
    with pytest.raises(ConnectionLost, match=r"127\.0\.0\.1:\d+ sent nothing for 0\.5 seconds"):
        Fetcher(private=["127.0.0.1"], patience=0.5).get(site.url + "/a")


def test_a_connection_that_breaks_off_is_said(site: Site, fetcher: Fetcher):
    def half(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")

    def garbage(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    site.pages["/half"], site.pages["/garbage"] = Page(raw=half), Page(raw=garbage)
    for path in ("/half", "/garbage"):
        with pytest.raises(ConnectionLost, match="broke off"):
            fetcher.get(site.url + path)


def test_what_cannot_be_reached_is_named():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionLost, match=f"No server answers at 127.0.0.1:{port}"):
        Fetcher(private=["127.0.0.1"]).get(f"http://127.0.0.1:{port}/path?token=marked-secret")


def test_the_next_address_is_tried_where_one_does_not_answer(site: Site):
    def three(host: str, port: int) -> Sequence[Address]:
        return [
            ipaddress.ip_address("127.0.0.77"),  # refused
            ipaddress.ip_address("255.255.255.255"),  # not even tried by the system
            ipaddress.ip_address("127.0.0.1"),
        ]

    site.pages["/"] = Page(b"here")
    fetcher = Fetcher(private=["many.example", "255.255.255.255"], resolve=three)
    assert fetcher.get(f"http://many.example:{site.port}/").body == b"here"
    assert site.requests[0].headers["host"] == f"many.example:{site.port}"


def test_names_in_other_scripts_are_asked_for_as_dns_has_them(site: Site):
    asked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[Address]:
        asked.append(host)
        return [ipaddress.ip_address("127.0.0.1")]

    site.pages["/%EB%AC%B8%EC%84%9C?q=%EA%B0%80"] = Page("문서".encode())
    fetcher = Fetcher(private=["127.0.0.1"], resolve=resolve)
    assert fetcher.get(f"http://한국.example:{site.port}/문서?q=가#절").body.decode() == "문서"
    assert asked == ["xn--3e0b707e.example"]


def test_no_secret_is_in_an_error_a_log_or_a_representation(
    site: Site, fetcher: Fetcher, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    told = []
    for url, value in [
        (site.url + "/nowhere?token=marked-secret", "Bearer marked-secret"),
        (site.url + "/a", "Bearer marked-secret\r\nX-Injected: yes"),
        ("http://ann:marked-secret@127.0.0.1/", "x"),
        ("http://127.0.0.1:1/?token=marked-secret", "marked-secret"),
    ]:
        with pytest.raises(SourceError) as caught:
            fetcher.get(url, headers={"Authorization": value}).checked()
        told += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
    assert "marked-secret" not in "\n".join(told) + caplog.text
    assert len(site.requests) == 1


class TestCertificates:
    @pytest.fixture
    def authority(self) -> trustme.CA:
        return trustme.CA()

    @pytest.fixture
    def secure(self, authority: trustme.CA) -> Iterator[Site]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("wiki.example").configure_cert(context)
        with Site(tls=context) as site:
            site.pages["/"] = Page(b"secure")
            yield site

    @pytest.fixture
    def trusting(self, authority: trustme.CA) -> ssl.SSLContext:
        context = ssl.create_default_context()
        authority.configure_trust(context)
        return context

    def test_a_host_is_verified_by_its_name_at_the_checked_address(
        self, secure: Site, trusting: ssl.SSLContext
    ):
        fetcher = Fetcher(private=["wiki.example"], resolve=_here, tls=trusting)
        assert fetcher.get(f"https://wiki.example:{secure.port}/").body == b"secure"

    def test_a_certificate_for_another_name_is_refused(self, secure: Site, trusting: ssl.SSLContext):
        fetcher = Fetcher(private=["other.example"], resolve=_here, tls=trusting)
        with pytest.raises(SourceError, match=r"certificate of other.example.*not valid.*nothing was sent"):
            fetcher.get(f"https://other.example:{secure.port}/", headers={"Authorization": SECRET})
        assert secure.requests == []

    def test_a_certificate_that_nobody_vouches_for_is_refused(self, secure: Site):
        fetcher = Fetcher(private=["wiki.example"], resolve=_here)
        with pytest.raises(SourceError, match="certificate of wiki"):
            fetcher.get(f"https://wiki.example:{secure.port}/")
        assert secure.requests == []

    def test_a_server_without_tls_is_said(self, site: Site):
        with pytest.raises(ConnectionLost, match="No secure connection"):
            Fetcher(private=["wiki.example"], resolve=_here).get(f"https://wiki.example:{site.port}/")

    def test_credentials_are_not_sent_on_without_tls(
        self, secure: Site, site: Site, trusting: ssl.SSLContext
    ):
        secure.pages["/"] = Page(status=302, headers={"Location": f"http://wiki.example:{site.port}/"})
        fetcher = Fetcher(private=["wiki.example"], resolve=_here, tls=trusting)
        fetcher.get(f"https://wiki.example:{secure.port}/", headers={"Authorization": SECRET})
        assert "authorization" in secure.requests[0].headers
        assert "authorization" not in site.requests[0].headers


def _here(host: str, port: int) -> Sequence[Address]:
    return [ipaddress.ip_address("127.0.0.1")]


def test_proxies_of_the_environment_are_not_used(
    site: Site, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        site.pages["/"] = Page(b"direct")
        assert fetcher.get(site.url).body == b"direct"
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


class TestConnections:
    @pytest.fixture
    def open_site(self) -> Iterator[Site]:
        with Site(keeps_open=True) as site:
            site.pages["/a"] = Page(b"a" * 100_000)
            site.pages["/b"] = Page(gzip.compress(b"b"), {"Content-Encoding": "gzip"})
            yield site

    def test_one_serves_request_after_request(self, open_site: Site, fetcher: Fetcher):
        for path in ("/a", "/b", "/nowhere", "/a"):
            fetcher.get(open_site.url + path)
        assert len(b"".join(stream(fetcher, open_site.url + "/a"))) == 100_000
        assert (len(open_site.requests), open_site.connections) == (5, 1)

    def test_one_is_not_used_by_two_at_once(self, open_site: Site, fetcher: Fetcher):
        fetcher.get(open_site.url + "/b")
        first, second = stream(fetcher, open_site.url + "/a"), stream(fetcher, open_site.url + "/a")
        begun = next(first) + next(second)
        assert len(begun + b"".join(first) + b"".join(second)) == 200_000
        assert open_site.connections == 2
        for _ in range(3):
            fetcher.get(open_site.url + "/b")
        assert open_site.connections == 2

    def test_one_whose_answer_was_left_is_not_used_again(self, open_site: Site):
        fetcher = Fetcher(private=["127.0.0.1"], max_bytes=150_000)
        open_site.pages["/large"] = Page(b"a" * 200_000)
        with pytest.raises(ItemFailed):
            fetcher.get(open_site.url + "/large")
        left = stream(fetcher, open_site.url + "/a")
        next(left)
        left.close()
        assert fetcher.get(open_site.url + "/b").body == b"b"
        assert open_site.connections == 3

    def test_one_that_the_server_closes_is_not_used_again(self, open_site: Site, fetcher: Fetcher):
        def once(connection: socket.socket, closing: threading.Event) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonce")

        open_site.pages["/once"] = Page(raw=once)
        open_site.pages["/told"] = Page(b"told", {"Connection": "close"})
        for path in ("/once", "/once", "/told", "/b"):
            assert fetcher.get(open_site.url + path).status == 200
        assert (len(open_site.requests), open_site.connections) == (4, 4)

    def test_one_that_closes_as_it_is_asked_again_is_made_anew(self, open_site: Site, fetcher: Fetcher):
        hung_up = threading.Event()

        def late(connection: socket.socket, closing: threading.Event) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
            connection.recv(65_536)  # the next request
            hung_up.set()

        open_site.pages["/late"] = Page(raw=late)
        assert fetcher.get(open_site.url + "/late").body == b"late"
        assert fetcher.get(open_site.url + "/b").body == b"b"
        assert hung_up.is_set()
        assert open_site.connections == 2

    def test_what_is_posted_is_never_posted_twice(self, open_site: Site, fetcher: Fetcher):
        def hang_up(connection: socket.socket, closing: threading.Event) -> None:
            return

        open_site.pages["/token"] = Page(raw=hang_up)
        fetcher.get(open_site.url + "/b")
        with pytest.raises(ConnectionLost, match="broke off"):
            fetcher.post(open_site.url + "/token", body=b"grant=x")
        assert len(open_site.requests) == 2

    def test_all_are_closed_with_the_fetcher(self, open_site: Site):
        hung_up = threading.Event()

        def follow(connection: socket.socket, closing: threading.Event) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nopen")
            if not connection.recv(1):
                hung_up.set()

        open_site.pages["/open"] = Page(raw=follow)
        fetcher = Fetcher(private=["127.0.0.1"])
        fetcher.get(open_site.url + "/open")
        del fetcher
        gc.collect()
        assert hung_up.wait(60)
