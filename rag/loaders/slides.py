"""PPTX: each slide is a page of its title, texts, tables, charts and notes."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rag.loaders import archive
from rag.loaders.document import BETWEEN_PAGES, OPEN_XML, LoadedDocument, clean, page_spans
from rag.loaders.markdown import headings, title
from rag.loaders.tables import markdown_table


def read_pptx(path: Path) -> LoadedDocument:
    """Read a presentation; a slide's shapes are read from the top down."""
    from pptx import Presentation

    archive.inspect(path)
    with path.open("rb") as file:
        slides = [clean("\n\n".join(filter(None, _slide(slide)))) for slide in Presentation(file).slides]
    text = BETWEEN_PAGES.join(slides)
    media_type = OPEN_XML + "presentationml.presentation"
    return LoadedDocument(text, page_spans(slides), title(text), media_type, headings(text))


def _slide(slide: Any) -> Iterator[str]:
    heading = slide.shapes.title
    if heading is not None and heading.text_frame.text.strip():
        yield "# " + " ".join(heading.text_frame.text.split())
    others = (shape for shape in slide.shapes if heading is None or shape.shape_id != heading.shape_id)
    yield from _shapes(others)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        yield f"### Notes\n\n{notes}" if notes else ""


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield "\n".join(markdown_table([cell.text for cell in row.cells] for row in shape.table.rows))
        elif getattr(shape, "has_chart", False):
            yield from _chart(shape.chart)
        elif getattr(shape, "has_text_frame", False):
            yield _text(shape.text_frame)


def _text(frame: Any) -> str:
    """Return a box's paragraphs; several are list items, since few end with a full stop."""
    paragraphs = [(paragraph.level, " ".join(paragraph.text.split())) for paragraph in frame.paragraphs]
    filled = [(level, text) for level, text in paragraphs if text]
    if len(filled) < 2:
        return "".join(text for _, text in filled)
    return "\n".join(f"{'  ' * level}- {text}" for level, text in filled)


def _chart(chart: Any) -> Iterator[str]:
    """Yield a chart's title and its numbers as a table, a row for each category."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield f"### {chart.chart_title.text_frame.text}"
    columns = [_series(series) for series in chart.element.xpath(".//c:ser")]  # of any type of chart
    if columns:
        labels = max((labels for _, labels, _ in columns), key=len)
        names = ["", *(name for name, _, _ in columns)]
        rows = zip_longest(labels, *(values for _, _, values in columns), fillvalue="")
        yield "\n".join(markdown_table([names, *rows]))


def _series(series: Any) -> tuple[str, list[str], list[str]]:
    """Return a series' name, its categories and its values, as the chart keeps them."""
    name = " ".join(series.xpath("./c:tx//c:v/text()"))
    labels = series.xpath("(./c:cat | ./c:xVal)//c:pt/c:v/text()")
    return name, labels, series.xpath("(./c:val | ./c:yVal)//c:pt/c:v/text()")
