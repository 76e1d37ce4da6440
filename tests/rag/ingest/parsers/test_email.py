"""Messages: fields, body and the names of what is attached, in any encoding, however malformed."""

import base64
from email.message import EmailMessage
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import LoadedDocument, load
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES


def message(body: str = SENTENCES["en"], **fields: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"From": "Ada <ada@port.example>", "To": "bo@port.example", **fields}.items():
        made[name] = value
    made.set_content(body)
    return made


def read(path: Path, content: bytes | EmailMessage, name: str = "a.eml") -> LoadedDocument:
    path.joinpath("x").write_bytes(content if isinstance(content, bytes) else content.as_bytes())
    return load(path / "x", name)


def encoded(content: bytes, charset: str) -> bytes:
    """Return an encoded word of a header."""
    return b"=?%s?b?%s?=" % (charset.encode(), base64.b64encode(content))


def test_a_message_says_who_wrote_what_to_whom(tmp_path: Path) -> None:
    document = read(tmp_path, message(Subject="항구 1887", Date="Mon, 01 Jan 2024 10:00:00 +0900"))
    assert document.title == "항구 1887"
    assert document.headings == ((0, 1, "항구 1887"),)
    assert document.media_type == "message/rfc822"
    assert document.text == (
        "# 항구 1887\n\nFrom: Ada <ada@port.example>\nTo: bo@port.example\n"
        f"Date: Mon, 01 Jan 2024 10:00:00 +0900\n\n{SENTENCES['en']}"
    )


def test_what_is_attached_is_read_under_its_name_and_the_rest_is_named(tmp_path: Path) -> None:
    made = message(Subject="Plans")
    book = makers.docx(tmp_path / "book").read_bytes()
    made.add_attachment(book, maintype="application", subtype="msword", filename="계획.docx")
    made.add_attachment(b"\x1f\x8b\x08\0", maintype="application", subtype="gzip", filename="all.gz")
    made.add_attachment(b"0", maintype="application", subtype="pkcs7-signature", filename="smime.p7s")
    made.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="logo.png", cid="<1>")
    document = read(tmp_path, made)
    assert "\n\nAttached: 계획.docx, all.gz, smime.p7s, logo.png\n\n## 계획.docx\n\n# " in document.text
    assert [(level, heading) for _, level, heading in document.headings] == [
        (1, "Plans"),
        (2, "계획.docx"),
        (3, "Veldham"),
        (4, "Ships"),
    ]
    for start, _, heading in document.headings:
        assert document.text[start:].lstrip("# ").startswith(heading)
    assert document.note.startswith("all.gz is a gzip archive, which Footnote does not read.")
    assert "smime" not in document.note
    assert "logo" not in document.note


@pytest.mark.parametrize(
    ("plain", "kept"),
    [("The harbour opened last year.", "The harbour opened last"), ("See HTML.", "The big")],
)
def test_of_two_forms_the_plain_one_is_read_unless_it_says_much_less(
    tmp_path: Path, plain: str, kept: str
) -> None:
    made = message(plain)
    made.add_alternative("<p>The <b>big</b> harbour opened early in the last year.</p>", subtype="html")
    text = read(tmp_path, made).text
    assert kept in text
    assert text.count("harbour") == 1


def test_a_forwarded_message_stands_under_its_own_heading(tmp_path: Path) -> None:
    made = message("See below.", Subject="Fwd")
    made.add_attachment(message(SENTENCES["ko"], Subject="Inner"))
    document = read(tmp_path, made)
    assert [(level, heading) for _, level, heading in document.headings] == [(1, "Fwd"), (2, "Inner")]
    assert SENTENCES["ko"] in document.text


