"""What Office files say beside their text: charts, comments, numbers, check boxes, sums with their limits."""

import zipfile
from pathlib import Path

import pytest
from docx import Document
from lxml import etree

from rag.ingest.parsers import load
from rag.ingest.parsers.docx import equation_text, format_number
from tests.rag.ingest.parsers import makers

_CHART_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart"


@pytest.mark.parametrize(
    ("form", "text", "shown"),
    [
        ("decimal", "%1.%2", ("1.1", "1.2", "2.1")),
        ("decimal", "제%2조", ("제1조", "제2조", "제1조")),
        ("ganada", "%2)", ("가)", "나)", "가)")),
        ("lowerLetter", "(%2)", ("(a)", "(b)", "(a)")),
        ("upperRoman", "%2.", ("I.", "II.", "I.")),
        ("aiueoFullWidth", "%2、", ("ア、", "イ、", "ア、")),
    ],
)
def test_numbers_that_word_counts_are_read(
    tmp_path: Path, form: str, text: str, shown: tuple[str, str, str]
) -> None:
    document = load(makers.numbered_docx(tmp_path / "x", form, text), "a.docx")
    assert [heading for _, _, heading in document.headings] == ["1 Trade", "2 Ships"]
    for number, words in zip(shown, ("Rope is sold.", "Tar is not.", "Ships wait."), strict=True):
        assert f"\n{number} {words}" in document.text


def test_a_plain_numbered_list_stays_one(tmp_path: Path) -> None:
    document = load(makers.numbered_docx(tmp_path / "x", "decimal", "%2."), "a.docx")
    assert "1. Rope is sold.\n  2. Tar is not." in document.text


@pytest.mark.parametrize(
    ("number", "form", "shown"),
    [(28, "lowerLetter", "bb"), (14, "lowerRoman", "xiv"), (21, "japaneseCounting", "二十一"), (3, "x", "3")],
)
def test_numbers_in_the_forms_of_word(number: int, form: str, shown: str) -> None:
    assert format_number(number, form) == shown


def test_comments_of_a_word_document_stand_at_its_end(tmp_path: Path) -> None:
    document = Document()
    paragraph = document.add_paragraph("The harbour opened.")
    document.add_comment(paragraph.runs, "Really?", author="Ada")
    document.save(str(tmp_path / "x"))
    text = load(tmp_path / "x", "a.docx").text
    assert text.startswith("The harbour opened.\n\nComment by Ada, ")
    assert text.endswith(": Really?")


def test_a_title_is_a_heading(tmp_path: Path) -> None:
    document = Document()
    document.add_heading("Veldham", 0)
    document.save(str(tmp_path / "x"))
    assert load(tmp_path / "x", "a.docx").title == "Veldham"


def test_a_chart_in_a_word_document_is_a_table(tmp_path: Path) -> None:
    chart = zipfile.ZipFile(makers.charted_pptx(tmp_path / "p")).read("ppt/charts/chart1.xml")
    makers.docx(tmp_path / "d")
    with zipfile.ZipFile(tmp_path / "d") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    drawing = (
        b'<w:p><w:r><w:drawing><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="rIdC"/>'
        b"</w:drawing></w:r></w:p>"
    )
    body, rels = "word/document.xml", "word/_rels/document.xml.rels"
    parts[body] = parts[body].replace(b"<w:sectPr", drawing + b"<w:sectPr", 1)
    relation = f'<Relationship Id="rIdC" Type="{_CHART_TYPE}" Target="charts/chart1.xml"/></Relationships>'
    parts[rels] = parts[rels].replace(b"</Relationships>", relation.encode())
    text = load(makers.zipped(tmp_path / "x", {**parts, "word/charts/chart1.xml": chart}), "a.docx").text
    assert "|  | Rope |\n| --- | --- |\n| 1890 | 3 |\n| 1901 | 4.5 |" in text


def test_a_workbook_tells_its_charts_and_comments(tmp_path: Path) -> None:
    document = load(makers.charted_xlsx(tmp_path / "x"), "a.xlsx")
    assert "Comment by Ada on B2: 항구에서 센 것." in document.text
    assert "## Sheet\n\n| Ship | Rope |" in document.text
    assert document.text.count("### Rope by ship") == 2
    assert [heading for _, level, heading in document.headings if level == 2] == ["Sheet", "그림"]


def test_a_slide_tells_its_charts_and_merged_cells(tmp_path: Path) -> None:
    text = load(makers.charted_pptx(tmp_path / "x"), "a.pptx").text
    assert "| Alma | 1890 |\n| Alma | 1901 |" in text
    assert "|  | Rope |\n| --- | --- |\n| 1890 | 3 |\n| 1901 | 4.5 |" in text


def test_check_boxes_are_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        "<html><p><input type=checkbox checked>Rope</p><p><input type=checkbox>Tar</p></html>"
    )
    assert load(tmp_path / "x", "a.html").text == "[x] Rope\n\n[ ] Tar"


def test_a_sum_keeps_its_sign_and_its_limits() -> None:
    def run(name: str, text: str) -> str:
        return f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>"

    start = '<m:nary xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
    sign = '<m:naryPr><m:chr m:val="∑"/></m:naryPr>'
    whole = f"{start}{sign}{run('sub', 'k=0')}{run('sup', 'n')}{run('e', 'k')}</m:nary>"
    assert equation_text(etree.fromstring(whole)) == "∑_(k=0)^n k"


def test_a_damaged_comment_does_not_take_the_document_along(tmp_path: Path) -> None:
    makers.charted_xlsx(tmp_path / "y")
    with zipfile.ZipFile(tmp_path / "y") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    broken = {name: b"<a><b" for name in parts if "comment" in name}
    assert broken
    assert "| Alma | 12 |" in load(makers.zipped(tmp_path / "x", {**parts, **broken}), "a.xlsx").text
