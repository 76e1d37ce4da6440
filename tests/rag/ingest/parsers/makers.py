"""Makers of test documents: small files of every kind, in English, Korean and Japanese."""

import io
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from PIL import ImageOps
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

FONTS = {"en": "Helvetica", "ko": "HYSMyeongJo-Medium", "ja": "HeiseiMin-W3"}
SENTENCES = {
    "en": "The harbour of Veldham opened in 1887 and closed in 1931.",
    "ko": "벨담 항구는 1887년에 문을 열고 1931년에 닫았다.",
    "ja": "ベルダム港は1887年に開き、1931年に閉じた。",
}
WITH_LIGATURES = "Vera"  # comes with reportlab
pdfmetrics.registerFont(TTFont(WITH_LIGATURES, "Vera.ttf"))
for font in ("HYSMyeongJo-Medium", "HeiseiMin-W3"):
    pdfmetrics.registerFont(UnicodeCIDFont(font))


@dataclass(frozen=True)
class Placed:
    """A string at a place of a page: left end of its baseline, in points from the bottom left."""

    text: str
    x: float
    y: float
    font: str = "Helvetica"
    size: float = 12


def width(text: str, size: float, font: str = "Helvetica") -> float:
    """The advance of a string in points."""
    return float(pdfmetrics.stringWidth(text, font, size))


def pdf(
    path: Path,
    pages: list[list[Placed]],
    *,
    size: tuple[float, float] = (400, 500),
    rotate: int = 0,
    drawn: int = 0,
    crop: tuple[float, float, float, float] | None = None,
) -> Path:
    """Write a PDF with strings at exact places; `drawn` turns the strings, `rotate` the page.

    `crop` is left, bottom, right, top.
    """
    canvas = Canvas(str(path), pagesize=size, cropBox=crop)
    for page in pages:
        canvas.translate(size[0] / 2, size[1] / 2)
        canvas.rotate(drawn)
        canvas.translate(-size[0] / 2, -size[1] / 2)
        for line in page:
            canvas.setFont(line.font, line.size)
            canvas.drawString(line.x, line.y, line.text)
        canvas.showPage()
    canvas.save()
    if rotate:
        turn(path, rotate)
    return path


def turn(path: Path, rotate: int) -> None:
    """Set /Rotate of every page, as a scanner or a viewer does."""
    with pypdfium2.PdfDocument(path.read_bytes()) as document:
        for page in document:
            page.set_rotation(rotate)
        document.save(str(path))


def ink(path: Path, scale: int = 2) -> tuple[float, float, float, float]:
    """Where the first page of a PDF is not white, in pixels at `scale` a point: left, top, right, bottom."""
    finer = 4
    with pypdfium2.PdfDocument(path) as document:
        picture = document[0].render(scale=scale * finer).to_pil().convert("L")
    left, top, right, bottom = ImageOps.invert(picture).getbbox()
    return left / finer, top / finer, right / finer, bottom / finer


def book(path: Path, language: str, pages: int = 3, lines: int = 30) -> Path:
    """Write a PDF of full pages, the number of each in its first line."""
    font = FONTS[language]
    return pdf(
        path,
        [
            [Placed(f"{number}. {SENTENCES[language]}", 40, 700 - 18 * row, font) for row in range(lines)]
            for number in range(1, pages + 1)
        ],
        size=(600, 760),
    )


def docx(path: Path) -> Path:
    """Write a Word document with headings, a table and three languages."""
    from docx import Document

    document = Document()
    document.add_heading("Veldham", 1)
    document.add_paragraph(SENTENCES["en"])
    document.add_heading("Ships", 2)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Ship", "Year"
    for ship, year in (("Alma", "1890"), ("Bora", "1901")):
        cells = table.add_row().cells
        cells[0].text, cells[1].text = ship, year
    document.add_paragraph(SENTENCES["ko"])
    document.add_paragraph(SENTENCES["ja"])
    document.save(str(path))
    return path


def equation_docx(path: Path) -> Path:
    """Write a Word document with a raised number and a fraction inside a sentence."""
    from docx import Document
    from docx.oxml import parse_xml

    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    start = '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
    area = f"{run('A=π')}<m:sSup><m:e>{run('r')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    mean = f"{run('x=')}<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
    document = Document()
    paragraph = document.add_paragraph("The area is ")
    paragraph._p.append(parse_xml(f"{start}{area}</m:oMath>"))
    paragraph.add_run(" and ")
    paragraph._p.append(parse_xml(f"{start}{mean}</m:oMath>"))
    paragraph.add_run(" too.")
    document.save(str(path))
    return path


