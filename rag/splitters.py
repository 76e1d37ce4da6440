"""Documents into chunks that keep their page, heading path and exact place in the text.

A chunk never crosses a page or a heading's section, and is cut at the best place near its size:
between paragraphs, rows or list items, then sentences, then lines, then words.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from rag.errors import SettingsError
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
class Splitting:
    """How documents are split, in letters of Latin script; one of Hangul, Kana or Han counts 2.7.

    A piece is at most `size` long; where a stretch takes several, each but the first repeats about `overlap`
    of the one before it; sections shorter than `minimum` are joined with those around them on their page.
    Raises SettingsError where the three cannot be had together.
    """

    size: int = SIZE
    overlap: int = OVERLAP
    minimum: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SettingsError(f"Pieces of {self.size} letters hold nothing. Choose a size above 0.")
        if not 0 <= self.overlap < self.size:
            raise SettingsError(
                f"Pieces of {self.size} letters cannot repeat {self.overlap}. "
                "Choose an overlap of 0 or more that is smaller than the size."
            )
        if not 0 <= self.minimum <= self.size:
            raise SettingsError(
                f"Pieces of at most {self.size} letters cannot have at least {self.minimum}. "
                "Choose a minimum of 0 or more that is no larger than the size."
            )


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
    path: tuple[str, ...]


_USUAL = Splitting()


def split(document: LoadedDocument, splitting: Splitting = _USUAL) -> list[Piece]:
    """Split a document into pieces.

    Every piece begins and ends with a visible character; nothing but white space is left out.
    """
    tables = [(table.start(), table.end(), _label(table[1])) for table in _TABLE.finditer(document.text)]
    starts = [start for start, _, _ in tables]
    pieces = []
    for section in _no_shorter(document.text, _sections(document), splitting.minimum):
        for start, end in _cut(document.text, section.start, section.end, splitting.size, splitting.overlap):
            table = tables[index] if (index := bisect_right(starts, start - 1) - 1) >= 0 else None
            inside = table is not None and table[0] < start < table[1]
            path = (*section.path, table[2]) if inside and table else section.path
            pieces.append(Piece(start, end, section.page, " > ".join(filter(None, path))))
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
                yield _Section(at, coming[0], number, tuple(heading for _, heading in path))
                at = coming[0]
            path = [entry for entry in path if entry[0] < coming[1]] + [(coming[1], coming[2])]
            coming = next(headings, None)
        yield _Section(at, end, number, tuple(heading for _, heading in path))


def _only_heading(document: LoadedDocument, start: int, end: int) -> bool:
    """Whether a stretch is one line: a heading that belongs to what follows it."""
    return "\n" not in document.text[start:end].strip() and any(
        heading[0] == start for heading in document.headings
    )


def _no_shorter(text: str, sections: Iterable[_Section], minimum: int) -> list[_Section]:
    """Join sections of one page until each has `minimum` letters; what headings they share leads to it."""
    kept: list[_Section] = []
    for section in sections:
        if kept and kept[-1].page == section.page and _letters(text, kept[-1]) < minimum:
            kept[-1] = _together(kept[-1], section)
        else:
            kept.append(section)
    if len(kept) > 1 and kept[-2].page == kept[-1].page and _letters(text, kept[-1]) < minimum:
        kept[-2:] = [_together(kept[-2], kept[-1])]
    return kept


def _together(first: _Section, second: _Section) -> _Section:
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first.path, second.path, strict=False))
    return replace(first, end=second.end, path=tuple(heading for heading, _ in shared))


def _letters(text: str, section: _Section) -> float:
    start, end = _trimmed(text, section.start, section.end)
    return (end - start) * _scale(text, start, end)


def _scale(text: str, start: int, end: int) -> float:
    """Return what a character of a stretch weighs on average, against a Latin letter."""
    return 1 + (_WIDTH - 1) * len(_WIDE.findall(text, start, end)) / max(end - start, 1)


def _cut(text: str, start: int, end: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a stretch, all of about equal length, each beginning before the last one's end."""
    start, end = _trimmed(text, start, end)
    if start == end:
        return
    scale = _scale(text, start, end)
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
