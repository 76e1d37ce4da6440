"""Web pages as a source, from a real local server."""

import io
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from pydantic import ValidationError
from reportlab.pdfgen import canvas

from rag.connectors.base import Checkpoint, Deferred, Gone, Item, Listed, Unreadable
from rag.connectors.http import Fetcher
from rag.connectors.web import WebSettings, WebSource
from rag.errors import Cancelled, ItemFailed, SourceError
from rag.ingest.parsers import load, sandbox
from tests.once import run_in_child
from tests.rag.connectors.site import Page, Site
from tests.rag.connectors.web_pages import PARAGRAPHS, TITLES, page

HTML = {"Content-Type": "text/html; charset=utf-8"}
WORDS = Page(b"words", {"Content-Type": "text/plain"})


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def source(site: Site, *paths: str) -> WebSource:
    settings = WebSettings(urls=[site.url + path for path in paths])
    return WebSource(settings, Fetcher(private=["127.0.0.1"]))


def listed(source: WebSource, cursor: str | None = None) -> tuple[list[Listed], str]:
    *found, mark = source.list(cursor)
    assert isinstance(mark, Checkpoint)
    assert mark.whole
    return found, mark.cursor


def pdf(text: str) -> bytes:
    made = io.BytesIO()
    drawing = canvas.Canvas(made)
    drawing.drawString(72, 700, text)
    drawing.save()
    return made.getvalue()


def word(text: str) -> bytes:
    made, document = io.BytesIO(), docx.Document()
    document.add_paragraph(text)
    document.save(made)
    return made.getvalue()


@pytest.mark.parametrize("language", ["en", "ko", "ja"])
def test_a_page_becomes_markdown_named_by_its_title(
    site: Site, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sandbox, "run_into", run_in_child)  # as pages are read outside of tests
    site.pages["/ferry"] = Page(page(language).encode(), HTML)
    web = source(site, "/ferry")
    [item], _ = listed(web)
    assert isinstance(item, Item)
    assert (item.id, item.name, item.url) == (f"{site.url}/ferry", f"{TITLES[language]}.md", item.id)
    kept = tmp_path / "kept"
    kept.write_bytes(b"".join(web.fetch(item)))
    assert len(site.requests) == 1  # what was listed is not fetched again
    document = load(kept, item.name)
    assert document.title == TITLES[language]
    assert PARAGRAPHS[language][1] in document.text
    assert [level for _, level, _ in document.headings] == [1, 2, 2]


@pytest.mark.parametrize(
    ("headers", "encoding"),
    [
        ({"Content-Type": "text/html; charset=euc-kr"}, "euc-kr"),
        ({"Content-Type": "text/html"}, "cp949"),
        ({}, "utf-16"),
    ],
)
def test_what_the_server_says_of_the_encoding_counts(site: Site, headers: dict[str, str], encoding: str):
    site.pages["/ferry"] = Page(page("ko").encode(encoding), headers)
    web = source(site, "/ferry")
    [item], _ = listed(web)
    assert item.name == f"{TITLES['ko']}.md"
    assert PARAGRAPHS["ko"][0] in b"".join(web.fetch(item)).decode()


@pytest.mark.parametrize(
    ("path", "headers", "body", "name"),
    [
        ("/a/report", {"Content-Type": "text/html"}, pdf("hello"), "report.pdf"),
        ("/a/report.pdf?v=1", {"Content-Type": "application/pdf"}, pdf("hello"), "report.pdf"),
        ("/a/%EB%B3%B4%EA%B3%A0", {}, word("hello"), "보고.docx"),
        (
            "/get?id=7",
            {"Content-Disposition": 'attachment; filename="../up/Q3.docx"'},
            word("x"),
            "up Q3.docx",
        ),
        ("/get", {"Content-Disposition": "attachment; filename*=UTF-8''%EB%B3%B4.pdf"}, pdf("x"), "보.pdf"),
        ("/notes.md", {"Content-Type": "text/plain"}, b"# Notes", "notes.md"),
        ("/robots", {"Content-Type": "text/plain"}, b"User-agent: *", "robots.txt"),
        ("/", {"Content-Type": "text/plain"}, b"words", "127.0.0.1"),
    ],
)
def test_a_file_is_kept_as_it_is(site: Site, path: str, headers: dict[str, str], body: bytes, name: str):
    site.pages[path] = Page(body, headers)
    web = source(site, path)
    [item], _ = listed(web)
    assert isinstance(item, Item)
    assert item.name == name
    assert b"".join(web.fetch(item)) == body


def test_a_page_that_has_not_changed_is_not_sent_again(site: Site):
    site.pages["/a"] = [
        Page(b"words", {"ETag": '"1"', "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"}),
        Page(status=304),
    ]
    web = source(site, "/a")
    before, cursor = listed(web)
    after, cursor = listed(web, cursor)
    assert after == before
    assert listed(web, cursor)[0] == before
    assert site.requests[1].headers["if-none-match"] == '"1"'
    assert site.requests[1].headers["if-modified-since"] == "Sun, 01 Nov 2026 00:00:00 GMT"


def test_what_changes_around_the_content_is_no_new_version(site: Site):
    site.pages["/a"] = [
        Page(page("en", nonce="1").encode(), HTML),
        Page(page("en", nonce="2").encode(), HTML),
        Page(page("en", nonce="2").replace("seven", "eight").encode(), HTML),
    ]
    web = source(site, "/a")
    [first], cursor = listed(web)
    [second], cursor = listed(web, cursor)
    [third], _ = listed(web, cursor)
    assert first == second
    assert third.version != second.version


