"""Citations of an answer: each sentence with the words of the passage that support it.

A model's markers only hint where to look: every sentence is checked before it counts as verified, and one
without a marker gets one only where a passage supports it.

Statements are read from the answer's Markdown: sentences, list items and rows of tables. Headings, bold
lead-ins, header rows, captions, questions, code, and lines that lead to a list state nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from langchain_core.embeddings import Embeddings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag.citations.checker import Checker, Evidence, Judge
from rag.citations.elliptic import completed, is_only_a_value, is_only_one, unsaid_words
from rag.citations.support import OPEN, Citation, declines
from rag.passage import Passage
from rag.text.markdown import BAR
from rag.text.markers import Plain, plain
from rag.text.sentences import sentences
from rag.text.tokenize import tokens, tokens_of


@dataclass(frozen=True)
class Statement:
    """Sentence of an answer without its markers: text, span in the answer, markers.

    The text of a table's row begins with the table's header, as Markdown. `value` is all that the answer
    has of a statement that is only a value; its question completed the text, or none did.
    """

    text: str
    start: int
    end: int
    markers: tuple[int, ...]
    value: str = ""


@dataclass(frozen=True)
class _Claim:
    start: int
    end: int
    head: str = ""  # of the table whose row this is


LEAST_TOKENS = 3  # of a sentence that may get a marker: the one word of "End." is in any document


def statements(answer: str, question: str = "") -> list[Statement]:
    r"""Return the statements of an answer with their markers.

    A marker belongs to the sentence that it is in or after. Where the answer to a `question` is only a value,
    the text says what it is the value of.

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
    found = [
        _statement(bare, answer, claim, tuple(markers)) for claim, markers in zip(claims, beside, strict=True)
    ]
    return [_completed(one, question) for one in found]


def _completed(statement: Statement, question: str) -> Statement:
    said = completed(statement.text, question)
    is_value = said != statement.text or is_only_a_value(said)
    return replace(statement, text=said, value=statement.text) if is_value else statement


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


