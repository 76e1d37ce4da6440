"""RAG pipeline: a question and its history in, events out: condense, retrieve, answer.

The page, the store, the command line and the tests see nothing but the stream of events:
`Condensed`, `Rephrasing` where a model's rewrite was not used, `SearchedIn` where not all is searched,
`NarrowedTo` where the question names documents, `Planned` where it is searched in steps, `Reworked` where
nothing is searched but an answer reworked,
`ReadingPlan` and `BatchRead` where a model reads whole documents, with `Coverage` before the sources,
`Reranking` and `Reordered` where there is a reranker, `LeftOut` for each search that failed, `Sources`,
`Token` ..., `Done`, and then `Timings`.
A `Sent` follows each request to the language model. `check` yields `Checking` and `Checked` for an answer
that is shown and stored already.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from rag.chat.answer import Condensed, Done, Event, Sources, Token, answer, rework, written
from rag.chat.corpus import Corpus, QuestionScope
from rag.chat.extractive import answers_alone, decide
from rag.chat.map_reduce import BatchRead, Coverage, ReadingPlan, coverage_of
from rag.chat.past_turns import PastTurn, Rework, answered, share_numbers
from rag.chat.prompts import INSTRUCTION_TOKENS, SMALL_MODEL_INSTRUCTION_TOKENS, instructions_text
from rag.chat.rework import ANSWERS, SURE, SURE_ALONE, rework_asked, rework_continued, without_reworks
from rag.chat.rewrite import REWRITE_SECONDS, StandaloneQuestion, make_standalone, search_variants
from rag.chat.scope import EVERYTHING, MAX_NAMED, NarrowedTo, Scope, SearchedIn
from rag.chat.small_talk import accepts_offer, is_continuation, nothing_to_search, reply_to
from rag.chat.steps import (
    Planned,
    Step,
    StepBudget,
    StepLimits,
    StepSearch,
    may_have_parts,
    plan_by_rule,
    plan_with,
    read_plan,
)
from rag.chat.whole_documents import (
    BUDGET,
    PURPOSE,
    Budget,
    WholeQuestion,
    WholeReading,
    answer_whole,
    read_whole_question,
    whole_readings,
)
from rag.citations.checker import Judge, scale_of
from rag.citations.reader import Checked, Checking, StatementReader, check
from rag.citations.support import Citation
from rag.errors import Cancelled, FootnoteError, QuestionRefused
from rag.i18n import N_
from rag.ingest.document_facts import DocumentProfile
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel, ObservedModel, Sent
from rag.passage import Found, Passage
from rag.retrieval.degradation import DegradationRecorder, Degraded
from rag.retrieval.fusion import interleaved, step_share
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.registry import Reordered, Reranking, rerank_events
from rag.retrieval.table_rows import DEPTH, promote_amounts

E = TypeVar("E")
Searching = Runnable[str, list[Document]]
MAX_QUESTION = 8000  # characters: about 2,000 tokens, a quarter of a common context
FEW_DOCUMENTS, MAX_COMPARED = 8, 2000
"""Where so few documents are searched, the figures of so many chunks are compared with a question."""
PREVIOUS_QUESTION = "previous question"
"""Key in `found_by` of a passage that was reused from the previous answer."""


@dataclass(frozen=True)
class Timings:
    """The last event: milliseconds since the start at which each step had ended."""

    ms: dict[str, float] = field(default_factory=dict)


class Stopwatch:
    """Milliseconds since it was made, noted under names."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str, *, last: bool = False) -> None:
        """Note the time under `name`: the first one, or the `last`."""
        ms = round((time.perf_counter() - self._started) * 1000, 1)
        self.laps[name] = ms if last else self.laps.get(name, ms)


