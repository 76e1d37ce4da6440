"""From an answer's markers to what they open: pure, over stored messages."""

from dataclasses import dataclass

from rag.citations.quoting import citation_of, markers, passage_of, place_and_heading
from storage.records import CitationRecord, Message, PassageRecord
from ui.components.answer_text import Link

STATUSES = {
    "related": "On this subject, but not these words: ",
    "unsupported": "The statement was not found in this source: ",
}
HINT = 180  # characters of a quote that a pointer resting on a marker shows


@dataclass(frozen=True)
class CitedPassage:
    """A passage that an answer was given, and the words of it that are cited."""

    message: Message
    passage: PassageRecord
    citation: CitationRecord | None

    @property
    def exact(self) -> bool:
        """True where words of the passage are cited, not just the passage."""
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


def target_of(evidence: CitedPassage) -> str:
    """Name a citation for a link: answer and position, or answer and passage: "a1-0", "a1-p2"."""
    if evidence.citation is None:
        return f"{evidence.message.id}-p{evidence.passage.number}"
    return f"{evidence.message.id}-{evidence.message.citations.index(evidence.citation)}"


def split_target(target: str) -> tuple[str, str]:
    """Return the answer's id and the place in it: "a1-p2" -> ("a1", "p2")."""
    answer_id, _, place = target.rpartition("-")
    return answer_id, place


def resolve(message: Message, place: str) -> CitedPassage | None:
    """Return what `place` names in an answer, None when it names nothing there."""
    if place.startswith("p"):
        passage = passage_of(message, _number(place[1:]))
        return CitedPassage(message, passage, None) if passage else None
    position = _number(place)
    if not 0 <= position < len(message.citations):
        return None
    citation = message.citations[position]
    cited = passage_of(message, citation.marker)
    return CitedPassage(message, cited, citation) if cited else None


def cited_numbers(message: Message) -> list[int]:
    """Return the passages' numbers that markers in the answer name, in the order they appear, each once."""
    known = {passage.number for passage in message.passages}
    return [n for n in dict.fromkeys(number for _, number in markers(message.content)) if n in known]


def _target(message: Message, offset: int, number: int) -> CitedPassage | None:
    passage, at = passage_of(message, number), citation_of(message, offset, number)
    return CitedPassage(message, passage, None if at is None else message.citations[at]) if passage else None


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else -1


def _doubtful(evidence: CitedPassage) -> bool:
    return evidence.citation is not None and evidence.citation.status != "verified"


def _hint(evidence: CitedPassage) -> str:
    words = " ".join(evidence.quote.split())
    short = words if len(words) <= HINT else words[: HINT - 1].rstrip() + "…"
    status = STATUSES.get(evidence.citation.status, "") if evidence.citation else ""
    return f"{status}“{short}” — {place_and_heading(evidence.passage)}"
