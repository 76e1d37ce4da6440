"""Gold passages: the chunks that hold today what a question set marked as right.

A marked passage is frozen words. Documents are split anew, replaced and removed, so the chunks that hold
the words are looked up when the questions are asked.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from storage.documents import SEARCHABLE, Documents
from storage.lab_records import AskedStatus, MarkedPassage, QuestionRecord
from storage.records import ChunkRecord

HALF = 0.5


@dataclass(frozen=True)
class GoldPassages:
    """The chunks of a document that hold a marked passage, in their order."""

    document_id: str
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class Prepared:
    """A question as it can be asked now.

    `targets` maps each right chunk to the passage it stands for, named by its first chunk: a passage on
    the border of two chunks counts once, whichever of them is found. Empty unless the status is "asked".
    """

    question: QuestionRecord
    status: AskedStatus
    targets: Mapping[str, str]

    @property
    def judgements(self) -> dict[str, float]:
        """The right passages as metrics take them: each as right as the others."""
        return dict.fromkeys(self.targets.values(), 1.0)


def prepare(
    documents: Documents, questions: Sequence[QuestionRecord], document_ids: Collection[str] | None = None
) -> list[Prepared]:
    """Return the questions with the chunks that answer them among the chosen documents, or among all.

    A question is "gone" when none of its passages is in any document, "outside" when none is in a
    chosen one; of several passages, those that are there count.
    """
    standing = locate(documents, (passage for question in questions for passage in question.passages))
    return [_prepared(question, standing, document_ids) for question in questions]


def locate(documents: Documents, passages: Iterable[MarkedPassage]) -> dict[MarkedPassage, GoldPassages]:
    """Return where passages stand today; those that are gone are absent.

    The document is the one with the same contents, or else the one of the same name, which has taken
    its place; each is read once.
    """
    there = [record for record in documents.list() if record.replaces is None and record.state in SEARCHABLE]
    by_content = {record.sha256: record for record in there}
    by_name = {record.name: record for record in there}
    wanted: dict[str, list[MarkedPassage]] = {}
    for passage in dict.fromkeys(passages):
        record = by_content.get(passage.sha256) or by_name.get(passage.document)
        if record is not None:
            wanted.setdefault(record.id, []).append(passage)
    found: dict[MarkedPassage, GoldPassages] = {}
    for document_id, marked in wanted.items():
        found |= _in_document(documents, document_id, marked)
    return found


def _in_document(
    documents: Documents, document_id: str, passages: Sequence[MarkedPassage]
) -> dict[MarkedPassage, GoldPassages]:
    text, chunks = documents.text(document_id), documents.chunks(document_id)
    spans = {passage: place(text, passage) for passage in passages}
    return {
        passage: GoldPassages(document_id, ids)
        for passage, span in spans.items()
        if span is not None and (ids := holding(chunks, *span))
    }


def place(text: str, passage: MarkedPassage) -> tuple[int, int] | None:
    """Return the span of a passage's words in a text: where it was, or else the nearest such words.

    Only white space may differ. None when the words are not there.
    """
    if text[passage.start : passage.end] == passage.quote:
        return passage.start, passage.end
    words = passage.quote.split()
    if not words:
        return None
    found = [match.span() for match in re.finditer(r"\s+".join(map(re.escape, words)), text)]
    return min(found, key=lambda span: abs(span[0] - passage.start), default=None)


def holding(chunks: Sequence[ChunkRecord], start: int, end: int) -> tuple[str, ...]:
    """Return the chunks that hold at least half of [start, end), or half of which lie in it.

    >>> from storage.records import ChunkRecord
    >>> def chunk(id_, start, end): return ChunkRecord(id_, "", "", "", 0, start, end, None, "", "")
    >>> holding([chunk("a", 0, 100), chunk("b", 90, 200), chunk("c", 200, 300)], 80, 110)
    ('a', 'b')
    """
    shares = {chunk.id: _share(chunk, start, end) for chunk in chunks}
    best = max(shares.values(), default=0.0)
    enough = min(HALF, best)
    return tuple(id_ for id_, share in shares.items() if share and share >= enough)


def _share(chunk: ChunkRecord, start: int, end: int) -> float:
    common = min(chunk.end, end) - max(chunk.start, start)
    return max(0.0, common / max(1, min(chunk.end - chunk.start, end - start)))


def _prepared(
    question: QuestionRecord,
    standing: Mapping[MarkedPassage, GoldPassages],
    document_ids: Collection[str] | None,
) -> Prepared:
    there = [standing[passage] for passage in question.passages if passage in standing]
    chosen = [found for found in there if document_ids is None or found.document_id in document_ids]
    status: AskedStatus = "asked" if chosen else "outside" if there else "gone"
    return Prepared(question, status, _targets([found.chunk_ids for found in chosen]))


def _targets(passages: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """Name each chunk's passage; passages that share a chunk are one: ``[a b] [b c] -> all are a``."""
    return reduce(_joined, passages, {})


def _joined(targets: dict[str, str], ids: tuple[str, ...]) -> dict[str, str]:
    known = {targets[id_] for id_ in ids if id_ in targets}
    name = min([*known, ids[0]])
    renamed = {id_: name if of in known else of for id_, of in targets.items()}
    return renamed | dict.fromkeys(ids, name)
