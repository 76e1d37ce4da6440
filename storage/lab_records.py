"""What storage hands out of the lab: question sets, runs over them, and what each found."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Origin = Literal["typed", "feedback", "made", "sentences"]
RunState = Literal["running", "complete", "stopped", "failed"]
AskedStatus = Literal["asked", "gone", "outside"]


@dataclass(frozen=True)
class MarkedPassage:
    """Words that answer a question, frozen: ``quote`` stood at [start, end) of the document's text."""

    document_id: str
    document: str
    sha256: str
    chunk_id: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True)
class QuestionSetRecord:
    """A question set as lists show it; ``questions`` is how many it has.

    Its questions were "typed", collected from "feedback", "made" by a model or from "sentences".
    """

    id: str
    name: str
    origin: Origin
    questions: int
    created: datetime


@dataclass(frozen=True)
class QuestionRecord:
    """A question and the passages that answer it, as they were when they were marked."""

    id: str
    text: str
    passages: tuple[MarkedPassage, ...]


@dataclass(frozen=True)
class SearchedRecord:
    """The documents a run searched: ``every`` one or a choice; ``names`` are the first of ``count``.

    ``fingerprint`` is equal for equal contents; ``chunks`` is how many passages they have.
    """

    every: bool
    count: int
    names: tuple[str, ...]
    fingerprint: str
    chunks: int


@dataclass(frozen=True)
class ResultRecord:
    """One retriever's means over ``queries`` questions, such as ``{"recall@5": 0.8}``, and its latency."""

    retriever: str
    queries: int
    metrics: Mapping[str, float]
    p50_ms: float
    p95_ms: float
    errors: int


@dataclass(frozen=True)
class RunRecord:
    """A run over a question set: how it was made, and its results in the order of ``retrievers``.

    Of the set's questions ``asked`` were asked; the right passages of ``gone`` are in no document any
    more, those of ``outside`` only in documents that were not chosen.
    """

    id: str
    set_id: str
    created: datetime
    state: RunState
    error: str | None
    retrievers: tuple[str, ...]
    k: int
    embedding: str
    mixture: str
    searched: SearchedRecord
    asked: int
    gone: int
    outside: int
    results: tuple[ResultRecord, ...] = ()


@dataclass(frozen=True)
class AskedRecord:
    """A question of a run, number ``position`` from 1; ``right_ids`` are the chunks that answered it then."""

    position: int
    question_id: str
    text: str
    status: AskedStatus
    right_ids: tuple[str, ...]


@dataclass(frozen=True)
class FoundRecord:
    """A chunk that was found: its ``rank`` from 1, its place in words, and whether it answers."""

    chunk_id: str
    rank: int
    place: str
    right: bool


@dataclass(frozen=True)
class FindingRecord:
    """What one retriever found for question ``position``; ``first_right`` is a rank, None where none is.

    ``error`` tells why it found nothing, or which part of it was left out.
    """

    position: int
    retriever: str
    found: tuple[FoundRecord, ...]
    first_right: int | None
    ms: float
    error: str | None
