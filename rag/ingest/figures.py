"""Figures of a document of any format: where they are in its text, and their pictures."""

from collections.abc import Sequence
from pathlib import Path, PurePath

from storage.records import FigureSpan, PageSpan

OFFICE = frozenset({".docx", ".pptx"})
PDF = ".pdf"
MAX_FIGURES = 1000  # of a document


def figures_of(name: str, text: str, pages: Sequence[PageSpan]) -> list[FigureSpan]:
    """Return the figures of a document that can be cut out of a file with this name.

    >>> figures_of("a.docx", "[Figure: Tar]", [])
    [FigureSpan(page=None, label='[Figure: Tar]', occurrence=0, start=0, end=13)]
    """
    suffix = PurePath(name).suffix.lower()
    if suffix == PDF:
        return _pdf_figures(text, pages)[:MAX_FIGURES]
    return _office_figures(text, pages)[:MAX_FIGURES] if suffix in OFFICE else []


def _pdf_figures(text: str, pages: Sequence[PageSpan]) -> list[FigureSpan]:
    from rag.ingest.parsers.figures import figures_of_pdf

    spans = [(page.number, page.start, page.end) for page in pages]
    found: dict[tuple[int, str], FigureSpan] = {}  # a picture is cut out by its page and caption
    for (page, caption), start, end in figures_of_pdf(text, spans):
        found.setdefault((page, caption), FigureSpan(page, caption, 0, start, end))
    return list(found.values())


def _office_figures(text: str, pages: Sequence[PageSpan]) -> list[FigureSpan]:
    from rag.ingest.parsers.figures import figures_of_office

    return [
        FigureSpan(_page_at(start, pages), line, number, start, end)
        for line, number, start, end in figures_of_office(text)
    ]


def _page_at(place: int, pages: Sequence[PageSpan]) -> int | None:
    return next((page.number for page in pages if page.start <= place < page.end), None)


def caption_of(figure: FigureSpan) -> str:
    """Return the caption of a figure, or what the document says in its place."""
    from rag.ingest.parsers.figures import figure_label

    return figure_label(figure.label)


def picture_of(path: Path, name: str, figure: FigureSpan) -> bytes | None:
    """Return the picture of a figure as PNG, cut out in a child process; None where nothing is drawn.

    Raises DocumentRefused.
    """
    if PurePath(name).suffix.lower() == PDF:
        from rag.ingest.parsers.figures import PdfFigure, pdf_figure

        return pdf_figure(path, PdfFigure(figure.page or 1, figure.label))
    from rag.ingest.parsers.figures import figure_image

    return figure_image(path, figure.label, figure.occurrence)
