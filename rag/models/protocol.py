"""Language model protocol, an adapter for LangChain chat models, and a recording and metering wrapper.

A model may also give the log-probabilities of an answer's first token.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable

from rag.errors import Cancelled, FootnoteError, LLMError, LLMGarbled, LLMRejected
from rag.i18n import N_
from rag.jobs import never
from rag.models.llm_errors import host_of
from rag.text.prompt_parts import count_tokens

Logprobs = Mapping[str, float]
"""The likeliest first tokens of an answer, with the natural logarithm of their probabilities."""

YES = frozenset({"yes", "예", "네", "はい"})
NO = frozenset({"no", "아니", "아니요", "아니오", "いいえ"})
_AROUND = " \t\r\n*_\"'`.,:!▁Ġ"


def first_token_logprobs(completion: Any) -> Logprobs | None:
    """Return the first token's log-probabilities: None where none came, empty without an answer.

    Raises LLMGarbled.
    """
    try:
        logprobs = completion.choices[0].logprobs
        if not logprobs or not isinstance(logprobs.content, list):
            return None
        if not logprobs.content:
            return {}
        listed = logprobs.content[0].top_logprobs or []
        return _merge_duplicates([(one.token, float(one.logprob)) for one in listed]) or None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise not_an_answer() from error


def not_an_answer() -> LLMGarbled:
    """Return the error of a reply that is no chat completion."""
    return LLMGarbled(N_("The model's server sent something that is not an answer. Check its address."))


def _merge_duplicates(listed: list[tuple[Any, float]]) -> dict[str, float]:
    """Return one logarithm for each token; servers may list a token twice, of different bytes."""
    found: dict[str, float] = {}
    for token, logprob in listed:
        if isinstance(token, str) and not math.isnan(logprob):
            found[token] = min(0.0, _log_sum([found.get(token, -math.inf), logprob]))
    return found


def yes_against_no(logprobs: Logprobs) -> float | None:
    """Return p(yes) / (p(yes) + p(no)), each summed over its spellings; None where neither is listed.

    A side that is not listed is taken to be as likely as the least likely listed token.

    >>> from math import log
    >>> round(yes_against_no({"Yes": log(0.6), " yes": log(0.1), "No": log(0.2), "The": log(0.05)}), 4)
    0.7778
    """
    yes, no = (_log_probability_of(logprobs, words) for words in (YES, NO))
    if max(yes, no) == -math.inf:
        return None
    least = min(logprobs.values())
    return 1 / (1 + math.exp(_clamp(max(no, least) - max(yes, least))))


def _clamp(exponent: float) -> float:
    return max(-700.0, min(700.0, 0.0 if math.isnan(exponent) else exponent))


def _log_probability_of(logprobs: Logprobs, words: Collection[str]) -> float:
    return _log_sum(
        [logprob for token, logprob in logprobs.items() if token.strip(_AROUND).casefold() in words]
    )


def _log_sum(logprobs: Collection[float]) -> float:
    """Return the logarithm of a sum of probabilities: ``log(.5), log(.25) -> log(.75)``."""
    highest = max(logprobs, default=-math.inf)
    if math.isinf(highest):
        return highest
    return highest + math.log(math.fsum(math.exp(logprob - highest) for logprob in logprobs))


Chat = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class LLMSettings:
    """Address and limits of a model, in seconds; `brief` asks for few short passages, for a small model."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 300.0
    idle_timeout: float = 60.0
    context_tokens: int = 4096
    brief: bool = False

    @property
    def host(self) -> str:
        """The server's address without user, password or path."""
        return host_of(self.base_url)


class LanguageModel(Protocol):
    """Language model for answers and rewrites: rag.models.llm.LLM, a local model, or a ChatModel."""

    settings: LLMSettings

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces as they arrive; raises LLMError and Cancelled."""

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""
        return "".join(self.stream(messages, max_tokens=max_tokens, cancelled=cancelled))

    @property
    def supports_logprobs(self) -> bool:
        """False where the model is known to give no log-probabilities."""
        return False

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:  # noqa: ARG002
        """Return the log-probabilities of the answer's first token, or None; errors as of `stream`."""
        return None


