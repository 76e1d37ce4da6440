"""A Word file in which what mammoth leaves out stands as text that it reads: equations, charts, numbers."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from rag.ingest.parsers.charts import rows, title
from rag.ingest.parsers.equations import write_equations
from rag.ingest.parsers.numbering import Numbering
from rag.ingest.parsers.ooxml import attribute, named, parsed, related

DOCUMENT = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def readable(path: Path) -> BinaryIO:
    """Return a Word file for mammoth."""
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, _document(old) if name == DOCUMENT else _other(old, name))
    file.seek(0)
    return file


def _other(container: zipfile.ZipFile, name: str) -> bytes:
    """Return a part; notes may hold equations, and pictures are not read."""
    if name.startswith("word/media/"):
        return b""
    content = container.read(name)
    if not (name.startswith("word/") and name.endswith(".xml") and b"<m:oMath" in content):
        return content
    root = _strict(content)
    write_equations(root)
    return _bytes(root)


def _document(container: zipfile.ZipFile) -> bytes:
    root = _strict(container.read(DOCUMENT))
    write_equations(root)
    _write_numbers(root, container)
    _write_charts(root, container)
    return _bytes(root)


def _strict(content: bytes) -> Any:
    """Parse what the text itself stands in: damaged, it is no document."""
    from lxml import etree  # type: ignore[import-untyped]

    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True))


def _bytes(root: Any) -> bytes:
    from lxml import etree

    return bytes(etree.tostring(root))


def _write_numbers(root: Any, container: zipfile.ZipFile) -> None:
    """Write the numbers that Word only shows at the beginning of their paragraphs."""
    lists = related(container, DOCUMENT, "/numbering").values()
    styles = related(container, DOCUMENT, "/styles").values()
    if not lists or not styles:
        return
    numbering = Numbering(parsed(container, next(iter(lists))), parsed(container, next(iter(styles))))
    for paragraph in list(root.iter(_WORD + "p")):
        number = numbering.count(paragraph)
        if number and any(text.text for text in paragraph.iter(_WORD + "t")):
            properties = paragraph.find(_WORD + "pPr")
            listed = properties.find(_WORD + "numPr")
            if listed is not None:
                properties.remove(listed)  # or it would be numbered twice
            paragraph.insert(paragraph.index(properties) + 1, _run(f"{number} "))


def _write_charts(root: Any, container: zipfile.ZipFile) -> None:
    """Write each chart behind its paragraph: its title, and its numbers as a table."""
    kept = related(container, DOCUMENT, "/chart")
    for drawing in list(root.iter(_WORD + "drawing")):
        place = next(drawing.iterancestors(_WORD + "p"), None)
        for reference in named(drawing, "chart"):
            part = kept.pop(attribute(reference, "id"), None)  # an older form of a drawing may repeat it
            if part is not None and place is not None:
                for element in reversed(list(_chart(parsed(container, part)))):
                    place.addnext(element)


def _chart(chart: Any) -> Iterator[Any]:
    from lxml import etree

    if title(chart):
        yield _paragraph(title(chart))
    lines = rows(chart)
    if lines:
        table = etree.Element(_WORD + "tbl")
        for line in lines:
            row = etree.SubElement(table, _WORD + "tr")
            for cell in line:
                etree.SubElement(row, _WORD + "tc").append(_paragraph(cell))
        yield table


def _paragraph(text: str) -> Any:
    from lxml import etree

    paragraph = etree.Element(_WORD + "p")
    paragraph.append(_run(text))
    return paragraph


def _run(text: str) -> Any:
    from lxml import etree

    run = etree.Element(_WORD + "r")
    said = etree.SubElement(run, _WORD + "t")
    said.text = text
    said.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return run
