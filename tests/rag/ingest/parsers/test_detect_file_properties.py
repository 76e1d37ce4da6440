from datetime import datetime

from docx import Document
from reportlab.pdfgen.canvas import Canvas

from rag.ingest.parsers import load


def test_office_files_pdf_and_web_pages_tell_author_and_day(tmp_path):
    word = Document()
    word.add_paragraph("Text of the plan.")
    word.core_properties.author, word.core_properties.title = "Ann Kim", "The plan"
    word.core_properties.created = datetime(2023, 5, 3)
    word.save(str(tmp_path / "plan.docx"))
    sheet = Canvas(str(tmp_path / "plan.pdf"))
    sheet.setAuthor("Ann Kim")
    sheet.setTitle("The plan")
    sheet.drawString(100, 700, "Text of the plan.")
    sheet.save()
    author, day = "<meta name='author' content='Ann Kim'>", '<meta name="date" content="2023-05-03T09:00">'
    page = f"<html><head>{author}{day}</head><body><p>Text of the plan.</p></body></html>"
    (tmp_path / "plan.html").write_text(page, encoding="utf-8")
    read = {name: load(tmp_path / name, name) for name in ("plan.docx", "plan.pdf", "plan.html")}
    assert {document.author for document in read.values()} == {"Ann Kim"}
    assert read["plan.docx"].title == read["plan.pdf"].title == "The plan"
    assert read["plan.docx"].written == read["plan.html"].written == "2023-05-03"