_SOURCE_LIST = re.compile(
    r"^[^\w\n]*(?:sources?|references?|citations?|출처|참고 ?(?:문헌|자료)|出典|参考(?:文献|資料)?)[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Heading of a list of sources that a model wrote itself: nothing in it is evidence."""


def cite(
    answer: str,
    passages: Sequence[Passage],
    *,
    question: str = "",
    embedder: Embeddings | None = None,
    judge: Judge | None = None,
) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer, with markers added for what supports or refutes a sentence, and its citations.

    A sentence is checked against the passages it cites, then against all. A sentence with evidence in
    several places has a citation for each. The answer must have passed a MarkerFilter for these passages.
    A sentence that is only a value is read with the `question`.
    `embedder` decides near the threshold, `judge` about every sentence without a contradiction.
    """
    checker = Checker(passages, embedder=embedder, judge=judge)
    shift = 0
    text = answer
    cited: list[Citation] = []
    sources = _SOURCE_LIST.search(answer)
    for statement in statements(answer, question):
        listed = sources is not None and statement.end > sources.end()
        found = _listed(statement) if listed else _evidence(statement, checker)
        found = [_of_question(statement, evidence, passages) for evidence in found]
        added = list(dict.fromkeys(e.number for e in found if e.number and e.number not in statement.markers))
        here = (statement.start + shift, statement.end + shift)
        marked = _with_markers(text, here[1], added)
        here = (here[0], here[1] + len(marked) - len(text))
        text, shift = marked, shift + len(marked) - len(text)
        cited.extend(_citation(evidence, here, passages) for evidence in found)
    return text, tuple(cited)


def open_statements(answer: str, citations: Sequence[Citation], question: str = "") -> list[Statement]:
    """Return the statements of a cited answer that are neither verified nor shown to differ.

    Refusals and lists of sources are none.
    """
    decided = {one.answer_start for one in citations if one.status not in OPEN}
    checked = {one.answer_start for one in citations} - decided
    sources = _SOURCE_LIST.search(answer)
    last = len(answer) if sources is None else sources.end()
    return [
        one
        for one in statements(answer, question)
        if one.start in checked and one.end <= last and not declines(one.text)
    ]


def recite(
    answer: str,
    citations: Sequence[Citation],
    passages: Sequence[Passage],
    found: Mapping[int, Evidence],
) -> tuple[str, tuple[Citation, ...]]:
    """Return a cited answer and its citations with evidence found later, by the start of its statement."""
    text, shift = answer, 0
    cited: list[Citation] = []
    for start, group in groupby(citations, key=lambda one: one.answer_start):
        old = [_moved(one, shift) for one in group]
        evidence = found.get(start)
        if evidence is None:
            cited += old
            continue
        numbers = list(dict.fromkeys(span.number for span in evidence.spans))
        markers = {one.marker for one in old}
        marked = _with_markers(text, old[0].answer_end, [n for n in numbers if n not in markers])
        here = (old[0].answer_start, old[0].answer_end + len(marked) - len(text))
        text, shift = marked, shift + len(marked) - len(text)
        cited += [_citation(one, here, passages) for one in _each_span(evidence)]
        rest = [one for one in old if one.marker and one.marker not in numbers]
        cited += [replace(one, answer_end=here[1]) for one in rest]
    return text, tuple(cited)


def _moved(citation: Citation, by: int) -> Citation:
    return replace(citation, answer_start=citation.answer_start + by, answer_end=citation.answer_end + by)


def _with_markers(text: str, end: int, numbers: Sequence[int]) -> str:
    """Return a text with markers for the sentence that ends at `end`."""
    at = _before_stop(text, end)
    return text[:at] + (" " + "".join(f"[{n}]" for n in numbers) if numbers else "") + text[at:]


def _each_span(found: Evidence) -> list[Evidence]:
    """Return the evidence once for each of its spans."""
    return [
        replace(found, number=span.number, start=span.start, end=span.end, more=()) for span in found.spans
    ]


def _listed(statement: Statement) -> list[Evidence]:
    return [Evidence("unsupported", number) for number in statement.markers or (0,)]


def _evidence(statement: Statement, checker: Checker) -> list[Evidence]:
    """Return the evidence of a statement, one for each span, and that of its other markers."""
    best = checker.check(statement.text, set(statement.markers)) if statement.markers else None
    if best is None or best.status != "verified":
        anywhere = checker.check(statement.text)
        enough = statement.markers or len(set(tokens(statement.text))) >= LEAST_TOKENS
        if enough and (anywhere.status == "verified" or (best is None and anywhere.status == "differs")):
            best = anywhere
    if best is None or best.status not in ("verified", "differs"):
        return [_alone(statement, checker, number) for number in statement.markers] or [
            Evidence("unsupported")
        ]
    spans = _each_span(best)
    used = {span.number for span in spans}
    return [
        *spans,
        *(_alone(statement, checker, number) for number in statement.markers if number not in used),
    ]


def _of_question(statement: Statement, evidence: Evidence, passages: Sequence[Passage]) -> Evidence:
    """Return evidence of a value as related where the quoted sentence leaves out words of the question.

    So is that of a sentence with two values of the kind, as which of them was asked for is not known, and
    that of a value which no question completed. The labels of a table are compared where its cells are.
    """
    if not statement.value or evidence.status not in ("verified", "differs"):
        return evidence
    if statement.text == statement.value:
        return replace(evidence, status="related", said="")
    passage = passages[evidence.number - 1]
    quote = passage.text[evidence.start : evidence.end]
    if "|" in quote:
        return evidence
    told = f"{passage.document} {passage.heading} {quote}"
    is_said = is_only_one(evidence.said or statement.value, quote)
    unsaid = unsaid_words(statement.text, statement.value, told)
    return evidence if is_said and not unsaid else replace(evidence, status="related", said="")


def _alone(statement: Statement, checker: Checker, number: int) -> Evidence:
    if checker.is_from_picture(number):
        return Evidence("related", number)
    found = checker.check(statement.text, {number})
    return replace(found, number=number, more=(), calculation="")


def _citation(evidence: Evidence, here: tuple[int, int], passages: Sequence[Passage]) -> Citation:
    if evidence.status == "unsupported":
        return Citation(evidence.number, *here, "unsupported")
    passage = passages[evidence.number - 1]
    if passage.is_from_picture:  # nothing of the document says so: there are no words to quote
        return Citation(evidence.number, *here, "related")
    start, end = evidence.start, evidence.end
    return Citation(
        evidence.number,
        *here,
        evidence.status,
        passage.start + start,
        passage.start + end,
        passage.text[start:end],
        evidence.said or evidence.calculation,
    )


_STOP = re.compile(r"[.!?。！？…\"'”’)）」』*_]+\Z")


def _before_stop(text: str, end: int) -> int:
    """Return the offset of a marker for a sentence that ends at `end`: before its full stop."""
    stop = _STOP.search(text, 0, end)
    return stop.start() if stop else end
