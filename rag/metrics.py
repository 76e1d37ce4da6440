"""Prometheus metrics of a server. No label holds an owner, an id or a name."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.conversation import Failed
from rag.errors import Cancelled
from rag.ingest.leased import IngestProgress
from rag.jobs import ANSWERS, Cancel, Work, closing, kind_of
from rag.logs import fields
from rag.models.embeddings import Role
from rag.retrieval.rerank.registry import Reordered, Reranking

E = TypeVar("E")
log = logging.getLogger(__name__)

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)  # from a search to a long document
SHORT = (0.002, 0.005, 0.01, 0.025, *SECONDS)  # from the embedding of a question on
FORM = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Metrics of one server, in their own registry: two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry, buckets=SECONDS)
        self._turns = counter("footnote_turns", "Answers, by how they ended", ["outcome"])
        self._turn_seconds = histogram(
            "footnote_turn_seconds",
            "Seconds from an answer's begin to its passages, its first word and its end",
            ["until"],
        )
        self._step_seconds = histogram(
            "footnote_step_seconds",
            "Seconds that the steps of an answer took before its first word",
            ["step"],
            buckets=SHORT,
        )
        self._embedding_seconds = histogram(
            "footnote_embedding_seconds",
            "Seconds that the vector of a question took, or those of a batch of passages",
            ["of"],
            buckets=SHORT,
        )
        self._jobs = counter("footnote_jobs", "Other work, by how it ended", ["kind", "outcome"])
        self._job_seconds = histogram("footnote_job_seconds", "Seconds it took", ["kind"])
        self._waited = histogram("footnote_job_wait_seconds", "Seconds it waited for its turn", ["kind"])
        self._embedded = counter("footnote_chunks_embedded", "Passages made into vectors")
        self._errors = counter("footnote_errors", "Errors that were logged", ["error"])
        self._queue = gauge("footnote_queue", "Work at hand", ["kind", "state"])
        self._documents = gauge("footnote_documents", "Documents, by state", ["state"])
        self._free = gauge("footnote_disk_free_bytes", "Free where the data is")
        self._backup = gauge(
            "footnote_last_backup_timestamp_seconds", "When the newest backup by the clock was made"
        )

    def backup(self, made: datetime) -> None:
        """Note when the newest backup was made."""
        self._backup.set(made.timestamp())

    def turn(self, outcome: str, laps: Mapping[str, float], steps: Mapping[str, float]) -> None:
        """Count an answer; `laps` are seconds since its start by event, `steps` those of each step."""
        self._turns.labels(outcome).inc()
        for until, seconds in laps.items():
            self._turn_seconds.labels(until).observe(seconds)
        for step, seconds in steps.items():
            self._step_seconds.labels(step).observe(seconds)

    def embedding(self, role: Role, seconds: float) -> None:
        """Count one embedding call, of a question or of a batch of passages."""
        self._embedding_seconds.labels("question" if role == "query" else "passages").observe(seconds)

    def job(self, kind: str, outcome: str, *, waited: float, took: float) -> None:
        """Count a job that is no answer, with the seconds it waited and took."""
        self._jobs.labels(kind, outcome).inc()
        self._waited.labels(kind).observe(waited)
        self._job_seconds.labels(kind).observe(took)

    def embedded(self, chunks: int) -> None:
        """Count embedded chunks."""
        self._embedded.inc(chunks)

    def error(self, name: str) -> None:
        """Count an error by its class."""
        self._errors.labels(name).inc()

    def text(
        self, *, queue: Iterable[tuple[str, str]], documents: Mapping[str, int], free: int | None
    ) -> bytes:
        """Return the metrics in the text format of Prometheus, with the present queue, documents and disk.

        `queue` has the kind and the state of each job, `documents` counts by state, `free` is in bytes.
        """
        self._queue.clear()
        for kind, state in queue:
            self._queue.labels(kind, state).inc()
        self._documents.clear()
        for state, count in documents.items():
            self._documents.labels(state).set(count)
        if free is not None:
            self._free.set(free)
        return generate_latest(self._registry)


# Observation of jobs
_REACHED = {
    Condensed: "understood",
    Reranking: "found",
    Reordered: "ordered",
    Sources: "sources",
    Token: "first_token",
}
_FROM_START = ("sources", "first_token")  # counted from the start of an answer; the others bound steps


class Watch:
    """Watcher of jobs that measures and logs each one; see `rag.jobs.Jobs`."""

    def __init__(self, metrics: Metrics):
        self._metrics = metrics

    def __call__(self, key: str, work: Work[E]) -> Work[E]:
        """Return `work` with its measurement, which starts now."""
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
            laps = {until: run.laps[until] for until in _FROM_START if until in run.laps}
            self._metrics.turn(run.outcome, {**laps, "end": took}, steps(run.laps))
        else:
            self._metrics.job(run.kind, run.outcome, waited=run.begun - run.asked, took=took)


def steps(laps: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of each step of an answer that took place.

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
    """Measurement of one job, in seconds; `asked` and `begun` by the monotonic clock."""

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
        """Begin; an answer without a Done or Failed event was stopped."""
        kind = kind_of(key)
        return cls(kind, asked, at_end="stopped" if kind == ANSWERS else "complete")

    def take(self, event: object) -> None:
        """Note the time of an event and the chunks it counts."""
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
        """Return the seconds since the job began."""
        return time.monotonic() - self.begun

    def rounded(self, took: float) -> dict[str, float]:
        """Return the laps as log fields."""
        laps = {**self.laps, "end": took}
        return {f"seconds_to_{name}": round(seconds, 3) for name, seconds in laps.items()}
