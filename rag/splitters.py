"""Documents into chunks that keep their page, heading path and exact place in the text.

A chunk never crosses a page or a heading's section, and is cut at the best place near its size:
between paragraphs, rows or list items, then sentences, then lines, then words.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from rag.loaders.document import LoadedDocument

# About 200 tokens of multilingual-e5: 4.3 Latin letters a token, 1.6 of Hangul, Kana and Han.
SIZE = 900
OVERLAP = 100
_WIDE = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
_WIDTH = 2.7  # what one of them weighs against a Latin letter
_BREAKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n\s*\n",  # paragraphs
        r"\n(?=[ \t]*(?:\||[-*+•][ \t]|\d{1,3}[.)][ \t]))",  # table rows and list items
        r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』）]*|(?<=다\.)\s*",  # sentences
        r"\n",
        r"\s+|(?<=[、，；;,])",  # words
    )
)
_TABLE = re.compile(r"^\|(.+)\|[ \t]*\n\|[ \t:|-]*-{3}[ \t:|-]*(?:\n\|.*)*", re.M)
_MAX_LABEL = 160


@dataclass(frozen=True)
class Piece:
    """A chunk: ``text[start:end]``, its page from 1 if there are pages, its heading path."""

    start: int
    end: int
    page: int | None
    heading: str


@dataclass(frozen=True)
class _Section:
    start: int
    end: int
    page: int | None
    heading: str


def split(document: LoadedDocument, *, size: int = SIZE, overlap: int = OVERLAP) -> list[Piece]:
    """Split a document into pieces of about `size` Latin letters, or `size` / 2.7 wide ones.

    Every piece begins and ends with a visible character; nothing but white space is left out.
    """
    tables = [(table.start(), table.end(), _label(table[1])) for table in _TABLE.finditer(document.text)]
    starts = [start for start, _, _ in tables]
    pieces = []
    for section in _sections(document):
        for start, end in _cut(document.text, section.start, section.end, size, overlap):
            table = tables[index] if (index := bisect_right(starts, start - 1) - 1) >= 0 else None
            inside = table is not None and table[0] < start < table[1]
            heading = (
                " > ".join(filter(None, (section.heading, table[2]))) if inside and table else section.heading
            )
            pieces.append(Piece(start, end, section.page, heading))
    return pieces


def _label(header: str) -> str:
    """Return a table's header row, for the pieces of the table that do not begin with it."""
    named = [cell.strip() for cell in header.split("|") if cell.strip()]
    cells = " | ".join(named) if len(named) > 1 else ""
    return cells if len(cells) <= _MAX_LABEL else cells[: _MAX_LABEL - 1] + "…"


def _sections(document: LoadedDocument) -> Iterator[_Section]:
    """Yield the stretches between page and heading starts, each with the path of headings above it."""
    pages = document.pages or ((None, 0, len(document.text)),)
    path: list[tuple[int, str]] = []
    headings = iter(document.headings)
    coming = next(headings, None)
    for number, start, end in pages:
        at = start
        while coming is not None and coming[0] < end:
            if document.text[at : coming[0]].strip() and not _only_heading(document, at, coming[0]):
                yield _Section(at, coming[0], number, _joined(path))
                at = coming[0]
            path = [entry for entry in path if entry[0] < coming[1]] + [(coming[1], coming[2])]
            coming = next(headings, None)
        yield _Section(at, end, number, _joined(path))


def _only_heading(document: LoadedDocument, start: int, end: int) -> bool:
    """Whether a stretch is one line: a heading that belongs to what follows it."""
    return "\n" not in document.text[start:end].strip() and any(
        heading[0] == start for heading in document.headings
    )


def _joined(path: list[tuple[int, str]]) -> str:
    return " > ".join(heading for _, heading in path)


def _cut(text: str, start: int, end: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a stretch, all of about equal length, each beginning before the last one's end."""
    start, end = _trimmed(text, start, end)
    if start == end:
        return
    scale = 1 + (_WIDTH - 1) * len(_WIDE.findall(text, start, end)) / (end - start)
    limit, overlap = max(int(size / scale), 1), int(overlap / scale)
    while end - start > limit:
        even = math.ceil((end - start) / math.ceil((end - start) / limit))
        stop = _break(text, start + even // 2, min(start + limit, end), start + even)
        yield _trimmed(text, start, stop)
        start, end = _trimmed(text, max(_break(text, stop - overlap, stop, stop - overlap), start + 1), end)
    yield start, end


def _break(text: str, low: int, high: int, wanted: int) -> int:
    """Return the best place to cut in (low, high], near the wanted one among equals."""
    for pattern in _BREAKS:
        places = [found.end() for found in pattern.finditer(text, low, high) if low < found.end() <= high]
        if places:
            return min(places, key=lambda place: abs(place - wanted))
    return high


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
