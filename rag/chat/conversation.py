"""Conversation: stores a question before it is answered, and the answer while it streams.

The answer belongs to the server, not to the page: `begin` commits the question, `run` is the one generator
that condenses, retrieves, answers and stores.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from rag.chat.answer import Condensed, Done, Event, Sources, Token, whole_sentences
from rag.chat.map_reduce import Coverage, ReadingPlan
from rag.chat.past_turns import PastTurn
from rag.chat.pipeline import Aside, RagPipeline, Rephrasing, Reworked, Timings, validated_question
from rag.chat.scope import NarrowedTo, SearchedIn
from rag.chat.steps import Planned
from rag.chat.whole_documents import PURPOSE as READ
from rag.citations.cite import cite
from rag.citations.reader import Checked, Checking
from rag.citations.support import Citation, rests_on_nothing
from rag.errors import Cancelled, FootnoteError
from rag.i18n import N_
from rag.jobs import Cancel, never
from rag.models.protocol import Sent
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from rag.retrieval.rerank.llm import PURPOSE as RERANK
from rag.retrieval.rerank.registry import Reordered
from storage import answers as traces
from storage import records
from storage.conversations import Conversations
from storage.errors import LeaseLost, NotFound
from storage.records import AnswerState, AttachedRecord, CitationRecord, Message, PassageRecord, TurnRecord

CHECKPOINT_SECONDS = 0.3  # a killed server loses at most this much of a streaming answer
SHARED_CHECKPOINT_SECONDS = 0.15  # where another process may show it meanwhile, half a second behind
HISTORY_MESSAGES = 20
OLDER = N_(
    "Only the first question and the newest {count} messages of the conversation were read.",
    count=HISTORY_MESSAGES,
)
CORRECTED = N_("Searched word for word, as you asked.")
CONTINUED = N_("It had ended early, and was gone on with after its last whole sentence.")
REWORKED = N_("Worked on the last answer and its passages; nothing was searched.")
SEARCHED_IN, NARROWED_TO = "searched_in", "narrowed_to"  # their keys among the stored settings
COVERAGE, STEPS = "coverage", "steps"  # the same
TITLE_LENGTH = 60
UNEXPECTED = "Something unexpected went wrong; the server's log tells what. Your question is kept: retry."

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Failed:
    """The answer ended early; `message` is fit to show a user."""

    message: str


class Conversation:
    """Asks questions in the conversations of one owner."""

    def __init__(
        self,
        conversations: Conversations,
        make_pipeline: Callable[[], RagPipeline],
        cut_off: Callable[[], AnswerState] = lambda: "stopped",
    ):
        """`make_pipeline` is called for each turn, so that a missing model ends a turn, not the server.

        `cut_off` says what a cancelled answer is: stopped by its reader, or interrupted by the server.
        """
        self._conversations = conversations
        self._make_pipeline = make_pipeline
        self._cut_off = cut_off

    def begin(
        self, conversation_id: str, question: str, attached: Sequence[AttachedRecord] = ()
    ) -> TurnRecord:
        """Commit the question and an empty answer together; the first question names the conversation."""
        asked = validated_question(question)
        return self._conversations.begin_turn(
            conversation_id, asked, title=title_of(asked), attached=attached
        )

    def begin_version(
        self, question_id: str, question: str, *, searched: str | None = None, widened: bool = False
    ) -> TurnRecord:
        """Commit a question beside an earlier one, with an empty answer.

        `searched` is what to search for; a `widened` one is not narrowed to the documents that it names.
        """
        wanted = None if searched is None else validated_question(searched)
        asked = validated_question(question)
        return self._conversations.begin_version(question_id, asked, searched=wanted, widened=widened)

    def run(self, turn: TurnRecord, cancelled: Cancel) -> Iterator[Event | Aside | Sent | Timings | Failed]:
        """Answer a begun turn and store it as events pass: complete, stopped, interrupted or failed.

        Where another process has taken the answer, or ended it, nothing is answered and nothing stored.
        """
        try:
            with self._conversations.answering(turn.answer_id) as held:
                yield from self._run(turn, lambda: cancelled() or held.lost.is_set())
        except LeaseLost as error:
            log.info("An answer is not written here any more: %s", error)
        except NotFound as error:  # deleted before it was begun
            log.info("%s", error)

    def _run(self, turn: TurnRecord, cancelled: Cancel) -> Iterator[Event | Aside | Sent | Timings | Failed]:
        draft = _Draft(self._conversations, turn)
        try:
            draft.pipeline = self._make_pipeline()
            for event in self._events(turn, draft, draft.pipeline, cancelled):
                draft.take(event)
                yield event
            draft.finish("complete")
        except Cancelled:
            draft.finish(self._cut_off())
        except (NotFound, LeaseLost):  # the conversation was deleted meanwhile, or another process goes on
            draft.finished = True
        except FootnoteError as error:
            log.warning("An answer failed: %s", error)
            draft.finish("failed", str(error))
            yield Failed(str(error))
        except Exception:
            draft.finish("failed", UNEXPECTED)
            yield Failed(UNEXPECTED)
            raise
        finally:
            draft.finish(self._cut_off())

    def check(self, answer_id: str, cancelled: Cancel = never) -> Iterator[Checking | Sent | Checked]:
        """Have the model read for the open statements of a stored answer, and store what the code verified.

        Yields nothing where nothing is open, or the model did not write the answer. Raises Cancelled.
        """
        answer = self._conversations.message(answer_id)
        if answer.state != "complete" or answer.model is None or not answer.passages:
            return
        sent: list[traces.SentRecord] = []
        cited = [_as_citation(record) for record in answer.citations]
        passages = [_passage(record) for record in answer.passages]
        began = time.perf_counter()
        asked = answer.standalone_question or ""
        for event in self._make_pipeline().check(answer.content, cited, passages, cancelled, question=asked):
            if isinstance(event, Sent):
                sent.append(traces.SentRecord(event.purpose, event.messages))
            if isinstance(event, Checked):
                took = round((time.perf_counter() - began) * 1000, 1)
                self._conversations.revise(
                    answer_id,
                    answer.content,
                    event.text,
                    [CitationRecord(**asdict(citation)) for citation in event.citations],
                    sent=sent,
                    notes={"reading": event.note},
                    timings_ms={"check": answer.timings_ms.get("total", 0.0) + took},
                )
            yield event

    def _events(
        self, turn: TurnRecord, draft: "_Draft", pipeline: RagPipeline, cancelled: Cancel
    ) -> Iterator[Event | Aside | Sent | Timings]:
        """Return the events of an answer: a new one, or the rest of one that was cut off."""
        question, answer = turn.question, turn.answer
        draft.kept = answer.content
        if answer.content and answer.passages:
            draft.notes = {"continued": CONTINUED}
            if answer.searched_in:
                draft.notes[SEARCHED_IN] = answer.searched_in
            if answer.narrowed_to:
                draft.notes[NARROWED_TO] = answer.narrowed_to
            passages = [_passage(record) for record in answer.passages]
            understood = answer.standalone_question or question.content
            turns = past_turns(self._before(turn)[0])
            asked = question.content
            return pipeline.go_on(understood, asked, passages, answer.content, cancelled, turns=turns)
        before, older = self._before(turn)
        draft.notes = {"history": OLDER} if older else {}
        if question.standalone_question:
            draft.notes["understood"] = CORRECTED
        if question.attached:  # "this" is what was attached, not what was said before
            before = []
        history = [(message.role, message.content) for message in before]
        return pipeline.ask(
            question.content,
            history,
            cancelled,
            turns=past_turns(before),
            carried=rested_on(before),
            searched=question.standalone_question,
            widened=question.narrowed_to is not None,
        )

    def _before(self, turn: TurnRecord) -> tuple[list[Message], bool]:
        if turn.follows is None:
            return [], False
        before = self._conversations.messages(
            turn.conversation_id, before=turn.question_id, limit=HISTORY_MESSAGES + 1
        )
        newest = [message for message in before[-HISTORY_MESSAGES:] if message.content]
        if len(before) <= HISTORY_MESSAGES:
            return newest, False
        return [self._conversations.opening(turn.question_id), *newest], True


@dataclass
class _Draft:
    """Answer in progress, stored every few tenths of a second."""

    conversations: Conversations
    turn: TurnRecord
    pipeline: RagPipeline | None = None
    text: str = ""
    kept: str = ""  # of an answer that is continued, until its first token has passed
    passages: Sequence[Passage] = ()
    citations: Sequence[Citation] = ()
    left_out: list[records.LeftOutRecord] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    offer: dict[str, int] | None = None
    model: str | None = None
    timings_ms: dict[str, float] = field(default_factory=dict)
    sent: list[traces.SentRecord] = field(default_factory=list)
    finished: bool = False
    understood: str | None = None  # the question searched for, until it is stored with the passages
    saved_at: float = 0.0

    def take(self, event: object) -> None:
        match event:
            case Condensed(question):
                self.understood = question
            case Planned():
                self.understood = event.text
                self.notes |= {STEPS: event.remarks} if event.remarks else {}
            case Sources(passages, unread):
                self.passages = passages
                if unread:
                    self.notes["unread"] = N_(
                        "{count} more of those found did not fit into what the model reads at once.",
                        count=unread,
                    )
                self.conversations.checkpoint(
                    self.turn.answer_id,
                    self.kept,
                    standalone_question=self.understood,
                    passages=to_records(passages),
                    left_out=self.left_out,
                    searched_in=self.notes.get(SEARCHED_IN),
                    narrowed_to=self.notes.get(NARROWED_TO),
                    coverage=self.notes.get(COVERAGE),
                    reading_offer=self.offer,
                )
                self.understood, self.saved_at = None, time.monotonic()
            case Token(text):
                self.text += text
                self._checkpoint()
            case Done():
                self.text, self.citations, self.model = event.text, event.citations, event.model
            case _:
                self._note(event)

    def _note(self, event: object) -> None:
        match event:
            case Rephrasing(note):
                self.notes["rephrasing"] = note
            case Reworked() | SearchedIn() | NarrowedTo() | Coverage():
                self.notes |= _note_of(event)
            case ReadingPlan(passages, requests, tokens, begun=False):
                self.offer = {"passages": passages, "requests": requests, "tokens": tokens}
            case Reordered(note) if note:
                self.notes["reranking"] = note
            case Degraded(what, reason):
                self.left_out.append(records.LeftOutRecord(what, reason))
            case Sent(purpose, messages):
                self.sent.append(traces.SentRecord(purpose, messages))
            case Timings(ms):
                self.timings_ms = ms

    def finish(self, state: AnswerState, error: str | None = None) -> None:
        if self.finished:
            return
        if self.understood is not None:
            said = self.text or self.kept
            self.conversations.checkpoint(self.turn.answer_id, said, standalone_question=self.understood)
        if state != "complete":
            self._cite_written()
        citations = [CitationRecord(**asdict(citation)) for citation in self.citations]
        self.conversations.finish(
            self.turn.answer_id,
            state,
            self.text or self.kept,
            citations=citations,
            model=self.model,
            error=error,
            timings_ms=self.timings_ms,
            trace=self._trace(nothing_found=state == "complete" and rests_on_nothing(self.text, citations)),
        )
        self.finished = True

    def _cite_written(self) -> None:
        """Check the whole sentences of an answer that ended early, if a model wrote them."""
        llm = None if self.pipeline is None else self.pipeline.llm
        written = self.text or self.kept
        kept = whole_sentences(written)
        if llm is None or self.pipeline is None or self.citations or not kept or not self.passages:
            return
        asked = self.understood or self.turn.answer.standalone_question or self.turn.question.content
        said, self.citations = cite(kept, self.passages, question=asked, embedder=self.pipeline.embedder)
        self.text, self.model = said + written[len(kept) :], llm.settings.model

    def _trace(self, *, nothing_found: bool) -> traces.Trace | None:
        """Return the trace of the answer; where nothing was found, with the files that were not searched."""
        if self.pipeline is None:
            return None
        unsearched = self.pipeline.corpus.unsearched() if nothing_found else ()
        return traces.Trace(
            settings={**self.pipeline.made_with, **self.notes},
            sent=tuple(
                sorted(self.sent, key=lambda one: one.purpose in (RERANK, READ))
            ),  # what is cut is at the end
            unsearched=tuple(unsearched),
            unsearched_count=len(unsearched),
        )

    def _checkpoint(self) -> None:
        every = SHARED_CHECKPOINT_SECONDS if self.conversations.shared else CHECKPOINT_SECONDS
        if time.monotonic() - self.saved_at >= every:
            self.conversations.checkpoint(self.turn.answer_id, self.text)
            self.saved_at = time.monotonic()


def _note_of(event: Reworked | SearchedIn | NarrowedTo | Coverage) -> dict[str, str]:
    match event:
        case Coverage():
            return {COVERAGE: event.said()}
        case Reworked(1):
            return {"reworked": REWORKED}
        case Reworked(answers):
            return {
                "reworked": N_(
                    "Worked on the last {count} answers and their passages; nothing was searched.",
                    count=answers,
                )
            }
        case SearchedIn(said):
            return {SEARCHED_IN: said}
        case NarrowedTo(said):
            return {NARROWED_TO: said}


def newest(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what is read of a history of roles and texts: its first question and the newest messages."""
    kept = list(history[-HISTORY_MESSAGES:])
    first = next((message for message in history if message[0] == "user"), None)
    return kept if len(history) <= HISTORY_MESSAGES or first is None else [first, *kept]


