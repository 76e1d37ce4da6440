"""DOCX, PPTX and EPUB by markitdown: everything becomes Markdown."""

import re
from pathlib import Path
from typing import Any

from rag.loaders import archive
from rag.loaders.document import BETWEEN_PAGES, LoadedDocument, clean, page_spans
from rag.loaders.markdown import headings, tidy, title

# What markitdown would otherwise write around words; a quotation must read as the document does.
PLAIN: dict[str, Any] = {"escape_asterisks": False, "escape_underscores": False, "strong_em_symbol": ""}
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_SLIDE = re.compile(r"<!-- Slide number: \d+ -->")
_LABEL = re.compile(r"^\*\*(\w+:)\*\*", re.M)


def read_docx(path: Path) -> LoadedDocument:
    """Read a Word document."""
    archive.inspect(path)
    return _document(_convert("DocxConverter", path), _OPEN_XML + "wordprocessingml.document")


def read_epub(path: Path) -> LoadedDocument:
    """Read an e-book, its chapters in reading order."""
    archive.inspect(path, doctype_allowed=True)
    text = _LABEL.sub(r"\1", _convert("EpubConverter", path))
    return _document(text, "application/epub+zip")


def read_pptx(path: Path) -> LoadedDocument:
    """Read a presentation; each slide is a page."""
    archive.inspect(path)
    slides = [clean(tidy(slide)) for slide in _SLIDE.split(_convert("PptxConverter", path))[1:]]
    text = BETWEEN_PAGES.join(slides)
    return LoadedDocument(
        text, page_spans(slides), title(text), _OPEN_XML + "presentationml.presentation", headings(text)
    )


def _convert(converter: str, path: Path) -> str:
    from markitdown import StreamInfo, converters

    with path.open("rb") as file:
        return str(getattr(converters, converter)().convert(file, StreamInfo(), **PLAIN).markdown)


def _document(markdown: str, media_type: str) -> LoadedDocument:
    text = clean(tidy(markdown))
    return LoadedDocument(text, (), title(text), media_type, headings(text))
