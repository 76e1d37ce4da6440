"""RAG pipeline: a question and its history in, events out: condense, retrieve, answer.

The stream of events is all that the page, the store, the command line and the tests look at:
`Condensed`, `Rephrasing` where a model fell short of that, `SearchedIn` where that is not everything,
`Reranking` and `Reordered` where there is a reranker, `LeftOut` for each search that gave nothing, `Sources`,
`Token` ..., `Done`, and then `Timings`.
A `Sent` for each request to the language model comes among them, as soon as it was sent.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from rag.chat.answer import Condensed, Done, Event, Sources, Token, answer
from rag.chat.rewrite import REWRITE_SECONDS, StandaloneQuestion, make_standalone, search_variants
from rag.chat.scope import EVERYTHING, CorpusView, PlainCorpus, Scope, SearchedIn
from rag.chat.small_talk import accepts_offer, is_continuation, nothing_to_search, reply_to
from rag.citations.judges import Judge, LanguageModelJudge
from rag.errors import Cancelled, FootnoteError, QuestionRefused
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel, ObservedModel, Sent
from rag.passage import Found, Passage
from rag.retrieval.degradation import DegradationRecorder, Degraded
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.registry import Reordered, Reranking, rerank_events

# Request: a question while it is answered, with the time of each step and what is sent for it.
E = TypeVar("E")


@dataclass(frozen=True)
class Timings:
    """The last event: milliseconds since the start at which each step had ended."""

    ms: dict[str, float] = field(default_factory=dict)


class Stopwatch:
    """Milliseconds since it was made, noted once under each name."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Note the time under `name`, unless it is noted already."""
        self.laps.setdefault(name, round((time.perf_counter() - self._started) * 1000, 1))


@dataclass(frozen=True)
class Request:
    """One question that is being answered.

    `carried` is what the last answer rests on; what is sent to a language model for it is put into `sent`.
    """

    question: str
    history: tuple[tuple[str, str], ...] = ()
    carried: tuple[Passage, ...] = ()
    cancelled: Cancel = never
    watch: Stopwatch = field(default_factory=Stopwatch)
    sent: list[Sent] = field(default_factory=list)

    @property
    def last_answer(self) -> str:
        """What was answered last; empty at the beginning of a conversation."""
        return next((content for role, content in reversed(self.history) if role == "assistant"), "")

    @property
    def goes_on(self) -> bool:
        """Whether it asks for more of the last answer."""
        if not self.history:
            return False
        return is_continuation(self.question) or accepts_offer(self.question, self.last_answer)

    def timed(self, events: Iterator[E]) -> Iterator[E | Sent | Timings]:
        """Yield events, each after what was sent for it, and at their end how long they took."""
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
        """Yield what was sent since the last look, and forget it."""
        while self.sent:
            yield self.sent.pop(0)


# What the last answer rests on, used again where more of the same is asked for: "why?", "tell me more".
NAME = "previous question"
"""Who found a passage, in `found_by`, where it was carried over from the question before."""


