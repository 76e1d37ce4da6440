"""What an answer needs of a language model, and any LangChain chat model that gives it."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable

from rag.errors import Cancelled, FootnoteError, LLMError, LLMGarbled
from rag.jobs import never
from rag.models.llm import Chat, LLMSettings
from rag.models.logprobs import Logprobs


class LanguageModel(Protocol):
    """What writes answers and rephrases questions: rag.models.llm.LLM, or a ChatModel."""

    settings: LLMSettings

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces as they come; raises LLMError and Cancelled."""

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""

    @property
    def supports_logprobs(self) -> bool:
        """True where `logprobs` may be worth asking for: not where it is known to give none."""

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the log-probabilities of the answer's first token, or None; errors as of `stream`."""


class ChatModel:
    """A LangChain chat model, or a runnable around one, such as `model.with_fallbacks([...])`.

    Its own settings decide how long an answer may become. `context_tokens` is what it can read at once:
    LangChain does not tell, and passages beyond it are left out of the prompt.
    """

    supports_logprobs = False  # each provider of LangChain's tells them in its own way, or does not

    def __init__(self, model: Runnable[Any, Any], *, context_tokens: int = 8192):
        self._model = model
        self.settings = LLMSettings(base_url="", model=_name(model), context_tokens=context_tokens)

    def stream(
        self,
        messages: Chat,
        *,
        max_tokens: int,  # noqa: ARG002 - each provider has its own name for it, or none
        cancelled: Callable[[], bool] = never,
    ) -> Iterator[str]:
        """Yield the answer in pieces; raises LLMError, with the model's own error as its cause."""
        silent = True
        try:
            for piece in self._model.stream(convert_to_messages([dict(message) for message in messages])):
                if cancelled():
                    raise Cancelled("You stopped the answer.")
                if text := _text(piece):
                    silent = False
                    yield text
        except FootnoteError:
            raise
        except Exception as error:  # anyone's model may fail in any way
            name, kind = self.settings.model, type(error).__name__
            raise LLMError(f"{name} did not answer ({kind}). Check its settings and ask again.") from error
        if silent:
            raise LLMGarbled("The model sent an empty answer. Ask again, or choose another model.")

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""
        return "".join(self.stream(messages, max_tokens=max_tokens, cancelled=cancelled))

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:  # noqa: ARG002
        """Return None: LangChain has no one way to tell log-probabilities."""
        return None


def _text(piece: Any) -> str:
    return str(piece.text) if isinstance(piece, BaseMessage) else str(piece)


def _name(model: Runnable[Any, Any]) -> str:
    """Return what a model calls itself, or else its class."""
    said = (getattr(model, name, None) for name in ("model_name", "model"))
    return next((name for name in said if isinstance(name, str) and name), type(model).__name__)
