"""How much of a stored answer rests on its documents: each statement with its standing, and their count."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.citations.declining import declines
from storage.records import CitationRecord, CitationStatus, Message

_UNDER_A_HEADER = re.compile(r"[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*(?:\n|$)")
_BEST_FIRST: tuple[CitationStatus, ...] = ("verified", "related", "unsupported")


@dataclass(frozen=True)
class StatementSupport:
    """`answer[start:end]` states something; `status` is that of the best of its citations.

    `cites` tells whether it has a marker.
    """

    start: int
    end: int
    status: CitationStatus
    cites: bool


@dataclass(frozen=True)
class Backing:
    """Of `total` statements `backed` rest on words of a document."""

    backed: int
    total: int

    @property
    def sentence(self) -> str:
        """Say it to the reader.

        >>> Backing(7, 8).sentence, Backing(1, 1).sentence
        ('7 of 8 statements are backed by your documents.', 'This statement is backed by your documents.')
        >>> Backing(0, 2).sentence
        'None of the 2 statements was found in your documents.'
        """
        if self.total == 1:
            return f"This statement {'is backed by' if self.backed else 'was not found in'} your documents."
        if not self.backed:
            return f"None of the {self.total} statements was found in your documents."
        if self.backed == self.total:
            both = "Both" if self.total == 2 else f"All {self.total}"
            return f"{both} statements are backed by your documents."
        verb = "is" if self.backed == 1 else "are"
        return f"{self.backed} of {self.total} statements {verb} backed by your documents."


def statements(answer: Message) -> list[StatementSupport]:
    """Return each statement of an answer once, in their order.

    A sentence that only declines states nothing, nor does the header of a table.
    """
    spans: dict[tuple[int, int], list[CitationRecord]] = {}
    for citation in answer.citations:
        spans.setdefault((citation.answer_start, citation.answer_end), []).append(citation)
    stated = [
        StatementSupport(start, end, _best(cited), any(citation.marker for citation in cited))
        for (start, end), cited in sorted(spans.items())
    ]
    return [one for one in stated if one.cites or not _is_empty(answer.content, one)]


def _is_empty(answer: str, one: StatementSupport) -> bool:
    row = "|" in answer[one.start : one.end] or "|" in answer[one.end : one.end + 4]
    return declines(answer[one.start : one.end]) or (row and bool(_UNDER_A_HEADER.match(answer, one.end)))


def backing(answer: Message) -> Backing | None:
    """Count an answer's statements.

    None where it states nothing, was made without any document, or says itself that they may not answer.
    """
    stated = statements(answer)
    if not stated or not answer.passages or _doubts(answer.content, answer.citations):
        return None
    return Backing(sum(one.status == "verified" for one in stated), len(stated))


def rests_on_nothing(content: str, citations: Sequence[CitationRecord]) -> bool:
    """Return whether nothing of an answer is in the documents, or it says itself that it may not be."""
    return all(citation.status == "unsupported" for citation in citations) or _doubts(content, citations)


def found_nothing(answer: Message) -> bool:
    """Return whether an answer was looked for in the documents, and none of it is there."""
    looked = "retrieve" in answer.timings_ms
    return answer.state == "complete" and looked and rests_on_nothing(answer.content, answer.citations)


def _doubts(content: str, citations: Sequence[CitationRecord]) -> bool:
    """Return whether an answer begins, before the first words that it cites, by declining."""
    first = min((citation.answer_start for citation in citations), default=0)
    return declines(content[:first])


def _best(cited: Sequence[CitationRecord]) -> CitationStatus:
    return min((citation.status for citation in cited), key=_BEST_FIRST.index)
