"""Pictures of Word files and presentations leave a line of text, and can be shown from their original."""

import io
import zipfile
from pathlib import Path

import pytest
from docx import Document
from docx.shared import Inches
from PIL import Image
from pptx import Presentation

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.parsers.figures import figure_image, figures_at


def drawn(colour: str, size: tuple[int, int] = (90, 60)) -> io.BytesIO:
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    file.seek(0)
    return file


def colour_of(png: bytes) -> tuple[int, int, int]:
    return Image.open(io.BytesIO(png)).getpixel((5, 5))


def described(shape: object, text: str) -> None:
    next(shape._element.iter("{*}cNvPr")).set("descr", text)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    document = Document()
    document.add_paragraph("The trade in tar fell.")
    document.add_picture(drawn("red"), Inches(3))
    document.add_paragraph("그림 1. 타르 무역")
    document.add_picture(drawn("green"), Inches(3))
    document.add_paragraph("A paragraph between.")
    document.add_picture(drawn("blue"), Inches(3))._inline.docPr.set("descr", "A [blue] map of the port")
    document.add_picture(drawn("black"), Inches(0.2))._inline.docPr.set("descr", "Logo")
    document.add_picture(drawn("white"), Inches(3))._inline.docPr.set("descr", "A [blue] map of the port")
    document.save(str(tmp_path / "a.docx"))
    return tmp_path / "a.docx"


def test_a_figure_of_a_word_file_leaves_its_caption_or_description(report: Path) -> None:
    text = load(report, "a.docx").text
    assert [line for line in text.split("\n") if "Figure" in line] == [
        "[Figure: 그림 1. 타르 무역]",
        "[Figure: A (blue) map of the port]",
        "[Figure: A (blue) map of the port]",
    ]
    assert text.index("tar fell") < text.index("[Figure: 그림 1") < text.index("A paragraph between")


def test_a_cited_line_or_caption_finds_its_picture(report: Path) -> None:
    text = load(report, "a.docx").text
    caption = text.rindex("그림 1. 타르 무역")
    (red,) = figures_at(text, caption, caption + len("그림 1. 타르 무역"))
    assert colour_of(figure_image(report, *red)) == (255, 0, 0)
    start = text.index("[Figure: A (blue)")
    first, second = figures_at(text, start, len(text))
    assert colour_of(figure_image(report, *first)) == (0, 0, 255)
    assert colour_of(figure_image(report, *second)) == (255, 255, 255)
    between = text.index("A paragraph")
    assert figures_at(text, between, between + 11) == []


def test_captions_above_stay_with_the_figures_below_them(tmp_path: Path) -> None:
    document = Document()
    for number, colour in enumerate(("red", "green"), 1):
        document.add_paragraph(f"Figure {number}. Tar")
        document.add_picture(drawn(colour), Inches(3))
    document.save(str(tmp_path / "a.docx"))
    assert colour_of(figure_image(tmp_path / "a.docx", "[Figure: Figure 2. Tar]", 0)) == (0, 128, 0)


@pytest.fixture
def slides(tmp_path: Path) -> Path:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    described(slide.shapes.add_picture(drawn("red"), Inches(1), Inches(1), Inches(3)), "Tar by year")
    slide.shapes.add_textbox(Inches(1), Inches(4), Inches(3), Inches(1)).text_frame.text = "図1 タールの量"
    plain = show.slides.add_slide(show.slide_layouts[6])
    described(plain.shapes.add_picture(drawn("green"), Inches(1), Inches(1), Inches(3)), "")
    group = plain.shapes.add_group_shape()
    described(group.shapes.add_picture(drawn("blue"), Inches(1), Inches(1), Inches(3)), "The port")
    show.save(str(tmp_path / "a.pptx"))
    return tmp_path / "a.pptx"


def test_a_figure_of_a_slide_leaves_a_line_and_shows_its_picture(slides: Path) -> None:
    text = load(slides, "a.pptx").text
    figures = figures_at(text, 0, len(text))
    assert figures == [("[Figure: 図1 タールの量 – Tar by year]", 0), ("[Figure: The port]", 0)]
    assert [colour_of(figure_image(slides, *figure)) for figure in figures] == [(255, 0, 0), (0, 0, 255)]


def test_a_picture_that_browsers_do_not_show_safely_is_refused(tmp_path: Path, report: Path) -> None:
    with zipfile.ZipFile(report) as old, zipfile.ZipFile(tmp_path / "b.docx", "w") as new:
        for name in old.namelist():
            svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
            new.writestr(name, svg if name.startswith("word/media/") else old.read(name))
    line = "[Figure: A (blue) map of the port]"
    with pytest.raises(DocumentRefused, match="holds this picture in a form that is not shown"):
        figure_image(tmp_path / "b.docx", line, 0)
    with pytest.raises(DocumentRefused, match="holds no such figure"):
        figure_image(tmp_path / "b.docx", line, 7)


def test_a_picture_outside_the_file_is_not_fetched(slides: Path) -> None:
    show = Presentation(str(slides))
    for blip in show.slides[0].shapes._spTree.iter("{*}blip"):
        blip.set("{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed", "rId99")
    show.save(str(slides))
    with pytest.raises(DocumentRefused, match="does not hold this picture, only a link to it"):
        figure_image(slides, "[Figure: 図1 タールの量 – Tar by year]", 0)
    assert colour_of(figure_image(slides, "[Figure: The port]", 0)) == (0, 0, 255)


def test_the_name_of_a_file_describes_nothing(tmp_path: Path) -> None:
    document = Document()
    document.add_paragraph("Tar.")
    document.add_picture(drawn("red"), Inches(3))._inline.docPr.set("descr", "scan_0001 (2).png")
    document.save(str(tmp_path / "a.docx"))
    assert "Figure" not in load(tmp_path / "a.docx", "a.docx").text


def test_a_large_picture_is_made_smaller(tmp_path: Path) -> None:
    document = Document()
    document.add_picture(drawn("red", (4000, 100)), Inches(3))._inline.docPr.set("descr", "A wide map")
    document.save(str(tmp_path / "a.docx"))
    png = figure_image(tmp_path / "a.docx", "[Figure: A wide map]", 0)
    assert Image.open(io.BytesIO(png)).size == (1600, 40)
