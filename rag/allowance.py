"""What one person may have more of now, and what their answers used, counted as it is used."""

import logging
from collections.abc import Callable, Iterator

from rag.jobs import never
from rag.language_model import LanguageModel
from rag.limits import Limits
from rag.llm import Chat
from rag.logprobs import Logprobs
from rag.prompts import count_tokens
from storage.accounts import Account
from storage.errors import StorageError

log = logging.getLogger(__name__)


class Allowance:
    """What `account` may, by `limits` of everyone and those of its own. Asked where the thing happens."""

    def __init__(self, account: Account, limits: Callable[[], Limits]):
        self._account = account
        self._limits = limits

    @property
    def limits(self) -> Limits:
        """What this person may have and use."""
        return self._limits().but(self._account.limits())

    def document(self, sha256: str, size: int) -> None:
        """Raise LimitReached where this original is one too many; one that is there already is not."""
        limits = self.limits
        if (limits.documents, limits.megabytes) == (None, None) or self._account.has(sha256):
            return
        held = self._account.holds()
        limits.document(held.documents, held.bytes, size)

    def answer(self, running: int) -> None:
        """Raise LimitReached where another answer, beside those `running`, is one too many."""
        limits = self.limits
        if limits != Limits():
            limits.answer(running, self._account.used().tokens)

    def tokens(self) -> None:
        """Raise LimitReached where today's tokens are used up."""
        limits = self.limits
        if limits.tokens_a_day is not None:
            limits.tokens(self._account.used().tokens)

    def used(self, *, answers: int = 0, tokens: int = 0) -> None:
        """Count what was used; an answer that is there is not lost over a count that cannot be kept."""
        try:
            self._account.count(answers=answers, tokens=tokens)
        except StorageError as error:
            log.warning("What was used was not counted. %s", error)


class Metered:
    """A language model whose every request is counted for one person: what it reads and what it writes.

    Servers tell the tokens in ways of their own, or not at all; so they are counted here, rather too many.
    """

    def __init__(self, llm: LanguageModel, allowance: Allowance):
        self.settings = llm.settings
        self._llm = llm
        self._allowance = allowance

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces; raises LimitReached before anything is sent, else as the model."""
        self._allowance.tokens()
        tokens = _read(messages)
        try:
            for piece in self._llm.stream(messages, max_tokens=max_tokens, cancelled=cancelled):
                tokens += count_tokens(piece)
                yield piece
        finally:
            self._allowance.used(tokens=tokens)

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""
        self._allowance.tokens()
        answer = ""
        try:
            answer = self._llm.complete(messages, max_tokens=max_tokens, cancelled=cancelled)
        finally:
            self._allowance.used(tokens=_read(messages) + count_tokens(answer))
        return answer

    @property
    def supports_logprobs(self) -> bool:
        """Whether the model may tell odds."""
        return self._llm.supports_logprobs

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the odds of the first token; errors as of `stream`."""
        if not self.supports_logprobs:
            return None
        self._allowance.tokens()
        self._allowance.used(tokens=_read(messages))
        return self._llm.logprobs(messages, cancelled=cancelled)


def _read(messages: Chat) -> int:
    return sum(count_tokens(str(message["content"])) for message in messages)
