"""Parsers: every format ends as a LoadedDocument or is refused with a sentence."""

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, TypeVar

from rag.errors import Cancelled, DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import attached, old_office, sandbox
from rag.ingest.parsers.attached import FilesInside, with_attached, within_limits
from rag.ingest.parsers.ocr import OCR_SECONDS, PROGRAM, recognise_pages
from rag.ingest.parsers.provisions import with_provisions
from rag.text.document import CERTIFIED, EMPTY, LOCKED, WORDLESS, LoadedDocument, LoadSteps, shown

__all__ = ["OCR_SECONDS", "LoadSteps", "LoadedDocument", "load", "load_steps", "run_to_end", "unpack"]

R = TypeVar("R")
SECONDS, MEMORY = 60.0, 1 << 30
"""Limits of a parser: time, and bytes of address space."""


def load(path: Path, name: str, *, timeout: float = SECONDS, memory: int = MEMORY) -> LoadedDocument:
    """Read a file in a child process; its `name` decides on its kind only where the content cannot."""
    return run_to_end(load_steps(path, name, timeout=timeout, memory=memory))


def run_to_end(steps: Generator[Any, None, R]) -> R:
    """Run a generator to its end and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result


def load_steps(
    path: Path,
    name: str,
    *,
    timeout: float = SECONDS,
    memory: int = MEMORY,
    tesseract: str = PROGRAM,
    recognition: float = OCR_SECONDS,
    cancelled: Callable[[], bool] = lambda: False,
    soffice: str = old_office.PROGRAM,
    around: tuple[str, ...] = (),
    scratch: Path | None = None,
) -> LoadSteps:
    """Read a file as `load` does; yield (done, all) of the pages whose text has to be recognised.

    `around` are the media types of the files that it is in; `scratch` is the folder of a temporary file,
    which goes when it is closed, else that of the system.
    """
    if not path.is_file():
        raise DocumentRefused(N_("{name} cannot be found where it was kept. Add it again.", name=shown(name)))
    started = time.monotonic()
    document = _read(path, name, timeout, memory, scratch)

    def inside(file: Path, called: str) -> LoadSteps:
        if cancelled():
            raise Cancelled(N_("Reading {name} was stopped.", name=shown(name)))
        passed = time.monotonic() - started
        return load_steps(
            file,
            called,
            timeout=max(timeout - passed, 1.0),
            memory=memory,
            tesseract=tesseract,
            recognition=max(recognition - passed, 0.0),
            cancelled=cancelled,
            soffice=soffice,
            around=(*around, document.media_type),
            scratch=scratch,
        )

    if document.convertible:
        suffix = document.convertible
        with old_office.converted(path, name, suffix, soffice, timeout=timeout, memory=memory) as file:
            return replace((yield from inside(file, name)), media_type=document.media_type)
    if document.attached:
        reachable = within_limits(document, name, around)
        document = yield from with_attached(reachable, name, inside, started + timeout)
    if document.pictured or document.doubtful:
        document = yield from recognise_pages(path, name, document, tesseract, recognition, cancelled)
    if not any(character.isalnum() for character in document.text):
        raise DocumentRefused(N_("{name} holds no text.", name=shown(name)))
    return with_provisions(document)


def is_final(reason: str) -> bool:
    """Return True for a refusal that only another file changes: this one is empty, blank, or locked.

    >>> is_final(f"a.pdf {LOCKED}"), is_final("a.pdf took too long to read.")
    (True, False)
    """
    return reason.endswith((EMPTY, WORDLESS, LOCKED, CERTIFIED))


def unpack(name: str, content: Iterable[bytes]) -> LoadedDocument | None:
    """Return a ZIP archive with its files `attached`, each under the archive's name; None for other files.

    The files are not read. Raises DocumentRefused for a damaged archive.
    """
    if PurePath(name).suffix.lower() != ".zip":
        return None
    with TemporaryDirectory(prefix="footnote-") as folder:
        path = Path(folder) / "file"
        with path.open("wb") as file:
            file.writelines(content)
        document = _read(path, name, called=lambda inside: attached.file_name(name, inside))
    return document if document.media_type == attached.MEDIA_TYPE else None


def _read(
    path: Path,
    name: str,
    timeout: float = SECONDS,
    memory: int = MEMORY,
    scratch: Path | None = None,
    called: Callable[[str], str] = str,
) -> LoadedDocument:
    """Read a file in a child; its files inside are left in a temporary file, each `called` by its name."""
    output = TemporaryFile(dir=scratch)  # noqa: SIM115 - the files inside are read from it, and close it
    try:
        facts = sandbox.run_into(output, "load", path, name, timeout=timeout, memory=memory)
        for field in ("pages", "headings", "doubtful"):
            facts[field] = tuple(map(tuple, facts[field]))
        facts["pictured"] = tuple(facts["pictured"])
        sizes = [(called(inside), size) for inside, size in facts.pop("attached")]
        text = output.read(facts.pop("text")).decode("utf-8")
    except BaseException:
        output.close()
        raise
    files = FilesInside(output, sizes)
    return LoadedDocument(text, attached=files if sizes else (), **facts)
