"""PDF: the text layer page by page, with headings by font size."""

from pathlib import Path

import pypdfium2

from rag.errors import DocumentRefused
from rag.loaders.document import BETWEEN_PAGES, LOCKED, LoadedDocument, clean, page_spans
from rag.loaders.pdf_headings import headings
from rag.loaders.pdf_lines import characters_of
from rag.loaders.pdf_text import PageText, page_text


def read(path: Path) -> LoadedDocument:
    """Read the text layer of a PDF; one without any is refused as scanned."""
    with open_pdf(path) as pdf:
        pages = [_page(pdf, number) for number in range(len(pdf))]
        title = clean(pdf.get_metadata_value("Title")).strip()
    if not any(page.text.strip() for page in pages):
        raise DocumentRefused("looks scanned: its pages have no text layer. Run OCR on it and add it again.")
    spans = page_spans([page.text for page in pages])
    return LoadedDocument(
        text=BETWEEN_PAGES.join(page.text for page in pages),
        pages=spans,
        title=title,
        media_type="application/pdf",
        headings=headings(pages, [start for _, start, _ in spans]),
    )


def open_pdf(path: Path) -> pypdfium2.PdfDocument:
    """Open a PDF; a locked or damaged one is refused."""
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise DocumentRefused(LOCKED) from error
        raise DocumentRefused("is damaged: it cannot be opened as a PDF.") from error


def _page(pdf: pypdfium2.PdfDocument, number: int) -> PageText:
    try:
        page = pdf[number]
    except pypdfium2.PdfiumError:  # a broken page among others: the rest is still worth reading
        return PageText("", [], [])
    text = characters_of(page)
    try:
        return page_text(text)
    finally:
        text.close()
        page.close()
