"""The parts of an Office file: which other parts one refers to, and the comments kept beside its text."""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.ingest.parsers.tables import markdown_table
from rag.text.document import LOCKED

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


# Look into a ZIP container before any parser does: bombs, entity tricks and locks are refused.
MAX_INFLATED = 300 << 20  # bytes; the XML of a 1,000-page book takes about 20 MB
MAX_MEMBERS = 20_000
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.I)
_ENTITY = re.compile(rb"<!ENTITY", re.I)


def inspect(path: Path, *, doctype_allowed: bool = False) -> None:
    """Refuse a container that inflates too far, is locked, or whose XML declares entities.

    Office files never hold a document type; the pages of an EPUB may (`doctype_allowed`).
    """
    forbidden = _ENTITY if doctype_allowed else _DECLARATION
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_INFLATED:
            raise DocumentRefused(f"unpacks to more than {MAX_INFLATED >> 20} MB.")
        if any(member.flag_bits & 1 for member in members):
            raise DocumentRefused(LOCKED)
        for member in members:
            if member.filename.endswith((".xml", ".rels", ".opf", ".ncx", ".xhtml", ".vml")):
                _refuse_declarations(archive, member, forbidden)


def _refuse_declarations(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, forbidden: re.Pattern[bytes]
) -> None:
    """Read a part to its end, so that one larger than it says is found too."""
    try:
        content = archive.read(member)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise DocumentRefused("is damaged: a part of its ZIP container cannot be unpacked.") from error
    if forbidden.search(content.replace(b"\0", b"")):  # UTF-16 parts too
        raise DocumentRefused("declares XML entities, which no Office file needs and which can do harm.")


# What readers wrote beside the text of an Office file: who, when, and what.
_LISTS = ("person.xml", "commentauthors.xml", "authors.xml")
_WHEN = ("date", "dt", "dT", "created")
_THREADED = "[Threaded comment]"  # how Excel begins the copy it keeps for its older versions


def comments(container: zipfile.ZipFile, part: str) -> list[str]:
    """Return the comments on a document, slide or sheet: `Comment by Jane Smith on B4, 2026-06-18: Why?`."""
    people = _people(container)
    threaded = related(container, part, "/threadedComment").values()
    kept = [target for target in related(container, part).values() if "omment" in target.rpartition("/")[2]]
    found = []
    for target in sorted(kept, key=lambda name: name not in threaded):
        root = parsed(container, target)
        authors = [text for author in named(root, "author") if (text := author.text)]
        for comment in _each(root):
            written = _written(comment, authors, people)
            if written and written not in found:
                found.append(written)
    return found


def _each(root: Any) -> Iterator[Any]:
    names = ("comment", "threadedComment", "cm", "reply")
    return (element for element in root.iter() if isinstance(element.tag, str) and local(element) in names)


def _written(comment: Any, authors: list[str], people: dict[str, str]) -> str:
    text = _own_text(comment)
    if not text or text.startswith(_THREADED):
        return ""
    author = attribute(comment, "author") or _author(comment, authors, people)
    place = attribute(comment, "ref")
    when = next((value[:10] for name in _WHEN if (value := attribute(comment, name))), "")
    said = "Comment" + (f" by {author}" if author else "") + (f" on {place}" if place else "")
    return f"{said}{', ' + when if when else ''}: {text}"


def _own_text(comment: Any) -> str:
    """Return a comment's words without those of the answers to it."""
    parts = (part for part in comment if isinstance(part.tag, str) and local(part) != "replyLst")
    return " ".join(text for part in parts if (text := text_of(part)))


def _author(comment: Any, authors: list[str], people: dict[str, str]) -> str:
    id_ = attribute(comment, "personId") or attribute(comment, "authorId")
    if id_ in people:
        return people[id_]
    name = authors[int(id_)] if id_.isdecimal() and int(id_) < len(authors) else ""
    return "" if name.startswith("tc=") else name


def _people(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the names of those who commented, by the ids that comments use."""
    lists = [name for name in container.namelist() if name.rpartition("/")[2].lower() in _LISTS]
    people = [person for name in lists for person in parsed(container, name)]
    return {
        attribute(person, "id"): attribute(person, "displayName") or attribute(person, "name")
        for person in people
    }


# Charts of Office files: their title and their numbers as a table, a row for each category.
_MAX_POINTS = 10_000


def chart(root: Any) -> Iterator[str]:
    """Yield what a chart's XML (lxml) says: its title as a heading, its series as the columns of a table."""
    if title(root):
        yield f"### {title(root)}"
    numbers = list(markdown_table(rows(root)))
    if numbers:
        yield "\n".join(numbers)


def title(root: Any) -> str:
    """Return a chart's own title, not those of its axes."""
    found = next(named(root, "title"), None)
    is_own = found is not None and local(found.getparent()) == "chart"
    return text_of(found) if is_own else ""


def rows(root: Any) -> list[list[str]]:
    """Return a chart's numbers: a row of the names of its series, then one for each category."""
    columns = [_series(series) for series in named(root, "ser")]
    if not columns:
        return []
    labels = max((labels for _, labels, _ in columns), key=len)
    lines = zip_longest(labels, *(values for _, _, values in columns), fillvalue="")
    return [["", *(name for name, _, _ in columns)], *(list(line) for line in lines)]


def _series(series: Any) -> tuple[str, list[str], list[str]]:
    """Return a series' name, its categories and its values, as the chart keeps them."""
    name = next(named(series, "tx"), None)
    values = _points(series, "val") or _points(series, "yVal")
    return (
        text_of(name) if name is not None else "",
        _points(series, "cat") or _points(series, "xVal"),
        values,
    )


def _points(series: Any, name: str) -> list[str]:
    """Return the points of an axis in their places; those it leaves out are empty."""
    axis = next(named(series, name), None)
    found = (
        {int(point.get("idx", 0)): text_of(point) for point in named(axis, "pt")} if axis is not None else {}
    )
    return [found.get(place, "") for place in range(max(found, default=-1) + 1)][:_MAX_POINTS]
