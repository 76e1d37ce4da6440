"""What is counted of jobs, through the jobs themselves."""

from collections.abc import Iterator
from typing import Any

import pytest

from rag.answer import Done, Sources, Token
from rag.conversation import Failed
from rag.errors import Cancelled, EmbeddingError
from rag.jobs import Cancel, Jobs
from rag.library import Progress
from rag.observing.metrics import Metrics
from rag.observing.watch import Watch


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def text(metrics: Metrics, jobs: Jobs | None = None) -> str:
    return metrics.text(queue=jobs.standing() if jobs else [], documents={"ready": 3}, free=5).decode()


def run(metrics: Metrics, key: str, *events: Any, end: Exception | None = None) -> None:
    def work(cancelled: Cancel) -> Iterator[Any]:
        yield from events
        if end is not None:
            raise end

    Jobs(watch=Watch(metrics)).start("ann", key, work).wait(5)


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (Done("It is so [1].", (), None), "complete"),
        (Failed("The model is away."), "failed"),
        (Token("It"), "stopped"),
    ],
    ids=["complete", "failed", "stopped"],
)
def test_an_answer_is_counted_by_its_end_with_its_times(metrics: Metrics, last: object, outcome: str):
    run(metrics, "answer:7f3a", Sources(()), Token("It"), Token(" is"), last)
    told = text(metrics)
    assert f'footnote_turns_total{{outcome="{outcome}"}} 1.0' in told
    for until in ("sources", "first_token", "end"):
        assert f'footnote_turn_seconds_count{{until="{until}"}} 1.0' in told
    assert "7f3a" not in told and "ann" not in told


def test_an_ingest_is_counted_by_step_with_the_chunks_embedded_in_it(metrics: Metrics):
    run(metrics, "read:22c1", Progress("words", 40, 40))
    steps = [Progress("meaning", done, 40) for done in (16, 24, 40)]  # sixteen were there before
    run(metrics, "embed:22c1", *steps)
    run(metrics, "embed:22c1", steps[0], end=EmbeddingError("It is away."))
    run(metrics, "embed:22c1", end=Cancelled("Stopped."))
    told = text(metrics)
    assert 'footnote_jobs_total{kind="read",outcome="complete"} 1.0' in told
    for outcome in ("complete", "failed", "stopped"):
        assert f'footnote_jobs_total{{kind="embed",outcome="{outcome}"}} 1.0' in told
    assert "footnote_chunks_embedded_total 24.0" in told
    assert 'footnote_job_wait_seconds_count{kind="embed"} 3.0' in told


def test_what_is_at_hand_is_told_as_it_stands(metrics: Metrics):
    jobs = Jobs({"embed": 1}, Watch(metrics))

    def work(cancelled: Cancel) -> Iterator[int]:
        while not cancelled():
            yield 1

    started = [jobs.start("ann", f"embed:{number}", work, lane="embed") for number in range(3)]
    while not started[0].started:
        started[0].since(0, 0.05)
    told = text(metrics, jobs)
    assert 'footnote_queue{kind="embed",state="running"} 1.0' in told
    assert 'footnote_queue{kind="embed",state="waiting"} 2.0' in told
    assert 'footnote_documents{state="ready"} 3.0' in told and "footnote_disk_free_bytes 5.0" in told
    jobs.close()


def test_two_servers_in_one_process_count_apart(metrics: Metrics):
    run(metrics, "read:1")
    metrics.error("DiskFull")
    assert 'footnote_errors_total{error="DiskFull"} 1.0' in text(metrics)
    assert "footnote_errors_total{" not in text(Metrics())
