"""Citations of an answer: each sentence with the words of the passage that support it.

A model's markers only hint where to look: every sentence is checked before it counts as verified, and one
without a marker gets one only where a passage supports it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_core.embeddings import Embeddings

from rag.citations.checker import Checker, Evidence, Judge, Status
from rag.passage import Passage
from rag.text.markers import Plain, plain
from rag.text.sentences import sentences
from rag.text.tokenize import tokens


@dataclass(frozen=True)
class Citation:
    """Sentence of an answer, `answer[answer_start:answer_end]`, with its evidence.

    `marker` is the passage's number as shown; 0 where no passage supports the sentence. The quote is
    `canonical[quote_start:quote_end]` of that passage's document, empty where nothing was found.
    """

    marker: int
    answer_start: int
    answer_end: int
    status: Status
    quote_start: int = 0
    quote_end: int = 0
    quote: str = ""


@dataclass(frozen=True)
class Statement:
    """Sentence of an answer without its markers: text, span in the answer, markers."""

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


LEAST_TOKENS = 3  # of a sentence that may get a marker: the one word of "End." is in any document


def cite(
    answer: str,
    passages: Sequence[Passage],
    *,
    embedder: Embeddings | None = None,
    judge: Judge | None = None,
) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer, with markers added where a passage supports an unmarked sentence, and its citations.

    The answer must have passed a MarkerFilter for these passages. `embedder` decides near the threshold,
    `judge` about every sentence without a contradiction.
    """
    checker = Checker(passages, embedder=embedder, judge=judge)
    shift = 0
    text = answer
    cited: list[Citation] = []
    sources = _SOURCE_LIST.search(answer)
    for statement in statements(answer):
        listed = sources is not None and statement.end > sources.end()
        if listed:
            found = [Evidence("unsupported", number) for number in statement.markers or (0,)]
        else:
            found = list(_evidence(statement, checker))
        here = (statement.start + shift, statement.end + shift)
        if not statement.markers and found[0].status == "verified":
            mark = f" [{found[0].number}]"
            at = _before_stop(text, here[1])
            text, shift = text[:at] + mark + text[at:], shift + len(mark)
            here = (here[0], here[1] + len(mark))
        cited.extend(_citation(evidence, here, passages) for evidence in found)
    return text, tuple(cited)


def _evidence(statement: Statement, checker: Checker) -> Iterator[Evidence]:
    for number in statement.markers:
        found = checker.check(statement.text, {number})
        yield Evidence(found.status, number, found.start, found.end, found.score)
    if not statement.markers:
        found = checker.check(statement.text)
        enough = len(set(tokens(statement.text))) >= LEAST_TOKENS
        yield found if enough and found.status == "verified" else Evidence("unsupported")


def _citation(evidence: Evidence, here: tuple[int, int], passages: Sequence[Passage]) -> Citation:
    if evidence.status == "unsupported":
        return Citation(evidence.number, *here, "unsupported")
    passage = passages[evidence.number - 1]
    start, end = evidence.start, evidence.end
    return Citation(
        evidence.number,
        *here,
        evidence.status,
        passage.start + start,
        passage.start + end,
        passage.text[start:end],
    )


_STOP = re.compile(r"[.!?。！？…\"'”’)）」』*_]+\Z")


def _before_stop(text: str, end: int) -> int:
    """Return the offset of a marker for a sentence that ends at `end`: before its full stop."""
    stop = _STOP.search(text, 0, end)
    return stop.start() if stop else end


def statements(answer: str) -> list[Statement]:
    r"""Return the statements of an answer with their markers.

    A marker belongs to the sentence that it is in or after. Questions, headings and lines that only
    lead to a list state nothing.

    >>> [(s.text, s.markers) for s in statements("Yes, it is. [1] As follows:\n\n- Seoul is big [2][3].")]
    [('Yes, it is.', (1,)), ('Seoul is big .', (2, 3))]
    """
    bare = plain(answer)
    places = [position for position, _ in bare.markers]
    claims = [claim for span in sentences(bare.text) for claim in _claims(bare.text, span, places)]
    spans = [(start, end) for start, end in claims if _is_statement(bare.text[start:end])]
    ends = [end for _, end in spans]
    beside: list[list[int]] = [[] for _ in spans]
    for position, number in bare.markers:
        at = min(bisect_left(ends, position), len(spans) - 1)
        if at > 0 and position <= spans[at][0]:
            at -= 1
        if at >= 0 and number not in beside[at]:
            beside[at].append(number)
    return [
        _statement(bare, answer, span, tuple(markers)) for span, markers in zip(spans, beside, strict=True)
    ]


_BEGINS = re.compile(r"\s*[A-ZÀ-ÞΑ-ΩА-Я#*|•-]")


def _claims(text: str, span: tuple[int, int], places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the claims of a sentence: after a marker a capital or a bullet begins another.

    A table row or a heading has no full stop, and would continue past its marker.
    """
    start, end = span
    for place in sorted(set(places)):
        before, after = text[start:place], text[place:end]
        enough = all(len(set(tokens(part))) >= LEAST_TOKENS for part in (before, after))
        if start < place < end and enough and _BEGINS.match(after):
            yield start, start + len(before.rstrip())
            start = place + len(after) - len(after.lstrip())
    yield start, end


_MARKERS = re.compile(r"(?:[ \t]*\[\d+\])+")
_BULLET = re.compile(r"\A(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+")


_ADDRESS = re.compile(r"\S*(?:https?:/|www\.)\S*", re.IGNORECASE)
_SOURCE_LIST = re.compile(
    r"^[^\w\n]*(?:sources?|references?|citations?|출처|참고 ?(?:문헌|자료)|出典|参考(?:文献|資料)?)[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Heading of a list of sources that a model wrote itself: nothing in it is evidence."""


def _is_statement(sentence: str) -> bool:
    """Return True for a sentence that a document could support; an address is none."""
    bare = sentence.strip("*_ \n")
    words = set(tokens(_ADDRESS.sub(" ", bare)))
    enough = len(words) >= LEAST_TOKENS if _ADDRESS.search(bare) else bool(words)
    return not bare.startswith("#") and not bare.endswith((":", "：", "?", "？")) and enough


def _statement(bare: Plain, answer: str, span: tuple[int, int], markers: tuple[int, ...]) -> Statement:
    start, end = span
    bullet = _BULLET.match(bare.text[start:end])
    start += len(bullet[0]) if bullet else 0
    last = bare.offsets[end - 1] + 1
    after = _MARKERS.match(answer, last)
    return Statement(bare.text[start:end], bare.offsets[start], after.end() if after else last, markers)
