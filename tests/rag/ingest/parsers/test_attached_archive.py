"""ZIP archives: each document under its name; bombs, nested archives and locked ones."""

import struct
import tracemalloc
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from rag.errors import Cancelled, DocumentRefused
from rag.ingest.parsers import attached, load, load_steps, run_to_end, unpack
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES, zipped


def test_each_document_of_an_archive_stands_under_its_name(tmp_path: Path) -> None:
    members = {
        "reports/a.txt": SENTENCES["ko"].encode("cp949"),
        "reports/b.docx": makers.docx(tmp_path / "b").read_bytes(),
        "__MACOSX/reports/._a.txt": b"\0",
        ".DS_Store": b"\0",
        "tool.exe": b"MZ\0\0",
    }
    document = load(zipped(tmp_path / "x", members), "all.zip")
    assert document.text.startswith(f"# reports/a.txt\n\n{SENTENCES['ko']}\n\n# reports/b.docx\n\n# Veldham")
    assert [(level, name) for _, level, name in document.headings][:3] == [
        (1, "reports/a.txt"),
        (1, "reports/b.docx"),
        (2, "Veldham"),
    ]
    assert document.note.startswith("tool.exe is a program")
    assert document.media_type == "application/zip"


def test_names_are_read_in_the_encoding_of_korean_windows(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", {"AAAA.txt": b"Veldham"})
    path.write_bytes(path.read_bytes().replace(b"AAAA", "보고".encode("cp949")))
    assert load(path, "a.zip").text.startswith("# 보고.txt")


def nested(depth: int) -> EmailMessage:
    """Return a message in an attached file in an attached file."""
    made = EmailMessage()
    made["From"], made["Subject"] = "ada@port.example", f"Letter {depth}"
    made.set_content("Words.")
    if depth:
        inner = nested(depth - 1).as_bytes()
        made.add_attachment(inner, maintype="application", subtype="octet-stream", filename="in.eml")
    return made


def test_files_in_files_are_read_two_levels_deep(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(nested(4).as_bytes())
    document = load(tmp_path / "x", "a.eml")
    assert [word for word in ("Letter 4", "Letter 3", "Letter 2", "Letter 1") if word in document.text] == [
        "Letter 4",
        "Letter 3",
        "Letter 2",
    ]
    assert "What is attached was not read." in document.note


def test_an_archive_in_an_archive_is_refused(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner", {"a.txt": b"Veldham"}).read_bytes()
    path = zipped(tmp_path / "x", {"in.zip": inner, "b.txt": b"Rope."})
    document = load(path, "a.zip")
    assert (document.text, "in.zip is an archive within" in document.note) == ("# b.txt\n\nRope.", True)


def test_an_archive_of_nothing_readable_says_why(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"a\.zip holds nothing that can be read\. b\.gz is a gzip"):
        load(zipped(tmp_path / "x", {"b.gz": b"\x1f\x8b\x08\0"}), "a.zip")
    with pytest.raises(DocumentRefused, match=r"a\.zip is empty\."):
        load(zipped(tmp_path / "y", {}), "a.zip")


def test_files_that_fill_what_an_archive_may_unpack_to_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, "MAX_UNPACKED", 1 << 20)
    half = b"x" * (1 << 19)
    path = zipped(tmp_path / "x", {"a.txt": half, "b.txt": half})
    assert [len(content) for _, content in attached.read_zip(path).attached] == [1 << 19, 1 << 19]
    with pytest.raises(DocumentRefused, match="unpacks to more than 1 MB"):
        attached.read_zip(zipped(tmp_path / "y", {"a.txt": half, "b.txt": half + b"x"}))


def test_ten_damaged_files_of_an_archive_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w") as made:
        for name, text in (("a.txt", b"Rope."), *((f"b{n}.txt", b"Veldham") for n in range(12))):
            made.writestr(name, text)
    path.write_bytes(path.read_bytes().replace(b"Veldham", b"veldham"))  # their checksums are others now
    document = attached.read_zip(path)
    assert [name for name, _ in document.attached] == ["a.txt"]
    named = ", ".join(f"b{n}.txt" for n in range(10))
    assert str(document.note) == f"Damaged, and not unpacked: {named}."


def test_files_inside_are_in_memory_one_at_a_time(tmp_path: Path) -> None:
    members = {f"{letter}.txt": letter.encode() * (20 << 20) for letter in "abcd"}
    unpacked = unpack("all.zip", [zipped(tmp_path / "x", members).read_bytes()])
    assert unpacked is not None
    del members
    tracemalloc.start()
    try:
        found = [(name, content[:1], len(content)) for name, content in unpacked.attached]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [(f"all/{letter}.txt", letter.encode(), 20 << 20) for letter in "abcd"]
    assert most < 45 << 20  # the next one is read before the last is let go


def test_a_document_holds_no_more_text_than_the_largest_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, "MAX_TEXT", 100)
    members = {"a.txt": b"a" * 60, "b.txt": "가".encode() * 20, "c.txt": b"c"}
    document = load(zipped(tmp_path / "x", members), "all.zip")
    assert document.text == f"# a.txt\n\n{'a' * 60}"
    assert document.note == "b.txt was not reached. c.txt was not reached."


def locked(path: Path) -> None:
    zipped(path, {"a.txt": b"Veldham"})
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def lying(path: Path) -> None:
    zipped(path, {"a.txt": bytes(1 << 20)})
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.find(mark) + place, 7)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (locked, "locked with a password"),
        (lying, "no file in it can be unpacked"),
        (lambda path: zipped(path, {"a.txt": bytes(101 << 20)}), "unpacks to more than 100 MB"),
        (lambda path: zipped(path, {f"{n}.txt": b"" for n in range(1001)}), "more than 1,000 files"),
    ],
    ids=["locked", "lying", "bomb", "many"],
)
def test_a_hostile_archive_ends_in_a_sentence(tmp_path: Path, make, reason: str) -> None:
    make(tmp_path / "x")
    with pytest.raises(DocumentRefused, match=reason):
        load(tmp_path / "x", "a.zip")


def test_a_container_of_a_program_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="a container of another program"):
        load(zipped(tmp_path / "x", {"META-INF/MANIFEST.MF": b"", "a.txt": b"x"}), "a.jar")


def test_reading_an_archive_can_be_stopped(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", {"a.txt": b"Veldham"})
    with pytest.raises(Cancelled):
        run_to_end(load_steps(path, "a.zip", cancelled=lambda: True))


def test_a_locked_flag_is_that_of_a_real_archive(tmp_path: Path) -> None:
    locked(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as opened, pytest.raises(RuntimeError, match="encrypted"):
        opened.read("a.txt")
