"""A job watched while it runs: how it ends and how long its steps take, counted and told in a line."""

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.conversation import Failed
from rag.errors import Cancelled
from rag.ingest.library import IngestProgress
from rag.jobs import ANSWERS, Cancel, Work, closing, kind_of
from rag.logs import fields
from rag.metrics import Metrics
from rag.retrieval.rerank.stage import Reordered, Reranking

E = TypeVar("E")
_REACHED = {
    Condensed: "understood",
    Reranking: "found",
    Reordered: "ordered",
    Sources: "sources",
    Token: "first_token",
}
_TOLD = ("sources", "first_token")  # of these, what is counted from the begin; the others bound steps

log = logging.getLogger(__name__)


class Watch:
    """Watches jobs for `metrics`; see `rag.jobs.Jobs`."""

    def __init__(self, metrics: Metrics):
        self._metrics = metrics

    def __call__(self, key: str, work: Work[E]) -> Work[E]:
        """Return `work` that is watched, asked for now under `key`."""
        asked = time.monotonic()

        def watched(cancelled: Cancel) -> Iterator[E]:
            run = _Run.of(key, asked)
            try:
                with closing(work(cancelled)) as events:
                    for event in events:
                        run.take(event)
                        yield event
                run.outcome = run.at_end
            except (Cancelled, GeneratorExit):
                run.outcome = "stopped"
                raise
            finally:
                self._tell(run)

        return watched

    def _tell(self, run: "_Run") -> None:
        took = run.since_begin()
        log.info("A job ended", extra=fields(kind=run.kind, outcome=run.outcome, **run.rounded(took)))
        self._metrics.embedded(run.embedded)
        if run.kind == ANSWERS:
            laps = {until: run.laps[until] for until in _TOLD if until in run.laps}
            self._metrics.turn(run.outcome, {**laps, "end": took}, steps(run.laps))
        else:
            self._metrics.job(run.kind, run.outcome, waited=run.begun - run.asked, took=took)


def steps(laps: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds that each step of an answer took, of those that were made.

    >>> steps({"understood": 0.5, "found": 0.75, "ordered": 1.75, "sources": 1.75, "first_token": 2.0})
    {'understand': 0.5, 'search': 0.25, 'rerank': 1.0, 'write': 0.25}
    """
    found = "found" if "found" in laps else "sources"
    bounds = {
        "understand": ("begin", "understood"),
        "search": ("understood", found),
        "rerank": ("found", "ordered"),
        "write": ("sources", "first_token"),
    }
    at = {"begin": 0.0, **laps}
    return {step: at[end] - at[first] for step, (first, end) in bounds.items() if first in at and end in at}


@dataclass
class _Run:
    """What has been seen of one job. Times in seconds, `asked` and `begun` of the monotonic clock."""

    kind: str
    asked: float
    begun: float = field(default_factory=time.monotonic)
    outcome: str = "failed"
    laps: dict[str, float] = field(default_factory=dict)
    embedded: int = 0
    at_end: str = "complete"
    before: int | None = None

    @classmethod
    def of(cls, key: str, asked: float) -> "_Run":
        """Begin; an answer that nobody sees complete or failed was stopped."""
        kind = kind_of(key)
        return cls(kind, asked, at_end="stopped" if kind == ANSWERS else "complete")

    def take(self, event: object) -> None:
        """Note what an event tells of the time and the amount."""
        lap = _REACHED.get(type(event))
        if lap is not None:
            self.laps.setdefault(lap, self.since_begin())
        match event:
            case Done():
                self.at_end = "complete"
            case Failed():
                self.at_end = "failed"
            case IngestProgress(stage="meaning", done=done):
                self.embedded += 0 if self.before is None else done - self.before
                self.before = done

    def since_begin(self) -> float:
        """Return seconds."""
        return time.monotonic() - self.begun

    def rounded(self, took: float) -> dict[str, float]:
        """Return the laps as fields of a line."""
        laps = {**self.laps, "end": took}
        return {f"seconds_to_{name}": round(seconds, 3) for name, seconds in laps.items()}
