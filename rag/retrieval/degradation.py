"""Degraded answers: components that failed or took too long, each named in one sentence."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from rag.i18n import N_
from rag.logs import fields

log = logging.getLogger(__name__)

_WITHOUT = {
    "similarity": N_("Searched by words only: {reason}"),
    "bm25": N_("Searched by meaning only: {reason}"),
    "reranker": N_("The passages are in the order of the search: {reason}"),
    "passages": N_("Some passages were not read: {reason}"),
    "embedding model": N_("The sentences were chosen by their words only: {reason}"),
}


@dataclass(frozen=True)
class Degraded:
    """Event: the answer was made without `what`, a retriever or the embedding model, and why."""

    what: str
    reason: str

    @property
    def sentence(self) -> str:
        """Sentence for the reader.

        >>> Degraded("similarity", "The embedding model could not be opened.").sentence
        'Searched by words only: the embedding model could not be opened.'
        """
        reason = _continued(self.reason)
        if self.what in _WITHOUT:
            return N_(_WITHOUT[self.what], reason=reason)
        return N_("Searched without {part}: {reason}", part=self.what, reason=reason)


class DegradationRecorder:
    """Recorder of components that fail while a question is answered; serves as an `on_failure`."""

    def __init__(self) -> None:
        self._recorded: list[Degraded] = []

    def __call__(self, what: str, error: Exception) -> None:
        """Record that `what` failed with `error`."""
        log.warning("Answering without %s: %s", what, error, extra=fields(missing=what.replace(" ", "_")))
        self._recorded.append(Degraded(what, str(error)))

    def take(self) -> list[Degraded]:
        """Return and clear what was recorded, each reason once."""
        recorded, self._recorded = self._recorded, []
        return _once_per_reason(recorded)


def _once_per_reason(recorded: Iterable[Degraded]) -> list[Degraded]:
    """Return one event per reason: a failed search says more than the model that it lacked."""
    by_reason: dict[str, Degraded] = {}
    for omission in recorded:
        if omission.what != "embedding model" or omission.reason not in by_reason:
            by_reason[omission.reason] = omission
    return list(by_reason.values())


def _continued(reason: str) -> str:
    """Return a sentence as the end of another: "The model is gone" -> "the model is gone."."""
    first = reason.split(" ", 1)[0]
    text = reason[:1].lower() + reason[1:] if first in ("The", "A", "An", "No", "There") else reason
    return text if text.endswith((".", "!", "?")) else f"{text}."
