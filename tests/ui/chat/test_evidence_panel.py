"""The way from evidence to the thing itself, where a document came from a source."""

import io
from dataclasses import replace

import pytest
from docx import Document
from docx.shared import Inches
from openpyxl import Workbook
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from storage.records import CitationRecord, Listing
from tests.ui.conftest import TEXT, citation, passage, tell, words


def shown(here, page, url):
    """Open the evidence of a document that a source brought from `url`."""
    source = here.syncing.sources.create("folder", "Wiki", {"path": "/wiki"})
    document, _ = here.library.keep(
        TEXT.encode(),
        lambda sha256, size: here.syncing.items.keep(
            source.id, Listing("1", "report.md", "1", url), sha256, size
        ),
    )
    for _ in here.library.index(document.id):
        pass
    answer = "It handled 4.1 million [1]."
    cited = replace(passage(document="report.md"), document_id=document.id, sha256=document.sha256)
    turn = tell(here, "How many?", answer, passages=[cited], citations=[citation(1, answer, TEXT[:40])])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert not at.exception
    return [element.proto for element in at.get("link_button")]


def test_a_citation_opens_the_page_that_it_came_from(here, page):
    (link,) = shown(here, page, "https://wiki.example.com/pages/7")
    assert (link.label, link.url) == ("Open at wiki.example.com", "https://wiki.example.com/pages/7")


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "file:///etc/passwd", "//evil.test/"])
def test_what_is_no_address_of_the_web_is_no_link(here, page, url):
    assert shown(here, page, url) == []


def word_file(picture: bytes) -> bytes:
    document, file = Document(), io.BytesIO()
    document.add_paragraph("The trade in tar fell in every year, and nobody knew a remedy for it.")
    document.add_picture(io.BytesIO(picture), Inches(3))
    document.add_paragraph("Figure 1. Tar by year <b>")
    document.save(file)
    return file.getvalue()


def pdf_file(picture: bytes) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(400, 500))
    canvas.drawString(20, 450, "The trade in tar fell in every year, and nobody knew a remedy for it.")
    canvas.drawImage(ImageReader(io.BytesIO(picture)), 20, 300, 150, 100)
    canvas.drawString(20, 280, "Figure 1. Tar by year <b>")
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "made", "beside"), [("report.docx", word_file, 0), ("report.pdf", pdf_file, 1)]
)
@pytest.mark.parametrize(("said", "shown"), [("Figure 1. Tar by year <b>", 1), ("tar fell in every", 0)])
def test_a_cited_caption_shows_its_picture(here, page, said, shown, name, made, beside):
    file = io.BytesIO()
    Image.new("RGB", (90, 60), "red").save(file, "PNG")
    document, _ = here.library.add(name, made(file.getvalue()))
    for _ in here.library.index(document.id):
        pass
    text = here.library.documents.text(document.id)
    chunk = here.library.documents.chunks(document.id)[0]
    cited = replace(
        passage(document=name, text=text, page=1 if beside else None),
        chunk_id=chunk.id,
        document_id=document.id,
        sha256=document.sha256,
        start=0,
        end=len(text),
    )
    answer, start = "It fell [1].", text.rindex(said)
    quoted = CitationRecord(1, 0, 11, "verified", start, start + len(said), said)
    turn = tell(here, "Did it?", answer, passages=[cited], citations=[quoted])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert not at.exception
    assert len(at.get("image")) == beside + shown  # a PDF shows its page, too
    assert (
        "Figure 1. Tar by year <b>" in [caption.value.replace("\\", "") for caption in at.caption]
    ) == bool(shown)