@dataclass(frozen=True)
class Request:
    """Question in progress, with the passages `carried` from the last answer and model requests `sent`.

    A `widened` one is searched in the whole scope, whatever documents it names; a `literal` one is searched
    word for word, in the steps of a `plan` if it has one. `turns` are those before it, with their passages.
    """

    question: str
    history: tuple[tuple[str, str], ...] = ()
    turns: tuple[PastTurn, ...] = ()
    carried: tuple[Passage, ...] = ()
    widened: bool = False
    cancelled: Cancel = never
    watch: Stopwatch = field(default_factory=Stopwatch)
    sent: list[Sent] = field(default_factory=list)
    literal: bool = False
    plan: tuple[str, ...] = ()

    @property
    def last_answer(self) -> str:
        """The last answer; empty at the beginning of a conversation."""
        return next((content for role, content in reversed(self.history) if role == "assistant"), "")

    @property
    def goes_on(self) -> bool:
        """True where the question asks for more of the last answer."""
        if not self.history:
            return False
        return is_continuation(self.question) or accepts_offer(self.question, self.last_answer)

    def timed(self, events: Iterator[E]) -> Iterator[E | Sent | Timings]:
        """Yield events, each after the requests sent for it, then the timings."""
        try:
            for event in events:
                if isinstance(event, Token):
                    self.watch.lap("first_token")
                if isinstance(event, Done):
                    self.watch.lap("total")
                yield from self._taken()
                yield event
        except FootnoteError:
            yield from self._taken()
            raise
        yield Timings(self.watch.laps)

    def _taken(self) -> Iterator[Sent]:
        while self.sent:
            yield self.sent.pop(0)


def prepend_previous(
    carried: Sequence[Passage], found: Sequence[Passage], k: int | None = None
) -> list[Passage]:
    """Return the passages of the previous answer, then the search results: at most `k` in all, none twice.

    A reused passage has PREVIOUS_QUESTION in `found_by`, beside the searches that found it again.

    >>> one, other = (Passage(id_, "d", "a.pdf", "", 1, "", 0, 3, id_) for id_ in ("one", "other"))
    >>> [(p.id, list(p.found_by)) for p in prepend_previous([other], [one, other])]
    [('other', ['previous question']), ('one', [])]
    """
    again = {passage.id: passage.found_by for passage in found}
    best = max((1.0, *(passage.score for passage in found)))
    first = [
        _carried(p, rank, best, again.get(p.id, {})) for rank, p in enumerate(_distinct(carried), start=1)
    ]
    known = {passage.id for passage in first}
    return [*first, *(passage for passage in found if passage.id not in known)][:k]


def _carried(passage: Passage, rank: int, score: float, found_by: Mapping[str, Found]) -> Passage:
    return replace(passage, score=score, found_by={PREVIOUS_QUESTION: Found(rank, 1.0, 1.0), **found_by})


def _distinct(passages: Iterable[Passage]) -> Iterable[Passage]:
    return {passage.id: passage for passage in passages}.values()


@dataclass(frozen=True)
class Rephrasing:
    """Event: a language model's rewrite was not or not wholly possible; the note is for the trace."""

    note: str


@dataclass(frozen=True)
class Reworked:
    """Event: nothing is searched; `answers` earlier answers are worked on."""

    answers: int


Scoped = SearchedIn | NarrowedTo | Coverage
Aside = BatchRead | Degraded | Planned | ReadingPlan | Rephrasing | Reworked | Scoped | Reranking | Reordered
"""Events for the trace of an answer."""


@dataclass(frozen=True)
class _Whole:
    """Result of reading whole documents: `answered`, or the passages in which nothing asked for was named."""

    answered: bool = False
    unlisted: Sequence[Passage] = ()

    def coverage(self, read: Sequence[Passage]) -> Iterator[Coverage]:
        """Yield the coverage of an answer from passages that were found instead of a list.

        One that read others, too, is not of these.
        """
        if read and {one.id for one in read} <= {one.id for one in self.unlisted}:
            yield coverage_of(read, self.unlisted)