@runtime_checkable
class VisionModel(Protocol):
    """Language model that may be shown a picture; if it sees it is found out by asking."""

    settings: LLMSettings

    def look(
        self,
        instruction: str,
        picture: bytes,
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return what the model says of a picture in PNG; errors as of `LanguageModel.stream`."""

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer to messages without a picture."""


def as_vision_model(llm: LanguageModel | None) -> VisionModel | None:
    """Return a model as one that may be shown pictures; None where its kind takes none."""
    inner = llm._llm if isinstance(llm, ObservedModel) else llm
    return llm if isinstance(inner, VisionModel) and isinstance(llm, VisionModel) else None


PICTURE_TOKENS = 1600
"""Tokens of a picture of 1,600 pixels a side, by the count of common servers, rather too many."""


class ChatModel(LanguageModel):
    """Adapter for a LangChain chat model, or a runnable around one, such as `model.with_fallbacks([...])`.

    Its own settings limit the length of an answer; `context_tokens` is what LangChain does not tell, nor
    has it a common way to ask for log-probabilities.
    """

    def __init__(self, model: Runnable[Any, Any], *, context_tokens: int = 8192):
        self._model = model
        self.settings = LLMSettings(base_url="", model=_model_name(model), context_tokens=context_tokens)

    @property
    def model(self) -> Runnable[Any, Any]:
        """The model that is adapted."""
        return self._model

    def stream(
        self,
        messages: Chat,
        *,
        max_tokens: int,  # noqa: ARG002 - each provider has its own name for it
        cancelled: Callable[[], bool] = never,
    ) -> Iterator[str]:
        """Yield the answer in pieces; raises LLMError, with the model's own error as its cause."""
        silent = True
        try:
            for piece in self._model.stream(convert_to_messages([dict(message) for message in messages])):
                if cancelled():
                    raise Cancelled(N_("You stopped the answer."))
                if text := str(piece.text if isinstance(piece, BaseMessage) else piece):
                    silent = False
                    yield text
        except FootnoteError:
            raise
        except Exception as error:  # any model may fail in any way
            name, kind = self.settings.model, type(error).__name__
            raise LLMError(
                N_("{name} did not answer ({kind}). Check its settings and ask again.", name=name, kind=kind)
            ) from error
        if silent:
            raise LLMGarbled(N_("The model sent an empty answer. Ask again, or choose another model."))


def _model_name(model: Runnable[Any, Any]) -> str:
    said = (getattr(model, name, None) for name in ("model_name", "model"))
    return next((name for name in said if isinstance(name, str) and name), type(model).__name__)


@dataclass(frozen=True)
class Sent:
    """Event: a request to the language model; `messages` are (role, content)."""

    purpose: str
    messages: tuple[tuple[str, str], ...]


class UsageMeter(Protocol):
    """Counter of one person's tokens, such as rag.quota.Quota."""

    def tokens(self) -> None:
        """Raise LimitReached where today's tokens are used up."""

    def used(self, *, tokens: int) -> None:
        """Count tokens that were read and written."""


class ObservedModel:
    """Language model wrapper that records requests in `sent` before they go out, and meters tokens.

    An observed model is not wrapped twice: the new wrapper takes over its records and meters. Tokens are
    estimated, rather too high, since servers report them in different ways or not at all.
    """

    def __init__(
        self,
        llm: LanguageModel,
        *,
        purpose: str = "",
        sent: list[Sent] | None = None,
        meter: UsageMeter | None = None,
    ):
        self.settings = llm.settings
        self._llm = llm
        self._records: tuple[tuple[str, list[Sent]], ...] = ()
        self._meters: tuple[UsageMeter, ...] = ()
        if isinstance(llm, ObservedModel):
            self._llm, self._records, self._meters = llm._llm, llm._records, llm._meters
        if sent is not None:
            self._records += ((purpose, sent),)
        if meter is not None:
            self._meters += (meter,)

    @property
    def supports_logprobs(self) -> bool:
        """False where the model is known to give no log-probabilities."""
        return self._llm.supports_logprobs

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces; raises LimitReached before anything is sent, and the model's errors."""
        tokens = self._begin(messages)
        try:
            for piece in self._llm.stream(messages, max_tokens=max_tokens, cancelled=cancelled):
                tokens += self._count(piece)
                yield piece
        finally:
            self._used(tokens)

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""
        tokens, answer = self._begin(messages), ""
        try:
            answer = self._llm.complete(messages, max_tokens=max_tokens, cancelled=cancelled)
        finally:
            self._used(tokens + self._count(answer))
        return answer

    def look(
        self,
        instruction: str,
        picture: bytes,
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return what the model says of a picture; errors as of `stream`."""
        if not isinstance(self._llm, VisionModel):
            raise LLMRejected(N_("{name} takes no pictures.", name=self.settings.model))
        asked = [{"role": "user", "content": instruction}]
        tokens, answer = self._begin(asked) + (PICTURE_TOKENS if self._meters else 0), ""
        try:
            answer = self._llm.look(instruction, picture, max_tokens=max_tokens, cancelled=cancelled)
        finally:
            self._used(tokens + self._count(answer))
        return answer

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the log-probabilities of the answer's first token; errors as of `stream`."""
        if not self.supports_logprobs:
            return None
        self._used(self._begin(messages))
        return self._llm.logprobs(messages, cancelled=cancelled)

    def _begin(self, messages: Chat) -> int:
        """Record a request, and return its tokens; raises LimitReached."""
        said = tuple((str(message["role"]), str(message["content"])) for message in messages)
        for purpose, sent in self._records:
            sent.append(Sent(purpose, said))
        for meter in self._meters:
            meter.tokens()
        return sum(self._count(content) for _, content in said)

    def _count(self, text: str) -> int:
        return count_tokens(text) if self._meters else 0

    def _used(self, tokens: int) -> None:
        for meter in self._meters:
            meter.used(tokens=tokens)
