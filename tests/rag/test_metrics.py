"""What is counted of jobs, through the jobs themselves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.conversation import Failed
from rag.errors import Cancelled, EmbeddingError
from rag.ingest.leased import IngestProgress
from rag.jobs import Cancel, Jobs
from rag.metrics import Metrics, Watch
from rag.models.embeddings import SharedEmbedders
from rag.retrieval.rerank.registry import Reordered, Reranking
from tests.rag.word_vectors import WordVectors


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


def test_the_steps_of_an_answer_are_counted_with_a_reranker_and_without(metrics: Metrics):
    understood, found = Condensed("What is it?"), Sources(())
    run(metrics, "answer:1", understood, Reranking(8), Reordered(""), found, Token("It"))
    run(metrics, "answer:2", understood, found)
    run(metrics, "answer:3", Token("Hello."))
    told = text(metrics)
    for step, count in {"understand": 2, "search": 2, "rerank": 1, "write": 1}.items():
        assert f'footnote_step_seconds_count{{step="{step}"}} {count}.0' in told


def test_embeddings_are_counted_by_what_is_embedded(metrics: Metrics):
    opened = SharedEmbedders(metrics.embedding, open_model=lambda spec, **_: WordVectors(spec))
    model = opened("words", cache=Path("/nowhere"))
    model.embed_query("which crane?")
    model.embed_documents(["a", "b"])
    told = text(metrics)
    for what in ("question", "passages"):
        assert f'footnote_embedding_seconds_count{{of="{what}"}} 1.0' in told


def test_an_ingest_is_counted_by_step_with_the_chunks_embedded_in_it(metrics: Metrics):
    run(metrics, "read:22c1", IngestProgress("words", 40, 40))
    steps = [IngestProgress("meaning", done, 40) for done in (16, 24, 40)]  # sixteen were there before
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
