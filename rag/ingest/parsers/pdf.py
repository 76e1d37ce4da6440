"""PDF: the text layer page by page, with headings by font size."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from rag.errors import DocumentRefused
from rag.ingest.parsers.pdf_headings import headings
from rag.ingest.parsers.pdf_lines import characters_of
from rag.ingest.parsers.pdf_text import PageText, page_text
from rag.text.document import BETWEEN_PAGES, LOCKED, LoadedDocument, clean, page_spans

_SPARSE = 60  # letters: a page with fewer says no more than a stamp on a scan
_COVERED = 0.5  # share of the page that its picture covers then


def read(path: Path) -> LoadedDocument:
    """Read the text layer of a PDF, and tell which of its pages are pictures without one."""
    with open_pdf(path) as pdf:
        pages, pictured = [], []
        for number in range(len(pdf)):
            text, is_picture = _page(pdf, number)
            pages.append(text)
            if is_picture:
                pictured.append(number + 1)
        title = clean(pdf.get_metadata_value("Title")).strip()
    spans = page_spans([page.text for page in pages])
    return LoadedDocument(
        text=BETWEEN_PAGES.join(page.text for page in pages),
        pages=spans,
        title=title,
        media_type="application/pdf",
        headings=headings(pages, [start for _, start, _ in spans]),
        pictured=tuple(pictured),
    )


def open_pdf(path: Path) -> pypdfium2.PdfDocument:
    """Open a PDF; a locked or damaged one is refused."""
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise DocumentRefused(LOCKED) from error
        raise DocumentRefused("is damaged: it cannot be opened as a PDF.") from error


def _page(pdf: pypdfium2.PdfDocument, number: int) -> tuple[PageText, bool]:
    """Return a page's text, and whether the page is a picture without any."""
    try:
        page = pdf[number]
    except pypdfium2.PdfiumError:  # a broken page among others: the rest is still worth reading
        return PageText("", [], []), False
    characters = characters_of(page)
    try:
        read = page_text(characters)
        # The indices of a thousand pages take 100 MB.
        return replace(read, indices=[]), _is_pictured(page, read.text)
    finally:
        characters.close()
        page.close()


def _is_pictured(page: Any, text: str) -> bool:
    """Return whether a page of a PDF (pypdfium2's) says nothing but what a picture on it may say."""
    letters = sum(1 for _ in islice(filter(str.isalnum, text), _SPARSE))
    if letters >= _SPARSE:
        return False
    objects = list(page.get_objects(max_depth=2))
    if letters == 0:
        return bool(objects)
    width, height = page.get_size()
    return any(
        _area(found) > _COVERED * width * height
        for found in objects
        if found.type == pdfium.FPDF_PAGEOBJ_IMAGE
    )


def _area(found: Any) -> float:
    left, bottom, right, top = found.get_bounds()
    return float((right - left) * (top - bottom))
