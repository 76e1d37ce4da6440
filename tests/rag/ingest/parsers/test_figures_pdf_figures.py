"""Figures of PDFs are cut out beside the captions that a quote lies in or names."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.parsers.figures import PdfFigure, cited_figures, pdf_figure
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import FONTS

PROSE = "The trade in tar and rope fell in each year that the harbour was closed."


def picture(colour: str) -> ImageReader:
    return ImageReader(Image.new("RGB", (90, 60), colour))


def drawn(path: Path, *pages: Callable[[Canvas], None]) -> Path:
    canvas = Canvas(str(path), pagesize=(400, 500))
    for draw in pages:
        canvas.setFont("Helvetica", 10)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return path


def prose(canvas: Canvas, top: float) -> None:
    for line in range(3):
        canvas.drawString(30, top - 12 * line, PROSE)


def images(canvas: Canvas) -> None:
    canvas.drawImage(picture("grey"), 10, 480, 30, 15)  # the page's logo
    canvas.line(10, 476, 390, 476)
    prose(canvas, 450)
    canvas.drawImage(picture("red"), 100, 300, 150, 100)
    canvas.drawString(100, 285, "Figure 1. Tar by year")
    canvas.drawImage(picture("blue"), 100, 160, 150, 100)
    canvas.drawString(100, 145, "Fig. 2: Rope by year")
    prose(canvas, 110)


def chart(canvas: Canvas) -> None:
    prose(canvas, 450)
    canvas.setFont(FONTS["ko"], 10)
    canvas.drawString(100, 390, "그림 3. 항구별 매출")
    canvas.setFont("Helvetica", 8)
    for bar, colour in enumerate(("green", "orange", "green")):
        canvas.setFillColor(colour)
        canvas.rect(120 + 40 * bar, 250, 30, 40 + 20 * bar, fill=1, stroke=0)
    canvas.setFillColor("black")
    canvas.line(110, 250, 250, 250)
    canvas.drawString(122, 238, "North")
    canvas.setFont("Helvetica", 10)
    prose(canvas, 200)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return drawn(tmp_path / "a", images, chart)


def found(path: Path, words: str) -> list[PdfFigure]:
    document = load(path, "a.pdf")
    start = document.text.index(words)
    return cited_figures(document.text, document.pages, start, start + len(words))


def colours(png: bytes | None) -> set[tuple[int, ...]]:
    assert png
    image = Image.open(io.BytesIO(png))
    return {colour for count, colour in image.getcolors(1 << 20) if count > 500}


def test_picture_beside_a_cited_caption_is_cut_out(report: Path) -> None:
    for caption, colour in (("Figure 1. Tar by year", (255, 0, 0)), ("Fig. 2: Rope by year", (0, 0, 255))):
        (figure,) = found(report, caption)
        assert figure == PdfFigure(1, caption)
        assert colours(pdf_figure(report, figure)) == {colour, (255, 255, 255)}


def test_chart_drawn_under_its_caption_is_cut_out_with_its_labels(report: Path) -> None:
    (figure,) = found(report, "그림 3. 항구별 매출")
    png = pdf_figure(report, figure)
    assert colours(png) >= {(0, 128, 0), (255, 165, 0)}
    width, height = Image.open(io.BytesIO(png or b"")).size
    assert 140 < width / 2.5 < 170
    assert 80 < height / 2.5 < 115


def test_words_that_name_a_figure_find_it_on_another_page(tmp_path: Path) -> None:
    def mention(canvas: Canvas) -> None:
        canvas.drawString(30, 400, "Rope fell, too, as Figure 2 shows.")

    path = drawn(tmp_path / "a", mention, images)
    (figure,) = found(path, "Rope fell, too, as Figure 2 shows.")
    assert figure == PdfFigure(2, "Fig. 2: Rope by year")


@pytest.mark.parametrize(
    ("text", "captions"),
    [
        ("図1 タールの量\n\n図1に示す。", ["図1 タールの量"]),
        ("그림 2는 매출이다.\n\n그림 2. 매출", ["그림 2. 매출"]),
        ("Figure 3-5 shows rope.\n\nFigure 3-5 Rope", ["Figure 3-5 Rope"]),
        ("Figure 1. Tar . . . . . . . 7\n\nNo more.", []),
        ("Figures are given in tons; figure skating is not.", []),
    ],
)
def test_captions_are_told_from_sentences_and_lists_of_figures(text: str, captions: list[str]) -> None:
    figures = cited_figures(text, [(1, 0, len(text))], 0, len(text))
    assert [figure.caption for figure in figures] == captions


@pytest.mark.parametrize("kind", ["nothing", "rule", "ground", "scan"])
def test_what_is_no_figure_is_not_shown(tmp_path: Path, kind: str) -> None:
    def page(canvas: Canvas) -> None:
        if kind == "scan":
            canvas.drawImage(picture("yellow"), 0, 0, 400, 500)
        prose(canvas, 450)
        if kind == "rule":
            canvas.line(30, 330, 370, 330)
        if kind == "ground":
            canvas.setFillColor("orange")
            canvas.rect(25, 295, 300, 16, fill=1, stroke=0)
            canvas.setFillColor("black")
        canvas.drawString(30, 300, "Figure 1. Tar by year")
        prose(canvas, 270)

    path = drawn(tmp_path / "a", page)
    assert pdf_figure(path, PdfFigure(1, "Figure 1. Tar by year")) is None


def test_figure_of_a_turned_page_is_cut_out(tmp_path: Path) -> None:
    def sideways(canvas: Canvas) -> None:
        canvas.translate(400, 0)
        canvas.rotate(90)
        canvas.drawImage(picture("red"), 100, 200, 150, 100)
        canvas.drawString(100, 185, "Figure 1. Tar by year")

    path = drawn(tmp_path / "a", sideways)
    makers.turn(path, 90)
    png = pdf_figure(path, PdfFigure(1, "Figure 1. Tar by year"))
    assert colours(png) == {(255, 0, 0), (255, 255, 255)}


def test_page_that_is_gone_is_refused(report: Path) -> None:
    with pytest.raises(DocumentRefused, match="has no page 9"):
        pdf_figure(report, PdfFigure(9, "Figure 1. Tar by year"))


def test_page_of_many_shapes_is_read_in_time(tmp_path: Path) -> None:
    def crowded(canvas: Canvas) -> None:
        for number in range(30_000):
            canvas.rect(50 + number % 200, 200 + number // 200, 2, 2)
        canvas.drawString(50, 180, "Figure 1. Sand")

    assert pdf_figure(drawn(tmp_path / "a", crowded), PdfFigure(1, "Figure 1. Sand"))
