"""PPTX: each slide is a page of its title, texts, tables, charts, notes and comments."""

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rag.ingest.parsers import ooxml
from rag.ingest.parsers.figures import slide_figure
from rag.ingest.parsers.plain_text import table_text
from rag.text.document import OPEN_XML, LoadedDocument


def read_pptx(path: Path) -> LoadedDocument:
    """Read a presentation; a slide's shapes are read from the top down."""
    from pptx import Presentation

    ooxml.inspect(path)
    with path.open("rb") as file, zipfile.ZipFile(path) as container:
        slides = (_slide(slide, container) for slide in Presentation(file).slides)
        return ooxml.slides_document(slides, OPEN_XML + "presentationml.presentation")


def _slide(slide: Any, container: zipfile.ZipFile) -> Iterator[str]:
    heading = slide.shapes.title
    if heading is not None and heading.text_frame.text.strip():
        yield "# " + " ".join(heading.text_frame.text.split())
    others = (shape for shape in slide.shapes if heading is None or shape.shape_id != heading.shape_id)
    yield from _shapes(others)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        yield f"### Notes\n\n{notes}" if notes else ""
    yield from ooxml.comments(container, str(slide.part.partname).lstrip("/"))


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    listed = list(shapes)
    for shape in sorted(listed, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield table_text(_rows(shape.table))
        elif getattr(shape, "has_chart", False):
            yield from ooxml.chart_blocks(shape.chart.element)
        elif getattr(shape, "has_text_frame", False):
            yield _paragraphs(shape.text_frame)
        else:
            yield slide_figure(shape, listed)


def _rows(table: Any) -> Iterator[list[str]]:
    """Yield a table's rows; a cell that spans rows is repeated in each of them."""
    above: list[str] = []
    for row in table.rows:
        texts = [cell.text for cell in row.cells]
        merged = [cell.is_spanned and cell._tc.vMerge for cell in row.cells]
        above = [
            above[place] if merged[place] and place < len(above) else text for place, text in enumerate(texts)
        ]
        yield above


def _paragraphs(frame: Any) -> str:
    """Return a box's paragraphs; several are list items, since few end with a full stop."""
    paragraphs = [(paragraph.level, " ".join(paragraph.text.split())) for paragraph in frame.paragraphs]
    filled = [(level, text) for level, text in paragraphs if text]
    if len(filled) < 2:
        return "".join(text for _, text in filled)
    return "\n".join(f"{'  ' * level}- {text}" for level, text in filled)
