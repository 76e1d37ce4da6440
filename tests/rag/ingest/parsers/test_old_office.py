"""Old Office files: LibreOffice where it is installed, and a sentence where it is missing or fails."""

import shutil
import time
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import LoadedDocument, load_steps, run_to_end
from rag.ingest.parsers.old_office import PROGRAM
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES
from tests.rag.ingest.parsers.ole_makers import ole

OFFICE = shutil.which(PROGRAM)
TWICE = pytest.mark.slow(reason="starts LibreOffice twice for each kind")


def doc(path: Path, header: bytes = bytes(12)) -> Path:
    return ole(path, {"WordDocument": header, "1Table": bytes(10)})


def read(path: Path, name: str, soffice: str, timeout: float = 60.0) -> LoadedDocument:
    return run_to_end(load_steps(path, name, soffice=soffice, timeout=timeout))


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_without_libreoffice_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"a\.doc .* Install LibreOffice .* or save it as \.docx\."):
        read(doc(tmp_path / "x"), "a.doc", "no-such-program")


@pytest.mark.parametrize(
    ("streams", "name"),
    [
        ({"WordDocument": bytes(11) + b"\1"}, "a.doc"),
        ({"Workbook": b"\x09\x08\2\0\0\0\x2f\0"}, "a.xls"),
        ({"PowerPoint Document": b"x", "Current User": bytes(12) + b"\xdf\xc4\xd1\xf3"}, "a.ppt"),
        ({"EncryptedPackage": b"x"}, "a.docx"),
    ],
)
def test_a_locked_file_is_refused_before_any_conversion(
    tmp_path: Path, streams: dict[str, bytes], name: str
) -> None:
    with pytest.raises(DocumentRefused, match="locked with a password"):
        read(ole(tmp_path / "x", streams), name, "no-such-program")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "is damaged"),
        ("exit 0", "is damaged: LibreOffice cannot open it"),
        ("kill -SEGV $$", "made its reader crash"),
        ("sleep 60 & sleep 60", "took longer than 2 seconds"),
    ],
)
def test_a_converter_that_fails_ends_in_a_sentence(tmp_path: Path, script: str, reason: str) -> None:
    converter, started = program(tmp_path / "soffice", script), time.monotonic()
    with pytest.raises(DocumentRefused, match=reason):
        read(doc(tmp_path / "x"), "a.doc", converter, timeout=2)
    assert time.monotonic() - started < 20


def test_what_the_converter_writes_is_read_and_its_folder_goes(tmp_path: Path) -> None:
    made = makers.docx(tmp_path / "made")
    script = f'echo "$HOME" >{tmp_path}/home; cp {made} "$HOME/document.docx"'
    document = read(doc(tmp_path / "x"), "a.doc", program(tmp_path / "soffice", script))
    assert (document.media_type, document.title) == ("application/msword", "Veldham")
    assert not Path((tmp_path / "home").read_text().strip()).exists()


@pytest.mark.skipif(OFFICE is None, reason="needs LibreOffice: apt-get install libreoffice-writer-nogui")
@pytest.mark.parametrize("form", ["doc", *(pytest.param(form, marks=TWICE) for form in ("xls", "ppt"))])
def test_libreoffice_converts_each_kind(tmp_path: Path, form: str) -> None:
    maker = {"doc": makers.docx, "xls": makers.xlsx, "ppt": makers.pptx}[form]
    old = tmp_path / f"a.{form}"
    assert OFFICE is not None
    convert(OFFICE, maker(tmp_path / f"a.{form}x"), form)
    document = read(old, old.name, OFFICE)
    wanted = {"doc": SENTENCES["ko"], "xls": "| Anchor | 12.5 | 25% |", "ppt": "Say it slowly."}[form]
    assert wanted in document.text
    assert old.read_bytes()[:4] == b"\xd0\xcf\x11\xe0"


def convert(office: str, path: Path, form: str) -> None:
    import subprocess

    profile = f"-env:UserInstallation=file://{path.parent}/profile"
    command = [office, profile, "--headless", "--convert-to", form, "--outdir", str(path.parent), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
