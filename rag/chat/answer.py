"""Generation of a cited answer from passages, as one stream of events.

`Sources` has exactly the passages the answer is made from. `Token`s follow, with markers of those passages
only; then `Done` with the whole text and the evidence of every sentence.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from langchain_core.embeddings import Embeddings

from rag.chat.definitions import DocumentPassages, with_definitions
from rag.chat.extractive import (
    AnswerPart,
    StepQuote,
    decide,
    is_astray,
    is_clear,
    quotes_again,
    quotes_for,
    write,
    write_steps,
)
from rag.chat.past_turns import PastTurn, Rework
from rag.chat.prompts import (
    SMALL_MODEL_ANSWER_TOKENS,
    answer_messages,
    continue_messages,
    conversation_text,
    fitting,
    fitting_excerpts,
    rework_messages,
    small_model_messages,
    summaries_text,
)
from rag.citations.checker import Judge, scale_of
from rag.citations.cite import cite
from rag.citations.support import Citation
from rag.errors import Cancelled
from rag.i18n import N_
from rag.jobs import never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.fusion import interleaved, step_passages
from rag.retrieval.measured_rows import asks_extreme, with_extreme_rows
from rag.retrieval.sentences import MOST, Pick, extract
from rag.text.markers import MarkerFilter
from rag.text.prompt_parts import count_tokens
from rag.text.sentences import sentences
from rag.text.tokenize import Rarity

CITING_PATIENCE = 10.0  # seconds: a judge or an embedding server that hangs holds up its own answer only
_CITING = threading.Semaphore()
_ENDED = re.compile(r"""[.!?。！？…]["'”’」』)）\]]*(?:\s?\[\d+\])*\s*\Z""")
_RUNS_ON = re.compile(r"[.!?…\]\"'”’)]\Z")


def whole_sentences(text: str) -> str:
    r"""Return the text up to its last sentence that ended, with the white space after it.

    >>> [whole_sentences(text) for text in ("It rained [1].\n\nThen the ri", "비가 왔다. 그리", "It")]
    ['It rained [1].\n\n', '비가 왔다. ', '']
    """
    starts = [start for start, _ in sentences(text)]
    return next((text[:at] for at in (len(text), *reversed(starts)) if _has_ended(text[:at])), "")


def _has_ended(text: str) -> bool:
    spoken = text.rstrip()
    return bool(spoken) and ("\n" in text[len(spoken) :] or _ENDED.search(spoken) is not None)


def joined(kept: str, pieces: Iterable[str]) -> Iterator[str]:
    """Yield the kept text, then the pieces of the rest, with a space between where there is none.

    >>> list(joined("It rained.", ["Then it", " stopped."])), list(joined("", ["It rained."]))
    (['It rained.', ' Then it', ' stopped.'], ['It rained.'])
    """
    if kept:
        yield kept
    apart = _RUNS_ON.search(kept) is not None
    for piece in pieces:
        yield f" {piece}" if apart and not piece[0].isspace() else piece
        apart = False


ANSWER_TOKENS = 1024
"""Tokens of an answer; at most a quarter of the context."""
SMALL_MODEL_REWORK_TOKENS = 900
"""Tokens of a small model's request to rework an answer: sixteen seconds of reading on two cores."""
LEAST_LEFT = 64
"""Least tokens for the rest of an answer that was cut off."""


@dataclass(frozen=True)
class Condensed:
    """Event: the standalone question, which is searched."""

    question: str


@dataclass(frozen=True)
class Sources:
    """Event: the passages the answer is made from; marker n is the n-th of them.

    `unread` more were found and do not fit into what the model reads at once.
    """

    passages: tuple[Passage, ...]
    unread: int = 0


@dataclass(frozen=True)
class Token:
    """Event: the next piece of the answer."""

    text: str


@dataclass(frozen=True)
class Done:
    """Event: the whole answer, which may have gained markers since its tokens, and its citations.

    `model` names the language model that wrote it or found what is listed; None for an extractive answer.
    """

    text: str
    citations: tuple[Citation, ...]
    model: str | None


Event = Condensed | Sources | Token | Done


