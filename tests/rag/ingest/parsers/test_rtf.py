"""RTF: code pages, Unicode, headings, tables, notes; without pictures, fields' codes and headers."""

from pathlib import Path

import pytest

from rag.ingest.parsers import load
from rag.ingest.parsers.rtf import rtf_text
from tests.rag.ingest.parsers.makers import SENTENCES


def coded(text: str, page: str) -> bytes:
    return b"".join(b"\\'%02x" % byte for byte in text.encode(page))


@pytest.mark.parametrize(
    ("language", "page", "charset"), [("ko", "cp949", 129), ("ja", "cp932", 128), ("en", "cp1252", 0)]
)
def test_text_is_read_in_its_code_page_or_that_of_its_font(
    tmp_path: Path, language: str, page: str, charset: int
) -> None:
    sentence = coded(SENTENCES[language], page)
    by_page = b"{\\rtf1\\ansi\\ansicpg%s " % page[2:].encode() + sentence + b"\\par}"
    fonts = b"{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset%d Batang;}}" % charset
    by_font = b"{\\rtf1\\ansi\\ansicpg1252" + fonts + b"\\f1 " + sentence + b"\\par}"
    (tmp_path / "x").write_bytes(by_page)
    document = load(tmp_path / "x", "a.doc")
    assert (document.text, document.media_type) == (SENTENCES[language], "application/rtf")
    assert rtf_text(by_font) == SENTENCES[language]


def test_unicode_letters_have_a_substitute_that_is_left_out() -> None:
    emoji = "".join(f"\\u{unit - 0x10000}?" for unit in (0xD83D, 0xDEA2))  # a surrogate pair
    assert rtf_text(rf"{{\rtf1 \uc1\u54637?\u44396?{{\uc2\u8364\'80\'80}} {emoji}!}}".encode()) == "항구€ 🚢!"


def test_headings_tables_notes_and_comments(tmp_path: Path) -> None:
    row = r"\trowd%s\cellx1\cellx2\intbl %s\cell %s\cell\row"
    source = (
        r"{\rtf1{\stylesheet{\s0 Normal;}{\s2 heading 2;}}{\info{\title Secret}}{\header Top}"
        r"\pard\s2 Trade\par\pard Rope{\footnote {\super\chftn} Of hemp.} and tar"
        r"{\*\atnauthor Ada}{\*\annotation Why?}.\par"
        r"{\listtext 1.\tab}First\line second.\par"
        + row % ("", "Ship", "Year")
        + row % ("", "Alma", "18\\par 90")
        + row % (r"\clvmrg", "", "1901")
        + r"\pard{\field{\*\fldinst HYPERLINK secret}{\fldrslt Ports}}{\pict\bin4 {{}} 0f0f}{\*\new gone}"
        + r"\par}"
    )
    (tmp_path / "x").write_text(source)
    document = load(tmp_path / "x", "a.rtf")
    assert document.headings == ((0, 2, "Trade"),)
    assert document.text == (
        "## Trade\n\nRope[1] and tar.\n\n[1] Of hemp.\n\nComment by Ada: Why?\n\n1. First\nsecond.\n\n"
        "| Ship | Year |\n| --- | --- |\n| Alma | 18 90 |\n| Alma | 1901 |\n\nPorts"
    )


@pytest.mark.parametrize("end", [b"}}}}}}", b"\\bin9999999999 x", b"\\'", b"\\", b"{\\footnote x", b"\\u"])
def test_a_broken_end_leaves_the_text_before_it(end: bytes) -> None:
    assert rtf_text(b"{\\rtf1 Rope\\par " + end).startswith("Rope")
