"""Citation support of a stored answer: the status of each statement, their count, and the remarks shown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.i18n import N_, N_plural
from storage.records import CitationRecord, CitationStatus, Message, PassageRecord

Status = Literal["verified", "differs", "related", "unsupported"]


# Refusals in English, Korean and Japanese
_LONGEST = 300  # characters: a sentence that says more than this says something else too
_EN_SOURCE = r"(?:documents?|passages?|sources?|texts?|context|excerpts?|materials?|files?)"
_EN_SAYS = (
    r"(?:answer|say|mention|state|contain|hold|provide|specify|include|give|tell|cover|discuss|address|"
    r"indicate|find|found|information)"
)
_DECLINES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # How an answer without a model begins where it may not answer:
        r"^(?:I found no clear answer\b|분명한 답을 찾지 못했습니다|明確な答えは見つかりませんでした)",
        rf"\b{_EN_SOURCE}\b.{{0,60}}\b(?:not?|don't|doesn't|didn't|cannot|can't|never)\b.{{0,40}}\b{_EN_SAYS}",
        rf"\b(?:no|not|cannot|can't|couldn't|unable)\b.{{0,60}}\b{_EN_SAYS}.{{0,80}}\b{_EN_SOURCE}\b",
        r"(?:문서|구절|자료|본문|지문|출처).{0,80}"
        r"(?:없습니다|없을 수|없다|없어요|않습니다|않다|않아요|않았습니다|못했습니다|못합니다)",
        r"(?:文書|ドキュメント|資料|文章|本文|出典|文脈|パッセージ).{0,80}"
        r"(?:ありません|ない|ません|なかった|見つからず|不明)",
    )
)


def declines(sentence: str) -> bool:
    """Return True where a sentence only says that the documents do not hold the answer.

    >>> declines("The documents do not say when it opened."), declines("It did not open in 1931.")
    (True, False)
    """
    return len(sentence) <= _LONGEST and any(pattern.search(sentence) for pattern in _DECLINES)


_UNDER_A_HEADER = re.compile(r"[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*(?:\n|$)")
OPEN: frozenset[CitationStatus] = frozenset({"related", "unsupported"})
"""Statuses of a statement that is neither verified nor shown to differ."""
_BEST_FIRST: tuple[CitationStatus, ...] = ("verified", "differs", "related", "unsupported")


@dataclass(frozen=True)
class StatementSupport:
    """Statement `answer[start:end]` with the best status of its citations; `cites` if it has a marker.

    `note` is what the source says where it differs, or a calculation.
    """

    start: int
    end: int
    status: CitationStatus
    cites: bool
    note: str = ""


@dataclass(frozen=True)
class Backing:
    """Count of an answer's statements, and of those that documents support."""

    backed: int
    total: int

    @property
    def sentence(self) -> str:
        """Line above the answer.

        >>> Backing(5, 6).sentence, Backing(1, 1).sentence
        ('5 of 6 statements verified', '1 of 1 statement verified')
        """
        return N_plural(
            "{backed} of {count} statement verified",
            "{backed} of {count} statements verified",
            self.total,
            backed=self.backed,
        )


def statements(answer: Message) -> list[StatementSupport]:
    """Return the statements of an answer in order, without refusals and headers of tables."""
    spans: dict[tuple[int, int], list[CitationRecord]] = {}
    for citation in answer.citations:
        spans.setdefault((citation.answer_start, citation.answer_end), []).append(citation)
    stated = [_support(start, end, cited) for (start, end), cited in sorted(spans.items())]
    return [one for one in stated if one.cites or not _is_empty(answer.content, one)]


def _support(start: int, end: int, cited: Sequence[CitationRecord]) -> StatementSupport:
    status = _best(cited)
    note = next((one.note for one in cited if one.status == status and one.note), "")
    return StatementSupport(start, end, status, any(one.marker for one in cited), note)


def _is_empty(answer: str, one: StatementSupport) -> bool:
    row = "|" in answer[one.start : one.end] or "|" in answer[one.end : one.end + 4]
    return declines(answer[one.start : one.end]) or (row and bool(_UNDER_A_HEADER.match(answer, one.end)))