@dataclass(frozen=True)
class RagPipeline:
    """RAG pipeline over any LangChain retriever, with a language model or without one.

    `corpus` describes the documents behind the retriever, `scope` those that are searched; an empty scope
    finds nothing. `omissions` collects the searches that failed. A model may take `rephrase_seconds` to write
    the standalone question, which is searched, and with `answer_rephrased` answered too. With `k` a follow-up
    is searched in several query variants, for `k` passages in all. A `reranker` orders `fetch_k` passages and
    keeps some of them. With `lost_in_the_middle_order` the prompt has the best passages first and last.
    `within` makes the retriever over some documents, for a question that names them. `made_with` are the
    settings to store with an answer, by name. With `reading_seconds` the model is asked in that time for the
    words that the statements left open by the checker rest on. The answering model is shown the newest turns
    within `conversation_tokens`. With `steps` a question of several parts is searched in steps, within these
    limits. Whole documents are read within the `reading_budget`, or by their summary tree, in which `tree`
    makes the retriever.
    """

    retriever: Searching
    llm: LanguageModel | None = None
    embedder: Embeddings | None = None
    corpus: Corpus = field(default_factory=Corpus)
    judge: Judge | None = None
    reading_seconds: float | None = None
    answer_rephrased: bool = True
    rephrase_seconds: float = REWRITE_SECONDS
    k: int | None = None
    reranker: Reranker | None = None
    fetch_k: int | None = None
    lost_in_the_middle_order: bool = False
    scope: Scope = EVERYTHING
    omissions: DegradationRecorder = field(default_factory=DegradationRecorder)
    within: Callable[[frozenset[str]], Searching] | None = None
    made_with: Mapping[str, Any] = field(default_factory=dict)
    conversation_tokens: int = 0
    steps: StepLimits | None = None
    tree: Callable[[frozenset[str]], Searching] | None = None
    reading_budget: Budget = BUDGET

    def ask(
        self,
        question: str,
        history: Sequence[tuple[str, str]],
        cancelled: Cancel,
        *,
        turns: Sequence[PastTurn] = (),
        carried: Sequence[Passage] = (),
        searched: str | None = None,
        widened: bool = False,
    ) -> Iterator[Event | Aside | Sent | Timings]:
        """Yield the events of one answer; raises Cancelled, LLMError or RetrievalError.

        `turns` are those of the history with their passages: a question that asks to rework an answer is not
        searched. `carried` are the last answer's passages, from which "why?" and "tell me more" are answered
        first.
        `searched` replaces the standalone question: it is searched word for word, in no other variant; a plan
        (rag/chat/steps.py) in its steps.
        A `widened` question is not narrowed to the documents that it names.
        """
        turn = Request(question, tuple(history), tuple(turns), tuple(carried), widened, cancelled)
        if searched is not None:
            asked, plan = read_plan(searched)
            turn = replace(turn, question=asked, history=(), turns=(), carried=(), literal=True, plan=plan)
            yield from turn.timed(self._answer_to(make_standalone(asked, ()), turn))
        else:
            yield from turn.timed(self._answer(turn))

    def go_on(
        self,
        understood: str,
        question: str,
        passages: Sequence[Passage],
        so_far: str,
        cancelled: Cancel,
        *,
        turns: Sequence[PastTurn] = (),
    ) -> Iterator[Event | Aside | Sent | Timings]:
        """Yield the events of an answer that was cut off, from its passages: its text so far, then the rest.

        An answer with the passages of earlier `turns` reworked them. Raises Cancelled and LLMError.
        """
        turn = Request(question, turns=tuple(turns), cancelled=cancelled)
        if (kind := rework_continued(turns, passages)) is not None:
            yield from turn.timed(self._rework(kind, turn, so_far=so_far))
            return
        asked = read_plan(understood)[0] if self.answer_rephrased else question
        yield from turn.timed(self._write(asked, passages, turn, so_far=so_far))

    def find(
        self, text: str, cancelled: Cancel = never, *, widened: bool = False
    ) -> Generator[Aside, None, list[Passage]]:
        """Yield the asides of a search for a text as it is written; return the passages, with documents.

        A `widened` one is not narrowed to the documents that the text names.
        """
        turn = Request(text, widened=widened, literal=True, cancelled=cancelled)
        found = yield from self._retrieve(make_standalone(text, ()), turn)
        return self._introduced(map(Passage.from_document, found))

    def check(
        self,
        text: str,
        citations: Sequence[Citation],
        passages: Sequence[Passage],
        cancelled: Cancel = never,
        *,
        question: str = "",
    ) -> Iterator[Checking | Sent | Checked]:
        """Yield the events of reading for the open statements of an answer; nothing where none is open.

        A statement that is only a value is read with the `question`.

        A failure of the model is a note of `Checked`. Raises Cancelled.
        """
        if self.llm is None or self.reading_seconds is None:
            return
        sent: list[Sent] = []
        reader = StatementReader(ObservedModel(self.llm, purpose="check", sent=sent), self.reading_seconds)
        for event in check(text, citations, passages, reader, cancelled, question):
            if isinstance(event, Checked):
                yield from (_with_reply(one, event.reply) for one in sent)
            yield event

    def _answer(self, turn: Request) -> Iterator[Event | Aside]:
        corpus = self.corpus
        reply = None
        if not turn.goes_on:
            chosen = self.scope.document_ids is not None
            reply = reply_to(turn.question, documents=corpus.names, status=corpus.status, chosen=chosen)
        if reply is not None:
            yield Condensed(turn.question)
            yield from _reply_events(reply)
            return
        whole = self._whole_anew(turn)
        named = whole is not None and whole.document_ids is not None
        reworkable = not named and not turn.goes_on and bool(answered(turn.turns, 1))
        if reworkable and (kind := self._rework_asked(turn.question)) is not None:
            yield Condensed(turn.question)
            yield from self._rework(kind, turn)
            return
        if whole is not None and self.llm is None:
            yield from self._answer_to(make_standalone(turn.question, ()), turn)
            return
        standalone = make_standalone(
            turn.question,
            without_reworks(turn.history, turn.turns, self.embedder),
            reworkable=reworkable,
            llm=self._recorded("rephrase", turn),
            rarity=self.corpus.rarity,
            embedder=self.embedder,
            seconds=self.rephrase_seconds,
            texts=self.corpus.texts_about,
            cancelled=turn.cancelled,
        )
        if (
            standalone.alone is not None
            and self.llm is None
            and self._answers_alone(standalone.alone, standalone)
        ):
            standalone = standalone.alone
        yield from self._answer_to(standalone, turn)

    def _answers_alone(self, alone: StandaloneQuestion, completed: StandaloneQuestion) -> bool:
        """Return True where a question needs no terms of the conversation, by what it finds without them."""
        if self.scope.empty:
            return False
        found = self._search(self.retriever, replace(alone, variants=alone.variants[:1]), self.k)
        passages = [Passage.from_document(document) for document in found]
        return answers_alone(
            alone.text, completed.text, self._introduced(passages), self.corpus.rarity, self.embedder
        )

    def _answer_to(self, understood: StandaloneQuestion, turn: Request) -> Iterator[Event | Aside]:
        turn.watch.lap("condense")
        yield Condensed(understood.text)
        if understood.note:
            yield Rephrasing(understood.note)
        if turn.cancelled():
            raise Cancelled(N_("The answer was stopped."))
        if understood.rework is not None:
            yield from self._rework(understood.rework, turn)
            return
        whole = _Whole() if turn.plan else (yield from self._whole(understood.text, turn))
        if whole.answered:
            return
        steps, passages = yield from self._passages(understood, turn)
        yield from whole.coverage(passages)
        if turn.carried and turn.goes_on:
            passages = prepend_previous(self.corpus.still_valid(turn.carried), passages, self.k)
        if not passages and (reason := nothing_to_search(turn.question, self.corpus.status())) is not None:
            yield from _reply_events(reason)
            return
        asked = worded = understood.text if self.answer_rephrased else turn.question
        if self.llm is None and not turn.literal:
            asked = self.corpus.subject(asked, frozenset(one.document_id for one in passages))
        said = turn.last_answer if turn.goes_on else ""
        typed = self._typed(understood, turn, passages)
        yield from self._write(asked, passages, turn, worded=worded, said=said, steps=steps, typed=typed)

    def _typed(self, understood: StandaloneQuestion, turn: Request, passages: Sequence[Passage]) -> str:
        """Return what of a question is looked for without terms of the chat; nothing where it has none."""
        completed = understood.text != turn.question and not understood.shifted
        if self.llm is not None or not completed or not self.answer_rephrased:
            return ""
        return self.corpus.subject(turn.question, frozenset(one.document_id for one in passages))

    def _passages(
        self, understood: StandaloneQuestion, turn: Request
    ) -> Generator[Aside, None, tuple[Sequence[Step], list[Passage]]]:
        """Yield the events of the search for a question, in steps where it has several parts; return both."""
        plan = self._plan(understood, turn)
        if plan is None:
            found = yield from self._retrieve(understood, turn)
            return (), [Passage.from_document(document) for document in found]
        plan, passages = yield from self._search_in_steps(plan, understood, turn)
        yield plan
        return plan.steps, passages

    def _plan(self, understood: StandaloneQuestion, turn: Request) -> Planned | None:
        """Return the plan of a question: its asker's, the model's, or by rule; None for a single one."""
        asked, note = understood.text, ""
        if turn.literal or self.steps is None or turn.goes_on:
            return Planned(asked, tuple(map(Step, turn.plan))) if turn.plan else None
        documents = self.corpus.documents_in_scope()
        steps: tuple[Step, ...] | None = None
        llm = self._recorded("plan", turn)
        if llm is not None and may_have_parts(asked, documents, self.corpus.texts_about):
            budget = StepBudget(self.steps.seconds, self.steps.requests)
            steps = plan_with(llm, asked, budget, self.rephrase_seconds, turn.cancelled)
            note = "" if steps is not None else N_("Planned by rule: the language model made no sound plan.")
        if steps is None:
            steps = plan_by_rule(asked, documents, self.corpus.texts_about)
        turn.watch.lap("plan")
        return Planned(asked, steps, note) if steps else None

    def _search_in_steps(
        self, plan: Planned, understood: StandaloneQuestion, turn: Request
    ) -> Generator[Aside, None, tuple[Planned, list[Passage]]]:
        """Yield the events of a search step by step; return the plan after it and the union of passages."""
        limits = self.steps or StepLimits()
        scale = scale_of(self.embedder)
        told: set[Aside] = set()
        named: list[str] = []
        each = None if self.k is None else step_share(self.k, len(plan.steps))

        def search(step: StandaloneQuestion) -> Generator[Aside, None, list[Passage]]:
            found = yield from _once(self._retrieve(step, turn, each, plan.question), told, named)
            return [Passage.from_document(document) for document in found]

        steps = StepSearch(
            search,
            lambda asked, found: decide(
                asked, found, self.corpus.rarity, middle=None if scale is None else scale.asked
            ),
            StepBudget(limits.seconds, limits.requests - any(one.purpose == "plan" for one in turn.sent)),
            self._recorded("step", turn),
            self.rephrase_seconds,
            turn.cancelled,
        )
        plan, lanes = yield from steps.run(plan, None if turn.literal else understood)
        if named and len(named) >= len(lanes):
            yield NarrowedTo("; ".join(dict.fromkeys(named)))
        passages = interleaved(lanes, None if self.llm is None else self.k)
        return plan.counted(self.k), passages

    def _whole(self, asked: str, turn: Request) -> Generator[Event | Aside, None, _Whole]:
        """Yield the events of an answer about whole documents, if the question asks for one."""
        if turn.goes_on or not (documents := self.corpus.documents_in_scope()):
            return _Whole()
        readings = list(whole_readings(asked, documents))
        if self.llm is not None and not self.llm.settings.brief:
            return (yield from self._whole_by_model(asked, readings[-1:], documents, turn))
        passages = list(self._passages_for(readings, turn)) if readings else []
        for whole in readings:
            ids = None if turn.widened else whole.document_ids
            among = [passage for passage in passages if _is_among(passage.document_id, ids)]
            found = answer_whole(
                asked, whole, among, {one.id: one for one in documents if _is_among(one.id, ids)}
            )
            if found is None:
                continue
            yield from self._told_scope(ids, documents)
            if whole.kind != "author":
                yield coverage_of(among, among)
            turn.watch.lap("retrieve")
            yield Sources(found.passages)
            yield from written(found.parts, turn.cancelled)
            return _Whole(answered=True)
        lists = any(one.kind in ("list", "documents") for one in readings)
        return _Whole(unlisted=passages if lists else ())

    def _told_scope(
        self, ids: frozenset[str] | None, documents: Sequence[DocumentProfile]
    ) -> Iterator[SearchedIn | NarrowedTo]:
        yield from self.scope.told()
        if ids is not None and len(ids) < len(documents):
            yield NarrowedTo(_names_of(one.file_name for one in documents if one.id in ids))

    def _whole_by_model(
        self,
        asked: str,
        readings: Sequence[WholeQuestion],
        documents: Sequence[DocumentProfile],
        turn: Request,
    ) -> Generator[Event | Aside, None, _Whole]:
        """Yield the events of an answer about whole documents by a model that reads them."""
        llm, reader = self._recorded("answer", turn), self._recorded(PURPOSE, turn)
        wanted = [one for one in readings if one.kind in ("overview", "list", "documents")]
        passages = self._introduced(self._passages_for(wanted, turn)) if wanted else []
        if not passages or llm is None or reader is None:
            return _Whole()
        ids = None if turn.widened else wanted[0].document_ids
        read = frozenset(passage.document_id for passage in passages)
        reading = WholeReading(
            asked,
            wanted[0],
            passages,
            {one.id: one for one in documents if one.id in read},
            llm,
            reader,
            lambda given: replace(self, lost_in_the_middle_order=False)._write(asked, given, turn),
            partial(self._from_tree, read) if self.corpus.has_trees(read) else None,
            self.reading_budget,
            self.embedder,
            self.judge,
            self._instructions(passages),
            tuple(self._told_scope(ids, documents)),
            self.k or 0,
            turn.cancelled,
        )
        outcome = yield from reading.events()
        turn.watch.lap("retrieve")
        return _Whole(outcome == "answered", passages if outcome == "unread" else ())

    def _from_tree(self, document_ids: frozenset[str], question: str) -> list[Passage]:
        found = [] if self.tree is None else self.tree(document_ids).invoke(question)
        return [Passage.from_document(document) for document in found]

    def _passages_for(self, readings: Sequence[WholeQuestion], turn: Request) -> Iterator[Passage]:
        """Yield all passages of the documents that some reading of a question is about."""
        named = [reading.document_ids for reading in readings if reading.document_ids is not None]
        everywhere = turn.widened or len(named) < len(readings)
        for passage in self.corpus.all_passages(None if everywhere else frozenset[str]().union(*named)):
            if turn.cancelled():
                raise Cancelled(N_("The answer was stopped."))
            yield passage

    def _whole_anew(self, turn: Request) -> WholeQuestion | None:
        """Return how a follow-up asks about all of a document, where it needs nothing of the conversation.

        "Summarise that." asks for a rework of the last answer.
        """
        if not turn.history or turn.goes_on or rework_asked(turn.question) is not None:
            return None
        read = read_whole_question(turn.question, self.corpus.documents_in_scope())
        about = read is not None and (read.kind == "overview" or read.document_ids is not None)
        return read if about else None

    def _rework_asked(self, question: str) -> Rework | None:
        """Return the kind of rework that a question asks for; a model is asked where that is not sure."""
        asks_model = self.llm is not None and not self.llm.settings.brief
        return rework_asked(question, self.embedder, sure=SURE_ALONE if asks_model else SURE)

    def _rework(self, kind: Rework, turn: Request, *, so_far: str = "") -> Iterator[Event | Aside]:
        """Yield the events of earlier answers reworked from their stored passages."""
        worked_on = share_numbers(answered(turn.turns, ANSWERS[kind]))
        turn.watch.lap("condense")
        yield Reworked(len(worked_on))
        yield from rework(
            turn.question,
            worked_on,
            kind,
            llm=self._recorded("answer", turn),
            embedder=self.embedder,
            judge=self.judge,
            so_far=so_far,
            cancelled=turn.cancelled,
        )

    def _retrieve(
        self, standalone: StandaloneQuestion, turn: Request, k: int | None = None, whole: str = ""
    ) -> Generator[Aside, None, Sequence[Document]]:
        """Yield the events of a search; return what it found, for `k` passages instead of the settings'.

        A step is searched in the documents that the `whole` question names.
        """
        yield from self.scope.told()
        found: Sequence[Document] = []
        named = None if turn.widened or self.within is None else self._named_by(standalone.text, whole)
        if named is not None and self.within is not None:
            asked = self._without_names(standalone, turn, named.document_ids)
            found = self._search(self.within(named.document_ids), asked, k, named.document_ids)
        if named is not None and found:
            yield NarrowedTo(named.said)
        elif not self.scope.empty:
            found = self._search(self.retriever, self._without_names(standalone, turn, None), k)
        turn.watch.lap("retrieve", last=True)
        if self.reranker is not None and found:
            found = yield from rerank_events(self.reranker, standalone.text, found, turn.cancelled, turn.sent)
            turn.watch.lap("rerank", last=True)
        yield from self.omissions.take()
        return found

    def _named_by(self, step: str, whole: str) -> QuestionScope | None:
        """Return the documents that a step names, those of the whole question among them if there are any."""
        own = self.corpus.named_by(step)
        around = self.corpus.named_by(whole) if whole else None
        if own is None or around is None or around.document_ids <= own.document_ids:
            return around or own
        both = own.document_ids & around.document_ids
        left_out = own.left_out + len(own.document_ids) - len(both)
        return replace(own, document_ids=both, left_out=left_out) if both else own

    def _without_names(
        self, standalone: StandaloneQuestion, turn: Request, document_ids: Collection[str] | None
    ) -> StandaloneQuestion:
        """Return a question to search without the words that only name the documents searched."""
        if turn.literal:
            return standalone
        variants = [
            replace(each, text=self.corpus.subject(each.text, document_ids)) for each in standalone.variants
        ]
        text = self.corpus.subject(standalone.text, document_ids)
        return replace(standalone, text=text, variants=tuple(variants))

    def _search(
        self,
        retriever: Searching,
        standalone: StandaloneQuestion,
        k: int | None,
        document_ids: Collection[str] | None = None,
    ) -> Sequence[Document]:
        if self.k is None:
            return retriever.invoke(standalone.text)
        chosen_later = self.llm is None or self.reranker is not None
        wanted = k if k and not chosen_later else self.fetch_k or self.k
        found = search_variants(retriever, standalone.variants, max(DEPTH, wanted))
        others = self._compared(document_ids)
        return promote_amounts(standalone.text, found, wanted, others, self.corpus.rarity)

    def _compared(self, document_ids: Collection[str] | None) -> Iterable[Document]:
        """Return all chunks of the documents searched where they are few."""
        if document_ids is None:
            document_ids = {one.id for one in self.corpus.documents_in_scope()}
        few = len(document_ids) <= FEW_DOCUMENTS
        return islice(self.corpus.chunks(frozenset(document_ids)), MAX_COMPARED) if few else ()

    def _write(
        self,
        asked: str,
        passages: Sequence[Passage],
        turn: Request,
        *,
        worded: str = "",
        said: str = "",
        so_far: str = "",
        steps: Sequence[Step] = (),
        typed: str = "",
    ) -> Iterator[Event]:
        ids = frozenset(one.document_id for one in passages)
        return answer(
            asked,
            self._introduced(passages),
            llm=self._recorded("answer", turn),
            embedder=self.embedder,
            rarity=self.corpus.rarity,
            judge=self.judge,
            worded=worded,
            said=said,
            so_far=so_far,
            outside=self.lost_in_the_middle_order,
            turns=turn.turns,
            conversation_tokens=self.conversation_tokens,
            k=self.k,
            instructions=self._instructions(passages),
            steps=[(one.question, self.corpus.subject(one.question, ids)) for one in steps],
            typed=typed,
            spoken=turn.question,
            passages_of=self._passages_of,
            cancelled=turn.cancelled,
        )

    def _passages_of(self, document_id: str) -> list[Passage]:
        """Return all passages of a document; none of one with more than are compared with a question."""
        found = list(islice(self.corpus.all_passages(frozenset({document_id})), MAX_COMPARED + 1))
        return self._introduced(found) if len(found) <= MAX_COMPARED else []

    def _instructions(self, passages: Sequence[Passage]) -> str:
        """Return the instructions of the passages' collections for the model; a small one reads few."""
        if self.llm is None or not passages:
            return ""
        given = self.corpus.instructions(frozenset(passage.document_id for passage in passages))
        most = SMALL_MODEL_INSTRUCTION_TOKENS if self.llm.settings.brief else INSTRUCTION_TOKENS
        return instructions_text(given, most)

    def _introduced(self, passages: Iterable[Passage]) -> list[Passage]:
        """Return passages with a line on their document each."""
        profiles = self.corpus.known_profiles()

        def introduced(passage: Passage) -> Passage:
            profile = profiles.get(passage.document_id)
            return passage if profile is None or not profile.about else replace(passage, about=profile.about)

        return [introduced(passage) for passage in passages]

    def _recorded(self, purpose: str, turn: Request) -> ObservedModel | None:
        return None if self.llm is None else ObservedModel(self.llm, purpose=purpose, sent=turn.sent)


