"""What the markers in a stored answer mean, and what is said of statements that are not backed."""

import re
from collections.abc import Iterator

from rag.citations.support import StatementSupport, statements
from storage.records import CitationRecord, Message, PassageRecord

RELATED = "related, but not said there"
NOT_THERE = "not in the cited source"
NOWHERE = "not found in your documents"

_MARKER = re.compile(r"\[(\d{1,3})\]")


def markers(text: str) -> Iterator[tuple[int, int]]:
    """Yield each marker's offset and number: "So it is [2]." -> (9, 2)."""
    for match in _MARKER.finditer(text):
        yield match.start(), int(match[1])


def passage_of(answer: Message, number: int) -> PassageRecord | None:
    """Return the passage that an answer was given under a number; None for a number of none."""
    return next((passage for passage in answer.passages if passage.number == number), None)


def citation_of(answer: Message, offset: int, number: int) -> int | None:
    """Return the position of the citation that marker `number` at `offset` of an answer stands for.

    It is that of the statement around the marker, or of the nearest before it; None where there is none.
    """
    same = [(at, one) for at, one in enumerate(answer.citations) if one.marker == number]
    around = [at for at, one in same if one.answer_start <= offset <= one.answer_end]
    before = [(one.answer_end, at) for at, one in same if one.answer_end <= offset]
    nearest = max(before, default=None)
    return around[0] if around else nearest[1] if nearest else None


def remarks(answer: Message) -> list[tuple[int, str]]:
    """Return what is said after each statement that is not backed: its end in the answer, and the words."""
    return [
        (_before_cell_end(answer.content, one.end), _remark(one))
        for one in statements(answer)
        if one.status != "verified"
    ]


def place_name(passage: PassageRecord) -> str:
    """Name a passage's place: "report.pdf, page 3"."""
    return passage.document + (f", page {passage.page}" if passage.page is not None else "")


def place_and_heading(passage: PassageRecord) -> str:
    """Name a passage's place with the heading it stands under: "report.pdf, page 3, Figures > Staff"."""
    return place_name(passage) + (f", {passage.heading}" if passage.heading else "")


def statement_text(answer: Message, citation: CitationRecord) -> str:
    """Return the statement that a citation is about, without its markers: "So it is [1]." -> "So it is."."""
    bare = re.sub(r"[ \t]*\[\d{1,3}\]", "", answer.content[citation.answer_start : citation.answer_end])
    return bare.strip()


def _remark(one: StatementSupport) -> str:
    if one.status == "related":
        return RELATED
    return NOT_THERE if one.cites else NOWHERE


def _before_cell_end(text: str, end: int) -> int:
    """Return `end`, or where the last cell's words end for a statement that ends with a table's row."""
    return len(text[:end].rstrip("| \t")) or end
