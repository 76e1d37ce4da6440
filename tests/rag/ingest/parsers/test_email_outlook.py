"""Outlook messages: fields, the best form of the body, and messages within them."""

import struct
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.parsers.email import inflate_rtf
from tests.rag.ingest.parsers.makers import SENTENCES
from tests.rag.ingest.parsers.ole_makers import below, msg, properties

BODY, HTML, RTF = 0x1000, 0x1013, 0x1009
FIELDS = "From: Ada <ada@port.example>\nTo: Bo <bo@port.example>\nDate: Mon, 01 Jan 2024 10:00:00 +0000"


def test_a_message_says_who_wrote_what_to_whom(tmp_path: Path) -> None:
    document = load(msg(tmp_path / "x", {BODY: SENTENCES["ko"]}), "a.msg")
    assert document.text == f"# 항구 1887\n\n{FIELDS}\n\n{SENTENCES['ko']}"
    assert (document.title, document.media_type) == ("항구 1887", "application/vnd.ms-outlook")


def packed(rtf: bytes) -> bytes:
    """Return a body as Outlook packs it: its start from the dictionary, all other bytes as they are."""
    start = b"{\\rtf1\\ansi\\"
    tokens = [struct.pack(">H", len(start) - 2), *(bytes([byte]) for byte in rtf.removeprefix(start))]
    groups = (b"".join(tokens[at : at + 8]) for at in range(0, len(tokens), 8))
    content = b"".join(bytes([number == 0]) + group for number, group in enumerate(groups))
    return struct.pack("<III", len(content) + 12, len(rtf), 0x75465A4C) + bytes(4) + content


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({BODY: "See HTML.", HTML: b"<p>The <b>big</b> harbour opened early in the year.</p>"}, "The big"),
        ({HTML: '<meta charset="euc-kr"><p>항구'.encode("cp949")}, "항구"),
        ({RTF: packed(b"{\\rtf1\\ansi\\ansicpg949 \\'c7\\'d7\\'b1\\'b8 1887\\par}")}, "항구 1887"),
    ],
)
def test_the_fullest_form_of_the_body_is_read(
    tmp_path: Path, body: dict[int, str | bytes], text: str
) -> None:
    assert load(msg(tmp_path / "x", body), "a.msg").text.partition("+0000\n\n")[2].startswith(text)


def test_packed_text_may_break_off_anywhere() -> None:
    content = packed(b"{\\rtf1\\ansi\\ansicpg949 \\'c7\\'d7\\'b1\\'b8 1887\\par}")
    assert all(inflate_rtf(content).startswith(inflate_rtf(content[:end])) for end in range(len(content)))


def test_a_message_within_stands_under_its_own_heading(tmp_path: Path) -> None:
    inner = properties({0x0037: "Inner", BODY: SENTENCES["en"]}, {}, 24)
    folder = "__attach_version1.0_#00000000/__substg1.0_3701000D"
    document = load(msg(tmp_path / "x", {BODY: "See below."}, **below(folder, inner)), "a.msg")
    assert document.text.endswith(f"See below.\n\n## Inner\n\n{SENTENCES['en']}")


def test_an_encrypted_message_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"a\.msg is an encrypted message\. Decrypt it"):
        load(msg(tmp_path / "x", {0x001A: "IPM.Note.SMIME"}), "a.msg")
