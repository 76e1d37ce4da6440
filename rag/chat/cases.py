"""What readers said of answers and citations, as cases to evaluate the checker with."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rag.citations.quoting import passage_of, statement_text
from storage.records import CitationRecord, Message


@dataclass(frozen=True)
class FeedbackCase:
    """A claim, the passages it was said to rest on, and whether a reader took them to support it."""

    claim: str
    passages: tuple[str, ...]
    supported: bool


def cases(answers: Sequence[Message]) -> Iterator[FeedbackCase]:
    """Yield a case for each citation marked as wrong, and for each verified one of an answer rated up.

    An answer rated down says nothing of its single citations.
    """
    for answer in answers:
        for citation in answer.citations:
            supported = _judged(answer, citation)
            passage = passage_of(answer, citation.marker)
            claim = statement_text(answer, citation)
            if supported is not None and passage is not None and claim:
                yield FeedbackCase(claim, (passage.text,), supported)


def to_jsonl(found: Sequence[FeedbackCase]) -> str:
    r"""Return cases as JSON lines, as `footnote eval citations` reads them.

    >>> to_jsonl([FeedbackCase("It is so.", ("So it is.",), True)])
    '{"claim": "It is so.", "passages": ["So it is."], "supported": true}\n'
    """
    return "".join(json.dumps(asdict(case), ensure_ascii=False) + "\n" for case in found)


def _judged(answer: Message, citation: CitationRecord) -> bool | None:
    """Return what the reader's word says of a citation; None where it says nothing."""
    if citation.feedback == "wrong":
        return False
    return True if answer.rating == "up" and citation.status == "verified" else None
