"""Documents into chunks that keep their page, heading path and exact place in the text.

A chunk never crosses a page or a heading's section, and is cut at the best place near its size: prose
between paragraphs, rows or list items, then sentences, then lines, then words; code between definitions.
A table that fits is never cut.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from rag.errors import DocumentRefused, SettingsError
from rag.text.document import LoadedDocument

# How documents are split, as a value: size, overlap and minimum.


# About 200 tokens of multilingual-e5: 4.3 Latin letters a token, 1.6 of Hangul, Kana and Han.
SIZE = 900
OVERLAP = 100


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


# A stretch of text cut into spans of about equal length, at the best places near them.
_WIDE = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
_WIDTH = 2.7  # what one of them weighs against a Latin letter


def cut(
    text: str,
    start: int,
    end: int,
    splitting: Splitting,
    separators: Sequence[re.Pattern[str]],
    whole: Sequence[tuple[int, int]] = (),
) -> Iterator[tuple[int, int]]:
    """Yield the spans of a stretch, all of about equal length, each beginning before the last one's end.

    No span of `whole`, which are in order, is cut if it fits.
    """
    start, end = trimmed(text, start, end)
    if start == end:
        return
    scale = weight(text, start, end)
    limit, overlap = max(int(splitting.size / scale), 1), int(splitting.overlap / scale)
    inside = whole[max(bisect_left(whole, (start,)) - 1, 0) : bisect_left(whole, (end,))]
    kept = [(first, last) for first, last in inside if last - first <= limit]
    while end - start > limit:
        even = math.ceil((end - start) / math.ceil((end - start) / limit))
        stop = best(text, start + even // 2, min(start + limit, end), start + even, separators)
        stop = _outside(kept, stop, start, limit)
        yield trimmed(text, start, stop)
        after = best(text, stop - overlap, stop, stop - overlap, separators)
        start, end = trimmed(text, max(_after(kept, after, stop), start + 1), end)
    yield start, end


def _outside(kept: Sequence[tuple[int, int]], stop: int, start: int, limit: int) -> int:
    """Return a place to end that cuts nothing of what is kept whole: behind it if that fits, else before."""
    for first, last in kept:
        if first < stop < last:
            if last - start <= limit:
                return last
            return first if first > start else stop
    return stop


def _after(kept: Sequence[tuple[int, int]], place: int, stop: int) -> int:
    """Return a place to go on at: what is kept whole is not repeated in part."""
    return stop if any(first < place < last for first, last in kept) else place


def best(text: str, low: int, high: int, wanted: int, separators: Sequence[re.Pattern[str]]) -> int:
    """Return the best place to cut in (low, high], near the wanted one among equals."""
    for pattern in separators:
        places = [found.end() for found in pattern.finditer(text, low, high) if low < found.end() <= high]
        if places:
            return min(places, key=lambda place: abs(place - wanted))
    return high


def weight(text: str, start: int, end: int) -> float:
    """Return what a character of a stretch weighs on average, against a Latin letter.

    >>> weight("abcd", 0, 4), weight("ab항구", 0, 4)
    (1.0, 1.85)
    """
    return 1 + (_WIDTH - 1) * len(_WIDE.findall(text, start, end)) / max(end - start, 1)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# The stretches of a document between page and heading starts, each with the headings above it.


@dataclass(frozen=True)
class Section:
    """``text[start:end]`` of a document, on one page, under the headings of ``path``."""

    start: int
    end: int
    page: int | None
    path: tuple[str, ...]


def sections(document: LoadedDocument, minimum: int) -> list[Section]:
    """Return a document's sections; those shorter than `minimum` letters are joined with their neighbours."""
    return _no_shorter(document.text, _sections(document), minimum)


def _sections(document: LoadedDocument) -> Iterator[Section]:
    pages = document.pages or ((None, 0, len(document.text)),)
    path: list[tuple[int, str]] = []
    headings = iter(document.headings)
    coming = next(headings, None)
    for number, start, end in pages:
        at = start
        while coming is not None and coming[0] < end:
            if document.text[at : coming[0]].strip() and not _only_heading(document, at, coming[0]):
                yield Section(at, coming[0], number, tuple(heading for _, heading in path))
                at = coming[0]
            path = [entry for entry in path if entry[0] < coming[1]] + [(coming[1], coming[2])]
            coming = next(headings, None)
        yield Section(at, end, number, tuple(heading for _, heading in path))


def _only_heading(document: LoadedDocument, start: int, end: int) -> bool:
    """Whether a stretch is one line: a heading that belongs to what follows it."""
    return "\n" not in document.text[start:end].strip() and any(
        heading[0] == start for heading in document.headings
    )


def _no_shorter(text: str, found: Iterable[Section], minimum: int) -> list[Section]:
    """Join sections of one page until each has `minimum` letters; what headings they share leads to it."""
    kept: list[Section] = []
    for section in found:
        if kept and kept[-1].page == section.page and _letters(text, kept[-1]) < minimum:
            kept[-1] = _together(kept[-1], section)
        else:
            kept.append(section)
    if len(kept) > 1 and kept[-2].page == kept[-1].page and _letters(text, kept[-1]) < minimum:
        kept[-2:] = [_together(kept[-2], kept[-1])]
    return kept


def _together(first: Section, second: Section) -> Section:
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first.path, second.path, strict=False))
    return replace(first, end=second.end, path=tuple(heading for heading, _ in shared))


def _letters(text: str, section: Section) -> float:
    start, end = trimmed(text, section.start, section.end)
    return (end - start) * weight(text, start, end)


