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
Rating = Literal["up", "down"]
CitationFeedback = Literal["wrong"]


@dataclass(frozen=True)
class DocumentRecord:
    """A document as lists show it; ``size`` in bytes, ``pages`` None where the format has none.

    ``url`` is where the thing itself can be seen; one that was not ``uploaded`` came from a source. ``note``
    says what of it could not be read, where the rest was.
    """

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
    url: str | None = None
    uploaded: bool = True
    collection_id: str | None = None
    note: str | None = None


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
class ConversationRecord:
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
    """``answer[answer_start:answer_end]`` rests on ``quote``, at [quote_start, quote_end) of the document.

    ``feedback`` is the reader's word on it; all else is as it was when the answer was made.
    """

    marker: int
    answer_start: int
    answer_end: int
    status: CitationStatus
    quote_start: int
    quote_end: int
    quote: str
    feedback: CitationFeedback | None = None


@dataclass(frozen=True)
class LeftOutRecord:
    """A part of the search that an answer was made without, and why, as a sentence."""

    what: str
    reason: str


@dataclass(frozen=True)
class Message:
    """A question, or an answer with its evidence; ``question_id`` of an answer is what it answers.

    ``standalone_question`` is what was searched for an answer; of a question, what its asker wants to be
    searched, if they said. ``versions`` are the questions that follow the same answer, by their ids in the
    order they were asked, this one included; empty where it is alone. ``searched_in`` names the collections
    and documents that an answer was searched in, where that was not all of them.
    """

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
    rating: Rating | None = None
    left_out: tuple[LeftOutRecord, ...] = ()
    versions: tuple[str, ...] = ()
    searched_in: str | None = None


@dataclass(frozen=True)
class TurnRecord:
    """A question and its answer as they were when they were read; pending, and new, where it begins.

    ``follows`` is the answer that it goes on from, by its id; None where the conversation opens with it.
    """

    conversation_id: str
    question: Message
    answer: Message
    follows: str | None = None

    @property
    def question_id(self) -> str:
        """The id of the question."""
        return self.question.id

    @property
    def answer_id(self) -> str:
        """The id of the answer."""
        return self.answer.id
