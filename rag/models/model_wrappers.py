"""Language model wrapper that records what is sent and counts the tokens that are used."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from rag.chat.prompts import count_tokens
from rag.jobs import never
from rag.models.llm import Chat
from rag.models.logprobs import Logprobs
from rag.models.protocol import LanguageModel


@dataclass(frozen=True)
class Sent:
    """An event: a request to the language model, word for word; `messages` are (role, content)."""

    purpose: str
    messages: tuple[tuple[str, str], ...]


class UsageMeter(Protocol):
    """Counter of the tokens that one person uses, such as rag.quota.Quota."""

    def tokens(self) -> None:
        """Raise LimitReached where today's tokens are used up."""

    def used(self, *, tokens: int) -> None:
        """Count tokens that were read and written."""


class ObservedModel:
    """Language model that records each request, and meters what it reads and writes.

    A request is added to `sent`, as one for `purpose`, before it goes out; `meter` may refuse it, and counts
    it. A model that is observed already is not wrapped again: the new wrapper takes its place and does what
    it did. Servers tell the tokens in ways of their own, or not at all; so they are counted here, rather too
    many.
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
        """True where the model may tell log-probabilities."""
        return self._llm.supports_logprobs

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces; raises LimitReached before anything is sent, else as the model."""
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
