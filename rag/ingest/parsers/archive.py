"""Look into a ZIP container before any parser does: bombs, entity tricks and locks are refused."""

import re
import zipfile
from pathlib import Path

from rag.errors import DocumentRefused
from rag.text.document import LOCKED

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