def numbered_docx(path: Path, form: str, text: str) -> Path:
    """Write a Word document whose headings and clauses Word numbers by itself."""
    from docx import Document
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = Document()
    levels = "".join(
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{shown}"/></w:lvl>'
        for depth, (kind, shown) in enumerate([("decimal", "%1"), (form, text)])
    )
    numbering = document.part.numbering_part.element
    numbering.insert(
        0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="77">{levels}</w:abstractNum>')
    )
    numbering.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="77"><w:abstractNumId w:val="77"/></w:num>'))
    for depth, words in [
        (0, "Trade"),
        (1, "Rope is sold."),
        (1, "Tar is not."),
        (0, "Ships"),
        (1, "Ships wait."),
    ]:
        paragraph = document.add_heading(words, 1) if depth == 0 else document.add_paragraph(words)
        paragraph._p.get_or_add_pPr().append(
            parse_xml(f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{depth}"/><w:numId w:val="77"/></w:numPr>')
        )
    document.save(str(path))
    return path


def charted_xlsx(path: Path) -> Path:
    """Write a workbook with a comment, a chart beside its table, and a sheet that is a chart."""
    from openpyxl import Workbook
    from openpyxl.chart import BarChart, Reference
    from openpyxl.comments import Comment

    book = Workbook()
    sheet = book.active
    for row in [("Ship", "Rope"), ("Alma", 12), ("Bora", 7)]:
        sheet.append(row)
    sheet["B2"].comment = Comment("항구에서 센 것.", "Ada")
    for place in (sheet, book.create_chartsheet("그림")):
        chart = BarChart()
        chart.title = "Rope by ship"
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
        chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=3))
        place.add_chart(chart, *(["D2"] if place is sheet else []))
    book.save(str(path))
    return path


def charted_pptx(path: Path) -> Path:
    """Write a slide with a chart and a table in which one cell spans two rows."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    table = slide.shapes.add_table(3, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row, texts in enumerate([("Ship", "Year"), ("Alma", "1890"), ("", "1901")]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    data = CategoryChartData()
    data.categories = ["1890", "1901"]
    data.add_series("Rope", (3, 4.5))
    slide.shapes.add_chart(XL_CHART_TYPE.LINE, Inches(1), Inches(3), Inches(4), Inches(3), data)
    deck.save(str(path))
    return path


def pptx(path: Path) -> Path:
    """Write three slides, the second with notes."""
    from pptx import Presentation

    deck = Presentation()
    for number, language in enumerate(SENTENCES, 1):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = SENTENCES[language]
        if number == 2:
            slide.notes_slide.notes_text_frame.text = "Say it slowly."
    deck.save(str(path))
    return path


def xlsx(path: Path) -> Path:
    """Write a workbook of two sheets with numbers, a date, a per cent and a Korean column."""
    import datetime

    from openpyxl import Workbook

    book = Workbook()
    first = book.active
    first.title = "Prices"
    first.append(["Item", "Price", "Share", "Since", "비고"])
    first.append(["Anchor", 12.5, 0.25, datetime.datetime(2024, 3, 1), "무겁다"])
    first.append(["Rope", 3, 0.75, None, None])
    first["C2"].number_format = first["C3"].number_format = "0%"
    second = book.create_sheet("価格")
    second.append(["品名", "数"])
    second.append(["錨", 4])
    book.save(str(path))
    return path


def epub(path: Path, chapter: str = "") -> Path:
    """Write an e-book of two chapters."""
    import zipfile

    pages = {
        "one": f"<h1>One</h1><p>{SENTENCES['en']}{chapter}</p>",
        "two": f"<h1>둘</h1><p>{SENTENCES['ko']}</p>",
    }
    items = "".join(f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in pages)
    spine = "".join(f'<itemref idref="{n}"/>' for n in pages)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
        )
        archive.writestr(
            "book.opf",
            '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Harbour</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, body in pages.items():
            archive.writestr(f"{name}.xhtml", f"<!DOCTYPE html><html><body>{body}</body></html>")
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    """Write a ZIP container of any members."""
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())
    return path
