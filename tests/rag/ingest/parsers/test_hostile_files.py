"""Files that lie, break or attack end as text or as a sentence, in seconds, and harm nothing."""

import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.library import Library
from rag.ingest.parsers import load, sandbox
from rag.models.embeddings import Embedder
from rag.text.chunking import split
from storage.database import Database
from tests.rag.ingest.parsers import makers

BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def spoiled(make: Callable[[Path], Path], path: Path, member: str, change: Callable[[bytes], bytes]) -> Path:
    """Change one part of a container."""
    with zipfile.ZipFile(make(path)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return makers.zipped(path, {**members, member: change(members.get(member, b""))})


def with_prolog(prolog: str) -> Callable[[bytes], bytes]:
    return lambda content: re.sub(
        rb"(<\?xml[^>]*\?>\s*)?", lambda m: m[0] + prolog.encode(), content, count=1
    )


def write(content: bytes) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return make


def columns(count: int) -> Callable[[Path], Path]:
    """Write one row of so many numbers, which takes as long as a few tests: only where it is read."""
    return lambda path: write(b",".join(map(b"%d".__mod__, range(count))))(path)


def cut(make: Callable[[Path], Path], share: float) -> Callable[[Path], Path]:
    def make_cut(path: Path) -> Path:
        content = make(path).read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
        return path

    return make_cut


def locked_pdf(path: Path) -> Path:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), encrypt=StandardEncryption("secret"))
    canvas.drawString(50, 500, "Hidden.")
    canvas.save()
    return path


def picture_pdf(path: Path) -> Path:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(120, 120))
    canvas.rect(30, 30, 60, 60, fill=1)
    canvas.save()
    return path


def looping_pdf(path: Path) -> Path:
    """A page tree whose only child is itself."""
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[2 0 R]/Count 1/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )
    return path


def repeating_pdf(path: Path) -> Path:
    """A small PDF that names its one page 20,001 times."""
    kids = b"3 0 R " * 20_001
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[" + kids + b"]/Count 20001>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )
    return path


def book(path: Path) -> Path:
    return makers.book(path, "en", 2, 5)