def carried_first(
    carried: Sequence[Passage], found: Sequence[Passage], k: int | None = None
) -> list[Passage]:
    """Return the carried passages in their order, then what a search found: at most `k` in all.

    A carried passage says so in `found_by`, beside who found it again; none comes twice.

    >>> one, other = (Passage(id_, "d", "a.pdf", "", 1, "", 0, 3, id_) for id_ in ("one", "other"))
    >>> [(p.id, list(p.found_by)) for p in carried_first([other], [one, other])]
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
    return replace(passage, score=score, found_by={NAME: Found(rank, 1.0, 1.0), **found_by})


def _distinct(passages: Iterable[Passage]) -> Iterable[Passage]:
    return {passage.id: passage for passage in passages}.values()


MAX_QUESTION = 8000  # characters: about 2,000 tokens, a quarter of a common context


@dataclass(frozen=True)
class Rephrasing:
    """Event: a language model fell short of rewriting a follow-up; the note is for the trace."""

    note: str


Aside = Degraded | Rephrasing | SearchedIn | Reranking | Reordered
"""Events on how an answer is made, beside those that make it."""


@dataclass(frozen=True)
class RagPipeline:
    """Everything an answer is made with; `retriever` and `llm` are anyone's, `llm` may be none.

    `corpus` is what is known of the documents behind the retriever (see rag/chat/scope.py), `scope` what it
    searches; where that is empty it is not asked. `omissions` notes the searches that gave nothing.
    What is searched is the question as it stands alone, which a model may take `rephrase_seconds` to
    write; with `answer_rephrased` it is answered too. With `k` a follow-up is searched in several query
    variants (see rag/chat/rewrite.py), for `k` passages in all.
    With a `reranker` `fetch_k` passages are searched for, and it keeps what it will; with `best_outside` a
    model is shown the best first and last. `made_with` are settings that matter, by name.
    """

    retriever: Runnable[str, list[Document]]
    llm: LanguageModel | None = None
    embedder: Embeddings | None = None
    corpus: CorpusView = field(default_factory=PlainCorpus)
    judge: Judge | None = None
    answer_rephrased: bool = True
    rephrase_seconds: float = REWRITE_SECONDS
    k: int | None = None
    reranker: Reranker | None = None
    fetch_k: int | None = None
    best_outside: bool = False
    scope: Scope = EVERYTHING
    omissions: DegradationRecorder = field(default_factory=DegradationRecorder)
    made_with: Mapping[str, Any] = field(default_factory=dict)

    def ask(
        self,
        question: str,
        history: Sequence[tuple[str, str]],
        cancelled: Cancel,
        *,
        carried: Sequence[Passage] = (),
        searched: str | None = None,
    ) -> Iterator[Event | Aside | Sent | Timings]:
        """Yield the events of one answer; raises Cancelled, LLMError or RetrievalError.

        `carried` is what the last answer rests on: "why?" and "tell me more" are answered from it first.
        `searched` is what the asker wants to be searched, in place of what the question is understood as:
        it is searched word for word, in no other variant.
        """
        turn = Request(question, tuple(history), tuple(carried), cancelled)
        if searched is not None:
            turn = replace(turn, question=searched, history=(), carried=())
            yield from turn.timed(self._answer_to(make_standalone(searched, ()), turn))
        else:
            yield from turn.timed(self._answer(turn))

    def go_on(
        self, understood: str, question: str, passages: Sequence[Passage], so_far: str, cancelled: Cancel
    ) -> Iterator[Event | Sent | Timings]:
        """Yield the events of an answer that ended early, from its passages: what there is, then the rest.

        Raises Cancelled and LLMError.
        """
        turn = Request(question, cancelled=cancelled)
        asked = understood if self.answer_rephrased else question
        yield from turn.timed(self._write(asked, passages, turn, so_far=so_far))

    def _answer(self, turn: Request) -> Iterator[Event | Aside]:
        if not turn.goes_on and (reply := self._reply(turn.question)) is not None:
            yield Condensed(turn.question)
            yield from _said(reply)
            return
        yield from self._answer_to(self._understand(turn), turn)

    def _reply(self, message: str) -> str | None:
        """Return the reply to small talk and to questions about the application."""
        return reply_to(message, documents=self.corpus.names, status=self.corpus.status)

    def _answer_to(self, understood: StandaloneQuestion, turn: Request) -> Iterator[Event | Aside]:
        turn.watch.lap("condense")
        yield Condensed(understood.text)
        if understood.note:
            yield Rephrasing(understood.note)
        if turn.cancelled():
            raise Cancelled("The answer was stopped.")
        found = yield from self._found(understood, turn)
        passages = self._with_carried(found, turn.carried if turn.goes_on else ())
        if not passages and (reason := nothing_to_search(turn.question, self.corpus.status())) is not None:
            yield from _said(reason)
            return
        asked = understood.text if self.answer_rephrased else turn.question
        yield from self._write(asked, passages, turn, said=turn.last_answer if turn.goes_on else "")

    def _found(
        self, standalone: StandaloneQuestion, turn: Request
    ) -> Generator[Aside, None, Sequence[Document]]:
        """Search, and put what is found in order; tell what was searched, and what of it gave nothing."""
        yield from self.scope.told()
        found = [] if self.scope.empty else self._search(standalone)
        turn.watch.lap("retrieve")
        if self.reranker is not None and found:
            found = yield from rerank_events(self.reranker, standalone.text, found, turn.cancelled, turn.sent)
            turn.watch.lap("rerank")
        yield from self.omissions.take()
        return found

    def _understand(self, turn: Request) -> StandaloneQuestion:
        return make_standalone(
            turn.question,
            turn.history,
            llm=self._noted("rephrase", turn),
            rarity=self.corpus.rarity,
            embedder=self.embedder,
            seconds=self.rephrase_seconds,
            cancelled=turn.cancelled,
        )

    def _with_carried(self, found: Sequence[Document], carried: Sequence[Passage]) -> list[Passage]:
        """Return what was found, after what is carried over."""
        passages = [Passage.from_document(document) for document in found]
        return carried_first(self.corpus.still_valid(carried), passages, self.k) if carried else passages

    def _write(
        self, asked: str, passages: Sequence[Passage], turn: Request, *, said: str = "", so_far: str = ""
    ) -> Iterator[Event]:
        return answer(
            asked,
            passages,
            llm=self._noted("answer", turn),
            embedder=self.embedder,
            rarity=self.corpus.rarity,
            judge=self._judge(turn),
            said=said,
            so_far=so_far,
            outside=self.best_outside,
            cancelled=turn.cancelled,
        )

    def _search(self, standalone: StandaloneQuestion) -> Sequence[Document]:
        if self.k is None:
            return self.retriever.invoke(standalone.text)
        return search_variants(self.retriever, standalone.variants, self.fetch_k or self.k)

    def _noted(self, purpose: str, turn: Request) -> ObservedModel | None:
        return None if self.llm is None else ObservedModel(self.llm, purpose=purpose, sent=turn.sent)

    def _judge(self, turn: Request) -> Judge | None:
        """Return the judge; what is sent to one that is a language model is noted, too."""
        if isinstance(self.judge, LanguageModelJudge):
            return LanguageModelJudge(ObservedModel(self.judge.llm, purpose="check", sent=turn.sent))
        return self.judge


def _said(text: str) -> Iterator[Event]:
    """Yield the events of an answer that rests on no document."""
    yield Sources(())
    yield Token(text)
    yield Done(text, (), None)


def checked(question: str) -> str:
    """Return the question trimmed and fit to store; raises QuestionRefused with the reason.

    >>> checked("  What is due?  ")
    'What is due?'
    """
    text = "".join(c for c in question if c == "\n" or c.isprintable()).strip()
    if not text:
        raise QuestionRefused("The question is empty. Type what you want to know.")
    if len(text) > MAX_QUESTION:
        raise QuestionRefused(
            f"The question has {len(text):,} characters; {MAX_QUESTION:,} is the limit. "
            "Shorten it, or add the long text as a document."
        )
    return text