def backing(answer: Message) -> Backing | None:
    """Count an answer's statements; None without statements or passages, or where it begins with doubt.

    An answer without a model is of quotes, which need no count.
    """
    stated = statements(answer)
    if not stated or not answer.passages or answer.model is None or _doubts(answer.content, answer.citations):
        return None
    return Backing(sum(one.status == "verified" for one in stated), len(stated))


def open_count(answer: Message) -> int:
    """Count the statements of an answer that are neither verified nor shown to differ."""
    return sum(one.status in OPEN for one in statements(answer))


def rests_on_nothing(content: str, citations: Sequence[CitationRecord]) -> bool:
    """Return True where no statement is supported, or the answer begins with doubt."""
    return all(citation.status == "unsupported" for citation in citations) or _doubts(content, citations)


def found_nothing(answer: Message) -> bool:
    """Return True where the documents were searched and no statement is supported."""
    looked = "retrieve" in answer.timings_ms
    return answer.state == "complete" and looked and rests_on_nothing(answer.content, answer.citations)


def _doubts(content: str, citations: Sequence[CitationRecord]) -> bool:
    first = min((citation.answer_start for citation in citations), default=0)
    return declines(content[:first])


def _best(cited: Sequence[CitationRecord]) -> CitationStatus:
    return min((citation.status for citation in cited), key=_BEST_FIRST.index)


# Markers and remarks
DIFFERS = N_("Source says")
CALCULATED = N_("Calculated")
_MARKER = re.compile(r"\[(\d{1,3})\]")


def markers(text: str) -> Iterator[tuple[int, int]]:
    """Yield each marker's offset and number: "So it is [2]." -> (9, 2)."""
    for match in _MARKER.finditer(text):
        yield match.start(), int(match[1])


def passage_of(answer: Message, number: int) -> PassageRecord | None:
    """Return the passage of a number; None where there is none."""
    return next((passage for passage in answer.passages if passage.number == number), None)


def citation_of(answer: Message, offset: int, number: int) -> int | None:
    """Return the index of the citation of marker `number` at `offset` of an answer.

    It belongs to the statement around the marker, or the nearest before it; None where there is none.
    """
    same = [(at, one) for at, one in enumerate(answer.citations) if one.marker == number]
    around = [at for at, one in same if one.answer_start <= offset <= one.answer_end]
    before = [(one.answer_end, at) for at, one in same if one.answer_end <= offset]
    nearest = max(before, default=None)
    return around[0] if around else nearest[1] if nearest else None


def remarks(answer: Message) -> list[tuple[int, str]]:
    """Return the remarks with their offsets in the answer: what the source says instead, or a calculation.

    A statement that is not confirmed has none.
    """
    return [
        (_before_cell_end(answer.content, one.end), _remark(one))
        for one in statements(answer)
        if one.note and one.status in ("verified", "differs")
    ]


def place_name(passage: PassageRecord) -> str:
    """Return the place of a passage: "report.pdf, page 3"."""
    if passage.page is None:
        return passage.document
    return N_("{document}, page {page}", document=passage.document, page=passage.page)


def place_and_heading(passage: PassageRecord) -> str:
    """Return the place of a passage with its heading: "report.pdf, page 3, Figures > Staff"."""
    place, heading = place_name(passage), heading_of(passage)
    return N_("{kind}, {heading}", kind=place, heading=heading) if heading else place


def heading_of(passage: PassageRecord) -> str:
    """Return the heading of a passage without the header of a table, which is no place: "Bikes"."""
    return " > ".join(part for part in passage.heading.split(" > ") if " | " not in part)


def statement_text(answer: Message, citation: CitationRecord) -> str:
    """Return a citation's statement without its markers: "So it is [1]." -> "So it is."."""
    bare = re.sub(r"[ \t]*\[\d{1,3}\]", "", answer.content[citation.answer_start : citation.answer_end])
    return bare.strip()


def _remark(one: StatementSupport) -> str:
    said = N_("Source says: {reason}") if one.status == "differs" else N_("Calculated: {reason}")
    return N_(said, reason=one.note)


def _before_cell_end(text: str, end: int) -> int:
    """Return `end`, or the end of the last cell's text for a statement that ends with a table row."""
    return len(text[:end].rstrip("| \t")) or end


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
