"""XML parts of Office files and OpenDocument: container checks, relations, text, comments and charts."""

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.plain_text import markdown_document, table_text
from rag.text.document import BETWEEN_PAGES, LOCKED, LoadedDocument, page_spans
from rag.text.normalize import canonical

MAX_INFLATED = 300 << 20  # bytes; the XML of a 1,000-page book takes about 20 MB
MAX_MEMBERS = 20_000
# Errors of a damaged container, or of a damaged member in it.
DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError)
_MAX_POINTS = 10_000  # of one series of a chart
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.I)
_ENTITY = re.compile(rb"<!ENTITY", re.I)
_PEOPLE_PARTS = ("person.xml", "commentauthors.xml", "authors.xml")
_DATE_ATTRIBUTES = ("date", "dt", "dT", "created")
_THREADED_COPY = "[Threaded comment]"  # first words of the copy that Excel keeps for its older versions


def inspect(path: Path, *, doctype_allowed: bool = False) -> None:
    """Refuse a container that inflates too far, is locked, or whose XML declares entities."""
    forbidden = _ENTITY if doctype_allowed else _DECLARATION
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_INFLATED:
            raise DocumentRefused(
                N_("unpacks to more than {max_inflated} MB.", max_inflated=MAX_INFLATED >> 20)
            )
        if any(member.flag_bits & 1 for member in members):
            raise DocumentRefused(LOCKED)
        for member in members:
            if member.filename.endswith((".xml", ".rels", ".opf", ".ncx", ".xhtml", ".vml")):
                _refuse_declarations(archive, member, forbidden)


def refuse_encrypted(container: zipfile.ZipFile) -> None:
    """Refuse an OpenDocument or HWPX container whose manifest says that its parts are encrypted."""
    manifest = "META-INF/manifest.xml"
    if manifest in container.namelist() and b"encryption-data" in container.read(manifest):
        raise DocumentRefused(LOCKED)


def _refuse_declarations(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, forbidden: re.Pattern[bytes]
) -> None:
    """Read a part to its end, so that one larger than it says is found too."""
    try:
        content = archive.read(member)
    except DAMAGED_ZIP as error:
        raise DocumentRefused(N_("is damaged: a part of its ZIP container cannot be unpacked.")) from error
    if forbidden.search(content.replace(b"\0", b"")):  # UTF-16 parts too
        raise DocumentRefused(N_("declares XML entities, which no Office file needs and which can do harm."))


def parse_part(container: zipfile.ZipFile, part: str) -> Any:
    """Parse an additional part of a container as far as it is sound; it opens no other file."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=True)
    try:
        root = etree.fromstring(container.read(part), parser)
    except etree.XMLSyntaxError:  # the main text may be sound nevertheless
        root = None
    return etree.Element("nothing") if root is None else root


def parse_strictly(content: bytes) -> Any:
    """Parse the XML that holds a document's text; lxml's XMLSyntaxError where it is damaged."""
    from lxml import etree

    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True))


def related_parts(container: zipfile.ZipFile, part: str, kind: str = "") -> dict[str, str]:
    """Return the parts that `part` refers to, by relation id; `kind` is the end of the relation's type."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in container.namelist():
        return {}
    parts = {}
    for relation in descendants(parse_part(container, relations), "Relationship"):
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("Type", "").endswith(kind) and target in container.namelist():
            parts[relation.get("Id", "")] = target
    return parts


def descendants(element: Any, *names: str) -> Iterator[Any]:
    """Yield an element and those below it that have one of these local names, in any namespace."""
    yield from element.iter(*(f"{{*}}{name}" for name in names))


def children(element: Any, *names: str) -> Iterator[Any]:
    """Yield the children with one of these local names, or all; never comments."""
    yield from element.iterchildren(*(f"{{*}}{name}" for name in names or ("*",)))


def local_name(element: Any) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Any, name: str) -> str:
    """Return an attribute by its local name, or nothing."""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")


def number_attribute(element: Any, name: str, default: int) -> int:
    """Return an attribute as a whole number; `default` where it is none."""
    value = attribute(element, name)
    return int(value) if value.isdecimal() else default


def text_of(element: Any) -> str:
    """Return the text of an element on one line, with spaces between paragraphs."""
    words = [
        " " if local_name(part) == "p" else part.text or ""
        for part in descendants(element, "p", "t", "text", "v")
    ]
    return " ".join("".join(words).split())


