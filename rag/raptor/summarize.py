"""What stands above a cluster: its summary, by the connected model or out of its own sentences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from rag.errors import LLMError, LLMGarbled
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel
from rag.raptor.extracts import extract
from rag.raptor.prompts import summary_messages
from rag.text.text_budget import count_tokens

WORDS = 100  # of a model's summary, and room to end its sentence
ANSWER_TOKENS = 400
TRIES = 3
LONGEST = 6 * WORDS  # tokens: what is longer is no summary of a few hundred words


class Summariser(Protocol):
    """Makes one text of several, the one nearest their centre first."""

    name: str

    def summarise(
        self, texts: Sequence[str], rarity: Mapping[str, float], cancelled: Cancel = never
    ) -> str | None:
        """Return the summary, or None where none can be had; raises Cancelled."""


class Extracting:
    """Summaries without a model: the members' own sentences."""

    name = "extractive"

    def summarise(
        self,
        texts: Sequence[str],
        rarity: Mapping[str, float],
        cancelled: Cancel = never,  # noqa: ARG002 - it takes milliseconds
    ) -> str | None:
        """Return the sentences that say most of what all say."""
        return extract(texts, rarity)


class ByModel:
    """Summaries by a language model. One that fails is asked for again; `failed` hears of one given up."""

    def __init__(self, llm: LanguageModel, failed: Callable[[LLMError], None]):
        self._llm = llm
        self._failed = failed
        self.name = f"model {llm.settings.model}"

    def summarise(
        self,
        texts: Sequence[str],
        rarity: Mapping[str, float],  # noqa: ARG002 - the model knows what tells
        cancelled: Cancel = never,
    ) -> str | None:
        """Return the model's summary, or None after three tries."""
        messages = summary_messages(texts, WORDS)
        for attempt in range(TRIES):
            try:
                return _sound(self._llm.complete(messages, max_tokens=ANSWER_TOKENS, cancelled=cancelled))
            except LLMError as error:
                if attempt == TRIES - 1:
                    self._failed(error)
        return None


def _sound(answer: str) -> str:
    """Return the answer as one paragraph; raises LLMGarbled where it is none, or far too long."""
    summary = " ".join(answer.split())
    if not summary or count_tokens(summary) > LONGEST:
        raise LLMGarbled("The model sent a summary that is empty or far too long. Choose another model.")
    return summary