def test_what_a_model_read_from_a_picture_is_shown_with_the_picture_and_as_no_quote(here, page):
    file = io.BytesIO()
    Image.new("RGB", (90, 60), "red").save(file, "PNG")
    document, _ = here.library.add("report.pdf", pdf_file(file.getvalue()))
    for _ in here.library.index(document.id):
        pass
    (figure,) = here.library.figures_of(document.id)
    here.library.add_description(document.id, 0, figure, "A *bar* chart <b>of</b> tar.", "eye")
    (chunk,) = here.library.documents.chunks_by_id([here.library.figures.of(document.id)[0].id]).values()
    cited = replace(
        passage(document="report.pdf", text=chunk.text, page=1),
        chunk_id=chunk.id,
        document_id=document.id,
        sha256=document.sha256,
        heading=chunk.heading,
        start=chunk.start,
        end=chunk.end,
    )
    answer = "Tar fell [1]."
    related = CitationRecord(1, 0, len(answer), "related", 0, 0, "")
    turn = tell(here, "Did it?", answer, passages=[cited], citations=[related])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert not at.exception
    assert len(at.get("image")) == 2  # the page and the picture
    said = [element.value for element in at.markdown]
    assert "**Read from a picture by a model**" in said
    assert "A \\*bar\\* chart \\<b\\>of\\</b\\> tar." in said
    assert "**Cited words**" not in said and not any("Verified" in one for one in said)


def test_a_table_that_the_context_begins_with_stays_a_table(here, page):
    rows = "".join(f"| Tar of year {year} | {year * 7} |\n" for year in range(1900, 1925))
    text = f"# Trade\n\nTar is sold.\n\n| Cargo | Tonnes |\n|---|---|\n{rows}\nA ship pays 240 euros a day.\n"
    document, _ = here.library.add("trade.md", text.encode())
    for _ in here.library.index(document.id):
        pass
    text = here.library.documents.text(document.id)
    words = "A ship pays 240 euros a day."
    at, answer = text.index(words), "A ship pays 240 euros [1]."
    whole = passage(document="trade.md")
    cited = replace(
        whole, document_id=document.id, sha256=document.sha256, start=at, end=at + len(words), text=words
    )
    record = CitationRecord(1, 0, len(answer), "verified", at, at + len(words), words)
    turn = tell(here, "How much?", answer, passages=[cited], citations=[record])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    (shown,) = [one.value for one in at.markdown if "Tonnes" in one.value]
    assert "\n| Cargo | Tonnes |\n" in shown


def two_pages() -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(400, 500))
    canvas.drawString(20, 450, "The rent is 3,200 euros a month and falls due on the first day.")
    canvas.showPage()
    canvas.drawString(20, 450, "Whoever leaves early pays two rents as a penalty to the owner.")
    canvas.drawString(20, 430, "The penalty falls due at once.")
    canvas.save()
    return file.getvalue()


def cite(here, name: str, content: bytes, words: str) -> tuple[str, str, str]:
    """Store an answer that cites words of a document; return the chat, the answer and the document."""
    document, _ = here.library.add(name, content)
    list(here.library.index(document.id))
    text = here.library.documents.text(document.id)
    at, answer = text.index(words), "So it is [1]."
    given = replace(passage(document=name, text=text), document_id=document.id, sha256=document.sha256)
    record = CitationRecord(1, 0, len(answer), "verified", at, at + len(words), words)
    turn = tell(here, "Is it?", answer, passages=[replace(given, start=0, end=len(text))], citations=[record])
    return turn.conversation_id, turn.answer_id, document.id


def pictured(at) -> list[str]:
    return [image.alt for element in at.get("image") for image in element.proto.imgs]


def test_a_document_is_opened_at_the_cited_page_with_its_words_and_searched_from_there(here, page):
    chat, answer, document = cite(here, "lease.pdf", two_pages(), "pays two rents")
    at = page(chat=chat, cite=f"{answer}-0")
    at.button(key="open-document").click().run()
    assert at.query_params["document"] == document and at.query_params["page"] == "2"
    assert "Page 2 of 2" in words(at) and pictured(at) == ["Page 2, matches highlighted"]
    at.text_input(key=f"document-find-{document}").set_value("3,200 euros").run()
    assert "1 of 1" in words(at) and "Page 1 of 2" in words(at)
    assert pictured(at) == ["Page 1, matches highlighted"]
    assert "page" not in at.query_params


