"""Chunking: documents into pieces that keep their page, heading path and exact place in the text.

A chunk never crosses a page or a heading's section, and is cut at the best place near its size: prose
between paragraphs, rows or list items, then sentences, then lines, then words; code between definitions.
A table that fits is never cut.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from typing import Literal, get_args

from rag.errors import DocumentRefused, SettingsError
from rag.i18n import N_
from rag.text.document import LoadedDocument
from rag.text.markdown import BAR

# About 200 tokens of multilingual-e5: 4.3 Latin letters a token, 1.6 of Hangul, Kana and Han.
SIZE = 900
OVERLAP = 100
Splitter = Literal["sections", "recursive", "markdown"]
"""Ways to split: the app's own, and langchain-text-splitters' RecursiveCharacterTextSplitter and
MarkdownHeaderTextSplitter."""


@dataclass(frozen=True)
class Splitting:
    """Chunk sizes in Latin letters; a letter of Hangul, Kana or Han counts 2.7.

    A piece is at most `size` long and repeats about `overlap` of the one before it in its section; sections
    shorter than `minimum` are joined with their neighbours on the page. Another `splitter` counts characters,
    and has no minimum. Raises SettingsError where these contradict each other.
    """

    size: int = SIZE
    overlap: int = OVERLAP
    minimum: int = 0
    splitter: Splitter = "sections"

    def __post_init__(self) -> None:
        if self.splitter not in get_args(Splitter):
            raise SettingsError(
                N_(
                    "There is no splitter {name}. Choose one of: {names}.",
                    name=repr(self.splitter),
                    names=", ".join(get_args(Splitter)),
                )
            )
        if self.size < 1:
            raise SettingsError(
                N_("Pieces of {size} letters hold nothing. Choose a size above 0.", size=self.size)
            )
        if not 0 <= self.overlap < self.size:
            raise SettingsError(
                N_(
                    "Pieces of {size} letters cannot repeat {overlap}. Choose an overlap of 0 or more "
                    "that is smaller than the size.",
                    size=self.size,
                    overlap=self.overlap,
                )
            )
        if not 0 <= self.minimum <= self.size:
            raise SettingsError(
                N_(
                    "Pieces of at most {size} letters cannot have at least {minimum}. Choose a minimum "
                    "of 0 or more that is no larger than the size.",
                    size=self.size,
                    minimum=self.minimum,
                )
            )


# Spans of about equal length
_WIDE = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]+")
_WIDTH = 2.7  # what one of them weighs against a Latin letter


def cut(
    text: str,
    start: int,
    end: int,
    splitting: Splitting,
    separators: Sequence[re.Pattern[str]],
    whole: Sequence[tuple[int, int]] = (),
) -> Iterator[tuple[int, int]]:
    """Yield spans of about equal length, each beginning before the end of the last.

    A span of `whole`, which are in order, is not cut if it fits.
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
    """Move an end out of a kept span: behind it if that fits, else before it."""
    for first, last in kept:
        if first < stop < last:
            if last - start <= limit:
                return last
            return first if first > start else stop
    return stop


def _after(kept: Sequence[tuple[int, int]], place: int, stop: int) -> int:
    """Return the start of the next span: a kept span is not repeated in part."""
    return stop if any(first < place < last for first, last in kept) else place


def best(text: str, low: int, high: int, wanted: int, separators: Sequence[re.Pattern[str]]) -> int:
    """Return the best cut in (low, high]; among equal ones the nearest to `wanted`."""
    for pattern in separators:
        places = [found.end() for found in pattern.finditer(text, low, high) if low < found.end() <= high]
        if places:
            return min(places, key=lambda place: abs(place - wanted))
    return high


def weight(text: str, start: int, end: int) -> float:
    """Return the average width of a character, in Latin letters.

    >>> weight("abcd", 0, 4), weight("ab항구", 0, 4)
    (1.0, 1.85)
    """
    wide = sum(found.end() - found.start() for found in _WIDE.finditer(text, start, end))  # no list of them
    return 1 + (_WIDTH - 1) * wide / max(end - start, 1)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# Sections


@dataclass(frozen=True)
class Section:
    """Section ``text[start:end]`` of a document, on one page, under the headings of ``path``."""

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
    return "\n" not in document.text[start:end].strip() and any(
        heading[0] == start for heading in document.headings
    )


def _no_shorter(text: str, found: Iterable[Section], minimum: int) -> list[Section]:
    """Join sections of a page until each has `minimum` letters; they keep the headings they share."""
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


