"""Counts and times of a server, in Prometheus's own form. No label holds an owner, an id or a name."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from rag.models.embeddings import Role

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)  # from a search to a long document
BRIEF = (0.002, 0.005, 0.01, 0.025, *SECONDS)  # from a question's vector on
FORM = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What one server counts. Its registry is its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._turns = Counter("footnote_turns", "Answers, by how they ended", ["outcome"], registry=registry)
        self._turn_seconds = Histogram(
            "footnote_turn_seconds",
            "Seconds from an answer's begin to its passages, its first word and its end",
            ["until"],
            buckets=SECONDS,
            registry=registry,
        )
        self._step_seconds = Histogram(
            "footnote_step_seconds",
            "Seconds that the steps of an answer took before its first word",
            ["step"],
            buckets=BRIEF,
            registry=registry,
        )
        self._embedding_seconds = Histogram(
            "footnote_embedding_seconds",
            "Seconds that the vector of a question took, or those of a batch of passages",
            ["of"],
            buckets=BRIEF,
            registry=registry,
        )
        self._jobs = Counter(
            "footnote_jobs", "Other work, by how it ended", ["kind", "outcome"], registry=registry
        )
        self._job_seconds = Histogram(
            "footnote_job_seconds", "Seconds it took", ["kind"], buckets=SECONDS, registry=registry
        )
        self._waited = Histogram(
            "footnote_job_wait_seconds",
            "Seconds it waited for its turn",
            ["kind"],
            buckets=SECONDS,
            registry=registry,
        )
        self._embedded = Counter("footnote_chunks_embedded", "Passages made into vectors", registry=registry)
        self._errors = Counter("footnote_errors", "Errors that were logged", ["error"], registry=registry)
        self._queue = Gauge("footnote_queue", "Work at hand", ["kind", "state"], registry=registry)
        self._documents = Gauge("footnote_documents", "Documents, by state", ["state"], registry=registry)
        self._free = Gauge("footnote_disk_free_bytes", "Free where the data is", registry=registry)

    def turn(self, outcome: str, laps: Mapping[str, float], steps: Mapping[str, float]) -> None:
        """Count an answer; `laps` are seconds since its begin, by what had come, `steps` each one's."""
        self._turns.labels(outcome).inc()
        for until, seconds in laps.items():
            self._turn_seconds.labels(until).observe(seconds)
        for step, seconds in steps.items():
            self._step_seconds.labels(step).observe(seconds)

    def embedding(self, role: Role, seconds: float) -> None:
        """Count the embedding of a question, or of a batch of passages."""
        self._embedding_seconds.labels("question" if role == "query" else "passages").observe(seconds)

    def job(self, kind: str, outcome: str, *, waited: float, took: float) -> None:
        """Count other work, with the seconds it waited and took."""
        self._jobs.labels(kind, outcome).inc()
        self._waited.labels(kind).observe(waited)
        self._job_seconds.labels(kind).observe(took)

    def embedded(self, chunks: int) -> None:
        """Count chunks that got their vectors."""
        self._embedded.inc(chunks)

    def error(self, name: str) -> None:
        """Count an error by its class."""
        self._errors.labels(name).inc()

    def text(
        self, *, queue: Iterable[tuple[str, str]], documents: Mapping[str, int], free: int | None
    ) -> bytes:
        """Return all of it as Prometheus reads it, with how things stand now.

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
