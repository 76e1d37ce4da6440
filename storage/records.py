"""Frozen records that storage returns in place of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

State = Literal["queued", "reading", "searchable_by_words", "searchable_by_meaning", "ready", "refused"]
Outcome = Literal["new", "unchanged", "replaces"]
FigureState = Literal["due", "done", "stopped", "failed"]
Role = Literal["user", "assistant"]
AnswerState = Literal["complete", "pending", "stopped", "failed", "interrupted"]
CitationStatus = Literal["verified", "differs", "related", "unsupported"]
Rating = Literal["up", "down"]
RatingReason = Literal["wrong", "not_in_documents", "incomplete", "hard_to_read", "other"]
CitationFeedback = Literal["wrong"]


@dataclass(frozen=True)
class DocumentRecord:
    """A document as lists show it; ``size`` in bytes, ``pages`` None where the format has none.

    ``url`` is the address of the original at its source; one that was not ``uploaded`` came from a source.
    ``note`` says which part could not be read.
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
class Unsearched:
    """A file that could not be searched, or only in part, and its state."""

    name: str
    state: State


@dataclass(frozen=True)
class PageSpan:
    """Page ``number`` (from 1) is ``text[start:end]`` of its document."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class DocumentFact:
    """A fact that a document states of itself: ``text[start:end]`` are the words it was read from.

    ``start`` and ``end`` are None where it was read from the file's name or properties. ``means`` is what a
    name, an abbreviation or a defined term stands for. See rag/ingest/document_facts.py for the kinds.
    """

    kind: str
    value: str
    start: int | None = None
    end: int | None = None
    means: str = ""


@dataclass(frozen=True)
class ChunkSpan:
    """A chunk is ``text[start:end]``; ``heading`` is its path, ``"Guide > Install"``, or empty."""

    start: int
    end: int
    page: int | None = None
    heading: str = ""


FIGURE = ".figure-"
"""Part of the id of a passage that is the description of a figure; no other passage has it."""


@dataclass(frozen=True)
class FigureSpan:
    """Figure beside ``text[start:end]``: its caption, or the line in its place.

    It is known by its page, its ``label`` and its number among equal ones, ``occurrence``.
    """

    page: int | None
    label: str
    occurrence: int
    start: int
    end: int

    @property
    def key(self) -> tuple[int | None, str, int]:
        """Return what the figure is known by in its document."""
        return self.page, self.label, self.occurrence


@dataclass(frozen=True)
class FigureRecord:
    """A model's description of a figure; its ``id`` is that of the passage."""

    id: str
    document_id: str
    number: int
    page: int | None
    label: str
    occurrence: int
    start: int
    end: int
    text: str
    model: str
    created: datetime

    @property
    def key(self) -> tuple[int | None, str, int]:
        """Return what the figure is known by in its document."""
        return self.page, self.label, self.occurrence


@dataclass(frozen=True)
class FigureReading:
    """State of the description of a document's figures, and a note on one that is not complete."""

    document_id: str
    state: FigureState
    again: bool
    note: str | None
    updated: datetime


def is_figure_id(passage_id: str) -> bool:
    """Return True for the id of a passage that a model read from a picture.

    >>> is_figure_id("5f0c.figure-9d2e"), is_figure_id("5f0c-00003")
    (True, False)
    """
    return FIGURE in passage_id


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
class DiscardedRecord:
    """A discarded conversation, which can be restored ``until`` a time."""

    id: str
    title: str
    until: datetime


@dataclass(frozen=True)
class PassageRecord:
    """A copy of a passage that an answer was given; ``number`` is its marker, from 1."""

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

    @property
    def is_from_picture(self) -> bool:
        """True where a model read the text from a picture: it is no quote of the document."""
        return is_figure_id(self.chunk_id)


@dataclass(frozen=True)
class CitationRecord:
    """Citation of ``answer[answer_start:answer_end]``: ``quote`` is [quote_start, quote_end) of the document.

    ``feedback`` is the reader's; all else is as it was when the answer was made. ``note`` is what the source
    says where it differs, or a calculation.
    """

    marker: int
    answer_start: int
    answer_end: int
    status: CitationStatus
    quote_start: int
    quote_end: int
    quote: str
    feedback: CitationFeedback | None = None
    note: str = ""


@dataclass(frozen=True)
class LeftOutRecord:
    """A part of the search that an answer was made without, and the reason as a sentence."""

    what: str
    reason: str


@dataclass(frozen=True)
class AttachedRecord:
    """A document that was attached to a question, by the name it had then."""

    document_id: str
    name: str


