"""Request: a question while it is answered, with the time of each step and what is sent for it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from rag.chat.answer import Done, Token
from rag.chat.small_talk import accepts_offer, is_continuation
from rag.errors import FootnoteError
from rag.jobs import Cancel, never
from rag.models.model_wrappers import Sent
from rag.passage import Passage

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