def _once(
    events: Generator[Aside, None, Sequence[Document]], told: set[Aside], named: list[str]
) -> Generator[Aside, None, Sequence[Document]]:
    """Yield the events that were not `told` before; what the search was narrowed to goes into `named`."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            found: Sequence[Document] = end.value
            return found
        if isinstance(event, NarrowedTo):
            named.append(event.said)
        elif event not in told:
            told.add(event)
            yield event


def _is_among(id_: str, ids: frozenset[str] | None) -> bool:
    return ids is None or id_ in ids


def _names_of(names: Iterable[str]) -> str:
    """Return the names of documents; beyond a few they are counted."""
    listed = list(names)
    more = len(listed) - MAX_NAMED
    return ", ".join(listed[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _with_reply(sent: Sent, reply: str) -> Sent:
    return replace(sent, messages=(*sent.messages, ("assistant", reply))) if reply else sent


def _reply_events(text: str) -> Iterator[Event]:
    yield Sources(())
    yield Token(text)
    yield Done(text, (), None)


def validated_question(question: str) -> str:
    """Return the question trimmed, without control characters; raises QuestionRefused with the reason.

    >>> validated_question("  What is due?  ")
    'What is due?'
    """
    text = "".join(c for c in question if c == "\n" or c.isprintable()).strip()
    if not text:
        raise QuestionRefused(N_("The question is empty. Type what you want to know."))
    if len(text) > MAX_QUESTION:
        raise QuestionRefused(
            N_(
                "The question has {number} characters; {max_question} is the limit. Shorten it, or "
                "add the long text as a document.",
                number=f"{len(text):,}",
                max_question=f"{MAX_QUESTION:,}",
            )
        )
    return text
