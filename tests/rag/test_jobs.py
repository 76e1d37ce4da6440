import threading
import time
from collections.abc import Iterator

import pytest

from rag.errors import Cancelled
from rag.jobs import Cancel, Job, Jobs


def counting(cancelled: Cancel) -> Iterator[int]:
    yield from range(5)


def endless(started: threading.Event, closed: threading.Event):
    def work(cancelled: Cancel) -> Iterator[int]:
        try:
            while True:
                started.set()
                yield 1
        finally:
            closed.set()

    return work


def test_every_reader_sees_all_events_from_the_start():
    job = Jobs().start("ann", "a", counting)
    assert job.wait(10)
    assert job.since(0) == [0, 1, 2, 3, 4]
    assert job.since(0) == [0, 1, 2, 3, 4]
    assert job.since(3) == [3, 4]
    assert job.latest == 4


def test_readers_in_other_threads_see_the_same_order():
    gate = threading.Event()

    def gated(cancelled: Cancel) -> Iterator[int]:
        gate.wait(5)
        yield from range(100)

    job = Jobs().start("ann", "a", gated)
    seen: list[list[int]] = [[], []]
    readers = [threading.Thread(target=lambda s=s: job.wait(10) and s.extend(job.since(0))) for s in seen]
    for reader in readers:
        reader.start()
    gate.set()
    for reader in readers:
        reader.join(5)
    assert seen == [list(range(100))] * 2


def test_cancel_closes_the_generator():
    started, closed = threading.Event(), threading.Event()
    job = Jobs().start("ann", "a", endless(started, closed))
    assert started.wait(5)
    job.cancel()
    assert closed.wait(5) and job.wait(5)
    assert job.error is None


def test_work_may_notice_the_cancel_itself():
    waiting = threading.Event()

    def work(cancelled: Cancel) -> Iterator[int]:
        waiting.set()
        while not cancelled():
            pass
        raise Cancelled("Stopped.")
        yield 1

    job = Jobs().start("ann", "a", work)
    assert waiting.wait(5)
    job.cancel()
    assert job.wait(5)
    assert isinstance(job.error, Cancelled)


def test_an_error_ends_the_job_and_is_kept(caplog):
    def work(cancelled: Cancel) -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    job: Job[int] = Jobs().start("ann", "a", work)
    assert job.wait(10)
    assert job.since(0) == [1]
    assert isinstance(job.error, ValueError)
    assert "A job failed" in caplog.text


def test_a_running_key_is_joined_not_started_twice():
    started, closed = threading.Event(), threading.Event()
    jobs = Jobs()
    first = jobs.start("ann", "a", endless(started, closed))
    assert jobs.start("ann", "a", counting) is first
    assert jobs.get("ann", "a") is first
    first.cancel()
    assert first.wait(5)


def test_another_owner_does_not_see_the_job():
    started, closed = threading.Event(), threading.Event()
    jobs = Jobs()
    job = jobs.start("ann", "a", endless(started, closed))
    assert jobs.get("bob", "a") is None
    job.cancel()
    assert job.wait(5)


def test_a_lane_runs_its_jobs_in_order_one_at_a_time():
    jobs = Jobs({"embed": 1})
    order: list[str] = []

    def named(name: str):
        def work(cancelled: Cancel) -> Iterator[str]:
            order.append(f"{name} in")
            yield name
            order.append(f"{name} out")

        return work

    started = [jobs.start("ann", name, named(name), lane="embed") for name in "abc"]
    assert all(job.wait(5) for job in started)
    assert order == ["a in", "a out", "b in", "b out", "c in", "c out"]


def test_close_stops_what_runs_and_refuses_what_is_new():
    started, closed = threading.Event(), threading.Event()
    jobs = Jobs({"embed": 1})
    jobs.start("ann", "a", endless(started, closed))
    assert started.wait(5)
    jobs.close()
    assert closed.is_set()
    with pytest.raises(Cancelled):
        jobs.start("ann", "b", counting)


def test_close_does_not_wait_for_what_never_began():
    started, closed = threading.Event(), threading.Event()
    jobs = Jobs({"embed": 1})
    jobs.start("ann", "a", endless(started, closed), lane="embed")
    for number in range(20):
        jobs.start("ann", str(number), counting, lane="embed")
    assert started.wait(5)
    before = time.monotonic()
    jobs.close(timeout=20)
    assert time.monotonic() - before < 20


def test_a_job_that_was_cancelled_before_its_turn_is_not_begun():
    begun = threading.Event()
    gate = threading.Event()
    jobs = Jobs({"embed": 1})

    def waiting(cancelled: Cancel) -> Iterator[int]:
        gate.wait(5)
        yield 1

    def noted(cancelled: Cancel) -> Iterator[int]:
        begun.set()
        yield 1

    jobs.start("ann", "a", waiting, lane="embed")
    job = jobs.start("ann", "b", noted, lane="embed")
    job.cancel()
    gate.set()
    assert job.wait(5)
    assert not begun.is_set()


def test_once_a_job_has_ended_its_key_is_free():
    jobs = Jobs()
    for _ in range(50):
        job = jobs.start("ann", "a", counting)
        assert job.wait(5)
        assert jobs.get("ann", "a") is None


def test_owners_take_turns_in_a_lane():
    order, gate = list[str](), threading.Event()
    jobs = Jobs({"read": 1})

    def noting(name: str):
        def work(cancelled: Cancel) -> Iterator[str]:
            gate.wait(10)
            order.append(name)
            yield name

        return work

    for number in range(500):
        jobs.start("ann", f"read:{number}", noting(f"ann {number}"), lane="read")
    last = [jobs.start("bob", f"read:{number}", noting(f"bob {number}"), lane="read") for number in range(2)]
    cancelled = jobs.start("cho", "read:0", noting("cho"), lane="read")
    cancelled.cancel()
    gate.set()
    assert all(job.wait(10) for job in last)
    assert order[0] == "ann 0" and order.index("bob 0") <= 2 and order.index("bob 1") <= 4
    jobs.close()
    assert "cho" not in order
