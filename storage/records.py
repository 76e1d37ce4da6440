"""What storage hands out: frozen records, never rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

State = Literal["queued", "reading", "searchable_by_words", "searchable_by_meaning", "ready", "refused"]
Outcome = Literal["new", "unchanged", "replaces"]
Role = Literal["user", "assistant"]
AnswerState = Literal["complete", "pending", "stopped", "failed", "interrupted"]
CitationStatus = Literal["verified", "related", "unsupported"]


@dataclass(frozen=True)
class DocumentRecord:
    """A document as lists show it; ``size`` in bytes, ``pages`` None where the format has none."""

    id: str
    name: str
    sha256: str
    size: int
    state: State
    reason: str | None
    pages: int | None
    chunks: int
    replaces: str | None
    created: datetime
    updated: datetime


@dataclass(frozen=True)
class PageSpan:
    """Page ``number`` (from 1) is ``text[start:end]`` of its document."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class ChunkSpan:
    """A chunk is ``text[start:end]``; ``heading`` is its path, ``"Guide > Install"``, or empty."""

    start: int
    end: int
    page: int | None = None
    heading: str = ""


@dataclass(frozen=True)
class ChunkRecord:
    """A chunk with its words: ``text`` is ``canonical[start:end]`` of the document."""

    id: str
    document_id: str
    document: str
    sha256: str
    position: int
    start: int
    end: int
    page: int | None
    heading: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """A conversation as lists show it."""

    id: str
    title: str
    created: datetime
    updated: datetime


@dataclass(frozen=True)
class PassageRecord:
    """A passage an answer was given, frozen; ``number`` is its marker, from 1."""

    number: int
    chunk_id: str
    document_id: str
    document: str
    sha256: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str
    score: float
    found_by: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CitationRecord:
    """``answer[answer_start:answer_end]`` rests on ``quote``, at [quote_start, quote_end) of the document."""

    marker: int
    answer_start: int
    answer_end: int
    status: CitationStatus
    quote_start: int
    quote_end: int
    quote: str


@dataclass(frozen=True)
class Message:
    """A question, or an answer with its evidence; ``question_id`` of an answer is what it answers."""

    id: str
    role: Role
    content: str
    state: AnswerState
    question_id: str | None
    standalone_question: str | None
    model: str | None
    error: str | None
    timings_ms: Mapping[str, float]
    created: datetime
    passages: tuple[PassageRecord, ...] = ()
    citations: tuple[CitationRecord, ...] = ()


@dataclass(frozen=True)
class Turn:
    """A question just asked and the pending answer that belongs to it."""

    conversation_id: str
    question_id: str
    answer_id: str
