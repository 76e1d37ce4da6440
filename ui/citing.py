"""From an answer's markers to what they open: pure, over stored messages."""

from dataclasses import dataclass

from rag.backing import Statement, statements
from storage.records import CitationRecord, Message, PassageRecord
from ui.answer_text import Link, markers

STATUSES = {
    "related": "On this subject, but not these words: ",
    "unsupported": "The statement was not found in this source: ",
}
RELATED = "related, but not said there"
NOT_THERE = "not in the cited source"
NOWHERE = "not found in your documents"
HINT = 180  # characters of a quote that a pointer resting on a marker shows


@dataclass(frozen=True)
class Evidence:
    """What a target names: a passage that an answer was given, and the words of it that are cited."""

    message: Message
    passage: PassageRecord
    citation: CitationRecord | None

    @property
    def exact(self) -> bool:
        """Whether words of the passage are cited, not just the passage."""
        return self.citation is not None and bool(self.citation.quote)

    @property
    def start(self) -> int:
        """First code point of the cited words in the document's text; of the passage where none are."""
        return self.citation.quote_start if self.citation and self.exact else self.passage.start

    @property
    def end(self) -> int:
        """One past the last code point of the same."""
        return self.citation.quote_end if self.citation and self.exact else self.passage.end

    @property
    def quote(self) -> str:
        """The cited words as they were stored with the answer; the passage where none are."""
        return self.citation.quote if self.citation and self.exact else self.passage.text


def links(message: Message) -> list[tuple[int, Link]]:
    """Return the offset of each marker in an answer and what it opens; unknown numbers are left out."""
    found = [(offset, _target(message, offset, number)) for offset, number in markers(message.content)]
    return [
        (offset, Link(evidence.passage.number, target_of(evidence), _hint(evidence), _doubtful(evidence)))
        for offset, evidence in found
        if evidence is not None
    ]


def notes(message: Message) -> list[tuple[int, str]]:
    """Return what is said after each statement that is not backed: its end in the answer, and the words."""
    return [
        (_before_cell_end(message.content, one.end), _note(one))
        for one in statements(message)
        if one.status != "verified"
    ]


def target_of(evidence: Evidence) -> str:
    """Name a citation for a link: answer and position, or answer and passage: "a1-0", "a1-p2"."""
    if evidence.citation is None:
        return f"{evidence.message.id}-p{evidence.passage.number}"
    return f"{evidence.message.id}-{evidence.message.citations.index(evidence.citation)}"


def split_target(target: str) -> tuple[str, str]:
    """Return the answer's id and the place in it: "a1-p2" -> ("a1", "p2")."""
    answer_id, _, place = target.rpartition("-")
    return answer_id, place


def resolve(message: Message, place: str) -> Evidence | None:
    """Return what `place` names in an answer, None when it names nothing there."""
    if place.startswith("p"):
        passage = _passage(message, _number(place[1:]))
        return Evidence(message, passage, None) if passage else None
    position = _number(place)
    if not 0 <= position < len(message.citations):
        return None
    citation = message.citations[position]
    cited = _passage(message, citation.marker)
    return Evidence(message, cited, citation) if cited else None


def cited_numbers(message: Message) -> list[int]:
    """Return the passages' numbers that markers in the answer name, in the order they appear, each once."""
    known = {passage.number for passage in message.passages}
    return [n for n in dict.fromkeys(number for _, number in markers(message.content)) if n in known]


def place_name(passage: PassageRecord) -> str:
    """Name a passage's place: "report.pdf, page 3"."""
    return passage.document + (f", page {passage.page}" if passage.page is not None else "")


def place_and_heading(passage: PassageRecord) -> str:
    """Name a passage's place with the heading it stands under: "report.pdf, page 3, Figures > Staff"."""
    return place_name(passage) + (f", {passage.heading}" if passage.heading else "")


def _target(message: Message, offset: int, number: int) -> Evidence | None:
    passage = _passage(message, number)
    if passage is None:
        return None
    same = [c for c in message.citations if c.marker == number]
    around = [c for c in same if c.answer_start <= offset <= c.answer_end]
    before = [c for c in same if c.answer_end <= offset]
    nearest = around[:1] or sorted(before, key=lambda c: c.answer_end)[-1:]
    return Evidence(message, passage, nearest[0] if nearest else None)


def _passage(message: Message, number: int) -> PassageRecord | None:
    return next((passage for passage in message.passages if passage.number == number), None)


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else -1


def _doubtful(evidence: Evidence) -> bool:
    return evidence.citation is not None and evidence.citation.status != "verified"


def _hint(evidence: Evidence) -> str:
    words = " ".join(evidence.quote.split())
    short = words if len(words) <= HINT else words[: HINT - 1].rstrip() + "…"
    status = STATUSES.get(evidence.citation.status, "") if evidence.citation else ""
    return f"{status}“{short}” — {place_and_heading(evidence.passage)}"


def _note(one: Statement) -> str:
    if one.status == "related":
        return RELATED
    return NOT_THERE if one.cites else NOWHERE


def _before_cell_end(text: str, end: int) -> int:
    """Return `end`, or where the last cell's words end for a statement that ends with a table's row."""
    return len(text[:end].rstrip("| \t")) or end
