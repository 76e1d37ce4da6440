"""Answers as the HTTP interface gives them: text, citations with their evidence, sources, and notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, Field

from rag.chat.answer import Condensed, Done, Sources
from rag.chat.map_reduce import Coverage, ReadingPlan
from rag.chat.pipeline import Timings
from rag.chat.scope import NarrowedTo, SearchedIn
from rag.chat.steps import Planned, read_plan
from rag.citations.reader import Checked
from rag.citations.support import Citation
from rag.models.protocol import Sent
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from rag.text.language import language
from rag.text.prompt_parts import count_tokens
from storage.records import AnswerState, CitationRecord, CitationStatus, Message, PassageRecord


class CitationOut(BaseModel):
    """A statement of the answer, `text[statement_start:statement_end]`, and the words it rests on.

    The quote is `[start:end)` of the text of the document, whose original has the hash `sha256`; offsets are
    in Unicode code points. Without evidence `marker` is 0 and the document is null.
    """

    marker: int
    statement: str
    statement_start: int
    statement_end: int
    status: CitationStatus
    quote: str
    note: str = Field(description="What the source says where it differs, or a calculation.")
    document_id: str | None
    document: str | None
    page: int | None
    start: int
    end: int
    sha256: str | None
    from_picture: bool = Field(
        False, description="True where a model read the passage from a picture: it verifies nothing."
    )


class SourceOut(BaseModel):
    """A passage of an answer or a search: `text` is `[start:end)` of the text of its document.

    With `from_picture` the text is what a model read from a picture, and `[start:end)` is its caption.
    """

    number: int
    id: str
    document_id: str
    document: str
    page: int | None
    heading: str
    start: int
    end: int
    sha256: str
    text: str
    score: float
    found_by: dict[str, Any]
    from_picture: bool = False


class UsageOut(BaseModel):
    """Tokens, estimated by their number of characters where the model's server does not count them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ReadingOfferOut(BaseModel):
    """Cost of reading a whole scope with the model: its passages, requests, and tokens, estimated."""

    passages: int
    requests: int
    tokens: int


class AnswerOut(BaseModel):
    """A cited answer. `conversation_id` and `answer_id` are null where it was not stored."""

    text: str
    citations: list[CitationOut]
    sources: list[SourceOut]
    model: str | None = Field(description="The language model; null for an answer of quotes.")
    state: AnswerState = "complete"
    standalone_question: str | None
    searched_in: str | None
    narrowed_to: str | None
    steps: list[str] = Field([], description="The steps in which a question of several parts was searched.")
    coverage: str | None = Field(description="How much of a whole scope was read for the answer.")
    reading_offer: ReadingOfferOut | None = Field(
        description="Cost of reading all of the scope with the model, where not all was read: `read_all`."
    )
    left_out: list[str] = Field(description="Sentences on parts of the search that failed.")
    timings_ms: dict[str, float]
    usage: UsageOut
    conversation_id: str | None = None
    answer_id: str | None = None


def cited(
    text: str,
    citations: Sequence[Citation | CitationRecord],
    passages: Mapping[int, Passage | PassageRecord],
) -> list[CitationOut]:
    """Return the citations of a text, with the passages by their markers."""
    return [_cited(text, one, passages.get(one.marker)) for one in citations]


def _cited(text: str, one: Citation | CitationRecord, passage: Passage | PassageRecord | None) -> CitationOut:
    return CitationOut(
        marker=one.marker,
        statement=text[one.answer_start : one.answer_end],
        statement_start=one.answer_start,
        statement_end=one.answer_end,
        status=one.status,
        quote=one.quote,
        note=one.note,
        document_id=passage and passage.document_id,
        document=passage and passage.document,
        page=passage and passage.page,
        start=one.quote_start,
        end=one.quote_end,
        sha256=passage and passage.sha256,
        from_picture=passage is not None and passage.is_from_picture,
    )


def source(number: int, passage: Passage | PassageRecord) -> SourceOut:
    """Return a passage with its number."""
    return SourceOut(
        number=number,
        id=passage.id if isinstance(passage, Passage) else passage.chunk_id,
        document_id=passage.document_id,
        document=passage.document,
        page=passage.page,
        heading=passage.heading,
        start=passage.start,
        end=passage.end,
        sha256=passage.sha256,
        text=passage.text,
        score=passage.score,
        found_by={name: _found(found) for name, found in passage.found_by.items()},
        from_picture=passage.is_from_picture,
    )


