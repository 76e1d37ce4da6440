"""Detection of a file's kind by its content, and the parser of each kind; other kinds are refused by name.

Author, title and date are taken from the properties of Office files, web pages and PDF.
"""

import html
import importlib
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePath

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml
from rag.ingest.parsers.ole import names, open_ole
from rag.ingest.parsers.ooxml import DAMAGED_ZIP
from rag.ingest.parsers.plain_text import LANGUAGES
from rag.text.document import EMPTY, LOCKED, WORDLESS, LoadedDocument, completed

_CORE = "docProps/core.xml"
_HEAD = 64 << 10  # bytes of a web page in which its properties stand
_META = re.compile(rb"<meta\s[^<>]{1,2000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(name|property|content)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_AUTHOR_FIELDS = ("author", "article:author", "dc.creator")
_DATE_FIELDS = ("article:published_time", "dc.date", "date", "dcterms.created")


def with_properties(document: LoadedDocument, path: Path, kind: str) -> LoadedDocument:
    """Return a document with the properties of its file, where its parser has not read them."""
    if kind in ("docx", "pptx", "xlsx"):
        return _with_core(document, path)
    if kind == "html":
        with path.open("rb") as file:
            fields = meta_fields(file.read(_HEAD))
        return completed(document, author=_first(fields, _AUTHOR_FIELDS), day=_first(fields, _DATE_FIELDS))
    return document


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


MAX_TEXT = 50_000_000  # bytes of UTF-8, as many as the largest upload has; three copies are in memory once

# `module:function` of a path, imported when needed: a PDF starts no Office library.
_PARSERS = {
    "pdf": "rag.ingest.parsers.pdf:read_pdf",
    "docx": "rag.ingest.parsers.docx:read_docx",
    "pptx": "rag.ingest.parsers.pptx:read_pptx",
    "epub": "rag.ingest.parsers.html:read_epub",
    "xlsx": "rag.ingest.parsers.xlsx:read_xlsx",
    "odt": "rag.ingest.parsers.opendocument:read_odt",
    "ods": "rag.ingest.parsers.opendocument:read_ods",
    "odp": "rag.ingest.parsers.opendocument:read_odp",
    "csv": "rag.ingest.parsers.plain_text:read_csv",
    "confluence": "rag.ingest.parsers.confluence:read_confluence",
    "html": "rag.ingest.parsers.html:read_html",
    "xml": "rag.ingest.parsers.html:read_xml",
    "markdown": "rag.ingest.parsers.plain_text:read_markdown",
    "mail": "rag.ingest.parsers.email:read_mail",
    "msg": "rag.ingest.parsers.email:read_msg",
    "hwp": "rag.ingest.parsers.hangul:read_hwp",
    "hwpx": "rag.ingest.parsers.hangul:read_hwpx",
    "rtf": "rag.ingest.parsers.rtf:read_rtf",
    "doc": "rag.ingest.parsers.old_office:read_doc",
    "xls": "rag.ingest.parsers.old_office:read_xls",
    "ppt": "rag.ingest.parsers.old_office:read_ppt",
    "zip": "rag.ingest.parsers.attached:read_zip",
    "image": "rag.ingest.parsers.ocr:read_image",
    "notebook": "rag.ingest.parsers.plain_text:read_notebook",
    "latex": "rag.ingest.parsers.plain_text:read_latex",
    "rst": "rag.ingest.parsers.plain_text:read_rst",
    "asciidoc": "rag.ingest.parsers.plain_text:read_asciidoc",
    "code": "rag.ingest.parsers.plain_text:read_code",
    "text": "rag.ingest.parsers.plain_text:read_text",
}
_MAGIC = (
    (b"GIF8", N_("an image (GIF)")),
    (b"RIFF", N_("a sound or video file")),
    (b"ID3", N_("a sound file")),
    (b"OggS", N_("a sound file")),
    (b"fLaC", N_("a sound file")),
    (b"\x1f\x8b", N_("a gzip archive")),
    (b"BZh", N_("a bzip2 archive")),
    (b"\xfd7zXZ", N_("an xz archive")),
    (b"7z\xbc\xaf", N_("a 7-Zip archive")),
    (b"Rar!", N_("a RAR archive")),
    (b"\x7fELF", N_("a program")),
    (b"MZ", N_("a program")),
    (b"SQLite format 3", N_("a database")),
    (b"HWP Document File", N_("a document of Hangul 97 or older (HWP 3)")),
    (b"%!PS", N_("a PostScript file")),
)
_IMAGE = re.compile(rb"\x89PNG|\xff\xd8\xff|II\*\0|MM\0\*|RIFF(?s:....)WEBP|BM(?s:....)\0\0\0\0")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_PARTS = {  # names of streams in the root of the container
    "FileHeader": "hwp",
    "__properties_version1.0": "msg",
    "WordDocument": "doc",
    "PowerPoint Document": "ppt",
    "Workbook": "xls",
    "Book": "xls",
}
_OFFICE = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("Contents/section0.xml", "hwpx"),
)
_MEDIA_TYPES = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
    (b"application/hwp+zip", "hwpx"),
)
# Members of containers of programs, which are no archives of documents.
_PROGRAMS = {
    "[Content_Types].xml",
    "META-INF/MANIFEST.MF",
    "AndroidManifest.xml",
    "Index/Document.iwa",
    "mimetype",
}
_UNSUPPORTED_EXTENSIONS = {".p7s": "a signature", ".p7m": N_("a signed message")}
_TEXT_EXTENSIONS = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), "markdown"),
    **dict.fromkeys((".eml", ".mht", ".mhtml"), "mail"),
    **dict.fromkeys((".adoc", ".asciidoc"), "asciidoc"),
    ".ipynb": "notebook",
    ".tex": "latex",
    ".rst": "rst",
}
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*|<\?xml[^>]*\?>\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_PDF = re.compile(rb"(?:\A|[\r\n\0])%PDF-\d")
_FIELDS = re.compile(rb"(?:[A-Z][A-Za-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+")
_FIELD_NAME = re.compile(rb"^([A-Z][A-Za-z0-9-]*):", re.M)
_MAIL_FIELDS = {b"message-id", b"received", b"date"}
_CONFLUENCE = re.compile(rb'<html [^>]*xmlns:ac="http://atlassian\.com/content"')
_XML = re.compile(rb"\s*<\?xml\b")


