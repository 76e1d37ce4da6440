"""Statements of an answer, read from its Markdown: sentences, list items and rows of tables.

Headings, bold lead-ins, header rows, captions, questions, code, and lines that lead to a list state nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag.citations.words import tokens_of
from rag.text.markers import Plain, plain
from rag.text.sentences import sentences
from rag.text.tables import BAR


@dataclass(frozen=True)
class Statement:
    """Sentence of an answer without its markers: text, span in the answer, markers.

    The text of a table's row begins with the table's header, as Markdown.
    """

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


@dataclass(frozen=True)
class _Claim:
    start: int
    end: int
    head: str = ""  # of the table whose row this is


LEAST_TOKENS = 3  # of a sentence that may get a marker: the one word of "End." is in any document


def statements(answer: str) -> list[Statement]:
    r"""Return the statements of an answer with their markers.

    A marker belongs to the sentence that it is in or after.

    >>> [(s.text, s.markers) for s in statements("Yes, it is. [1] As follows:\n\n- Seoul is big [2][3].")]
    [('Yes, it is.', (1,)), ('Seoul is big .', (2, 3))]
    >>> [s.text for s in statements("## Sizes\n\n| City | Size |\n|---|---|\n| Seoul | big [1] |")]
    ['| City | Size |\n|---|---|\n| Seoul | big |']
    """
    bare = plain(answer)
    places = [position for position, _ in bare.markers]
    claims = [claim for claim in _claims(bare.text, places) if _is_statement(bare.text, claim)]
    ends = [claim.end for claim in claims]
    beside: list[list[int]] = [[] for _ in claims]
    for position, number in bare.markers:
        at = min(bisect_left(ends, position), len(claims) - 1)
        if at > 0 and position <= claims[at].start:
            at -= 1
        if at >= 0 and number not in beside[at]:
            beside[at].append(number)
    return [
        _statement(bare, answer, claim, tuple(markers)) for claim, markers in zip(claims, beside, strict=True)
    ]


@lru_cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").disable(["code", "reference", "html_block", "inline"])


def _claims(text: str, places: Sequence[int]) -> Iterator[_Claim]:
    lines = [match.span() for match in re.finditer(r"[^\n]*(?:\n|\Z)", text)]
    for start, end, head in _blocks(_parser().parse(text), lines, text):
        if head:
            yield _row(text, start, end, head)
        else:
            for first, last in sentences(text[start:end]):
                yield from _split(text, (start + first, start + last), places)


def _blocks(
    parsed: Sequence[Token], lines: Sequence[tuple[int, int]], text: str
) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of paragraphs, and of the body rows of tables with their header."""
    head = ""
    inside = "", False
    for at, token in enumerate(parsed):
        if token.type.endswith("_open"):
            inside = token.type, inside[1]
        span = _span(token, lines)
        if token.type == "thead_open" and span:
            head = text[slice(*span)].strip()
        elif token.type in ("tbody_open", "tbody_close"):
            inside = "", token.type == "tbody_open"
        elif token.type == "tr_open" and inside[1] and span:
            yield *span, head
        elif token.type == "inline" and inside[0] == "paragraph_open" and span:
            yield from [] if _is_caption(parsed, at, text[slice(*span)]) else [(*span, "")]


def _span(token: Token, lines: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    if token.map is None or token.map[0] >= len(lines):
        return None
    first, last = token.map
    return lines[first][0], lines[max(first, min(last, len(lines)) - 1)][1]


_ENDED = re.compile(r"[.!?。！？…][\"'”’)）」』*_\s]*\Z")


def _is_caption(parsed: Sequence[Token], at: int, text: str) -> bool:
    """Return True for a line without a full stop just above a table."""
    return len(parsed) > at + 2 and parsed[at + 2].type == "table_open" and not _ENDED.search(text)


def _row(text: str, start: int, end: int, head: str) -> _Claim:
    bare = text[start:end].rstrip("| \t\n")
    columns = max(1, len(BAR.findall(head)) - 1)
    lead = len(bare) - len(bare.lstrip(" \t"))
    return _Claim(start + lead, start + len(bare), f"{head}\n|{'---|' * columns}\n")


_BEGINS = re.compile(r"\s*[A-ZÀ-ÞΑ-ΩА-Я#*|•-]")


def _split(text: str, span: tuple[int, int], places: Sequence[int]) -> Iterator[_Claim]:
    """Yield the claims of a sentence: after a marker a capital or a bullet begins another.

    `places` are the markers' positions in ascending order.
    """
    start, end = span
    for place in places[bisect_right(places, start) : bisect_left(places, end)]:
        before, after = text[start:place], text[place:end]
        enough = all(len(set(tokens_of(part))) >= LEAST_TOKENS for part in (before, after))
        if start < place and enough and _BEGINS.match(after):
            yield _Claim(start, start + len(before.rstrip()))
            start = place + len(after) - len(after.lstrip())
    yield _Claim(start, end)


_MARKERS = re.compile(r"(?:[ \t]*\[\d+\])+")
_BULLET = re.compile(r"\A(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+")
_LEAD_IN = re.compile(r"(?:\*\*[^*\n]+\*\*|__[^_\n]+__)[.:：]?|\d{1,3}[.)]?")
_ADDRESS = re.compile(r"(?<!\S)\S*(?:https?:/|www\.)\S*", re.IGNORECASE)


def _is_statement(text: str, claim: _Claim) -> bool:
    """Return True for a sentence that a document could support; an address is none."""
    said = text[claim.start : claim.end].strip()
    bare = said.strip("*_ \n")
    words = set(tokens_of(_ADDRESS.sub(" ", bare)))
    if claim.head:
        return bool(words)
    enough = len(words) >= LEAST_TOKENS if _ADDRESS.search(bare) else bool(words)
    leads = bare.startswith("#") or bare.endswith((":", "：", "?", "？")) or _LEAD_IN.fullmatch(said)
    return enough and not leads


def _statement(bare: Plain, answer: str, claim: _Claim, markers: tuple[int, ...]) -> Statement:
    start, end = claim.start, claim.end
    bullet = None if claim.head else _BULLET.match(bare.text[start:end])
    start += len(bullet[0]) if bullet else 0
    last = bare.offsets[end - 1] + 1
    after = _MARKERS.match(answer, last)
    text = bare.text[start:end]
    said = f"{claim.head}{text} |" if claim.head else text
    return Statement(said, bare.offsets[start], after.end() if after else last, markers)