def test_a_known_page_can_be_fetched_without_having_been_read(site: Site):
    read = Page(b"words", {"ETag": '"1"'})
    site.pages["/a"] = [read, Page(status=304), read]
    web = source(site, "/a")
    _, cursor = listed(web)
    web = source(site, "/a")
    [item], _ = listed(web, cursor)
    assert b"".join(web.fetch(item)) == b"words"


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_goes_is_gone_and_one_that_never_was_is_said(site: Site, status: int):
    site.pages["/a"] = [WORDS, Page(status=status)]
    web = source(site, "/a")
    _, cursor = listed(web)
    [gone], cursor = listed(web, cursor)
    assert gone == Gone(f"{site.url}/a")
    [never], _ = listed(web, cursor)
    assert isinstance(never, Unreadable)
    assert "127.0.0.1" in never.reason


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Page(status=500), "answered with status 500"),
        (Page(status=401), "does not accept the credentials"),
        (Page(b"Rar!\x1a\x07\x01\0", HTML), "is a RAR archive"),
        (
            Page(b"<html><body><div id=app></div><script>run()</script></body></html>", HTML),
            "without its scripts",
        ),
        (Page(status=302, headers={"Location": "http://10.0.0.1/"}), "private network"),
        (Page(headers={"Content-Length": "60000000"}), "more than 50 MB"),
        (Page(b"?", {"Content-Encoding": "br"}), "was not asked for"),
    ],
)
def test_a_page_that_cannot_be_had_does_not_stop_the_others(site: Site, answer: Page, told: str):
    site.pages["/a"], site.pages["/b"] = answer, WORDS
    web = source(site, "/a", "/b")
    [failed, item], _ = listed(web)
    assert isinstance(failed, Unreadable)
    assert told in failed.reason
    assert isinstance(item, Item)


def test_a_page_that_fails_for_a_day_is_known_when_it_comes_back(site: Site):
    site.pages["/a"] = [WORDS, Page(status=500), WORDS]
    web = source(site, "/a")
    before, cursor = listed(web)
    failed, cursor = listed(web, cursor)
    assert isinstance(failed[0], Unreadable)
    assert listed(web, cursor)[0] == before


@pytest.mark.parametrize(
    ("answer", "lasting"),
    [
        (Page(status=404), True),
        (Page(status=403), True),
        (Page(headers={"Content-Length": "60000000"}), True),
        (Page(status=408), False),
        (Page(status=500), False),
        (Page(b"<html></html>", HTML), False),
    ],
)
def test_it_is_told_whether_a_failure_lasts(site: Site, answer: Page, lasting: bool):
    site.pages["/a"] = answer
    [failed], _ = listed(source(site, "/a"))
    assert isinstance(failed, Unreadable)
    assert failed.lasting is lasting


def test_a_page_that_rests_is_not_asked_for_and_stays_known(site: Site):
    site.pages["/a"], site.pages["/b"] = Page(b"words", {"ETag": '"1"'}), WORDS
    web = source(site, "/a", "/b")
    _, cursor = listed(web)
    site.requests.clear()
    web.defer({f"{site.url}/a"})
    found, cursor = listed(web, cursor)
    assert found[0] == Deferred(f"{site.url}/a")
    assert [asked.path for asked in site.requests] == ["/b"]
    web.defer(())
    site.pages["/a"] = Page(status=304)
    assert isinstance(listed(web, cursor)[0][0], Item)


def test_a_fetch_that_fails_concerns_one_item(site: Site):
    web = source(site, "/a")
    with pytest.raises(ItemFailed, match="has nothing under this address"):
        list(web.fetch(Item(f"{site.url}/a", "a", "1")))


def test_the_test_says_what_was_reached(site: Site):
    site.pages["/a"] = Page(page("ko").encode(), HTML)
    assert source(site, "/a").test() == f"{site.url}/a is '섬으로 가는 배.md'."
    assert source(site, "/a", "/b").test().endswith("There is 1 other.")
    with pytest.raises(SourceError, match="has nothing under this address"):
        source(site, "/b").test()


def test_a_listing_can_be_cancelled(site: Site):
    site.pages["/a"] = WORDS
    web = source(site, "/a", "/b")
    assert list(web.list(cancelled=lambda: True)) == []
    with pytest.raises(Cancelled):
        list(web.list(cancelled=iter([False, True]).__next__))
    assert site.requests == []


@pytest.mark.parametrize(
    ("urls", "told"),
    [
        ([], "write at least one address"),
        (["  "], "write at least one address"),
        (["example.org"], "does not begin with https://"),
        (["https://example.org", "file:///etc/passwd"], "does not begin with https://"),
        (["https://ann:secret@example.org"], "holds a user or password"),
        (["https://exa mple.org"], "is not a URL"),
    ],
)
def test_addresses_that_make_no_sense_are_refused_in_words(urls: list[str], told: str):
    with pytest.raises(ValidationError, match=told):
        WebSettings(urls=urls)


def test_an_address_given_twice_is_one():
    assert WebSettings(urls=[" https://a.example/x ", "https://a.example/x", ""]).urls == (
        "https://a.example/x",
    )


def test_every_setting_has_a_title_and_a_word_of_explanation():
    for name, field in WebSettings.model_fields.items():
        assert field.title, name
        assert field.description, name
