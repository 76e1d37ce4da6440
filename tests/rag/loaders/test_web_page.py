"""The main content of web pages, in the encodings they come in."""

import pytest

from rag.loaders.web_page import decoded, read
from tests.rag.sources.web_pages import AROUND, PARAGRAPHS, TITLES, page

LANGUAGES = ["en", "ko", "ja"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_article_is_kept_with_its_form_and_nothing_around_it(language: str):
    text, title = read(page(language, nonce="5a17").encode())
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
    text, title = read(page(language, charset=declared).encode(encoding), named)
    assert title == TITLES[language]
    assert all(paragraph in text for paragraph in PARAGRAPHS[language])


def test_a_byte_order_mark_goes_before_what_the_server_says():
    assert decoded("한글".encode("utf-8-sig"), "euc-kr") == "한글"


def test_a_short_page_is_read_without_its_menu():
    text, title = read(
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
    assert read(f"{source}<p>Some words.".encode())[1] == title


@pytest.mark.parametrize("source", [b"", b"<!-- nothing -->", b"<html></html>", b"<?xml version='1.0'?>"])
def test_a_page_of_nothing_is_nothing(source: bytes):
    text, _ = read(source)
    assert not any(character.isalnum() for character in text)


def test_markup_that_is_deep_broken_or_strange_is_read():
    assert "word" in read(b"<div>" * 3000 + b"word")[0]
    assert "word" in read(b"<table><tr><td>word<p></table></div><li>")[0]
    assert "word" in read(b"<?xml version='1.0' encoding='utf-16'?><html><body>word")[0]
