"""Work that one process does at a time, on PostgreSQL: waited for, left, taken over, or stopped."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from rag.ingest.leased import JobName, exclusive, is_done_elsewhere, stop_elsewhere
from rag.jobs import Cancel, Jobs, never
from storage.conversations import Conversations
from storage.database import Database
from storage.lock import Sharing
from storage.tables import JobRow
from tests.storage.conftest import server, started_server  # noqa: F401 - fixtures
from tests.storage.postgres import Postgres

NAME = JobName("ann", "trees", "")
Open = Callable[[str], Database]


@pytest.fixture
def open_ledger(server: Postgres, tmp_path: Path) -> Iterator[Open]:  # noqa: F811
    """Open the ledger as one process more."""
    opened = []

    def open_one(name: str) -> Database:
        opened.append(Database.open(tmp_path / name, url=server.url, sharing=Sharing()))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def titles(database: Database) -> list[str]:
    return sorted(chat.title for chat in Conversations(database, "ann").list())


def kill(database: Database) -> None:
    """End all leases, as if their workers had been killed some time ago."""
    with database.sharing() as session:
        session.execute(update(JobRow).values(leased_until=JobRow.run_at))


def test_work_that_another_process_does_is_left_or_waited_for(open_ledger: Open):
    one, two = open_ledger("one"), open_ledger("two")
    done: list[str] = []

    def work(name: str) -> Callable[[Cancel], Iterator[str]]:
        def run(_: Cancel) -> Iterator[str]:
            done.append(name)
            yield name

        return run

    first = exclusive(one.queue, NAME, work("one"), never)
    assert next(first) == "one"
    assert is_done_elsewhere(two.queue, NAME) and not is_done_elsewhere(one.queue, NAME)
    assert list(exclusive(two.queue, NAME, work("two"), never, waits=False)) == []
    jobs = Jobs()
    waiting = jobs.start(
        "ann", "trees", lambda cancelled: exclusive(two.queue, NAME, work("three"), cancelled)
    )
    assert not waiting.wait(0.2) and done == ["one"]
    assert list(first) == []
    assert waiting.wait(60) and done == ["one", "three"]
    assert two.queue.of("ann", ["trees"]) == []


def test_work_that_was_taken_over_writes_nothing_more(open_ledger: Open):
    one, two = open_ledger("one"), open_ledger("two")

    def work(database: Database, name: str) -> Callable[[Cancel], Iterator[str]]:
        def run(_: Cancel) -> Iterator[str]:
            yield "begun"
            Conversations(database, "ann").create(name)
            yield "written"

        return run

    frozen = exclusive(one.queue, NAME, work(one, "frozen"), never)
    assert next(frozen) == "begun"
    one.queue.close()  # renews nothing, as a process that is stopped
    kill(two)
    jobs = Jobs()
    job = jobs.start(
        "ann", "trees", lambda cancelled: exclusive(two.queue, NAME, work(two, "other"), cancelled)
    )
    assert job.wait(60)
    assert list(frozen) == [] and titles(two) == ["other"]


def test_work_is_stopped_by_another_process(open_ledger: Open):
    one, two = open_ledger("one"), open_ledger("two")

    def work(cancelled: Cancel) -> Iterator[str]:
        while not cancelled():
            yield "on"

    job = Jobs().start("ann", "trees", lambda cancelled: exclusive(one.queue, NAME, work, cancelled))
    while not is_done_elsewhere(two.queue, NAME):
        pass
    stop_elsewhere(two.queue, NAME, seconds=60)
    assert not is_done_elsewhere(two.queue, NAME) and job.wait(60)


def test_one_process_a_time_has_the_turn(open_ledger: Open):
    one, two = open_ledger("one"), open_ledger("two")
    assert [each.queue.turn("ann", "upkeep", 3600) for each in (one, two, one)] == [True, False, False]
    assert two.queue.turn("bob", "upkeep", 0) and one.queue.turn("bob", "upkeep", 0)