@dataclass(frozen=True)
class Message:
    """A question, or an answer with its evidence and the ``question_id`` of its question.

    ``standalone_question`` is the query of an answer; of a question, the search that its asker asked for.
    ``versions`` are the ids of the questions that follow the same answer, in the order they were asked, this
    one included; empty for a single one. ``searched_in`` names the collections and documents that were
    searched, where not all of them were; ``narrowed_to`` what the search was narrowed to because the question
    names it. Of a question it is empty where its asker removed that. ``attached`` are a question's documents.
    ``coverage`` says how much was read for an answer about a whole scope; where that is not all,
    ``reading_offer`` has the passages, requests and tokens of reading all. ``rating_reason`` and
    ``rating_note`` say why an answer that is rated down is not helpful.
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
    narrowed_to: str | None = None
    attached: tuple[AttachedRecord, ...] = ()
    coverage: str | None = None
    rating_reason: RatingReason | None = None
    rating_note: str | None = None
    reading_offer: Mapping[str, int] | None = None


@dataclass(frozen=True)
class TurnRecord:
    """A question and its answer as they were when they were read.

    ``follows`` is the id of the answer before; None for the first turn of a conversation.
    """

    conversation_id: str
    question: Message
    answer: Message
    follows: str | None = None

    @property
    def question_id(self) -> str:
        """Return the id of the question."""
        return self.question.id

    @property
    def answer_id(self) -> str:
        """Return the id of the answer."""
        return self.answer.id


# Records of people


@dataclass(frozen=True)
class Holdings:
    """Storage used by one owner: documents, and the bytes of their originals."""

    documents: int
    bytes: int


@dataclass(frozen=True)
class Used:
    """Usage of one owner: answers, the tokens that a model read and wrote, and seconds of embedding."""

    answers: int
    tokens: int
    embedding_seconds: float = 0.0


@dataclass(frozen=True)
class PersonRecord:
    """A person as an administrator sees them: name, holdings and usage, never the content.

    ``limits`` are those set for this person alone; ``removing`` is when their removal was ordered.
    """

    id: str
    name: str
    email: str
    created: datetime
    seen: datetime | None
    removing: datetime | None
    limits: Mapping[str, int]
    holds: Holdings
    conversations: int
    used: Used
    today: Used


KeyScope = Literal["read", "ask", "write"]


@dataclass(frozen=True)
class KeyRecord:
    """An API key of an owner, without its secret; ``collections`` are ids, None for everything."""

    id: str
    owner: str
    name: str
    scopes: frozenset[KeyScope]
    collections: frozenset[str] | None
    created: datetime
    expires: datetime | None
    used: datetime | None


# Records of sources
SourceState = Literal["idle", "running", "stopped", "failed", "emptied"]


@dataclass(frozen=True)
class SourceRecord:
    """A source as lists show it. ``every`` is in minutes, None where it is read only when asked to.

    ``began`` and ``ended`` are of the last sync, ``reason`` is of its failure; ``round`` counts syncs. A
    source found "emptied" keeps its documents until a person confirms that they are to be deleted.
    """

    id: str
    kind: str
    name: str
    settings: Mapping[str, Any]
    every: int | None
    cursor: str | None
    round: int
    state: SourceState
    reason: str | None
    began: datetime | None
    ended: datetime | None
    created: datetime


@dataclass(frozen=True)
class Listing:
    """An item as its source lists it."""

    id: str
    name: str
    version: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class ItemRecord:
    """Sync state of an item: the version taken, and its document and that one's state, if it has one.

    ``reason`` tells the failure of the item or its document. With neither it was deleted here. ``wanted`` is
    the version that failed, ``tries`` times in a row; it is tried again when ``due``.
    """

    id: str
    name: str
    url: str | None
    version: str | None
    document_id: str | None
    state: State | None
    reason: str | None
    updated: datetime
    wanted: str | None = None
    tries: int = 0
    due: datetime | None = None


@dataclass(frozen=True)
class Tally:
    """Counts of a source's items, of their documents, and of the items that failed.

    ``unfinished`` are the ids of the documents that are not ready yet.
    """

    items: int = 0
    documents: int = 0
    failed: int = 0
    unfinished: frozenset[str] = frozenset()


# Records of the lab
Origin = Literal["typed", "feedback", "made", "sentences"]
RunState = Literal["running", "complete", "stopped", "failed"]
AskedStatus = Literal["asked", "gone", "outside"]


@dataclass(frozen=True)
class MarkedPassage:
    """Quote that answers a question: ``quote`` was [start, end) of the document's text when it was marked."""

    document_id: str
    document: str
    sha256: str
    chunk_id: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True)
class QuestionSetRecord:
    """A question set as lists show it, with its number of ``questions``.

    They were "typed", collected from "feedback", "made" by a model or from "sentences".
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

    ``fingerprint`` is equal for equal contents; ``chunks`` is their number of chunks.
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
    """A run over a question set: its settings, and its results in the order of ``retrievers``.

    ``asked`` counts the questions asked; the right passages of ``gone`` ones are in no document any more,
    those of ``outside`` ones only in documents that were not chosen.
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
    """A question of a run, number ``position`` from 1; ``right_ids`` were its right chunks."""

    position: int
    question_id: str
    text: str
    status: AskedStatus
    right_ids: tuple[str, ...]


@dataclass(frozen=True)
class FoundRecord:
    """A chunk that was found: its ``rank`` from 1, its place in words, and whether it is right."""

    chunk_id: str
    rank: int
    place: str
    right: bool


@dataclass(frozen=True)
class FindingRecord:
    """Chunks that one retriever found for question ``position``; ``first_right`` is a rank or None.

    ``error`` is the reason of a failure, or names the part of the retriever that was left out.
    """

    position: int
    retriever: str
    found: tuple[FoundRecord, ...]
    first_right: int | None
    ms: float
    error: str | None