def sheets_document(sheets: Iterable[tuple[str, Sequence[str]]], media_type: str) -> LoadedDocument:
    """Return a workbook of (name, blocks of text): each sheet that has any is a section."""
    sections = ("\n\n".join([f"## {name}", *blocks]) for name, blocks in sheets if blocks)
    return markdown_document(canonical("\n\n".join(sections)), media_type, title="")


def slides_document(slides: Iterable[Iterable[str]], media_type: str) -> LoadedDocument:
    """Return a presentation of blocks of text: each slide is a page."""
    pages = [canonical("\n\n".join(filter(None, blocks))) for blocks in slides]
    return markdown_document(BETWEEN_PAGES.join(pages), media_type, pages=page_spans(pages))


def comment_line(author: str, date: str, text: str, place: str = "") -> str:
    """Return a comment as text: `Comment by Jane Smith on B4, 2026-06-18: Why?`."""
    who = f" by {author}" if author else ""
    where = f" on {place}" if place else ""
    when = f", {date[:10]}" if date else ""
    return f"Comment{who}{where}{when}: {text}"


def comments(container: zipfile.ZipFile, part: str) -> list[str]:
    """Return the comments on a document, slide or sheet, each once, threaded ones first."""
    people = _people(container)
    threaded = related_parts(container, part, "/threadedComment").values()
    targets = related_parts(container, part).values()
    parts = [target for target in targets if "omment" in target.rpartition("/")[2]]
    lines: dict[str, None] = {}
    for target in sorted(parts, key=lambda name: name not in threaded):
        root = parse_part(container, target)
        authors = [text for author in descendants(root, "author") if (text := author.text)]
        for comment in descendants(root, "comment", "threadedComment", "cm", "reply"):
            own = (part for part in children(comment) if local_name(part) != "replyLst")
            text = " ".join(filter(None, map(text_of, own)))
            if text and not text.startswith(_THREADED_COPY):
                author = attribute(comment, "author") or _author(comment, authors, people)
                date = next((value for name in _DATE_ATTRIBUTES if (value := attribute(comment, name))), "")
                lines[comment_line(author, date, text, attribute(comment, "ref"))] = None
    return list(lines)


def _author(comment: Any, authors: list[str], people: dict[str, str]) -> str:
    id_ = attribute(comment, "personId") or attribute(comment, "authorId")
    if id_ in people:
        return people[id_]
    name = authors[int(id_)] if id_.isdecimal() and int(id_) < len(authors) else ""
    return "" if name.startswith("tc=") else name


def _people(container: zipfile.ZipFile) -> dict[str, str]:
    parts = [name for name in container.namelist() if name.rpartition("/")[2].lower() in _PEOPLE_PARTS]
    return {
        attribute(person, "id"): attribute(person, "displayName") or attribute(person, "name")
        for part in parts
        for person in parse_part(container, part)
    }


def chart_blocks(root: Any) -> Iterator[str]:
    """Yield a chart as text: its title as a heading, its numbers as a table."""
    if title := chart_title(root):
        yield f"### {title}"
    if table := table_text(chart_rows(root)):
        yield table


def chart_title(root: Any) -> str:
    """Return a chart's own title, not those of its axes."""
    title = next(descendants(root, "title"), None)
    return text_of(title) if title is not None and local_name(title.getparent()) == "chart" else ""


def chart_rows(root: Any) -> list[list[str]]:
    """Return a chart's numbers: a row with the names of its series, then a row for each category."""
    series = list(descendants(root, "ser"))
    if not series:
        return []
    names = [text_of(next(descendants(one, "tx"), one.makeelement("tx"))) for one in series]
    labels = max((_points(one, "cat") or _points(one, "xVal") for one in series), key=len)
    values = [_points(one, "val") or _points(one, "yVal") for one in series]
    return [["", *names], *map(list, zip_longest(labels, *values, fillvalue=""))]


def _points(series: Any, name: str) -> list[str]:
    """Return the points of an axis in their places; missing ones are empty."""
    axis = next(descendants(series, name), None)
    points = {} if axis is None else {int(p.get("idx", 0)): text_of(p) for p in descendants(axis, "pt")}
    return [points.get(place, "") for place in range(max(points, default=-1) + 1)][:_MAX_POINTS]
