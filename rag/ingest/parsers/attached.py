"""Files inside of a file: what is attached to a mail, the members of an archive.

The files of an archive are taken one by one, within limits.
"""

import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO
from weakref import finalize

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.detect import MAX_TEXT
from rag.ingest.parsers.ooxml import DAMAGED_ZIP
from rag.ingest.parsers.plain_text import decode
from rag.text.document import LOCKED, LoadedDocument, LoadSteps, shown
from rag.text.normalize import canonical

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
    parts = (part for part in canonical(name.replace("\\", "/")).split("/") if part not in ("", ".", ".."))
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


MAX_DEPTH = 2  # files in files
_MAX_REASONS = 5
_BETWEEN = "\n\n"


class FilesInside(Iterable[tuple[str, bytes]]):
    """Names and contents of the files inside of a file, one in memory at a time.

    They stand one after another in a temporary file, from where it is now; it is closed with the last use.
    """

    def __init__(self, output: IO[bytes], sizes: Sequence[tuple[str, int]]) -> None:
        self._output, self._sizes, self._start = output, sizes, output.tell()
        finalize(self, output.close)

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        at = self._start
        for name, size in self._sizes:
            self._output.seek(at)
            yield name, self._output.read(size)
            at += size


def within_limits(document: LoadedDocument, name: str, around: Sequence[str]) -> LoadedDocument:
    """Return a document without the files inside where it lies too deep; `around` are the types around it.

    Raises DocumentRefused for an archive in an archive.
    """
    if document.media_type == MEDIA_TYPE and MEDIA_TYPE in around:
        raise DocumentRefused(
            N_("{name} is an archive within an archive. Unpack it and add its files.", name=shown(name))
        )
    if len(around) < MAX_DEPTH:
        return document
    return replace(
        document, attached=(), note=N_("{note} What is attached was not read.", note=document.note).lstrip()
    )


def with_attached(
    document: LoadedDocument, name: str, read: Callable[[Path, str], LoadSteps], deadline: float
) -> LoadSteps:
    """Return a document with the text of the files inside, each under its name; its note names the others.

    Raises DocumentRefused where none has any text and the document has none of its own.
    """
    sections, reasons = _Sections(document), list[str]()
    with TemporaryDirectory(prefix="footnote-") as folder:
        for inside, content in document.attached:
            if time.monotonic() >= deadline or sections.full:
                reasons.append(N_("{shown} was not reached.", shown=shown(inside)))
                continue
            path = Path(folder) / "file"
            path.write_bytes(content)
            del content
            try:
                sections.add(inside, (yield from read(path, inside)))
            except DocumentRefused as error:
                reasons.append(str(error))
    if not sections.length:
        raise DocumentRefused(
            N_(
                "{shown} holds nothing that can be read. {in_words}",
                shown=shown(name),
                in_words=_in_words(reasons),
            ).rstrip()
        )
    return sections.document(_in_words(reasons))


def _in_words(reasons: list[str]) -> str:
    """Return the reasons why files were not read, at most so many of them."""
    more = len(reasons) - _MAX_REASONS
    return " ".join(
        [*reasons[:_MAX_REASONS], *([N_("{more} more files were not read.", more=more)] if more > 0 else [])]
    )


class _Sections:
    """Text of a document and of the files inside, with their headings."""

    def __init__(self, document: LoadedDocument):
        self._document, self._texts = document, [document.text] if document.text else []
        self._headings, self._notes = list(document.headings), [document.note] if document.note else []
        self._level = 2 if document.text else 1
        self.length = len(document.text)
        self._size = len(document.text.encode("utf-8", "replace"))
        self.full = False

    def add(self, name: str, inside: LoadedDocument) -> None:
        """Add a file under its name; the levels of its headings go on from there.

        Raises DocumentRefused where the text would be too long with it.
        """
        self._size += len(inside.text.encode("utf-8", "replace"))
        if self._size > MAX_TEXT:
            self.full = True
            raise DocumentRefused(N_("{name} was not reached.", name=shown(name)))
        start = self.length + len(_BETWEEN) if self._texts else 0
        heading = f"{'#' * self._level} {shown(name)}"
        text = f"{heading}{_BETWEEN}{inside.text}"
        offset = start + len(heading) + len(_BETWEEN)
        self._headings.append((start, self._level, shown(name)))
        self._headings += [(at + offset, level + self._level, words) for at, level, words in inside.headings]
        self._texts.append(text)
        self.length = start + len(text)
        if inside.note:
            self._notes.append(f"{shown(name)}: {inside.note}")

    def document(self, note: str) -> LoadedDocument:
        """Return all of it as one document."""
        return replace(
            self._document,
            text=_BETWEEN.join(self._texts),
            headings=tuple(self._headings),
            note=" ".join(filter(None, [*self._notes, note])),
            attached=(),
        )
