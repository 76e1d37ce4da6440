"""A stored chat made ready to be written: its turns, with quotes numbered through the whole chat."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rag.citations.quoting import citation_of, markers, passage_of, remarks, statement_text
from rag.citations.support import backing
from storage.records import CitationRecord, CitationStatus, ConversationRecord, Message, PassageRecord

UNTITLED = "Untitled chat"


@dataclass(frozen=True)
class Quote:
    """Words that a statement rests on, `text` at [start, end) of the document with this hash.

    `number` counts through the chat from 1, `marker` is the passage's number within its answer. Where the
    source does not say what the statement says, `text` may be empty.
    """

    number: int
    marker: int
    status: CitationStatus
    statement: str
    text: str
    document: str
    page: int | None
    heading: str
    sha256: str
    start: int
    end: int


@dataclass(frozen=True)
class AnswerPiece:
    """A piece of an answer: its text, the number of a quote, or a remark of ours; the others are empty."""

    text: str = ""
    quote: int = 0
    remark: str = ""


@dataclass(frozen=True)
class ExportedTurn:
    """A question and its answer; `understood` is the question as it was searched, where that differs.

    `searched_in` names what it was searched in, where that was not everything.
    """

    question: str
    asked: datetime
    understood: str
    answer: str
    pieces: tuple[AnswerPiece, ...]
    state: str
    model: str
    backed: str
    searched_in: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True)
class ExportedChat:
    """A chat as it stood when it was exported."""

    id: str
    title: str
    exported: datetime
    turns: tuple[ExportedTurn, ...]


def export(conversation: ConversationRecord, messages: Sequence[Message], at: datetime) -> ExportedChat:
    """Return a chat as it is written to a file; answers that are still on their way are left out."""
    questions = {message.id: message for message in messages if message.role == "user"}
    turns: list[ExportedTurn] = []
    numbered = 0
    for answer in messages:
        question = questions.get(answer.question_id or "")
        if question is None or answer.state == "pending":
            continue
        turns.append(_turn(question, answer, numbered))
        numbered += len(turns[-1].quotes)
    return ExportedChat(conversation.id, conversation.title or UNTITLED, at, tuple(turns))


def _turn(question: Message, answer: Message, numbered: int) -> ExportedTurn:
    shown = list(_shown(answer))
    cited = {(passage.number, position): passage for _, passage, position in shown}
    numbers = {target: number for number, target in enumerate(cited, start=numbered + 1)}
    counted = backing(answer)
    understood = answer.standalone_question or ""
    marks = {offset: numbers[passage.number, position] for offset, passage, position in shown}
    return ExportedTurn(
        question=question.content,
        asked=question.created,
        understood="" if understood.split() == question.content.split() else understood,
        answer=answer.content,
        pieces=tuple(pieces(answer, marks)),
        state=answer.state,
        model=answer.model or "",
        backed=counted.sentence if counted else "",
        searched_in=answer.searched_in or "",
        quotes=tuple(
            _quote(answer, numbers[target], passage, target[1]) for target, passage in cited.items()
        ),
    )


def _shown(answer: Message) -> Iterator[tuple[int, PassageRecord, int | None]]:
    """Yield each marker that names a passage: its offset, the passage, and its citation's position."""
    for offset, number in markers(answer.content):
        passage = passage_of(answer, number)
        if passage is not None:
            yield offset, passage, citation_of(answer, offset, number)


def pieces(answer: Message, marks: dict[int, int]) -> Iterator[AnswerPiece]:
    """Yield an answer in pieces, with quotes' numbers in place of the markers at the offsets of `marks`."""
    text, end = answer.content, 0
    ends = {offset: text.index("]", offset) + 1 for offset in marks}
    breaks = [
        *((offset, 0, "") for offset in marks),
        *((offset, 1, words) for offset, words in remarks(answer)),
    ]
    for offset, kind, words in sorted(breaks):
        if offset > end:
            yield AnswerPiece(text=text[end:offset])
        end = max(end, offset if kind else ends[offset])
        yield AnswerPiece(remark=words) if kind else AnswerPiece(quote=marks[offset])
    if text[end:]:
        yield AnswerPiece(text=text[end:])


def _quote(answer: Message, number: int, passage: PassageRecord, position: int | None) -> Quote:
    """Return a quote; a marker without a verdict, as in an answer that was stopped, quotes nothing."""
    nothing = CitationRecord(passage.number, 0, 0, "unsupported", passage.start, passage.start, "")
    citation = nothing if position is None else answer.citations[position]
    return Quote(
        number=number,
        marker=passage.number,
        status=citation.status,
        statement=statement_text(answer, citation),
        text=citation.quote,
        document=passage.document,
        page=passage.page,
        heading=passage.heading,
        sha256=passage.sha256,
        start=citation.quote_start,
        end=citation.quote_end,
    )
