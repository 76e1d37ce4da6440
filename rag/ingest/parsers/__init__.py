"""Files in, canonical text out: every format ends as a LoadedDocument or is refused with a sentence."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from rag.errors import DocumentRefused
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.ocr import LONGEST, PROGRAM, Reading, recognised
from rag.text.document import LoadedDocument, shown

__all__ = ["LONGEST", "LoadedDocument", "Reading", "drained", "load", "reading"]

R = TypeVar("R")


def load(path: Path, name: str, *, timeout: float = 60.0, memory: int = 1 << 30) -> LoadedDocument:
    """Read a file in a child process of at most `timeout` seconds and `memory` bytes.

    The kind is found by content; `name`, the user's name for it, only helps where the content
    cannot tell (Markdown from plain text). Raises DocumentRefused with a sentence naming file and reason.
    """
    return drained(reading(path, name, timeout=timeout, memory=memory))


def drained(steps: Generator[Any, None, R]) -> R:
    """Go through all steps and return what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result


def reading(
    path: Path,
    name: str,
    *,
    timeout: float = 60.0,
    memory: int = 1 << 30,
    tesseract: str = PROGRAM,
    recognition: float = LONGEST,
    cancelled: Callable[[], bool] = lambda: False,
) -> Reading:
    """Read a file as `load` does; yield (done, all) of the pages whose text has to be recognised.

    `tesseract` is the program that recognises it, each page within caps of its own and all of them in about
    `recognition` seconds. Pages that are left out for that, or for want of such a program, are told in the
    document's note.
    """
    if not path.is_file():
        raise DocumentRefused(f"{shown(name)} cannot be found where it was kept. Add it again.")
    facts, output = sandbox.run("load", path, name, timeout=timeout, memory=memory)
    document = LoadedDocument(
        text=output.decode("utf-8"),
        pages=tuple((number, start, end) for number, start, end in facts["pages"]),
        title=facts["title"],
        media_type=facts["media_type"],
        headings=tuple((start, level, heading) for start, level, heading in facts["headings"]),
        pictured=tuple(facts["pictured"]),
    )
    if document.pictured:
        document = yield from recognised(path, name, document, tesseract, recognition, cancelled)
    if not any(character.isalnum() for character in document.text):
        raise DocumentRefused(f"{shown(name)} holds no text.")
    return document
