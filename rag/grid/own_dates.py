# ruff: noqa: E501 - patterns
"""Dates of a document itself: of its latest revision, and the one that an early line begins or ends with."""

import re
from collections.abc import Iterator

from rag.grid.candidates import Candidate
from rag.grid.cells import Day
from rag.grid.columns import Column
from rag.grid.document import RowDocument
from rag.grid.general_fields import general_field
from rag.grid.named_sentences import LABELLED
from rag.grid.terms import ColumnTerms
from rag.grid.values import FoundValue, find_values

_ASKS_REVISION = re.compile(
    r"\b(?:amend|revis|updat)\w*|改[定正訂]|更新日|最終更新|개정|수정일|갱신일", re.IGNORECASE
)
_ENACTED = re.compile(r"制定|作成|施行|제정|작성|시행|\b(?:adopted|written|created)\b", re.IGNORECASE)
_REVISED_BEFORE = re.compile(
    r"(?:\b(?:amended|revised|updated|amendment|revision)(?:\s+(?:on|of|by the [\w ]{3,40} on))?|改[定正訂]日?|更新日?|개정일?|수정일?)[ \t　:：(（]*(?:on\s+)?\Z",
    re.IGNORECASE,
)
_REVISED_AFTER = re.compile(
    r"[ \t　]*(?:に|付け?で?|から|에|자로|자)?[ \t　、]*(?:最終|一部|全部|최종|일부|전부|전면)?[ \t　]*(?:改[定正訂]|更新|개정|수정)(?!予定|案| ?예정)"
)
_AND = re.compile(r"\s*(?:and on|and|,|、|・|및)\s*(?:on\s+)?", re.IGNORECASE)
REVISED = 2.1
"""Score of the date of the latest revision, above what the document says of itself otherwise."""
LAST_CHANGED = 0.8
"""Score of that date where any date of the document is asked for."""
MOST_REVISED = 60_000  # characters
_HEAD = 600  # characters in which a document's own date stands
_LONGEST_REST = 30  # characters beside a date in its line
OPENING_DATE = 1.15
"""Score of a date that an early line begins or ends with, below that of a label."""
_SENTENCE = re.compile(r"[.。!?]\s*\Z|다\s*\Z|[:：]")
_OTHERWISE = re.compile(
    r"期限|有効|締切|満了|から|まで|기한|마감|만료|부터|까지|\b(?:due|until|from|by|expires?|valid|deadline)\b",
    re.IGNORECASE,
)


def own_date_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the dates that a document has of itself, for a column that asks for one."""
    column = terms.column
    if column.kind != "date":
        return
    asks_revision = _ASKS_REVISION.search(f"{column.name} {column.question}")
    if asks_revision or (general_field(column) and terms.vague):
        score = REVISED if asks_revision else LAST_CHANGED
        yield from _revised(document, column, score, sure=asks_revision is not None)
    if general_field(column) or _ENACTED.search(column.name):
        yield from _opening(document, terms)


def _revised(document: RowDocument, column: Column, score: float, *, sure: bool) -> Iterator[Candidate]:
    """Yield the latest date that is called one of a revision."""
    text = document.read_text[:MOST_REVISED]
    found: list[FoundValue] = []
    before: FoundValue | None = None
    for one in find_values(text, column):
        joined = before is not None and found[-1:] == [before] and _AND.fullmatch(text, before.end, one.start)
        if (
            _REVISED_BEFORE.search(text, max(0, one.start - 70), one.start)
            or _REVISED_AFTER.match(text, one.end)
            or joined
        ):
            found.append(one)
        before = one
    days = [(one, one.value.first) for one in found if isinstance(one.value, Day)]
    if days:
        latest = max(days, key=lambda pair: pair[1])[0]
        start, end = document.line_at(latest.start)
        if end - start > LONGEST_LINE:
            start, end = document.sentence_at(latest.start)
        yield Candidate(latest.value, start, max(end, latest.end), score, sure)


LONGEST_LINE = 240  # characters


def _opening(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the date that an early line begins or ends with; sure where no other line has one."""
    head = document.read_text[:_HEAD]
    found = []
    for one in find_values(head, terms.column):
        first, last = document.line_at(one.start)
        before, after = head[first : one.start].strip(" \t　#*_-|"), head[one.end : last].strip(" \t　*_|")
        beside = f"{before} {after}"
        stands = not before or not after.strip("()（）月火水木金土日월화수목금토일 ")
        if (
            isinstance(one.value, Day)
            and one.value.label.count("-") == FULL
            and stands
            and len(beside) <= _LONGEST_REST
            and not (_SENTENCE.search(beside) or _OTHERWISE.search(beside))
        ):
            found.append((one, first, last))
    alone = len({one.value for one, _, _ in found}) == 1
    for one, first, last in found[:1]:
        bare = _ENACTED.search(document.text[first:last]) is None or terms.within(
            document.text[first:last], 1
        )
        score = OPENING_DATE if alone else OPENING_DATE - 0.2
        yield Candidate(one.value, first, last, min(score, LABELLED), sure=alone and bare)


FULL = 2
"""Hyphens of the label of a day."""