@pytest.mark.parametrize(
    ("language", "encoding"), [("ko", "cp949"), ("ja", "iso-2022-jp"), ("ja", "cp932"), ("ko", "utf-8")]
)
@pytest.mark.parametrize("named", [True, False])
def test_bodies_are_read_in_their_encoding(tmp_path: Path, language: str, encoding: str, named: bool) -> None:
    kind = f"text/plain; charset={encoding}" if named else "text/plain"
    head = f"From: a@b.example\nMIME-Version: 1.0\nContent-Type: {kind}\n\n"
    text = read(tmp_path, head.encode() + (SENTENCES[language] * 3).encode(encoding)).text
    assert text.endswith(SENTENCES[language])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_message_saved_as_utf16_is_read(tmp_path: Path, encoding: str) -> None:
    content = message(Subject="Port").as_string().encode(encoding)
    assert read(tmp_path, content).title == "Port"


@pytest.mark.parametrize(
    "content",
    [
        b"From: a@b.example\nDate: never\nSubject: =?utf-8?b?7ZWt6rWs?= =?nope?q?x?=\n\nThe harbour.",
        b"From: a@b.example\nSubject: \xed\x95\xad\xea\xb5\xac\n\nThe harbour.",
        b'From: a@b.example\nContent-Type: text/plain; charset="?"x; y\n\nThe harbour.',
        b"From: a@b.example\nContent-Type: multipart/mixed\n\nThe harbour.",
        b'From: a@b.example\nContent-Type: multipart/mixed; boundary="q"\n\n--q\n\nThe harbour.',
        b"From: a@b.example\nContent-Transfer-Encoding: base64\n\nVGhlIGhhcmJvdXIu%%%",
        b"Received: x\n  by y\nMIME-Version: 1.0\nDate\n\nThe harbour.",
    ],
)
def test_malformed_messages_are_read_as_far_as_they_go(tmp_path: Path, content: bytes) -> None:
    assert "The harbour." in read(tmp_path, content).text


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("항구의 계약서 초안, 항구의 계약서".encode("cp949"), "항구의 계약서 초안, 항구의 계약서"),
        ("港の契約書の案、港の契約書の案".encode("cp932"), "港の契約書の案、港の契約書の案"),
        (encoded("똠방각하의 계약".encode("cp949"), "euc-kr"), "똠방각하의 계약"),
        (encoded("①の契約書".encode("cp932"), "shift_jis"), "①の契約書"),
        (encoded("항구의 계약서".encode(), "euc-kr"), "항구의 계약서"),
    ],
    ids=["bytes of cp949", "bytes of cp932", "cp949 as euc-kr", "cp932 as shift_jis", "utf-8 as euc-kr"],
)
def test_a_subject_is_read_whatever_its_encoding_is_called(
    tmp_path: Path, subject: bytes, title: str
) -> None:
    assert read(tmp_path, b"From: a@b.example\nSubject: " + subject + b"\n\nThe harbour.").title == title


def test_an_encrypted_message_is_refused_with_its_reason(tmp_path: Path) -> None:
    content = b'From: a@b.example\nContent-Type: multipart/encrypted; boundary="q"\n\n--q\n\nx\n--q--\n'
    with pytest.raises(DocumentRefused, match=r"a\.eml is an encrypted message\. Decrypt it"):
        read(tmp_path, content)


def test_messages_in_messages_without_end_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="nested too deeply"):
        read(tmp_path, b"From: a@b.example\nContent-Type: message/rfc822\n\n" * 3000 + b"The harbour.")


def test_a_message_is_known_by_its_header_whatever_its_name(tmp_path: Path) -> None:
    assert read(tmp_path, message(Subject="Port", Date="today"), "port.txt").media_type == "message/rfc822"
    assert read(tmp_path, b"Title: A\nDate: B\n\nThe harbour.", "a.txt").media_type == "text/plain"


def test_a_saved_web_archive_is_read_as_its_page(tmp_path: Path) -> None:
    content = (
        b"From: <Saved by a browser>\nMIME-Version: 1.0\nSubject: Port\n"
        b'Content-Type: multipart/related; boundary="q"\n\n--q\nContent-Type: text/html\n\n'
        b"<html><h1>Veldham</h1><script>evil()</script><p>The harbour.</p></html>\n--q--\n"
    )
    document = read(tmp_path, content, "a.mhtml")
    assert "# Veldham\n\nThe harbour." in document.text
    assert "evil" not in document.text