# Separators
_WORDS = re.compile(r"\s+|(?<=[、，；;,])")
_LINES = re.compile(r"\n")
PROSE = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"\n(?=[ \t]*(?:\||[-*+•][ \t]|\d{1,3}[.)][ \t]))"),  # table rows and list items
    re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』）]*|(?<=다\.)\s*"),  # sentences
    _LINES,
    _WORDS,
)


# A blank line before an unindented line separates code of every language, and leaves comments and decorators
# with the definition after them.
_BLOCKS = re.compile(r"\n[ \t]*\n(?=[^\s})\]])")
_STARTS = re.compile(r"\n(\w[\w ]*) ")


# Keywords of statements, not of definitions: no place to cut.
_STEPS = frozenset(
    {
        *("if", "else", "elif", "unless", "for", "foreach", "while", "loop", "do", "switch", "case", "when"),
        *("match", "default", "try", "catch", "finally", "rescue", "begin", "return", "break", "continue"),
        *("throw", "let", "const", "var", "val", "in", "where", "use", "option", "import"),
    }
)
CODE = "text/x-"  # how the media types of code begin; the language follows, by langchain's name for it


def separators(media_type: str) -> Sequence[re.Pattern[str]]:
    """Return the separators of a media type, best first; the end of a match is a place to cut.

    Code is split as langchain's `RecursiveCharacterTextSplitter.from_language` does it, where it knows the
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
    """Yield a pattern for a language's indented definitions, if it has keywords for them."""
    starts = [start[1] for separator in of_language if (start := _STARTS.fullmatch(separator))]
    words = "|".join(word for word in starts if word not in _STEPS)
    if words:
        yield re.compile(rf"\n(?=[ \t]+(?:{words}) )")


# Tables
_TABLE = re.compile(r"^\|(.+)\|[ \t]*\n\|[ \t:|-]*-{3}[ \t:|-]*(?:\n\|.*)*", re.M)
_MAX_LABEL = 240
_MAX_CAPTION = 120
_CAPTION_REACH = 1000
_HASHES = re.compile(r"^#{1,6}[ \t]+", re.M)
_SENTENCE_END = re.compile(r"[.!?。！？]$")


@dataclass(frozen=True)
class Table:
    """Table ``text[start:end]``; ``header`` is its first row, `Ship | Year`, empty for one column.

    ``caption`` is the paragraph above it, where that is short or announces the table with a colon.
    """

    start: int
    end: int
    header: str
    caption: str = ""


def tables(text: str) -> list[Table]:
    """Return the tables of a text, in order."""
    found = list(_TABLE.finditer(text))
    ends = [0, *(table.end() for table in found)]
    return [
        Table(table.start(), table.end(), _header(table[1]), _caption(text, end, table.start()))
        for table, end in zip(found, ends, strict=False)
    ]


def _caption(text: str, start: int, end: int) -> str:
    r"""Return the last paragraph of ``text[start:end]`` if it is a table's caption.

    >>> _caption("The harbour.\n\nShips by year\n(in thousands)\n\n", 0, 44)
    'Ships by year (in thousands)'
    """
    above = text[max(start, end - _CAPTION_REACH) : end].rstrip()
    paragraph = " ".join(_HASHES.sub("", above[above.rfind("\n\n") + 1 :]).split())
    if paragraph.endswith((":", "：")):
        return paragraph if len(paragraph) <= _MAX_LABEL else "…" + paragraph[1 - _MAX_LABEL :]
    if len(paragraph) > _MAX_CAPTION or _SENTENCE_END.search(paragraph):
        return ""
    return paragraph


def labels_above(found: Sequence[Table], start: int) -> tuple[str, ...]:
    """Return the caption and the header of the table that a piece starts within, or the caption at its start.

    A piece is an exact span of its document. So they are not part of it but of its heading path, which is
    shown above the piece and indexed with it.
    """
    index = bisect_right(found, start, key=lambda table: table.start) - 1
    if index < 0 or start >= found[index].end:
        return ()
    table = found[index]
    return (table.caption,) if start == table.start else (table.caption, table.header)


def _header(row: str) -> str:
    named = [cell.strip() for cell in BAR.split(row) if cell.strip()]
    cells = " | ".join(named) if len(named) > 1 else ""
    return cells if len(cells) <= _MAX_LABEL else cells[: _MAX_LABEL - 1] + "…"


# Pieces
_USUAL = Splitting()


@dataclass(frozen=True)
class Piece:
    """Chunk ``text[start:end]`` with its page from 1, if there are pages, and its heading path."""

    start: int
    end: int
    page: int | None
    heading: str


