"""Scans and photographs become text where Tesseract is installed; where not, it is said what to install."""

import io
import os
import shutil
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image, ImageDraw, ImageFont

from rag.errors import Cancelled, DocumentRefused
from rag.ingest.library import Library
from rag.ingest.parsers import LoadedDocument, load, load_steps
from rag.models.embeddings import Embedder
from storage.database import Database
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES, Placed

FONT = "NotoSansCJK-Regular.ttc"
with_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None,
    reason="tesseract is not installed: apt-get install tesseract-ocr-kor tesseract-ocr-jpn fonts-noto-cjk",
)
TABLE = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"


def picture(*languages: str, turn: int = 0) -> Image.Image:
    """Draw some sentences as a page of a scan."""
    page = Image.new("L", (1600, 500), 255)
    font = ImageFont.truetype(FONT, 40)
    for row, language in enumerate(languages * 2):
        ImageDraw.Draw(page).text((80, 80 + 80 * row), SENTENCES[language], 0, font)
    return page.rotate(turn, expand=True)


def scan(path: Path, *pages: Image.Image) -> Path:
    pages[0].save(path, "PDF", save_all=True, append_images=pages[1:])
    return path


def program(path: Path, *, text: str, certainty: int = 90) -> str:
    """Write a stand-in with Tesseract's command line; each of its pages is one word long."""
    path.write_text(
        "#!/bin/sh\n"
        "case \"$*\" in *--list-langs*) printf 'List:\\neng\\nkor\\nosd\\n'; exit;; esac\n"
        "cat >/dev/null\n"
        "case \"$*\" in *--psm\\ 0*) printf 'Rotate: 0\\nScript: Korean\\n'; exit;; esac\n"
        f"printf '%s\\n' '{TABLE}'\n{text}\n"
        f"printf '5\\t1\\t1\\t1\\t1\\t1\\t0\\t0\\t9\\t9\\t{certainty}\\tword\\n'\n"
    )
    path.chmod(0o755)
    return str(path)


def drain(
    path: Path, name: str, tesseract: str, **more: object
) -> tuple[list[tuple[int, int]], LoadedDocument]:
    steps, told = load_steps(path, name, tesseract=tesseract, **more), []
    while True:
        try:
            told.append(next(steps))
        except StopIteration as end:
            return told, end.value


@with_tesseract
@pytest.mark.parametrize("language", ["en", "ko", "ja"])
def test_a_scan_is_read_in_its_language(tmp_path: Path, language: str) -> None:
    text = load(scan(tmp_path / "a.pdf", picture(language)), "a.pdf").text
    for part in {"en": ("harbour", "1887"), "ko": ("항구는", "1887년"), "ja": ("に開き、", "1887")}[language]:
        assert part in text


@with_tesseract
def test_a_scan_upside_down_is_turned(tmp_path: Path) -> None:
    path = scan(tmp_path / "a.pdf", picture("en", turn=180))
    assert "The harbour" in load(path, "a.pdf").text


