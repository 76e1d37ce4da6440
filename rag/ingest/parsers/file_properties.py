"""Author, title and date in a file's properties: those of Office files, web pages and PDF."""

import html
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from rag.ingest.parsers import ooxml
from rag.text.document import LoadedDocument, clean

_CORE = "docProps/core.xml"
_LONGEST = 200  # characters of a property
_HEAD = 64 << 10  # bytes of a web page in which its properties stand
_META = re.compile(rb"<meta\s[^<>]{1,2000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(name|property|content)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_AUTHOR_FIELDS = ("author", "article:author", "dc.creator")
_DATE_FIELDS = ("article:published_time", "dc.date", "date", "dcterms.created")
_DAY = re.compile(r"(?:D:)?(\d{4})-?(\d\d)-?(\d\d)")


def with_properties(document: LoadedDocument, path: Path, kind: str) -> LoadedDocument:
    """Return a document with the properties of its file, where its parser has not read them."""
    if kind in ("docx", "pptx", "xlsx"):
        return _with_core(document, path)
    if kind == "html":
        with path.open("rb") as file:
            fields = meta_fields(file.read(_HEAD))
        return completed(document, author=_first(fields, _AUTHOR_FIELDS), day=_first(fields, _DATE_FIELDS))
    return document


def completed(document: LoadedDocument, *, author: str, day: str, title: str = "") -> LoadedDocument:
    """Return a document with these properties, on one line each; a title that it has stays."""
    return replace(
        document,
        title=document.title or _line(title),
        author=_line(author),
        written=_iso_day(day),
    )


def meta_fields(source: bytes) -> dict[str, str]:
    """Return the properties of a web page by name, in lower case.

    >>> meta_fields(b'<meta name="Author" content="Ann &amp; Bo">')
    {'author': 'Ann & Bo'}
    """
    fields: dict[str, str] = {}
    for tag in _META.findall(source):
        pairs = _ATTRIBUTE.findall(tag.decode("utf-8", "replace"))
        given = {name.lower(): html.unescape(double or single) for name, double, single in pairs}
        name = given.get("name") or given.get("property")
        if name and "content" in given:
            fields.setdefault(name.lower(), given["content"])
    return fields


def _with_core(document: LoadedDocument, path: Path) -> LoadedDocument:
    with zipfile.ZipFile(path) as container:
        if _CORE not in container.namelist():
            return document
        core = ooxml.parse_part(container, _CORE)
    fields = {ooxml.local_name(one): one.text or "" for one in ooxml.children(core)}
    return completed(
        document,
        author=fields.get("creator", ""),
        day=fields.get("created", ""),
        title=fields.get("title", ""),
    )


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")


def _line(text: str) -> str:
    return " ".join(clean(text).split())[:_LONGEST]


def _iso_day(text: str) -> str:
    """Return the day of a property, ISO; nothing where it is none.

    >>> _iso_day("2023-05-03T10:00:00Z"), _iso_day("D:20230503100000"), _iso_day("soon")
    ('2023-05-03', '2023-05-03', '')
    """
    match = _DAY.match(text.strip())
    try:
        return date(*map(int, match.groups())).isoformat() if match else ""
    except ValueError:
        return ""