# Where a text may be cut, best places first: prose of any language, and code by its language.
_WORDS = re.compile(r"\s+|(?<=[、，；;,])")
_LINES = re.compile(r"\n")
PROSE = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"\n(?=[ \t]*(?:\||[-*+•][ \t]|\d{1,3}[.)][ \t]))"),  # table rows and list items
    re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』）]*|(?<=다\.)\s*"),  # sentences
    _LINES,
    _WORDS,
)


# A blank line before a line that is not indented parts code of every language, and leaves the comments and
# decorators of what follows with it.
_BLOCKS = re.compile(r"\n[ \t]*\n(?=[^\s})\]])")
_STARTS = re.compile(r"\n(\w[\w ]*) ")


# Words that begin a step, not a part: an indented one is no place to cut.
_STEPS = frozenset(
    {
        *("if", "else", "elif", "unless", "for", "foreach", "while", "loop", "do", "switch", "case", "when"),
        *("match", "default", "try", "catch", "finally", "rescue", "begin", "return", "break", "continue"),
        *("throw", "let", "const", "var", "val", "in", "where", "use", "option", "import"),
    }
)
CODE = "text/x-"  # how the media types of code begin; the language follows, by langchain's name for it


def separators(media_type: str) -> Sequence[re.Pattern[str]]:
    """Return what parts a text of a kind, best first; a match's end is a place to cut.

    Code is parted as langchain's `RecursiveCharacterTextSplitter.from_language` does it, where it knows the
    language, and at definitions that are indented too.
    """
    if not media_type.startswith(CODE):
        return PROSE
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    try:
        of_language = RecursiveCharacterTextSplitter.get_separators_for_language(
            Language(media_type.removeprefix(CODE))
        )
    except ValueError:  # a language that it does not know
        return (_BLOCKS, *PROSE[:1], _LINES, _WORDS)
    special = [separator for separator in of_language if separator.strip()]
    before = [re.compile(rf"(?={separator})") for separator in special]
    return (_BLOCKS, *before, *_definitions(special), *PROSE[:1], _LINES, _WORDS)


def _definitions(of_language: Sequence[str]) -> Iterator[re.Pattern[str]]:
    """Yield one pattern for a language's indented definitions, if it has words for them."""
    starts = [start[1] for separator in of_language if (start := _STARTS.fullmatch(separator))]
    words = "|".join(word for word in starts if word not in _STEPS)
    if words:
        yield re.compile(rf"\n(?=[ \t]+(?:{words}) )")


# The tables of a text: where each stands, and the header row that its later pieces are found by.
_TABLE = re.compile(r"^\|(.+)\|[ \t]*\n\|[ \t:|-]*-{3}[ \t:|-]*(?:\n\|.*)*", re.M)
_MAX_LABEL = 240


@dataclass(frozen=True)
class Table:
    """``text[start:end]``; ``header`` is its first row, `Ship | Year`, empty where it has one column."""

    start: int
    end: int
    header: str


def tables(text: str) -> list[Table]:
    """Return the tables of a text, in order."""
    return [Table(found.start(), found.end(), _header(found[1])) for found in _TABLE.finditer(text)]


def header_above(found: Sequence[Table], start: int) -> str:
    """Return the header of the table within which a piece starts, or nothing: it has its own, or none.

    A piece is an exact span of its document, so the header cannot be written into it: it ends the heading
    path, which is shown above the piece and indexed with it.
    """
    index = bisect_right(found, start - 1, key=lambda table: table.start) - 1
    return found[index].header if index >= 0 and start < found[index].end else ""


def _header(row: str) -> str:
    named = [cell.strip() for cell in row.split("|") if cell.strip()]
    cells = " | ".join(named) if len(named) > 1 else ""
    return cells if len(cells) <= _MAX_LABEL else cells[: _MAX_LABEL - 1] + "…"


__all__ = ["OVERLAP", "SIZE", "Piece", "Splitting", "check", "split"]
_USUAL = Splitting()


@dataclass(frozen=True)
class Piece:
    """A chunk: ``text[start:end]``, its page from 1 if there are pages, its heading path."""

    start: int
    end: int
    page: int | None
    heading: str


def split(document: LoadedDocument, splitting: Splitting = _USUAL) -> list[Piece]:
    """Split a document into pieces.

    Every piece begins and ends with a visible character; nothing but white space is left out. Raises
    DocumentRefused where a piece is no such span, which no document should bring about.
    """
    found, places = tables(document.text), separators(document.media_type)
    whole = [(table.start, table.end) for table in found]
    pieces = []
    for section in sections(document, splitting.minimum):
        for start, end in cut(document.text, section.start, section.end, splitting, places, whole):
            path = (*section.path, header_above(found, start))
            pieces.append(Piece(start, end, section.page, " > ".join(filter(None, path))))
    check(document, pieces)
    return pieces


def check(document: LoadedDocument, pieces: Sequence[Piece]) -> None:
    """Refuse a document of which a piece is not words of its text, on its page: citations stand on that."""
    spans = {number: (start, end) for number, start, end in document.pages}
    for piece in pieces:
        first, last = spans.get(piece.page or 0, (0, len(document.text)))
        words = document.text[piece.start : piece.end]
        exact = len(words) == piece.end - piece.start and bool(words) and words == words.strip()
        if not (exact and first <= piece.start <= piece.end <= last):
            raise DocumentRefused(
                "The document could not be split into exact passages of its text, so nothing of it could be "
                "cited. Save it in another format and add it again."
            )
