"""EPUB: its chapters in the order of its spine."""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from rag.errors import DocumentRefused
from rag.ingest.parsers import archive
from rag.ingest.parsers.html import decode_declared, to_markdown
from rag.text.document import LoadedDocument
from rag.text.markdown import headings, title

_NAMESPACE = re.compile(r"\{[^}]*\}")


def read_epub(path: Path) -> LoadedDocument:
    """Read an e-book; the title and authors it names stand first."""
    archive.inspect(path, doctype_allowed=True)
    with zipfile.ZipFile(path) as container:
        try:
            package = _package(container)
        except (KeyError, ElementTree.ParseError) as error:
            raise DocumentRefused("is damaged: it does not say which chapters it has.") from error
        chapters = [
            to_markdown(decode_declared(container.read(name)))[0] for name in _spine(container, *package)
        ]
        facts = {tag: _text(package[1], tag) for tag in ("title", "creator")}
    text = "\n\n".join(filter(None, [*facts.values(), *chapters]))
    return LoadedDocument(text, (), facts["title"] or title(text), "application/epub+zip", headings(text))


def _package(container: zipfile.ZipFile) -> tuple[str, list[ElementTree.Element]]:
    """Return the package file's name and its elements, namespaces taken off."""
    roots = ElementTree.fromstring(container.read("META-INF/container.xml")).iter()  # noqa: S314 - inspected
    name = next(root.attrib["full-path"] for root in roots if root.tag.endswith("rootfile"))
    elements = list(ElementTree.fromstring(container.read(name)).iter())  # noqa: S314 - inspected
    for element in elements:
        element.tag = _NAMESPACE.sub("", element.tag)
    return name, elements


def _spine(container: zipfile.ZipFile, package: str, elements: list[ElementTree.Element]) -> Iterator[str]:
    present = set(container.namelist())
    items = {element.get("id"): element.get("href", "") for element in elements if element.tag == "item"}
    for element in elements:
        if element.tag == "itemref":
            name = posixpath.join(posixpath.dirname(package), unquote(items.get(element.get("idref"), "")))
            if posixpath.normpath(name) in present:
                yield posixpath.normpath(name)


def _text(elements: list[ElementTree.Element], tag: str) -> str:
    return ", ".join(element.text.strip() for element in elements if element.tag == tag and element.text)