def _found(found: Any) -> dict[str, Any]:
    return dict(found) if isinstance(found, Mapping) else vars(found)


@dataclass
class AnswerBuilder:
    """Answer that grows with the events of a pipeline."""

    text: str = ""
    citations: Sequence[Citation] = ()
    passages: Sequence[Passage] = ()
    model: str | None = None
    notes: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    offer: ReadingOfferOut | None = None
    left_out: list[str] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    prompt_tokens: int = 0

    def take(self, event: object) -> None:
        """Take an event."""
        match event:
            case Condensed() | Planned() | SearchedIn() | NarrowedTo() | Coverage():
                self._note(event)
            case ReadingPlan(passages, requests, tokens, begun=False):
                self.offer = ReadingOfferOut(passages=passages, requests=requests, tokens=tokens)
            case Degraded():
                self.left_out.append(event.sentence)
            case Sources(passages):
                self.passages = passages
            case Done() | Checked():
                self._take_text(event)
            case Timings(ms):
                self.timings_ms = ms
            case Sent(_, messages):
                self.prompt_tokens += sum(count_tokens(content) for _, content in messages)

    def _note(self, event: Condensed | Planned | SearchedIn | NarrowedTo | Coverage) -> None:
        match event:
            case Planned(_, steps):
                self.steps = [step.question for step in steps]
            case Condensed(question):
                self.notes["standalone_question"] = question
            case SearchedIn(said):
                self.notes["searched_in"] = said
            case NarrowedTo(said):
                self.notes["narrowed_to"] = said
            case Coverage():
                self.notes["coverage"] = event.said(language(self.notes.get("standalone_question", "")))

    def _take_text(self, event: Done | Checked) -> None:
        self.text, self.citations = event.text, event.citations
        if isinstance(event, Done):
            self.model = event.model

    @property
    def usage(self) -> UsageOut:
        """Tokens read and written so far."""
        written = count_tokens(self.text) if self.model else 0
        return UsageOut(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=written,
            total_tokens=self.prompt_tokens + written,
        )

    def answer(self) -> AnswerOut:
        """Return the answer so far."""
        passages = dict(enumerate(self.passages, start=1))
        return AnswerOut(
            text=self.text,
            citations=cited(self.text, self.citations, passages),
            sources=[source(number, passage) for number, passage in passages.items()],
            model=self.model,
            standalone_question=self.notes.get("standalone_question"),
            searched_in=self.notes.get("searched_in"),
            narrowed_to=self.notes.get("narrowed_to"),
            steps=self.steps,
            coverage=self.notes.get("coverage"),
            reading_offer=self.offer,
            left_out=self.left_out,
            timings_ms=self.timings_ms,
            usage=self.usage,
        )

    def stored(self, message: Message, conversation_id: str) -> AnswerOut:
        """Return a stored answer, with the usage of these events."""
        answer = self.answer()
        return answer.model_copy(update=stored_fields(message, conversation_id))


def stored_fields(message: Message, conversation_id: str) -> dict[str, Any]:
    """Return the fields of an answer that are stored with it."""
    passages = {passage.number: passage for passage in message.passages}
    understood, steps = read_plan(message.standalone_question or "")
    offer = message.reading_offer
    return {
        "text": message.content,
        "citations": cited(message.content, message.citations, passages),
        "sources": [source(number, passage) for number, passage in passages.items()],
        "model": message.model,
        "state": message.state,
        "standalone_question": understood or None,
        "steps": list(steps),
        "searched_in": message.searched_in,
        "narrowed_to": message.narrowed_to,
        "coverage": message.coverage,
        "reading_offer": None if offer is None else ReadingOfferOut(**offer),
        "left_out": [Degraded(one.what, one.reason).sentence for one in message.left_out],
        "timings_ms": dict(message.timings_ms),
        "conversation_id": conversation_id,
        "answer_id": message.id,
    }


Role = Literal["user", "assistant"]