REFUSED = {
    "nothing": (write(b""), "is empty"),
    "one byte": (write(b"\x00"), "no text"),
    "only spaces": (write(b" \n\t" * 1000), "holds no text"),
    "two million line ends": (write(b"\n" * 2_000_000), "holds no text"),
    "random bytes": (write(bytes(range(256)) * 500), "not text"),
    "locked PDF": (locked_pdf, "password"),
    "PDF without text": (picture_pdf, "text layer"),
    "PDF of a header": (write(b"%PDF-1.7\n"), "damaged"),
    "PDF of a header and noise": (write(b"%PDF-1.7\n" + bytes(range(256)) * 400), "damaged"),
    "PDF cut short": (cut(book, 0.9), "damaged"),
    "PDF of one page named often": (repeating_pdf, "20,001 pages, of 20,000 at most"),
    "PDF looping": (looping_pdf, "damaged|no text"),
    "docx cut in half": (cut(makers.docx, 0.5), "damaged"),
    "pptx cut": (cut(makers.pptx, 0.9), "damaged"),
    "xlsx cut": (cut(makers.xlsx, 0.3), "damaged"),
    "ZIP of nothing": (lambda path: makers.zipped(path, {}), "is empty"),
    "ZIP of a ZIP": (lambda path: makers.zipped(path, {"a.zip": b"PK\x03\x04"}), "nothing that can be read"),
    "docx of one part": (lambda path: makers.zipped(path, {"word/document.xml": b"<a/>"}), "damaged"),
    "docx that is no XML": (
        lambda path: spoiled(makers.docx, path, "word/document.xml", lambda _: b"<a><b></a>"),
        "damaged",
    ),
    "docx of a billion laughs": (
        lambda path: spoiled(makers.docx, path, "word/document.xml", with_prolog(BOMB)),
        "entities",
    ),
    "xlsx of a billion laughs": (
        lambda path: spoiled(makers.xlsx, path, "xl/sharedStrings.xml", with_prolog(BOMB)),
        "entities",
    ),
    "pptx that reads a file": (
        lambda path: spoiled(
            makers.pptx,
            path,
            "ppt/presentation.xml",
            with_prolog('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'),
        ),
        "entities",
    ),
    "epub of a billion laughs": (
        lambda path: spoiled(makers.epub, path, "book.opf", lambda content: BOMB.encode() + content),
        "entities",
    ),
    "epub without a spine": (
        lambda path: spoiled(makers.epub, path, "book.opf", lambda _: b"<a>"),
        "damaged",
    ),
    "docx bomb": (
        lambda path: spoiled(makers.docx, path, "word/media/a.xml", lambda _: b"\0" * (310 << 20)),
        "unpacks to more than",
    ),
    "docx of 25,000 parts": (
        lambda path: makers.zipped(
            path, {"word/document.xml": b"<a/>", **{f"{n}": b"" for n in range(25_000)}}
        ),
        "unpacks to more than",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_name_and_reason(tmp_path: Path, case: str) -> None:
    make, reason = REFUSED[case]
    with pytest.raises(DocumentRefused, match=reason) as refused:
        load(make(tmp_path / "0a1b"), "report.pdf")
    assert str(refused.value).startswith("report.pdf ")
    assert str(refused.value).endswith((".", "text."))
    assert "Traceback" not in str(refused.value)
    assert [file.name for file in tmp_path.iterdir()] == ["0a1b"]


READ = {
    "PDF after noise": (lambda path: write(b"\x00noise\n" + book(path).read_bytes())(path), "harbour"),
    "PDF that is HTML too": (
        lambda path: write(book(path).read_bytes() + b"<html><script>alert(1)</script></html>")(path),
        "harbour",
    ),
    "zero bytes in text": (write(b"The \x00harbour of " + b"Veldham. " * 40), "The harbour of"),
    "lone surrogates": (
        write("The harbour \ud800 of".encode("utf-8", "surrogatepass") + b" x" * 50),
        "harbour",
    ),
    "mixed encodings": (write("항구 harbour ".encode() * 20 + "항구".encode("cp949")), "harbour"),
    "two million letters": (write(b"x" * 2_000_000), "xxx"),
    "two million Korean letters": (write("가".encode() * 700_000), "가가가"),
    "a million columns": (columns(1_000_000), "| 0 | 1 | 2 |"),
    "many columns": (columns(300_000), "| 0 | 1 | 2 |"),
    "deep JSON": (write(b'{"a":' * 400_000 + b"1" + b"}" * 400_000), '{"a":'),
    "deep HTML": (write(b"<html><body>" + b"<div>" * 50_000 + b"deep" + b"</div>" * 50_000), "deep"),
    "deep lists": (write(b"<html><body>" + b"<ul><li>" * 20_000 + b"deep"), "deep"),
    "HTML of scripts": (
        write(b"<html><script>evil()</script><p onclick='evil()'>harbour</p></html>"),
        "harbour",
    ),
    "XML of a billion laughs": (
        write((f'<?xml version="1.0"?>{BOMB}<a>harbour &b;</a>').encode()),
        "harbour &b;",
    ),
    "brackets without end": (write(b"![[](" * 2000 + b"harbour"), "harbour"),
    "fences without end": (write(b"```\n~~~\n" * 20_000 + b"harbour"), "harbour"),
    "comments without end": (write(b"<!-- " * 2000 + b"harbour"), "harbour"),
    "bars": (write(b"|" * 200_000 + b"harbour"), "harbour"),
}
LARGEST = pytest.mark.slow(reason="many columns, but more")
NAMES = {
    "a million columns": "a.csv",
    "many columns": "a.csv",
    "brackets without end": "a.md",
    "fences without end": "a.md",
}
NAMES |= {"comments without end": "a.md", "bars": "a.md"}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=LARGEST) if case == "a million columns" else case for case in READ]
)
def test_read_as_text(tmp_path: Path, case: str) -> None:
    make, words = READ[case]
    began = time.monotonic()
    document = load(make(tmp_path / "0a1b"), NAMES.get(case, "a.txt"))
    pieces = split(document)
    assert words in document.text
    assert "evil" not in document.text
    assert not re.search("[\x00\ud800-\udfff]", document.text)
    assert pieces
    assert time.monotonic() - began < 30