def turns_of(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    r"""Return the questions of a history of roles and texts, each with what was answered to it.

    >>> turns_of([("user", "a?"), ("user", "b?"), ("assistant", "B."), ("assistant", "More.")])
    [('a?', ''), ('b?', 'B.\n\nMore.')]
    """
    turns: list[tuple[str, list[str]]] = []
    for role, content in history:
        if role == "user":
            turns.append((content, []))
        elif turns:
            turns[-1][1].append(content)
    return [(question, "\n\n".join(answers)) for question, answers in turns]


def title_of(question: str) -> str:
    r"""Return a title for a conversation that starts with `question`.

    >>> title_of("What is due?\nPlease list all.")
    'What is due?'
    """
    line = question.split("\n", 1)[0]
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def rested_on(messages: Sequence[Message]) -> list[Passage]:
    """Return the passages that the last answer cites, in the order of its markers; small talk has none."""
    answers = [message for message in messages if message.role == "assistant" and message.passages]
    if not answers:
        return []
    markers = {c.marker for c in answers[-1].citations if c.status != "unsupported" and c.feedback is None}
    return [_passage(record) for record in answers[-1].passages if record.number in markers]


def past_turns(messages: Sequence[Message]) -> list[PastTurn]:
    """Return the turns of messages, oldest first; an answer that ended early counts with its kept text."""
    turns: list[PastTurn] = []
    for message in messages:
        if message.role == "user":
            turns.append(PastTurn(message.content, ""))
        elif turns and not turns[-1].answer:
            turns[-1] = replace(
                turns[-1],
                answer=message.content,
                passages=tuple(map(_passage, message.passages)),
                citations=tuple(
                    _as_citation(one)
                    for one in message.citations
                    if one.status != "unsupported" and not one.feedback
                ),
            )
    return [turn for turn in turns if turn.answer]


def _as_citation(record: CitationRecord) -> Citation:
    told = asdict(record)
    del told["feedback"]
    return Citation(**told)


def _passage(record: PassageRecord) -> Passage:
    kept = {
        key: value for key, value in asdict(record).items() if key not in ("number", "chunk_id", "found_by")
    }
    return Passage(id=record.chunk_id, **kept)


def to_records(passages: Sequence[Passage]) -> list[PassageRecord]:
    """Return passages as they are stored with an answer, numbered like its markers."""
    return [
        PassageRecord(
            number=number,
            chunk_id=passage.id,
            **{
                key: value
                for key, value in asdict(passage).items()
                if key not in ("id", "about", "summaries")
            },
        )
        for number, passage in enumerate(passages, start=1)
    ]
