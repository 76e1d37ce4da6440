"""A PDF page as a picture with the cited words marked, and their boxes in its pixels.

Made in a child process, like all reading of documents. Where the page's text is not the one that
was stored, the place of the words is uncertain: nothing is marked, and the result says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.ingest.parsers import sandbox

TIMEOUT = 20.0  # seconds: someone waits for the page
MEMORY = 1 << 30


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels from the top left of the page's picture."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class PageImage:
    """A rendered page; `boxes` is empty when the place of the words is not `certain`."""

    png: bytes
    width: int
    height: int
    boxes: tuple[Box, ...]
    certain: bool


def page_image(
    path: Path, page: int, text: str, spans: Sequence[tuple[int, int]], *, scale: float = 2.0
) -> PageImage:
    """Render a page (from 1) at `scale` pixels a point, with `spans` of its stored `text` marked.

    Offsets count from the start of the page's own text, ``canonical[page_start:page_end]``.
    Raises DocumentRefused when the file or the page cannot be read.
    """
    facts, png = _page(path, page, text, spans, scale, picture=True)
    return PageImage(png, facts["width"], facts["height"], _boxes(facts), facts["certain"])


def boxes(
    path: Path, page: int, text: str, start: int, end: int, *, scale: float = 2.0
) -> tuple[Box, ...] | None:
    """Return where ``text[start:end]`` stands on a page, one box a line; None where that is uncertain."""
    facts, _ = _page(path, page, text, [(start, end)], scale, picture=False)
    return _boxes(facts) if facts["certain"] else None


def _page(
    path: Path, page: int, text: str, spans: Sequence[tuple[int, int]], scale: float, *, picture: bool
) -> tuple[dict[str, Any], bytes]:
    for start, end in spans:
        if not 0 <= start < end <= len(text):
            raise ValueError(f"[{start}, {end}) is no span of a page of {len(text)} characters")
    request = {"number": page, "text": text, "spans": list(spans), "scale": scale, "picture": picture}
    return sandbox.run("page", path, "The document", timeout=TIMEOUT, memory=MEMORY, **request)


def _boxes(facts: dict[str, Any]) -> tuple[Box, ...]:
    return tuple(Box(*box) for box in facts["boxes"])
