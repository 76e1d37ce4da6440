"""Citations of an answer: each sentence with the words of the passage that support it.

A model's markers only hint where to look: every sentence is checked before it counts as verified, and one
without a marker gets one only where a passage supports it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.embeddings import Embeddings

from rag.citations.checker import Checker, Evidence, Judge, Status
from rag.citations.statements import LEAST_TOKENS, Statement, statements
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
        if added:
            mark = " " + "".join(f"[{number}]" for number in added)
            at = _before_stop(text, here[1])
            text, shift = text[:at] + mark + text[at:], shift + len(mark)
            here = (here[0], here[1] + len(mark))
        cited.extend(_citation(evidence, here, passages) for evidence in found)
    return text, tuple(cited)


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
    spans = [
        Evidence(best.status, s.number, s.start, s.end, best.score, (), best.said, best.calculation)
        for s in best.spans
    ]
    used = {span.number for span in spans}
    return [
        *spans,
        *(_alone(statement, checker, number) for number in statement.markers if number not in used),
    ]


def _alone(statement: Statement, checker: Checker, number: int) -> Evidence:
    found = checker.check(statement.text, {number})
    return replace(found, number=number, more=(), calculation="")


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
        evidence.said or evidence.calculation,
    )


_STOP = re.compile(r"[.!?。！？…\"'”’)）」』*_]+\Z")


def _before_stop(text: str, end: int) -> int:
    """Return the offset of a marker for a sentence that ends at `end`: before its full stop."""
    stop = _STOP.search(text, 0, end)
    return stop.start() if stop else end
