"""ZIP archives of documents: their files one by one, within limits."""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.ooxml import DAMAGED_ZIP
from rag.ingest.parsers.plain_text import decode
from rag.text.document import LOCKED, LoadedDocument, clean, shown

MEDIA_TYPE = "application/zip"
MAX_FILES = 1000
MAX_UNPACKED = 100 << 20  # bytes of all files
_SHOWN = 10  # names of damaged files
_UTF8_NAME = 0x800  # flag of a member
_SYSTEM_FILES = ("__macosx", "thumbs.db", "desktop.ini")


def read_zip(path: Path) -> LoadedDocument:
    """Return the files of an archive, each to be read on its own."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.filename.endswith("/")]
        named = [(name, member) for member in members if not _is_hidden(name := _name(member))]
        if any(member.flag_bits & 1 for _, member in named):
            raise DocumentRefused(LOCKED)
        if len(named) > MAX_FILES:
            raise DocumentRefused(
                N_("holds more than {max_files} files. Unpack it and add them.", max_files=f"{MAX_FILES:,}")
            )
        damaged: list[str] = []
        files = tuple(_unpacked(archive, named, damaged))
    if not named:
        raise DocumentRefused(N_("is empty. Put files into it, then add it."))
    if not files:
        raise DocumentRefused(N_("is damaged: no file in it can be unpacked."))
    note = N_("Damaged, and not unpacked: {names}.", names=", ".join(damaged[:_SHOWN])) if damaged else ""
    return LoadedDocument("", media_type=MEDIA_TYPE, attached=files, note=note)


def _unpacked(
    archive: zipfile.ZipFile, named: list[tuple[str, zipfile.ZipInfo]], damaged: list[str]
) -> Iterator[tuple[str, bytes]]:
    left = MAX_UNPACKED
    for name, member in named:
        try:
            with archive.open(member) as file:
                content = file.read(left + 1)
        except DAMAGED_ZIP:
            damaged.append(shown(name))
            continue
        left -= len(content)
        if left < 0:
            raise DocumentRefused(
                N_(
                    "unpacks to more than {max_unpacked} MB. Unpack it and add its files.",
                    max_unpacked=MAX_UNPACKED >> 20,
                )
            )
        yield name, content


def _name(member: zipfile.ZipInfo) -> str:
    """Return a member's path; without a mark it is in the encoding of the computer that made it."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME and not name.isascii():
        name = decode(name.encode("cp437", "replace"))
    parts = (part for part in clean(name.replace("\\", "/")).split("/") if part not in ("", ".", ".."))
    return "/".join(parts)


def file_name(archive: str, inside: str) -> str:
    """Return the name of a document that was in an archive.

    >>> file_name("reports.zip", "2023/a.pdf"), file_name("reports.zip", "reports/a.pdf")
    ('reports/2023/a.pdf', 'reports/a.pdf')
    """
    stem = archive[: -len(".zip")]
    return inside if inside.startswith(f"{stem}/") else f"{stem}/{inside}"


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name.lower()).parts
    return not parts or any(part.startswith((".", "~$")) or part in _SYSTEM_FILES for part in parts)