def split(document: LoadedDocument, splitting: Splitting = _USUAL) -> list[Piece]:
    """Split a document into pieces.

    Every piece begins and ends with a visible character; nothing but white space is left out.
    """
    if splitting.splitter != "sections":
        pieces = _by_langchain(document, splitting)
        check(document, pieces)
        return pieces
    found, places = tables(document.text), separators(document.media_type)
    whole = [(table.start, table.end) for table in found]
    pieces = []
    for section in sections(document, splitting.minimum):
        for start, end in cut(document.text, section.start, section.end, splitting, places, whole):
            labels = labels_above(found, start)
            path = (*section.path, *(label for label in labels if label not in section.path))
            pieces.append(Piece(start, end, section.page, " > ".join(filter(None, path))))
    check(document, pieces)
    return pieces


def check(document: LoadedDocument, pieces: Sequence[Piece]) -> None:
    """Raise DocumentRefused where a piece is not an exact span of its page, which citations rely on."""
    spans = {number: (start, end) for number, start, end in document.pages}
    for piece in pieces:
        first, last = spans.get(piece.page or 0, (0, len(document.text)))
        words = document.text[piece.start : piece.end]
        exact = len(words) == piece.end - piece.start and bool(words) and words == words.strip()
        if not (exact and first <= piece.start <= piece.end <= last):
            raise DocumentRefused(
                N_(
                    "The document could not be split into exact passages of its text, so nothing of it "
                    "could be cited. Save it in another format and add it again."
                )
            )


# LangChain's splitters
_HEADERS = [("#" * level, f"Header {level}") for level in range(1, 7)]


def _by_langchain(document: LoadedDocument, splitting: Splitting) -> list[Piece]:
    """Return the chunks of a splitter of LangChain's, each at its place."""
    find = _markdown_sections if splitting.splitter == "markdown" else _page_sections
    return [
        Piece(start, end, section.page, " > ".join(section.path or _path_at(document, start)))
        for section in find(document)
        for start, end in _recursive_spans(document.text, section, splitting)
    ]


def _recursive_spans(text: str, section: Section, splitting: Splitting) -> list[tuple[int, int]]:
    """Return the spans of RecursiveCharacterTextSplitter's chunks.

    Where text repeats itself, the place of a chunk that overlaps the last one is not certain; where words
    would be left out for that, the chunks of a section do not overlap.
    """
    part = text[section.start : section.end]
    spans = _located(part, splitting.size, splitting.overlap)
    if not _covers(part, spans):
        spans = _located(part, splitting.size, 0)
    return [(section.start + start, section.start + end) for start, end in spans]


def _located(part: str, size: int, overlap: int) -> list[tuple[int, int]]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    cutter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=True)
    found = [
        (chunk.metadata["start_index"], chunk.metadata["start_index"] + len(chunk.page_content))
        for chunk in cutter.create_documents([part])
    ]
    return [trimmed(part, start, end) for start, end in found if start >= 0]


def _covers(part: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether spans are in order, and leave out nothing but white space."""
    ends = [(0, 0), *spans, (len(part), len(part))]
    return all(a[0] <= b[0] and not part[a[1] : max(a[1], b[0])].strip() for a, b in pairwise(ends))


def _page_sections(document: LoadedDocument) -> Iterator[Section]:
    for number, start, end in document.pages or ((None, 0, len(document.text)),):
        yield Section(start, end, number, ())


def _markdown_sections(document: LoadedDocument) -> Iterator[Section]:
    """Yield the sections of MarkdownHeaderTextSplitter, which keeps lines but neither places nor blanks."""
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    splitter = MarkdownHeaderTextSplitter(_HEADERS, strip_headers=False)
    for page in _page_sections(document):
        part = document.text[page.start : page.end]
        starts = iter([m.start() for m in re.finditer(r"[^\n]+", part) if _printable(m[0])])
        found = []
        for section in splitter.split_text(part):
            lines = sum(1 for line in section.page_content.split("\n") if _printable(line))
            places = list(islice(starts, lines))
            if places:
                path = tuple(str(section.metadata[name]) for _, name in _HEADERS if name in section.metadata)
                found.append((places[0], path))
        bounds = [0, *(place for place, _ in found[1:]), len(part)]
        paths = [path for _, path in found] or [()]
        for (start, end), path in zip(pairwise(bounds), paths, strict=True):
            yield Section(page.start + start, page.start + end, page.page, path)


def _printable(line: str) -> bool:
    """Return whether MarkdownHeaderTextSplitter keeps anything of a line."""
    return any(map(str.isprintable, line.strip()))


def _path_at(document: LoadedDocument, place: int) -> tuple[str, ...]:
    """Return the path of the headings that a place in the text is under."""
    path: list[tuple[int, str]] = []
    for start, level, text in document.headings:
        if start > place:
            break
        path = [entry for entry in path if entry[0] < level] + [(level, text)]
    return tuple(text for _, text in path)
