"""Unreadable text layers of PDFs are noticed, recognised again where possible, and kept out of the index."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import ttfonts
from reportlab.pdfgen.canvas import Canvas

from rag.errors import DocumentRefused
from rag.ingest.parsers import LoadedDocument, load, load_steps, run_to_end
from rag.ingest.parsers.text_layer import GARBLED, is_better, unreadable_share
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES
from tests.rag.ingest.parsers.test_ocr import picture, with_tesseract

LINES = (
    "The harbour of Veldham opened in 1887 and closed in 1931.",
    "Its master kept a daily record of every ship that came and went,",
    "with the weight of the cargo and the names of the men on board.",
)
WAYS = {
    "glyph numbers": lambda code: code - 29,
    "private use": lambda code: 0xE000 + code,
    "control": lambda code: code % 26 + 1,
    "another alphabet": lambda code: 0x400 + 157 * code % 0x2000,
}


def wrongly_encoded(path: Path, wrong: Callable[[int], int], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a PDF of two pages that look alike; the letters of the second have wrong codes."""
    right = ttfonts.makeToUnicodeCMap
    monkeypatch.setattr(
        ttfonts,
        "makeToUnicodeCMap",
        lambda name, codes: right(name, [wrong(code) if code > 32 else code for code in codes]),
    )
    ttfonts.pdfmetrics.registerFont(ttfonts.TTFont("Wrong", "Vera.ttf"))
    canvas = Canvas(str(path), pagesize=(500, 300))
    for font in ("Helvetica", "Wrong"):
        canvas.setFont(font, 12)
        for row, line in enumerate(LINES * 3):
            canvas.drawString(40, 260 - 20 * row, line)
        canvas.showPage()
    canvas.save()
    return path


def without_tesseract(path: Path) -> LoadedDocument:
    return run_to_end(load_steps(path, "a.pdf", tesseract="no-such-program"))


@pytest.mark.parametrize("way", WAYS)
def test_a_wrongly_encoded_page_is_left_out_without_tesseract(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = without_tesseract(wrongly_encoded(tmp_path / "a.pdf", WAYS[way], monkeypatch))
    first, second = (document.text[start:end] for _, start, end in document.pages)
    assert "harbour of Veldham" in first
    assert second == ""
    assert document.note.startswith("The text layer of page 2 is unreadable, and was left out. Install Tess")


@with_tesseract
def test_a_wrongly_encoded_page_is_recognised_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = load(wrongly_encoded(tmp_path / "a.pdf", WAYS["glyph numbers"], monkeypatch), "a.pdf")
    assert document.text.count("with the weight of the cargo") == 6
    assert document.note == "The text layer of page 2 was unreadable, and was recognised again."


def test_a_file_of_unreadable_pages_only_is_refused(tmp_path: Path) -> None:
    shifted = ["".join(chr(ord(letter) - 29) if letter > " " else " " for letter in line) for line in LINES]
    page = [makers.Placed(line, 20, 400 - 20 * row, size=8) for row, line in enumerate(shifted * 2)]
    makers.pdf(tmp_path / "a.pdf", [page])
    with pytest.raises(DocumentRefused, match=r"has a text layer that is unreadable.*Install Tesseract"):
        without_tesseract(tmp_path / "a.pdf")


def hidden_layer(path: Path, lines: list[str]) -> Path:
    canvas = Canvas(str(path), pagesize=(800, 450))
    canvas.drawImage(ImageReader(picture("en")), 0, 0, 800, 450)
    text = canvas.beginText(40, 400)
    text.setTextRenderMode(3)
    for line in lines:
        text.textLine(line)
    canvas.drawText(text)
    canvas.save()
    return path


POOR = "Tbe harbcur cf Vcldham cpencd iu 1887 aud clcscd iu 1931. Tlie nwner kcpt vvdl thc rcgistcr."


@with_tesseract
def test_a_poor_hidden_layer_is_recognised_again(tmp_path: Path) -> None:
    document = load(hidden_layer(tmp_path / "a.pdf", [POOR, *LINES] * 2), "a.pdf")
    assert "The harbour of Veldham opened" in document.text
    assert "was recognised again" in document.note


def test_a_poor_hidden_layer_is_better_than_nothing(tmp_path: Path) -> None:
    document = without_tesseract(hidden_layer(tmp_path / "a.pdf", [POOR, *LINES] * 2))
    assert "harbcur" in document.text
    assert document.note.startswith("The text layer of page 1 is full of errors. Install")


def test_a_good_hidden_layer_stays(tmp_path: Path) -> None:
    document = load(hidden_layer(tmp_path / "a.pdf", list(LINES) * 2), "a.pdf")
    assert document.text.startswith(LINES[0])
    assert document.note == ""


GOOD = {
    **SENTENCES,
    "de": "Größe und Höhe der Brücke über den Fluss stehen im Verzeichnis der öffentlichen Gebäude.",
    "pl": "Zażółć gęślą jaźń, napisał urzędnik w księdze portu, gdzie zapisywano wszystkie statki.",
    "ru": "Гавань Велдхэма открылась в 1887 году, и её закрыли в 1931 году.",
    "numbers": "Total net sales $ 81,797 $ 82,959 (1)% iPhone 39,669 40,665 Mac 6,840 7,382 iPad 5,791",
    "code": "def read(path): return [line.strip() for line in path.read_text().splitlines() if line]",
    "parts": "M8x40 DIN933 XJ-229B; PN 4711-AB; 3.5 mm TRS; AWG14, RJ45, USB-C; LM317T, BC547B; qty 20 ",
    "formula": "∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε, where α, β and γ are constants of the model Δx = λΔt",
}
BAD = {
    "utf-8 as latin-1": (SENTENCES["ko"] * 3).encode().decode("cp1252", "replace"),
    "euc-kr as latin-1": (SENTENCES["ko"] * 3).encode("euc-kr").decode("latin-1"),
    "hangul moved": "".join(
        chr(0xAC00 + (ord(letter) - 0xAC00 + 1777) % 11172) if letter > "가" else letter
        for letter in SENTENCES["ko"] * 4
    ),
    "cids": "".join(f"(cid:{ord(letter)})" for letter in LINES[0]),
}


@pytest.mark.parametrize("kind", GOOD)
def test_good_text_is_left_alone(kind: str) -> None:
    assert unreadable_share(GOOD[kind] * 3) < GARBLED / 2


@pytest.mark.parametrize("kind", BAD)
def test_bad_text_is_noticed(kind: str) -> None:
    assert unreadable_share(BAD[kind]) > GARBLED


def test_recognised_text_must_be_clearly_better() -> None:
    assert is_better(" ".join(LINES), 0.5)
    assert not is_better("", 0.5)
    assert not is_better("".join(chr(ord(letter) + 3) for letter in " ".join(LINES)), 0.7)
