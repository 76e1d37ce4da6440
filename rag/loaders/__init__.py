"""Files in, canonical text out: every format ends as a LoadedDocument or is refused with a sentence."""

from pathlib import Path

from rag.errors import DocumentRefused
from rag.loaders import sandbox
from rag.loaders.document import LoadedDocument, shown

__all__ = ["LoadedDocument", "load"]


def load(path: Path, name: str, *, timeout: float = 60.0, memory: int = 1 << 30) -> LoadedDocument:
    """Read a file in a child process of at most `timeout` seconds and `memory` bytes.

    The kind is found by content; `name`, the user's name for it, only helps where the content
    cannot tell (Markdown from plain text). Raises DocumentRefused with a sentence naming file and reason.
    """
    if not path.is_file():
        raise DocumentRefused(f"{shown(name)} cannot be found where it was kept. Add it again.")
    facts, output = sandbox.run("load", path, name, timeout=timeout, memory=memory)
    text = output.decode("utf-8")
    if not text.strip():
        raise DocumentRefused(f"{shown(name)} holds no text.")
    return LoadedDocument(
        text=text,
        pages=tuple((number, start, end) for number, start, end in facts["pages"]),
        title=facts["title"],
        media_type=facts["media_type"],
        headings=tuple((start, level, heading) for start, level, heading in facts["headings"]),
    )
