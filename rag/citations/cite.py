"""Citations of an answer: each sentence with the words of the passage that support it.

A model's markers only hint where to look: every sentence is checked before it counts as verified, and one
without a marker gets one only where a passage supports it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from langchain_core.embeddings import Embeddings

from rag.citations.checker import Checker, Evidence, Judge, Status
from rag.citations.statements import LEAST_TOKENS, Statement, statements
from rag.citations.support import OPEN, declines
from rag.passage import Passage
from rag.text.tokenize import tokens


@dataclass(frozen=True)
class Citation:
    """Sentence of an answer, `answer[answer_start:answer_end]`, with its evidence.

    `marker` is the passage's number as shown; 0 where no passage supports the sentence. The quote is
    `canonical[quote_start:quote_end]` of that passage's document, empty where nothing was found. `note` is
    what the source says where it differs, or the calculation of a number that is not quoted.
    """

    marker: int
    answer_start: int
    answer_end: int
    status: Status
    quote_start: int = 0
    quote_end: int = 0
    quote: str = ""
    note: str = ""


_SOURCE_LIST = re.compile(
    r"^[^\w\n]*(?:sources?|references?|citations?|출처|참고 ?(?:문헌|자료)|出典|参考(?:文献|資料)?)[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Heading of a list of sources that a model wrote itself: nothing in it is evidence."""


def cite(
    answer: str,
    passages: Sequence[Passage],
    *,
    embedder: Embeddings | None = None,
    judge: Judge | None = None,
) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer, with markers added for what supports or refutes a sentence, and its citations.

    A sentence is checked against the passages it cites, then against all. A sentence with evidence in
    several places has a citation for each. The answer must have passed a MarkerFilter for these passages.
    `embedder` decides near the threshold, `judge` about every sentence without a contradiction.
    """
    checker = Checker(passages, embedder=embedder, judge=judge)
    shift = 0
    text = answer
    cited: list[Citation] = []
    sources = _SOURCE_LIST.search(answer)
    for statement in statements(answer):
        listed = sources is not None and statement.end > sources.end()
        found = _listed(statement) if listed else _evidence(statement, checker)
        added = list(dict.fromkeys(e.number for e in found if e.number and e.number not in statement.markers))
        here = (statement.start + shift, statement.end + shift)
        marked = _with_markers(text, here[1], added)
        here = (here[0], here[1] + len(marked) - len(text))
        text, shift = marked, shift + len(marked) - len(text)
        cited.extend(_citation(evidence, here, passages) for evidence in found)
    return text, tuple(cited)


def open_statements(answer: str, citations: Sequence[Citation]) -> list[Statement]:
    """Return the statements of a cited answer that are neither verified nor shown to differ.

    Refusals and lists of sources are none.
    """
    decided = {one.answer_start for one in citations if one.status not in OPEN}
    checked = {one.answer_start for one in citations} - decided
    sources = _SOURCE_LIST.search(answer)
    last = len(answer) if sources is None else sources.end()
    return [
        one
        for one in statements(answer)
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