@with_tesseract
def test_only_the_pages_that_are_pictures_are_recognised(tmp_path: Path) -> None:
    makers.pdf(
        tmp_path / "t.pdf",
        [[Placed("Trade in tar", 40, 460, size=18), Placed("Typed and longer than that.", 40, 400)]],
    )
    scan(tmp_path / "s.pdf", picture("en"))
    with pypdfium2.PdfDocument.new() as both:
        for name in ("s.pdf", "t.pdf", "s.pdf"):
            with pypdfium2.PdfDocument(tmp_path / name) as part:
                both.import_pages(part)
        both.save(str(tmp_path / "both.pdf"))
    document = load(tmp_path / "both.pdf", "both.pdf")
    pages = [document.text[start:end] for _, start, end in document.pages]
    assert ["harbour" in page for page in pages] == [True, False, True]
    assert pages[1] == "Trade in tar\n\nTyped and longer than that."
    assert [document.text[start : start + 5] for start, _, _ in document.headings] == ["Trade"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP"])
def test_an_image_is_known_by_its_content(tmp_path: Path, kind: str) -> None:
    Image.new("RGB", (90, 60), "white").save(tmp_path / "a", kind)
    tool = program(tmp_path / "tool", text="echo 'The harbour.'")
    document = drain(tmp_path / "a", "photo.jpeg", tool)[1]
    assert document.text == "The harbour."
    assert document.media_type == f"image/{kind.lower()}"


@with_tesseract
def test_a_drawing_without_words_is_refused(tmp_path: Path) -> None:
    drawing = Image.new("L", (160, 120), 255)
    ImageDraw.Draw(drawing).ellipse((20, 20, 140, 100), fill=90)
    drawing.save(tmp_path / "a", "PNG")
    with pytest.raises(DocumentRefused, match=r"a\.png is an image in which no text could be recognised\."):
        load(tmp_path / "a", "a.png")


@pytest.mark.parametrize(
    ("name", "said"), [("a.pdf", "looks scanned: its pages are pictures"), ("a.png", "is an image")]
)
def test_without_the_program_it_is_said_what_to_install(tmp_path: Path, name: str, said: str) -> None:
    page = picture("en")
    page.save(tmp_path / name) if name.endswith("png") else scan(tmp_path / name, page)
    with pytest.raises(DocumentRefused, match=said) as refused:
        drain(tmp_path / name, name, "no-such-program")
    assert "Install Tesseract" in str(refused.value)
    assert str(refused.value).endswith("add it again.")


def test_without_the_program_the_typed_pages_are_read(tmp_path: Path) -> None:
    page = picture("en")
    scan(tmp_path / "s.pdf", page)
    makers.pdf(tmp_path / "t.pdf", [[Placed("Typed.", 40, 400)]])
    with pypdfium2.PdfDocument.new() as both:
        for name in ("s.pdf", "t.pdf"):
            with pypdfium2.PdfDocument(tmp_path / name) as part:
                both.import_pages(part)
        both.save(str(tmp_path / "both.pdf"))
    document = drain(tmp_path / "both.pdf", "both.pdf", "no-such-program")[1]
    assert document.text.strip() == "Typed."
    assert document.note.startswith("The text of page 1 was not read, since it is in pictures.")


def test_pages_are_told_as_they_are_recognised_and_may_be_stopped(tmp_path: Path) -> None:
    page = Image.new("L", (900, 600), 255)
    page.save(tmp_path / "a", "TIFF", save_all=True, append_images=[page, page])
    tool = program(tmp_path / "tool", text="echo 'The harbour.'; echo; echo '항구 앞 に 開'")
    told, document = drain(tmp_path / "a", "a.tiff", tool)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert document.text == "\n\n".join(["The harbour.\n\n항구 앞 に開"] * 3)
    with pytest.raises(Cancelled, match=r"Reading a\.tiff was stopped"):
        drain(tmp_path / "a", "a.tiff", tool, cancelled=lambda: True)


def test_what_takes_too_long_is_left_and_said_and_the_rest_is_kept(
    tmp_path: Path, database: Database, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Image.new("L", (900, 600), 255)
    page.save(tmp_path / "a", "TIFF", save_all=True, append_images=[page] * 3)
    program(tmp_path / "tesseract", text="echo 'The harbour.'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    library = Library(database, "ann", lambda: embedder, recognition=1e-9)
    record, _ = library.add("a.tiff", (tmp_path / "a").read_bytes())
    for _ in library.index(record.id):
        pass
    read = library.documents.get(record.id)
    assert (read.state, read.reason) == ("ready", None)
    assert read.note is not None
    assert read.note.startswith("The text of pages 2 to 4 was not recognised: that takes longer than")
    assert "FOOTNOTE_OCR_MINUTES" in read.note
    assert library.documents.text(record.id).strip() == "The harbour."
    assert library.retriever("bm25", 5).invoke("harbour")
    library.close()


def test_pages_that_fail_among_others_are_said(tmp_path: Path) -> None:
    page = Image.new("L", (900, 600), 255)
    page.save(tmp_path / "a", "TIFF", save_all=True, append_images=[page])
    once = f"echo 'The harbour.'; [ -e {tmp_path}/done ] && exit 3; touch {tmp_path}/done"
    document = drain(tmp_path / "a", "a.tiff", program(tmp_path / "tool", text=once))[1]
    assert document.text.strip() == "The harbour."
    assert document.note == "The text of page 2 could not be recognised."


def test_an_ingest_tells_the_pages_as_they_are_recognised(
    tmp_path: Path, database: Database, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(database, "ann", lambda: embedder)
    page = Image.new("L", (900, 600), 255)
    page.save(tmp_path / "a", "TIFF", save_all=True, append_images=[page])
    program(tmp_path / "tesseract", text="echo 'The harbour.'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    record, _ = library.add("a.tiff", (tmp_path / "a").read_bytes())
    told = [(step.done, step.total) for step in library.read(record.id) if step.stage == "reading"]
    assert told == [(0, 1), (0, 2), (1, 2), (2, 2)]
    assert library.documents.get(record.id).state == "searchable_by_words"


def test_what_is_read_with_doubt_is_not_taken_for_text(tmp_path: Path) -> None:
    Image.new("L", (900, 600), 255).save(tmp_path / "a", "PNG")
    with pytest.raises(DocumentRefused, match="no text could be recognised"):
        drain(tmp_path / "a", "a.png", program(tmp_path / "tool", text="echo 'xQ#'", certainty=20))


def test_a_program_that_fails_is_its_files_result(tmp_path: Path) -> None:
    Image.new("L", (900, 600), 255).save(tmp_path / "a", "PNG")
    for text in ("exit 3", "kill -9 $$"):
        with pytest.raises(DocumentRefused, match=r"^Page 1 of a\.png "):
            drain(tmp_path / "a", "a.png", program(tmp_path / "tool", text=text))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "damaged"),
        (b"\xff\xd8\xff\xe0" + bytes(400), "damaged"),
        (b"II*\0\xff\xff\xff\xff", "damaged"),
    ],
)
def test_a_broken_image_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DocumentRefused, match=rf"a\.png is {said}"):
        drain(tmp_path / "a", "a.png", program(tmp_path / "tool", text="echo no"))


def test_an_image_cut_short_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    picture("en").save(file, "JPEG")
    (tmp_path / "a").write_bytes(file.getvalue()[: len(file.getvalue()) // 2])
    with pytest.raises(DocumentRefused, match=r"a\.jpg is damaged: its picture breaks off"):
        drain(tmp_path / "a", "a.jpg", program(tmp_path / "tool", text="echo no"))


def test_an_image_of_too_many_pixels_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    Image.new("1", (20_000, 20_000)).save(tmp_path / "a", "PNG")
    with pytest.raises(DocumentRefused, match="larger than 100 megapixels"):
        drain(tmp_path / "a", "a.png", program(tmp_path / "tool", text="echo no"))