def parse(path: Path, name: str) -> LoadedDocument:
    """Read a file of any kind. Raises DocumentRefused, whose message continues the file's name."""
    if path.stat().st_size == 0:
        raise DocumentRefused(EMPTY)
    kind = detect_kind(path, name)
    module, _, function = _PARSERS[kind].partition(":")
    parser = getattr(importlib.import_module(module), function)
    document: LoadedDocument = parser(path, name) if kind == "code" else parser(path)
    document = with_properties(document, path, kind)
    if len(document.text.encode("utf-8", "replace")) > MAX_TEXT:
        raise DocumentRefused(
            N_(
                "holds more than {megabytes} MB of text. Split it and add the parts.",
                megabytes=MAX_TEXT // 1_000_000,
            )
        )
    if document.is_whole and not any(character.isalnum() for character in document.text):
        raise DocumentRefused(WORDLESS)
    return document


def detect_kind(path: Path, name: str) -> str:
    """Return the kind of a file, as the table of parsers names it; DocumentRefused for any other."""
    with path.open("rb") as file:
        start = file.read(4096)
    extension = PurePath(name).suffix.lower()
    if _PDF.search(start[:1024]):
        return "pdf"
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_zip(path)
    if start.startswith(_OLE):
        return _kind_of_ole(path)
    if _IMAGE.match(start):
        return "image"
    if start.startswith(b"{\\rtf"):
        return "rtf"
    _refuse_by_magic(start)
    if _is_mail(start):
        return "mail"
    if extension in _UNSUPPORTED_EXTENSIONS:
        raise unsupported(_UNSUPPORTED_EXTENSIONS[extension])
    return _kind_of_text(start, extension)


def _refuse_by_magic(start: bytes) -> None:
    for magic, kind in _MAGIC:
        if start.startswith(magic) and (len(magic) > 2 or b"\0" in start):  # two letters may begin a text
            raise unsupported(kind)


def unsupported(kind: str) -> DocumentRefused:
    """Return the refusal of a kind that Footnote does not read."""
    return DocumentRefused(
        N_(
            "is {kind}, which Footnote does not read. Save it as PDF, DOCX, PPTX, XLSX, ODT, "
            "HWPX, CSV, HTML, EPUB, Markdown or plain text.",
            kind=kind,
        )
    )


def _kind_of_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
            mimetype = archive.read("mimetype")[:80] if "mimetype" in members else b""
    except DAMAGED_ZIP as error:
        raise DocumentRefused(N_("is damaged: its ZIP container cannot be opened.")) from error
    for media_type, kind in _MEDIA_TYPES:
        if mimetype.startswith(media_type):
            return kind
    for member, kind in _OFFICE:
        if member in members:
            return kind
    if members & _PROGRAMS:
        raise unsupported(N_("a container of another program"))
    return "zip"


def _kind_of_ole(path: Path) -> str:
    with open_ole(path) as container:
        inside = names(container)
    if "EncryptedPackage" in inside:
        raise DocumentRefused(LOCKED)
    kind = next((kind for part, kind in _OLE_PARTS.items() if part in inside), None)
    if kind is None:
        raise DocumentRefused(N_("is damaged, or an OLE container of a program that Footnote does not know."))
    return kind


def _is_mail(start: bytes) -> bool:
    header = _FIELDS.match(start)
    names = {name.lower() for name in _FIELD_NAME.findall(header[0])} if header else set()
    return b"mime-version" in names or (b"from" in names and bool(names & _MAIL_FIELDS))


def _kind_of_text(start: bytes, extension: str) -> str:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.decode("utf-16", "ignore").encode()
    start = start.removeprefix(b"\xef\xbb\xbf")
    if _CONFLUENCE.match(start):
        return "confluence"
    if extension in LANGUAGES and (b"<?php" in start or not _HTML.match(start)):
        return "code"
    if _HTML.match(start) or extension in (".html", ".htm", ".xhtml"):
        return "html"
    if _XML.match(start) or extension == ".xml":
        return "xml"
    return _TEXT_EXTENSIONS.get(extension, "text")