def answer(
    question: str,
    passages: Sequence[Passage],
    *,
    llm: LanguageModel | None,
    embedder: Embeddings | None = None,
    rarity: Rarity | None = None,
    judge: Judge | None = None,
    worded: str = "",
    said: str = "",
    so_far: str = "",
    outside: bool = False,
    turns: Sequence[PastTurn] = (),
    conversation_tokens: int = 0,
    k: int | None = None,
    instructions: str = "",
    steps: Sequence[tuple[str, str]] = (),
    typed: str = "",
    spoken: str = "",
    passages_of: DocumentPassages | None = None,
    cancelled: Callable[[], bool] = never,
) -> Iterator[Event]:
    """Yield the events of one answer; raises LLMError and Cancelled, events before that stay valid.

    `typed` is what is looked for of a question without terms of the conversation, where it was completed by
    them, and `spoken` all that was typed: in its language an extractive answer speaks. `worded` is
    the question with the periods and documents that its answer is looked for without. `said` is the last
    answer where more of it is asked for: an extractive answer does not quote it again. `so_far` is the text
    of an answer that was cut off: its whole sentences are the first token, and the model continues after
    them; an extractive answer starts again. `rarity` tells an extractive answer if the documents seem to
    answer at all. `judge` checks a model's text. `outside` has the prompt put the best passages first and
    last; their numbers stay. A model, unless it is small, is shown the newest `turns` within
    `conversation_tokens` and a quarter of its context. An extractive answer shows `k` passages.
    `instructions` reach the model, and nothing that checks what it wrote. An extractive answer to a question
    that was searched in `steps`, as (words to show, words to look for), quotes for each of them.
    """
    if llm is None and passages and steps:
        yield from _extracted_steps(question, spoken, passages, steps, embedder, rarity, k, cancelled)
    elif llm is None or not passages:
        yield from _extracted(
            question, typed, worded, spoken, passages, embedder, rarity, said, k, passages_of, cancelled
        )
    else:
        before = conversation_text(turns, min(conversation_tokens, llm.settings.context_tokens // 4))
        before += summaries_text(passages, llm.settings.context_tokens // 8)
        ask = partial(answer_messages, outside=outside, conversation=before, instructions=instructions)
        if llm.settings.brief:
            ask = partial(small_model_messages, instructions=instructions)
            before = ""
        around = count_tokens(before + instructions)
        prompt = _prompt(question, passages, llm, ask, around, kept=bool(whole_sentences(so_far)))
        yield from generated(prompt, llm, embedder, judge, whole_sentences(so_far), cancelled)


def rework(
    request: str,
    turns: Sequence[PastTurn],
    kind: Rework,
    *,
    llm: LanguageModel | None,
    embedder: Embeddings | None = None,
    judge: Judge | None = None,
    so_far: str = "",
    cancelled: Callable[[], bool] = never,
) -> Iterator[Event]:
    """Yield the events of the last of some answers reworked; raises LLMError and Cancelled.

    The `turns` share their numbers; what is written is checked against their passages. Without a model the
    answer is quoted again.
    """
    given = turns[-1].passages
    if llm is None:
        parts = list(quotes_again(request, turns[-1], kind))
        yield Sources(given if len(parts) > 1 else ())
        yield from written(parts, cancelled)
        return
    room = (
        SMALL_MODEL_REWORK_TOKENS if llm.settings.brief else llm.settings.context_tokens - longest_answer(llm)
    )
    prompt = Prompt(given, rework_messages(request, turns, room))
    yield from generated(prompt, llm, embedder, judge, whole_sentences(so_far), cancelled)


def _extracted(
    question: str,
    typed: str,
    worded: str,
    spoken: str,
    passages: Sequence[Passage],
    embedder: Embeddings | None,
    rarity: Rarity | None,
    said: str,
    k: int | None,
    passages_of: DocumentPassages | None,
    cancelled: Callable[[], bool],
) -> Iterator[Event]:
    """Yield the events of quotes from the passages; the quoted ones come first, then the others up to `k`."""
    scale = scale_of(embedder)
    middle = None if scale is None else scale.asked
    decision = decide(question, passages, rarity, middle=middle)
    quotes = partial(extract, passages=passages, embedder=embedder, said=said, rarity=rarity)
    picks = quotes_for(decision, partial(quotes, question))
    if not typed or not is_astray(typed, passages, picks):
        clear = is_clear(question, passages, picks, decision, embedder)
    else:
        alone = decide(typed, passages, rarity, middle=middle)
        found = quotes_for(alone, partial(quotes, typed))
        picks, clear = found or picks, bool(found) and is_clear(typed, passages, found, alone, embedder)
    if passages_of is not None and asks_extreme(question):
        among = chain.from_iterable(map(passages_of, dict.fromkeys(one.document_id for one in passages)))
        if rows := with_extreme_rows(question, passages, among):
            (passages, picks), clear = rows, True
    if passages_of is not None and clear:
        passages, picks = with_definitions(question, passages, picks, passages_of)
    shown, picks = _cited_first(passages, picks, k)
    yield Sources(shown)
    told = write(question, shown, picks, doubtful=not clear, worded=worded, spoken=spoken)
    yield from written(told, cancelled)


def _extracted_steps(
    question: str,
    spoken: str,
    passages: Sequence[Passage],
    steps: Sequence[tuple[str, str]],
    embedder: Embeddings | None,
    rarity: Rarity | None,
    k: int | None,
    cancelled: Callable[[], bool],
) -> Iterator[Event]:
    """Yield the events of quotes for each step; the sources are each step's best passages, in turn.

    A step is answered by its best sentence and the amounts it names, by its share of an answer's quotes.
    """
    scale = scale_of(embedder)
    middle = None if scale is None else scale.asked
    lanes: list[Sequence[Passage]] = []
    quotes: list[StepQuote] = []
    most = max(1, MOST // len(steps))
    for number, (words, asked) in enumerate(steps, 1):
        found = step_passages(passages, number)
        decision = decide(asked, found, rarity, middle=middle)
        quotes_of = partial(extract, asked, found, embedder=embedder, rarity=rarity, others=0)
        picks = quotes_for(decision, quotes_of)
        clear = is_clear(asked, found, picks, decision, embedder)
        best, picks = _cited_first(found, picks[:most], None)
        lanes.append(best)
        quotes.append(StepQuote(words, picks, doubtful=not clear))
    shown = interleaved(lanes, k)
    at = {one.id: number for number, one in enumerate(shown, 1)}
    for number, one in enumerate(quotes):
        picks = [replace(pick, number=at[lanes[number][pick.number - 1].id]) for pick in one.picks]
        quotes[number] = replace(one, picks=picks)
    yield Sources(tuple(shown))
    yield from written(write_steps(question, shown, quotes, spoken=spoken), cancelled)


def _cited_first(
    passages: Sequence[Passage], picks: Sequence[Pick], k: int | None
) -> tuple[tuple[Passage, ...], list[Pick]]:
    """Return the passages that are picked from, then the others up to `k`; and the picks in their numbers."""
    order = list(dict.fromkeys(pick.number for pick in picks))
    rest = [number for number in range(1, len(passages) + 1) if number not in order]
    numbers = [*order, *rest[: max(0, (len(passages) if k is None else k) - len(order))]]
    at = {number: place for place, number in enumerate(numbers, 1)}
    return (
        tuple(passages[number - 1] for number in numbers),
        [replace(pick, number=at[pick.number]) for pick in picks],
    )


def written(
    parts: Iterable[AnswerPart], cancelled: Callable[[], bool], model: str | None = None
) -> Iterator[Event]:
    """Yield the parts of an answer that code has put together as tokens, then the whole; raises Cancelled."""
    told: list[AnswerPart] = []
    for piece in parts:
        if cancelled():
            raise Cancelled(N_("You stopped the answer."))
        told.append(piece)
        yield Token(piece.text)
    citations = tuple(piece.citation for piece in told if piece.citation)
    yield Done("".join(piece.text for piece in told), citations, model)


@dataclass(frozen=True)
class Prompt:
    """Messages that ask for an answer from the passages `given`; `unread` more did not fit.

    An answer that is only a value is checked as one to the `question`.
    """

    given: tuple[Passage, ...]
    messages: list[dict[str, str]]
    unread: int = 0
    question: str = ""


def longest_answer(llm: LanguageModel) -> int:
    """Return the tokens that an answer of a model may have."""
    most = SMALL_MODEL_ANSWER_TOKENS if llm.settings.brief else ANSWER_TOKENS
    return min(most, llm.settings.context_tokens // 4)


def _prompt(
    question: str,
    passages: Sequence[Passage],
    llm: LanguageModel,
    ask: Callable[[str, Sequence[Passage]], list[dict[str, str]]],
    around: int,
    *,
    kept: bool,
) -> Prompt:
    """Return the prompt for an answer that `ask` makes, with `around` tokens beside the passages.

    One that is continued is `kept` to all of its passages.
    """
    room = llm.settings.context_tokens - longest_answer(llm) - around
    fit = fitting_excerpts if llm.settings.brief else fitting
    given = tuple(passages) if kept else fit(question, passages, room)
    return Prompt(given, ask(question, given), len(passages) - len(given), question)


def generated(
    prompt: Prompt,
    llm: LanguageModel,
    embedder: Embeddings | None,
    judge: Judge | None,
    kept: str,
    cancelled: Callable[[], bool],
) -> Iterator[Event]:
    """Yield the events of an answer that a model writes to a prompt after what is `kept` of it."""
    given = prompt.given
    yield Sources(given, prompt.unread)
    asked = [*prompt.messages, *(continue_messages(kept) if kept else ())]
    left = max(LEAST_LEFT, longest_answer(llm) - count_tokens(kept))
    pieces = _filtered(llm.stream(asked, max_tokens=left, cancelled=cancelled), MarkerFilter(len(given)))
    said = []
    for piece in joined(kept, pieces):
        said.append(piece)
        yield Token(piece)
    with _in_turn():
        text, citations = cite("".join(said), given, question=prompt.question, embedder=embedder, judge=judge)
    yield Done(text, citations, llm.settings.model)


@contextmanager
def _in_turn() -> Iterator[None]:
    """Wait until other answers are cited, which takes the processor from answers that begin; not for ever."""
    waited = _CITING.acquire(timeout=CITING_PATIENCE)
    try:
        yield
    finally:
        if waited:
            _CITING.release()


def _filtered(pieces: Iterable[str], markers: MarkerFilter) -> Iterator[str]:
    for piece in map(markers.feed, pieces):
        if piece:
            yield piece
    if rest := markers.flush():
        yield rest
