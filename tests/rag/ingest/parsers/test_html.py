"""The main content of web pages, in the encodings they come in."""

import pytest

from rag.ingest.parsers.html import decode_page, read_web_page
from tests.rag.connectors.web_pages import AROUND, PARAGRAPHS, TITLES, page

LANGUAGES = ["en", "ko", "ja"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_article_is_kept_with_its_form_and_nothing_around_it(language: str):
    text, title = read_web_page(page(language, nonce="5a17").encode())
    assert title == TITLES[language]
    assert text.startswith(f"# {title}\n")
    for paragraph in PARAGRAPHS[language]:
        assert paragraph in text
    _, second, third = PARAGRAPHS[language]
    assert f"\n## {second[:9]}" in text
    assert f"\n## {third[:9]}" in text
    assert "| Monday | 7 |\n| Monday | 19 |" in text
    assert "`ferry --today`" in text
    assert "```\nleave = 7\narrive = 9\n```" in text
    assert f"- {second}\n- {third}" in text
    for around in (*AROUND[language], "5a17", "written by", "color: red"):
        assert around not in text


@pytest.mark.parametrize(
    ("language", "encoding", "named", "declared"),
    [
        ("ko", "euc-kr", "euc-kr", ""),
        ("ko", "cp949", "", "euc-kr"),
        ("ko", "cp949", "", ""),
        ("ko", "utf-16", "", ""),
        ("ko", "utf-8", "utf-8", "euc-kr"),
        ("ko", "utf-8-sig", "euc-kr", "euc-kr"),
        ("ja", "shift_jis", "shift_jis", ""),
        ("ja", "cp932", "", "shift_jis"),
        ("ja", "euc-jp", "", "euc-jp"),
        ("ja", "iso-2022-jp", "iso-2022-jp", ""),
        ("ja", "shift_jis", "no-such-encoding", "shift_jis"),
        ("ja", "utf-8", "us-ascii", "utf-8"),
    ],
)
def test_every_encoding_is_read(language: str, encoding: str, named: str, declared: str):
    text, title = read_web_page(page(language, charset=declared).encode(encoding), named)
    assert title == TITLES[language]
    assert all(paragraph in text for paragraph in PARAGRAPHS[language])


def test_a_byte_order_mark_goes_before_what_the_server_says():
    assert decode_page("한글".encode("utf-8-sig"), "euc-kr") == "한글"


def test_a_short_page_is_read_without_its_menu():
    text, title = read_web_page(
        "<html><head><title>공지 | 회사</title></head><body><nav><a href=/>메뉴</a></nav>"
        "<div role=banner>회사</div><main><h1>공지</h1><p>내일은 쉽니다.</p></main></body></html>".encode()
    )
    assert (text, title) == ("# 공지\n\n내일은 쉽니다.", "공지")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title>Duck - Wikipedia</title><h1>Menu</h1><h1>Duck</h1>", "Duck"),
        ("<title>Duck - Wikipedia</title><h1>Birds</h1>", "Duck - Wikipedia"),
        ("<h1>Only a heading</h1>", "Only a heading"),
        ("<meta property='og:title' content='Shared'><title>Window</title>", "Shared"),
        ("<title>  A\n title </title>", "A title"),
        ("<p>None", ""),
    ],
)
def test_a_page_is_called_what_its_heading_and_title_agree_on(source: str, title: str):
    assert read_web_page(f"{source}<p>Some words.".encode())[1] == title


@pytest.mark.parametrize("source", [b"", b"<!-- nothing -->", b"<html></html>", b"<?xml version='1.0'?>"])
def test_a_page_of_nothing_is_nothing(source: bytes):
    text, _ = read_web_page(source)
    assert not any(character.isalnum() for character in text)


def test_markup_that_is_deep_broken_or_strange_is_read():
    assert "word" in read_web_page(b"<div>" * 3000 + b"word")[0]
    assert "word" in read_web_page(b"<table><tr><td>word<p></table></div><li>")[0]
    assert "word" in read_web_page(b"<?xml version='1.0' encoding='utf-16'?><html><body>word")[0]


FIGURE = "<figure><pre><code>leave = 7</code></pre><figcaption>Listing 1: Leaving.</figcaption></figure>"
LINKS = "<ul><li><a href=/1>First ferry</a></li><li><a href=/2>Second ferry</a></li></ul>"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_stands_within_the_article_is_of_it(language: str):
    source = page(language).replace("<h2>", FIGURE + LINKS + "<h2>", 1)
    text, _ = read_web_page(source.encode())
    assert "leave = 7" in text
    assert "Listing 1: Leaving." in text
    assert "- First ferry\n- Second ferry" in text


@pytest.mark.parametrize("named", ['class="related"', 'id="share-bar"', 'class="box social_links"'])
def test_what_calls_itself_an_addition_is_not_of_it(named: str):
    source = page("en").replace("<h2>", f"<div {named}>{LINKS}</div><h2>", 1)
    assert "First ferry" not in read_web_page(source.encode())[0]


def test_a_page_says_itself_where_its_content_is():
    """Hardly anything of a table of links is found to be content; that it stands in `main` tells."""
    rows = "".join(f"<tr><td><a href=/{n}>Ferry {n}</a></td></tr>" for n in range(200))
    source = (
        "<body><div id=help><p>Press any key that you like to be shown what the keys do.</p></div>"
        f"<main><h1>Timetable</h1><p>These are the ferries that leave.</p><table>{rows}</table></main>"
    )
    text, _ = read_web_page(source.encode())
    assert text.startswith("# Timetable\n\nThese are the ferries that leave.")
    assert "| Ferry 199 |" in text
    assert "Press any key" not in text
