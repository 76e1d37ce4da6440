"""Sentences that name a field, and what readings of labels, sentences and answers share."""

import re
from dataclasses import dataclass

from rag.grid.document import RowDocument
from rag.grid.terms import ColumnTerms, Mention

LABELLED = 1.2
"""Score of a value under a label that is the field's name."""
NAMED, LOOSE = 1.0, 0.7
"""Scores of a value in a sentence with a term, and in one with its words apart from each other."""
MOST_MENTIONS = 200
SHORT = 240  # characters of a sentence whose only value is surely of the field whose words it has
HONORIFIC = re.compile(r"\s*(?:御中|様|귀중|귀하)\Z")
BULLETS = re.compile(r"\s*(?:\n\s*(?:[-*+•·‣◦○●▪■□※▢]|\(?\d{1,2}[.)]|[①-⑳])\s+[^\n]{1,160})+")
BULLET = re.compile(r"\n\s*(?:[-*+•·‣◦○●▪■□※▢]|\(?\d{1,2}[.)]|[①-⑳])\s+(?P<item>[^\n]{1,160})")
WHOLE = re.compile(r"[.。!]\s*\Z|다\s*\Z")
"""End of a whole sentence."""
MUST = re.compile(r"\bshall\b", re.IGNORECASE)
"""Word of a contract that puts nothing in doubt."""


@dataclass(frozen=True)
class NamedSentence:
    """Sentence ``text[start:end]`` of a document that names a field at some places."""

    start: int
    end: int
    mentions: tuple[Mention, ...]


def named_sentences(document: RowDocument, terms: ColumnTerms) -> list[NamedSentence]:
    """Return the sentences with a term, in order."""
    found: dict[tuple[int, int], list[Mention]] = {}
    for number, mention in enumerate(terms.mentions(document.read_text)):
        if number >= MOST_MENTIONS:
            break
        found.setdefault(document.sentence_at(mention.start), []).append(mention)
    return [NamedSentence(*span, tuple(mentions)) for span, mentions in found.items()]
