"""ODT, ODS and ODP: headings, lists, tables, comments; each slide of a presentation is a page."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.ingest.parsers import archive
from rag.ingest.parsers.ooxml import attribute, local, named, parsed
from rag.ingest.parsers.opendocument_lists import Lists
from rag.ingest.parsers.tables import markdown_table
from rag.text.document import BETWEEN_PAGES, LOCKED, LoadedDocument, clean, page_spans
from rag.text.markdown import headings, title

_TYPE = "application/vnd.oasis.opendocument."
_UNNAMED = re.compile(r"page\d+")  # what LibreOffice writes and never shows
_MAX_REPEATED = 1000  # cells or rows; sheets fill themselves up with millions of empty ones
_SILENT = (
    "annotation",
    "note",
    "frame",
    "custom-shape",
    "tracked-changes",
)  # told apart from their paragraph


def read_odt(path: Path) -> LoadedDocument:
    """Read a text document."""
    body, lists = _body(path, "text")
    text = clean("\n\n".join(filter(None, _blocks(body, lists))))
    return LoadedDocument(text, (), title(text), _TYPE + "text", headings(text))


def read_ods(path: Path) -> LoadedDocument:
    """Read a spreadsheet: each sheet a heading and a table."""
    sheets = [
        (attribute(sheet, "name"), list(_table(sheet)))
        for sheet in named(_body(path, "spreadsheet")[0], "table")
    ]
    text = clean("\n\n".join("\n\n".join([f"## {name}", *said]) for name, said in sheets if said))
    return LoadedDocument(text, (), "", _TYPE + "spreadsheet", headings(text))


def read_odp(path: Path) -> LoadedDocument:
    """Read a presentation; the first box of a slide that is called its title is its heading."""
    body, lists = _body(path, "presentation")
    slides = [clean("\n\n".join(_headed(slide, lists))) for slide in named(body, "page")]
    text = BETWEEN_PAGES.join(slides)
    return LoadedDocument(text, page_spans(slides), title(text), _TYPE + "presentation", headings(text))


def _body(path: Path, kind: str) -> tuple[Any, Lists]:
    """Return what a document consists of (lxml), and how its lists are numbered."""
    from lxml import etree  # type: ignore[import-untyped]

    archive.inspect(path)
    with zipfile.ZipFile(path) as container:
        names = container.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in container.read("META-INF/manifest.xml"):
            raise DocumentRefused(LOCKED)
        if "content.xml" not in names:
            raise DocumentRefused("is damaged: the part that holds its text is missing.")
        content = container.read("content.xml")
        styles = [parsed(container, "styles.xml")] if "styles.xml" in names else []
    try:
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True))
    except etree.XMLSyntaxError as error:
        raise DocumentRefused("is damaged: its text is no sound XML.") from error
    body = next((part for found in named(root, "body") for part in found if local(part) == kind), None)
    if body is None:
        raise DocumentRefused("is damaged: the part that holds its text is empty.")
    return body, Lists(*styles, root)


def _blocks(element: Any, lists: Lists) -> Iterator[str]:
    """Yield what stands below an element, block by block."""
    for part in element:
        name = local(part) if isinstance(part.tag, str) else ""
        if name == "h":
            level = attribute(part, "outline-level")
            yield f"{'#' * min(int(level) if level.isdecimal() else 1, 6)} {_words(part)}"
        elif name == "p":
            yield _words(part)
            yield from _aside(part, lists)
        elif name == "list":
            yield "\n".join(lists.lines(part, _words))
        elif name == "table":
            yield from _table(part)
        elif name == "annotation":
            yield _comment(part)
        elif name not in ("tracked-changes", "forms", "sequence-decls", "notes"):
            yield from _blocks(part, lists)


def _aside(paragraph: Any, lists: Lists) -> Iterator[str]:
    """Yield what is anchored in a paragraph: boxes, footnotes, comments."""
    for part in paragraph:
        name = local(part) if isinstance(part.tag, str) else ""
        if name == "annotation":
            yield _comment(part)
        elif name in _SILENT:
            yield from _blocks(part, lists)
        elif name:
            yield from _aside(part, lists)


def _words(element: Any) -> str:
    """Return the words of a paragraph on one line."""
    return " ".join(_raw(element).split())


def _raw(element: Any) -> str:
    said = element.text or ""
    for part in element:
        name = local(part) if isinstance(part.tag, str) else "comment"
        if name in ("s", "tab", "line-break"):
            said += " "
        elif name not in _SILENT and name != "comment":
            said += _raw(part)
        said += part.tail or ""
    return said


def _comment(annotation: Any) -> str:
    author, when = (
        next((part.text or "" for part in named(annotation, name)), "") for name in ("creator", "date")
    )
    said = " ".join(_words(part) for part in named(annotation, "p"))
    return (
        f"Comment{' by ' + author if author else ''}{', ' + when[:10] if when else ''}: {said}"
        if said
        else ""
    )


def _table(table: Any) -> Iterator[str]:
    lines = list(markdown_table(_rows(table)))
    if lines:
        yield "\n".join(lines)
    yield from (said for note in named(table, "annotation") if (said := _comment(note)))


def _rows(table: Any) -> Iterator[list[str]]:
    for row in named(table, "table-row"):
        cells: list[str] = []
        for cell in row:
            if isinstance(cell.tag, str) and local(cell) in ("table-cell", "covered-table-cell"):
                said = " ".join(
                    filter(None, (_words(part) for part in named(cell, "p") if _is_of(part, cell)))
                )
                cells += [said] * _times(cell, "number-columns-repeated", said)
        yield from [cells] * _times(row, "number-rows-repeated", "".join(cells))


def _is_of(paragraph: Any, cell: Any) -> bool:
    """Whether a paragraph is a cell's own, not one of a comment on it."""
    parent = paragraph.getparent()
    return parent is cell or local(parent) != "annotation"


def _times(element: Any, name: str, said: str) -> int:
    times = attribute(element, name)
    return min(int(times), _MAX_REPEATED if said.strip() else 50) if times.isdecimal() else 1


def _headed(slide: Any, lists: Lists) -> list[str]:
    """Return what a slide says; one without a title goes by the name it was given."""
    said = [block for block in _slide(slide, lists) if block]
    name = attribute(slide, "name")
    is_titled = not name or _UNNAMED.fullmatch(name) or any(block.startswith("# ") for block in said)
    return said if is_titled or not said else [f"# {name}", *said]


def _slide(slide: Any, lists: Lists) -> Iterator[str]:
    is_titled = False
    for shape in slide:
        if not isinstance(shape.tag, str):
            continue
        blocks = [block for block in _blocks(shape, lists) if block]
        if attribute(shape, "class") == "title" and blocks and not is_titled:
            is_titled = True
            yield f"# {' '.join(blocks)}"
        elif local(shape) == "notes":
            yield "\n\n".join(["### Notes", *blocks]) if blocks else ""
        elif local(shape) == "annotation":
            yield _comment(shape)
        else:
            yield from blocks
