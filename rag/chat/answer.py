"""Generation of a cited answer from passages, as one stream of events.

`Sources` has exactly the passages the answer is made from. `Token`s follow, with markers of those passages
only; then `Done` with the whole text and the evidence of every sentence.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.embeddings import Embeddings

from rag.chat.corpus import Rarity
from rag.chat.extractive import AnswerPart, decide, write
from rag.chat.prompts import (
    SMALL_MODEL_ANSWER_TOKENS,
    answer_messages,
    continue_messages,
    fitting,
    fitting_excerpts,
    small_model_messages,
)
from rag.citations.checker import Judge, scale_of
from rag.citations.cite import Citation, cite
from rag.errors import Cancelled
from rag.jobs import never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.sentences import extract
from rag.text.markers import MarkerFilter
from rag.text.prompt_parts import count_tokens
from rag.text.sentences import sentences

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

    `model` names the language model; None for an extractive answer.
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
    said: str = "",
    so_far: str = "",
    outside: bool = False,
    cancelled: Callable[[], bool] = never,
) -> Iterator[Event]:
    """Yield the events of one answer; raises LLMError and Cancelled, events before that stay valid.

    `said` is the last answer where more of it is asked for: an extractive answer does not quote it again.
    `so_far` is the text of an answer that was cut off: its whole sentences are the first token, and the model
    continues after them; an extractive answer starts again. `rarity` tells an extractive answer if the
    documents seem to answer at all. `judge` checks a model's text. `outside` has the prompt put the best
    passages first and last; their numbers stay.
    """
    if llm is None or not passages:
        yield from _extracted(question, passages, embedder, rarity, said, cancelled)
    else:
        ask = partial(answer_messages, outside=outside)
        kept = whole_sentences(so_far)
        yield from _generated(question, passages, llm, ask, embedder, judge, kept, cancelled)


def _extracted(
    question: str,
    passages: Sequence[Passage],
    embedder: Embeddings | None,
    rarity: Rarity | None,
    said: str,
    cancelled: Callable[[], bool],
) -> Iterator[Event]:
    yield Sources(tuple(passages))
    picks = extract(question, passages, embedder=embedder, said=said)
    scale = scale_of(embedder)
    middle = None if scale is None else scale.asked
    doubtful = bool(picks) and not decide(question, passages, rarity, middle=middle).answered
    written: list[AnswerPart] = []
    for piece in write(question, passages, picks, doubtful=doubtful):
        if cancelled():
            raise Cancelled("You stopped the answer.")
        written.append(piece)
        yield Token(piece.text)
    citations = tuple(piece.citation for piece in written if piece.citation)
    yield Done("".join(piece.text for piece in written), citations, None)


def _generated(
    question: str,
    passages: Sequence[Passage],
    llm: LanguageModel,
    ask: Callable[[str, Sequence[Passage]], list[dict[str, str]]],
    embedder: Embeddings | None,
    judge: Judge | None,
    kept: str,
    cancelled: Callable[[], bool],
) -> Iterator[Event]:
    room = llm.settings.context_tokens
    small = llm.settings.brief
    longest = min(SMALL_MODEL_ANSWER_TOKENS if small else ANSWER_TOKENS, room // 4)
    fit = fitting_excerpts if small else fitting
    given = tuple(passages) if kept else fit(question, passages, room - longest)
    yield Sources(given, len(passages) - len(given))
    messages = small_model_messages(question, given) if small else ask(question, given)
    asked = [*messages, *(continue_messages(kept) if kept else ())]
    left = max(LEAST_LEFT, longest - count_tokens(kept))
    pieces = _filtered(llm.stream(asked, max_tokens=left, cancelled=cancelled), MarkerFilter(len(given)))
    said = []
    for piece in joined(kept, pieces):
        said.append(piece)
        yield Token(piece)
    text, citations = cite("".join(said), given, embedder=embedder, judge=judge)
    yield Done(text, citations, llm.settings.model)


def _filtered(pieces: Iterable[str], markers: MarkerFilter) -> Iterator[str]:
    for piece in map(markers.feed, pieces):
        if piece:
            yield piece
    if rest := markers.flush():
        yield rest
