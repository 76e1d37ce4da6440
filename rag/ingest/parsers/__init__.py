"""Parsers: every format ends as a LoadedDocument or is refused with a sentence."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from rag.errors import DocumentRefused
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.ocr import OCR_SECONDS, PROGRAM, LoadSteps, recognise_pages
from rag.text.document import LoadedDocument, shown

__all__ = ["OCR_SECONDS", "LoadSteps", "LoadedDocument", "load", "load_steps", "run_to_end"]

R = TypeVar("R")


def load(path: Path, name: str, *, timeout: float = 60.0, memory: int = 1 << 30) -> LoadedDocument:
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
    timeout: float = 60.0,
    memory: int = 1 << 30,
    tesseract: str = PROGRAM,
    recognition: float = OCR_SECONDS,
    cancelled: Callable[[], bool] = lambda: False,
) -> LoadSteps:
    """Read a file as `load` does; yield (done, all) of the pages whose text has to be recognised."""
    if not path.is_file():
        raise DocumentRefused(f"{shown(name)} cannot be found where it was kept. Add it again.")
    facts, output = sandbox.run("load", path, name, timeout=timeout, memory=memory)
    for field in ("pages", "headings"):
        facts[field] = tuple(map(tuple, facts[field]))
    facts["pictured"] = tuple(facts["pictured"])
    document = LoadedDocument(output.decode("utf-8"), **facts)
    if document.pictured:
        document = yield from recognise_pages(path, name, document, tesseract, recognition, cancelled)
    if not any(character.isalnum() for character in document.text):
        raise DocumentRefused(f"{shown(name)} holds no text.")
    return document
