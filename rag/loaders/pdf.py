"""PDF: the text layer page by page, with headings by font size."""

from collections import Counter
from pathlib import Path

import pypdfium2

from rag.errors import DocumentRefused
from rag.loaders.document import BETWEEN_PAGES, LoadedDocument, page_spans
from rag.loaders.pdf_text import PageText, characters_of, page_text

_MAX_HEADING = 120
_LARGER = 1.15  # a heading's font size over the body's


def read(path: Path) -> LoadedDocument:
    """Read the text layer of a PDF; one without any is refused as scanned."""
    with open_pdf(path) as pdf:
        pages = [_page(pdf, number) for number in range(len(pdf))]
        title = pdf.get_metadata_value("Title").strip()
    if not any(page.text.strip() for page in pages):
        raise DocumentRefused("looks scanned: its pages have no text layer. Run OCR on it and add it again.")
    spans = page_spans([page.text for page in pages])
    return LoadedDocument(
        text=BETWEEN_PAGES.join(page.text for page in pages),
        pages=spans,
        title=title,
        media_type="application/pdf",
        headings=tuple(_headings(pages, [start for _, start, _ in spans])),
    )


def open_pdf(path: Path) -> pypdfium2.PdfDocument:
    """Open a PDF; a locked or damaged one is refused."""
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise DocumentRefused(
                "is locked with a password. Save it without one and add it again."
            ) from error
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


def _headings(pages: list[PageText], starts: list[int]) -> list[tuple[int, int, str]]:
    """Take short lines set clearly larger than most of the text; level by size, three levels at most."""
    sizes: Counter[float] = Counter()
    lines = []
    for page, offset in zip(pages, starts, strict=True):
        ends = [*(start for start, _ in page.lines[1:]), len(page.text)]
        for (start, size), end in zip(page.lines, ends, strict=False):
            sizes[round(size, 1)] += end - start
            lines.append((offset + start, round(size, 1), page.text[start:end].strip()))
    body = sizes.most_common(1)[0][0]
    large = [line for line in lines if line[1] > _LARGER * body and _is_heading(line[2])]
    levels = {
        size: min(level, 3) for level, size in enumerate(sorted({s for _, s, _ in large}, reverse=True), 1)
    }
    return [(start, levels[size], text) for start, size, text in large]


def _is_heading(text: str) -> bool:
    return 2 < len(text) <= _MAX_HEADING and any(map(str.isalpha, text))