def test_a_document_is_opened_at_the_page_that_was_turned_to(here, page):
    chat, answer, _document = cite(here, "lease.pdf", two_pages(), "3,200 euros")
    at = page(chat=chat, cite=f"{answer}-0")
    assert "Page 1 · Figures" in [caption.value for caption in at.caption]
    at.button(key="source-chevron_right").click().run()
    assert {"Page 2", "Page 2 of 2"}.issubset(caption.value for caption in at.caption)
    at.button(key="open-document").click().run()
    assert "Page 2 of 2" in words(at) and pictured(at) == ["Page 2"]
    at.button(key="source-chevron_left").click().run()
    assert pictured(at) == ["Page 1, matches highlighted"]


def test_a_text_without_pages_is_opened_at_the_cited_words(here, page):
    rooms = "\n".join(f"Room {n} has {n * 7} candles and a chest of oak." for n in range(400))
    chat, answer, _document = cite(here, "castle.txt", rooms.encode(), "Room 350 has 2450 candles")
    at = page(chat=chat, cite=f"{answer}-0")
    at.button(key="open-document").click().run()
    assert ":yellow-background[Room 350 has 2450 candles]" in words(at)


@pytest.mark.parametrize("place", ["", "-", "9-3", "0-999999", "x-1", "-1-4", "1-²"])
def test_an_address_with_words_that_a_document_does_not_have_shows_its_first_part(here, page, place):
    chat, _answer, document = cite(here, "castle.txt", b"Room 1 has seven candles.", "Room 1")
    at = page(chat=chat, document=document, words=place)
    assert not at.exception and "Room 1 has seven candles." in words(at)


@pytest.mark.parametrize("number", [3, 150, 399])
def test_a_row_far_below_the_head_of_its_table_is_shown_marked_in_the_table(here, page, number):
    rows = "\n".join(f"MK-{n},Mixer number {n} with a bowl of steel,{n}.5" for n in range(1000, 1400))
    cited = f"| MK-{1000 + number} | Mixer number {1000 + number} with a bowl of steel | {1000 + number}.5 |"
    chat, answer, _document = cite(here, "prices.csv", f"Model,Name,Price\n{rows}".encode(), cited)
    told = words(page(chat=chat, cite=f"{answer}-0")).replace("\\", "")
    assert "| Model | Name | Price |" in told
    assert f"| :yellow-background[MK-{1000 + number}] | :yellow-background[Mixer number" in told


def workbook() -> bytes:
    book, file = Workbook(), io.BytesIO()
    sheet = book.active
    sheet.title = "Budget"
    for at, row in (
        (2, ("Item", "Sum")),
        (3, ("Rent", 40)),
        (7, ("Paid", "Left")),
        (12, ("Harbour dues", 75)),
    ):
        for column, value in enumerate(row, 1):
            sheet.cell(at, column, value)
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "row"),
    [
        ("fees.xlsx", workbook(), "Row 12"),
        ("fees.csv", b"Item,Sum\n\n\nHarbour dues,75\n", "Row 4"),
    ],
)
def test_the_row_of_a_sheet_that_is_cited_is_named(here, page, name: str, content: bytes, row: str):
    chat, answer, _ = cite(here, name, content, "| Harbour dues | 75 |")
    at = page(chat=chat, cite=f"{answer}-0")
    assert not at.exception
    assert f"Figures · {row}" in [caption.value for caption in at.caption]  # of the quote
    assert any(caption.value.endswith(f"Sheet Figures · {row}") for caption in at.caption)  # of the panel
    assert any(f"Figures, {row}" in one.value for one in at.markdown if "#cite-" in one.value)
