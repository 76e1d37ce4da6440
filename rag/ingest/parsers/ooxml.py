"""The parts of an Office file: which other parts one refers to, and the comments kept beside its text."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any

_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TEXTS = ("t", "text", "v")


def parsed(container: zipfile.ZipFile, part: str) -> Any:
    """Parse a part that stands beside the text (lxml), as far as it is sound; it opens no other file."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=True)
    try:
        root = etree.fromstring(container.read(part), parser)
    except etree.XMLSyntaxError:  # nothing of it is sound; the text it stands beside may be
        root = None
    return etree.Element("nothing") if root is None else root


def related(container: zipfile.ZipFile, part: str, kind: str = "") -> dict[str, str]:
    """Return the parts that `part` refers to, by the ids it uses; `kind` is how the relation's type ends."""
    folder, name = posixpath.split(part)
    beside = f"{folder}/_rels/{name}.rels"
    if beside not in container.namelist():
        return {}
    found = {}
    for relation in parsed(container, beside).iter(_RELATIONSHIP):
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("Type", "").endswith(kind) and target in container.namelist():
            found[relation.get("Id", "")] = target
    return found


def named(element: Any, name: str) -> Iterator[Any]:
    """Yield the elements below one by their local name, whatever namespace a version of Office gives it."""
    return (below for below in element.iter() if isinstance(below.tag, str) and local(below) == name)


def local(element: Any) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Any, name: str) -> str:
    """Return an attribute by its local name, or nothing."""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")


def text_of(element: Any) -> str:
    """Return what an element says: its texts, paragraphs apart by spaces."""
    parts = (below for below in element.iter() if isinstance(below.tag, str))
    words = [
        (" " if local(below) == "p" else "") + (below.text or "" if local(below) in _TEXTS else "")
        for below in parts
    ]
    return " ".join("".join(words).split())