def test_a_slow_parser_is_killed(tmp_path: Path) -> None:
    path = write(b"<html>" + b"<b>x" * 400_000)(tmp_path / "a")
    with pytest.raises(DocumentRefused, match="took longer than 1 seconds"):
        load(path, "a.html", timeout=1)
    assert not children()


def test_a_greedy_parser_is_killed(tmp_path: Path) -> None:
    path = write(b"<html>" + b"<b>x" * 400_000)(tmp_path / "a")
    with pytest.raises(DocumentRefused, match="needs more than 120 MB"):
        load(path, "a.html", memory=120 << 20)
    assert not children()


def test_the_next_good_file_works(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused):
        load(looping_pdf(tmp_path / "a"), "a.pdf")
    assert "harbour" in load(book(tmp_path / "b"), "b.pdf").text


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a" * 300, "a\0b\nc.pdf", "<img onerror=x>", "\u202efdp.exe"]
)
def test_names_are_only_text(tmp_path: Path, name: str) -> None:
    with pytest.raises(DocumentRefused) as refused:
        load(write(b"")(tmp_path / "a"), name)
    assert len(str(refused.value)) < 160
    assert str(refused.value).isprintable()


def test_a_parser_may_not_write_or_call(tmp_path: Path) -> None:
    code = (
        "import rag.ingest.parsers.worker as child, socket, pathlib\n"
        "child.confine(5, 1 << 30)\n"
        "try: socket.create_connection(('127.0.0.1', 9))\n"
        "except PermissionError: print('no calls')\n"
        f"try: pathlib.Path({str(tmp_path / 'x')!r}).write_text('x')\n"
        "except OSError: print('no files')\n"
        "try: __import__('subprocess').run(['true'])\n"
        "except PermissionError: print('no programs')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["no calls", "no files", "no programs"]


def dying(path: Path, how: str) -> str:
    """Write a program that ends in one way; it stands in a parser's place."""
    path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{how}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "made its reader crash"),
        ("os.abort()", "made its reader crash"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "made its reader crash"),
        ("os._exit(1)", "is damaged and cannot be read"),
        ("raise ValueError('x' * 100_000)", "is damaged and cannot be read"),
        ("held = [bytearray(1 << 20) for _ in range(4000)]", "needs more than 200 MB of memory"),
        ("sys.exit('xmlSAX2Characters: Memory allocation failed')", "needs more than 200 MB of memory"),
        ("time.sleep(60)", "took longer than 1 seconds"),
        ("while True: pass", "took longer than 1 seconds"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)", "took longer than 1"),
    ],
)
def test_however_a_parser_dies_it_is_its_files_result(tmp_path: Path, how: str, said: str) -> None:
    seconds = 1 if "took" in said else 30
    command = [dying(tmp_path / "parser", how)]
    with pytest.raises(DocumentRefused, match=rf"^report\.pdf .*{said}"):
        sandbox.run_program(command, b"", "report.pdf", timeout=seconds, memory=200 << 20)
    assert not children()
    assert load(book(tmp_path / "b"), "b.pdf").text


def test_an_ingest_goes_on_after_a_parser_died(
    tmp_path: Path, database: Database, embedder: Embedder
) -> None:
    library = Library(database, "ann", lambda: embedder)
    files = {"bad.pdf": b"%PDF-1.7\n" + bytes(range(256)) * 40, "good.txt": b"The harbour of Veldham."}
    records = [library.add(name, content)[0] for name, content in files.items()]
    for record in records:
        list(library.read(record.id))
    states = [library.documents.get(record.id) for record in records]
    assert [state.state for state in states] == ["refused", "searchable_by_words"]
    assert (states[0].reason or "").startswith("bad.pdf is damaged")


def test_a_parser_that_crashes_is_its_files_result(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"a\.pdf is damaged"):
        sandbox.run("no such task", tmp_path, "a.pdf", timeout=5, memory=1 << 30)


def children() -> list[str]:
    """Processes that we started and that still run."""
    found = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "rag.ingest.parsers.worker" in line]
