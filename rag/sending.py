"""What was sent to the language model for an answer, noted as it is sent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rag.jobs import never
from rag.language_model import LanguageModel
from rag.llm import Chat
from rag.logprobs import Logprobs


@dataclass(frozen=True)
class Sent:
    """An event: a request to the language model, word for word; `messages` are (role, content)."""

    purpose: str
    messages: tuple[tuple[str, str], ...]


class Noted:
    """A language model whose every request is noted, in `sent`, before it goes out."""

    def __init__(self, llm: LanguageModel, purpose: str, sent: list[Sent]):
        self.settings = llm.settings
        self._llm = llm
        self._purpose = purpose
        self._sent = sent

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Note the request, then yield the model's answer; errors are the model's own."""
        self._note(messages)
        yield from self._llm.stream(messages, max_tokens=max_tokens, cancelled=cancelled)

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Note the request, then return the model's answer; errors are the model's own."""
        self._note(messages)
        return self._llm.complete(messages, max_tokens=max_tokens, cancelled=cancelled)

    @property
    def supports_logprobs(self) -> bool:
        """Whether the model may tell odds."""
        return self._llm.supports_logprobs

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Note the request, if there will be one, then return the odds; errors are the model's own."""
        if not self.supports_logprobs:
            return None
        self._note(messages)
        return self._llm.logprobs(messages, cancelled=cancelled)

    def _note(self, messages: Chat) -> None:
        told = tuple((str(message["role"]), str(message["content"])) for message in messages)
        self._sent.append(Sent(self._purpose, told))
