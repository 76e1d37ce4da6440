"""Jobs in the ledger: taken by one worker at a time, their effect exactly once, on both databases."""

import itertools
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from threading import Event

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import event, select, update

from storage.accounts import Account
from storage.database import Database
from storage.errors import LeaseLost
from storage.jobs import JobQueue, Lease, end_all
from storage.tables import JobRow, Usage, ensure_user

OVER = datetime(2020, 1, 1)


@pytest.fixture
def queue(database: Database) -> JobQueue:
    return database.queue


def run_out(database: Database, lease: Lease) -> None:
    """Have a lease end, as if its worker had been frozen."""
    with database.sharing() as session:
        session.execute(update(JobRow).where(JobRow.id == lease.id).values(leased_until=OVER))


def count(session, owner: str, key: str) -> None:
    """Count an effect, in the usage of a day that is named like the job."""
    row = session.get(Usage, (owner, key)) or Usage(owner=owner, day=key, answers=0, tokens=0)
    row.answers += 1
    session.add(row)


def effects(database: Database, owner: str) -> dict[str, int]:
    with database.reading() as session:
        return dict(session.execute(select(Usage.day, Usage.answers).where(Usage.owner == owner)).all())


def test_a_job_is_taken_once_and_ends_with_its_effect(database, queue):
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    assert lease is not None and (lease.owner, lease.key, lease.attempt) == ("ann", "a", 1)
    assert queue.take(["read"]) is None and queue.take_this("ann", "read", "a") is None
    with queue.done(lease) as session:
        count(session, "ann", "a")
    assert effects(database, "ann") == {"a": 1} and queue.of("ann", ["read"]) == []


def test_an_effect_that_fails_leaves_the_job(database, queue):
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    with pytest.raises(ZeroDivisionError), queue.done(lease) as session:
        count(session, "ann", "a")
        raise ZeroDivisionError
    assert effects(database, "ann") == {}
    assert [job.state for job in queue.of("ann", ["read"])] == ["running"]


def test_a_job_of_another_kind_is_not_taken(queue):
    queue.put("ann", "embed", "a")
    assert queue.take(["read"]) is None
    assert queue.take(["read", "embed"]).kind == "embed"


def test_a_job_that_is_put_again_stays_one_and_keeps_its_worker(queue):
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    queue.put("ann", "read", "a")
    assert queue.take(["read"]) is None
    assert queue.renew([lease]) == set()


def test_a_lease_that_was_not_renewed_is_taken_over_and_its_worker_writes_nothing(database, queue):
    queue.put("ann", "read", "a")
    frozen = queue.take(["read"])
    run_out(database, frozen)
    other = JobQueue(database)
    taken = other.take(["read"])
    assert taken.attempt == 2
    with pytest.raises(LeaseLost), queue.done(frozen) as session:
        count(session, "ann", "a")
    with queue.holding(frozen), pytest.raises(LeaseLost), database.writing("ann") as session:
        count(session, "ann", "a")
    queue.fail(frozen, 0)
    assert queue.renew([frozen]) == {frozen}
    with other.done(taken) as session:
        count(session, "ann", "a")
    assert effects(database, "ann") == {"a": 1}


def test_a_lease_that_is_over_goes_on_where_nobody_took_it(database, queue):
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    run_out(database, lease)
    assert queue.renew([lease]) == set()
    assert JobQueue(database).take(["read"]) is None


def test_a_process_does_not_take_over_what_it_still_does_itself(database, queue):
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    with queue.holding(lease):
        run_out(database, lease)
        assert queue.take(["read"]) is None and queue.take_this("ann", "read", "a") is None


def test_what_is_held_is_renewed_until_it_is_let_go(database):
    queue = JobQueue(database, lease=30.0, renewal=0.01)
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    other = JobQueue(database)
    with queue.holding(lease) as held:
        held.progress = {"done": 3, "total": 8}
        run_out(database, lease)
        while not other.of("ann", ["read"])[0].alive:
            time.sleep(0.01)
        assert other.take(["read"]) is None
        while other.of("ann", ["read"])[0].progress != {"done": 3, "total": 8}:
            time.sleep(0.01)
    queue.close()


def test_work_that_was_taken_over_is_told_so(database):
    queue = JobQueue(database, lease=30.0, renewal=0.01)
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    with database.sharing() as session:
        session.execute(update(JobRow).values(worker="another", attempt=JobRow.attempt + 1))
    with queue.holding(lease) as held:
        assert held.lost.wait(30)
    queue.close()


@pytest.mark.parametrize("first", ["a", "b"])
def test_leases_are_renewed_beside_one_who_ends_several_of_the_jobs(database, queue, ledger, first):
    """Neither waits for a row of the other while it holds one that the other waits for."""
    for key in ("a", "b"):
        queue.put("ann", "read", key)
    leases = [queue.take_this("ann", "read", key) for key in ("a", "b")]
    with ThreadPoolExecutor(1) as another:
        with database.sharing() as session:
            end_all(session, "ann", [first])
            renewing = another.submit(queue.renew, leases) if ledger else None
            given_up = renewing.result(30) if renewing else set()
            end_all(session, "ann", ["a", "b"])
        assert given_up == set()
        assert queue.renew(leases) == set(leases)


def test_an_unexpected_error_does_not_end_the_renewal(database, monkeypatch, caplog):
    queue = JobQueue(database, lease=30.0, renewal=0.01)
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    renew, failed = queue.renew, Event()

    def fail_once(leases):
        if not failed.is_set():
            failed.set()
            raise ZeroDivisionError
        return renew(leases)

    monkeypatch.setattr(queue, "renew", fail_once)
    with queue.holding(lease):
        run_out(database, lease)
        while not JobQueue(database).of("ann", ["read"])[0].alive:
            time.sleep(0.01)
    queue.close()
    assert "Leases could not be renewed" in caplog.text and "ZeroDivisionError" in caplog.text


def test_all_leases_of_a_process_are_renewed_by_one_statement(database):
    queue = JobQueue(database, lease=0.3)
    leases = []
    for key in ("a", "b", "c"):
        queue.put("ann", "read", key)
        leases.append(queue.take_this("ann", "read", key))
    written = []

    def note(_, __, statement, *___):
        if statement.startswith("UPDATE jobs"):
            written.append(statement)

    with ExitStack() as held:
        for number, lease in enumerate(leases):
            held.enter_context(queue.holding(lease)).progress = {"done": number}
        event.listen(database._engine, "before_cursor_execute", note)
        assert queue.renew(leases) == set()
        event.remove(database._engine, "before_cursor_execute", note)
    queue.close()
    assert len(written) >= 1 and len(set(written)) == 1
    assert [job.progress for job in queue.of("ann", ["read"])] == [{"done": number} for number in range(3)]


def test_a_wish_to_stop_is_seen_long_before_the_next_renewal(database):
    queue = JobQueue(database, lease=3600.0)
    queue.put("ann", "read", "a")
    lease = queue.take(["read"])
    with queue.holding(lease) as held:
        JobQueue(database).stop("ann", "read", "a")
        assert held.lost.wait(60)
    queue.close()


def test_a_job_that_failed_waits_for_its_time_but_may_be_asked_for(database, queue):
    queue.put("ann", "read", "a")
    queue.fail(queue.take(["read"]), 3600)
    assert queue.take(["read"]) is None
    assert queue.take_this("ann", "read", "a").attempt == 2
    queue.put("ann", "embed", "later", run_at=datetime(2100, 1, 1))
    assert queue.take(["embed"]) is None


def test_a_waiting_job_that_is_stopped_is_gone_and_the_worker_of_a_running_one_is_told(database, queue):
    queue.put("ann", "read", "waiting")
    queue.stop("ann", "read", "waiting")
    assert queue.take(["read"]) is None
    queue.put("ann", "read", "running")
    lease = queue.take(["read"])
    JobQueue(database).stop("ann", "read", "running")
    assert queue.renew([lease]) == {lease}
    queue.stop("ann", "read", "unknown")


def test_owners_take_turns(queue):
    for number in range(3):
        queue.put("ann", "read", f"{number}")
    queue.put("bob", "read", "a")
    assert [queue.take(["read"]).owner for _ in range(4)] == ["ann", "bob", "ann", "ann"]


def test_a_job_is_begun_with_a_lease_in_one_commit(database, queue):
    with database.writing("ann") as session:
        ensure_user(session, "ann")
        queue.begin(session, "ann", "answer", "a")
    assert queue.take(["answer"]) is None
    assert queue.resume("ann", "answer", "a").attempt == 1


def test_what_is_worked_on_is_known_to_all(database, queue):
    with database.writing("ann") as session:
        ensure_user(session, "ann")
        queue.begin(session, "ann", "answer", "a")
    lease = queue.resume("ann", "answer", "a")

    def worked_on(seen_by: JobQueue) -> bool:
        with database.writing("ann") as session:
            return seen_by.is_worked_on(session, "ann", "answer", "a")

    other = JobQueue(database)
    assert worked_on(other) and not worked_on(queue)  # nothing in this process holds it
    assert (other.running_elsewhere("ann", "answer"), queue.running_elsewhere("ann", "answer")) == (1, 0)
    seen = [by.is_running_elsewhere("ann", "answer", "a") for by in (other, queue)]
    assert seen == [True, False]
    with pytest.raises(LeaseLost):
        other.resume("ann", "answer", "a")
    with queue.holding(lease):
        assert worked_on(queue)
    run_out(database, lease)
    assert not worked_on(other)
    assert other.resume("ann", "answer", "a").attempt == 2


def test_a_process_that_has_the_ledger_to_itself_ends_the_leases_of_a_dead_one(database, directory, ledger):
    database.queue.put("ann", "read", "a")
    database.queue.take(["read"])
    database.close()
    with_ledger = Database.open(directory, url=ledger)
    try:
        assert with_ledger.queue.take(["read"]).attempt == 2
    finally:
        with_ledger.close()


def test_jobs_of_a_removed_person_are_gone(database, queue):
    queue.put("ann", "read", "a")
    Account(database, "ann").confirm()
    with database.writing("ann") as session:
        session.connection().exec_driver_sql("DELETE FROM users WHERE id = 'ann'")
    assert queue.take(["read"]) is None


picks = st.integers(0, 9)
_OWNERS = itertools.count()


class Workers(RuleBasedStateMachine):
    """Two workers on one ledger; beside it goes a model of which lease of a job is the true one."""

    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.owner = f"invented-{next(_OWNERS)}"
        self.kind = self.owner
        self.queues = [JobQueue(self.database), JobQueue(self.database)]
        self.true: dict[str, Lease | None] = {}  # of each job that is there; None while it waits
        self.leases: list[tuple[JobQueue, Lease]] = []
        self.over: set[str] = set()
        self.effects: dict[str, int] = {}

    def picked(self, pick: int) -> tuple[JobQueue, Lease]:
        return self.leases[pick % len(self.leases)]

    @rule(key=st.sampled_from("abc"))
    def put(self, key: str) -> None:
        self.queues[0].put(self.owner, self.kind, key)
        self.true.setdefault(key, None)

    @rule(worker=st.integers(0, 1))
    def take(self, worker: int) -> None:
        lease = self.queues[worker].take([self.kind])
        free = {key for key, true in self.true.items() if true is None or key in self.over}
        assert (lease is not None) == bool(free)
        if lease is not None:
            assert lease.key in free
            self.true[lease.key] = lease
            self.over.discard(lease.key)
            self.leases.append((self.queues[worker], lease))

    @rule(pick=picks)
    def run_out(self, pick: int) -> None:
        if self.leases and self.holds(lease := self.picked(pick)[1]):
            run_out(self.database, lease)
            self.over.add(lease.key)

    @rule(pick=picks)
    def renew(self, pick: int) -> None:
        if self.leases:
            queue, lease = self.picked(pick)
            assert queue.renew([lease]) == (set() if self.holds(lease) else {lease})
            if self.holds(lease):
                self.over.discard(lease.key)

    @rule(pick=picks)
    def done(self, pick: int) -> None:
        if not self.leases:
            return
        queue, lease = self.picked(pick)
        try:
            with queue.done(lease) as session:
                count(session, self.owner, lease.key)
        except LeaseLost:
            assert not self.holds(lease)
        else:
            assert self.holds(lease)
            self.effects[lease.key] = self.effects.get(lease.key, 0) + 1
            del self.true[lease.key]
            self.over.discard(lease.key)

    @rule(pick=picks)
    def fail(self, pick: int) -> None:
        if self.leases:
            queue, lease = self.picked(pick)
            queue.fail(lease, 0)
            if self.holds(lease):
                self.true[lease.key] = None
                self.over.discard(lease.key)

    def holds(self, lease: Lease) -> bool:
        return self.true.get(lease.key) == lease

    @invariant()
    def agrees(self) -> None:
        assert effects(self.database, self.owner) == self.effects
        jobs = {job.key: job for job in self.database.queue.of(self.owner, [self.kind])}
        assert set(jobs) == set(self.true)
        alive = {key for key, lease in self.true.items() if lease is not None and key not in self.over}
        assert {key for key, job in jobs.items() if job.alive} == alive


def test_whatever_two_workers_do_each_job_has_its_effect_by_the_lease_that_is_true(database):
    run_state_machine_as_test(
        type("OnThisLedger", (Workers,), {"database": database}),
        settings=settings(
            max_examples=settings().max_examples // 3,
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
            deadline=None,
        ),
    )


WORKER = """
import random, sys, time
from pathlib import Path
from storage import postgres
from storage.database import Database
from storage.jobs import JobQueue
from storage.lock import DataDirectoryLock
from tests.storage.test_jobs import count

directory, url = Path(sys.argv[1]), sys.argv[2]
if url == "-":
    database = Database.open(directory)
else:
    lock = DataDirectoryLock(directory)
    lock.acquire()
    database = Database(directory, postgres.engine(url), lock)
queue = JobQueue(database, lease=0.5, renewal=0.1)
print("ready", flush=True)
while True:
    lease = queue.take(["work"])
    if lease is None:
        time.sleep(0.05)
        continue
    with queue.holding(lease):
        time.sleep(random.random() / 40)
        with queue.done(lease) as session:
            count(session, lease.owner, lease.key)
"""
JOBS = 24  # for each kill, so that there are some left at the last


@pytest.mark.parametrize("kills", [2, pytest.param(16, marks=pytest.mark.slow(reason="starts 20 processes"))])
def test_killed_workers_leave_each_effect_exactly_once(database, directory, ledger, start: Callable, kills):
    """On PostgreSQL four workers at once; on SQLite one after the other, since one has the directory."""
    jobs = JOBS * kills
    for number in range(jobs):
        database.queue.put(f"owner{number % 7}", "work", f"{number}")
    workers = 4
    if ledger is None:
        database.close()
        workers = 1
    rolls = random.Random(5)
    places = [directory if ledger is None else directory / f"{place}" for place in range(workers)]
    running = {place: start(WORKER, place, ledger or "-") for place in places}
    for _ in range(kills):
        time.sleep(rolls.random() / 5)
        place = rolls.choice(places)
        running[place].kill()
        running[place] = start(WORKER, place, ledger or "-")
        assert running[place].ready == "ready"
    if ledger is None:
        running[directory].kill()
        database = Database.open(directory)
        rest = JobQueue(database)
        while (lease := rest.take(["work"])) is not None:
            with rest.done(lease) as session:
                count(session, lease.owner, lease.key)
    limit = time.monotonic() + 60
    while time.monotonic() < limit and any(database.queue.of(f"owner{n}", ["work"]) for n in range(7)):
        time.sleep(0.1)
    done = {key: many for n in range(7) for key, many in effects(database, f"owner{n}").items()}
    assert done == {f"{number}": 1 for number in range(jobs)}
    if ledger is None:
        database.close()


def test_what_others_do_is_listed_and_what_is_due_only_where_nobody_here_does_it(database):
    ours, other = JobQueue(database), JobQueue(database, lease=60.0)
    for key in ("theirs", "mine", "due"):
        ours.put("ann", "read", key)
    assert other.take_this("ann", "read", "theirs") and ours.take_this("ann", "read", "mine")
    assert [job.key for job in ours.elsewhere("ann", ["read"], here=["read"])] == ["theirs"]
    assert [job.key for job in ours.elsewhere("ann", ["read"], here=[])] == ["theirs", "due"]
    assert ours.elsewhere("bob", ["read"], here=[]) == []


def test_a_job_that_is_put_off_is_taken_by_its_name_alone(database):
    queue = JobQueue(database)
    queue.put("ann", "embed", "a")
    queue.put("bob", "embed", "b")
    queue.postpone("ann", ["embed"], 60.0)
    taken = queue.take(["embed"])
    assert taken and taken.owner == "bob" and queue.take(["embed"]) is None
    assert queue.take_this("ann", "embed", "a")


def test_what_waits_of_an_owner_ends_and_what_runs_and_what_others_have_stays(queue):
    for owner, key in (("ann", "a"), ("ann", "b"), ("bob", "c")):
        queue.put(owner, "read", key)
    running = queue.take_this("ann", "read", "a")
    queue.end_waiting("ann")
    assert [job.key for job in queue.of("ann", ["read"])] == ["a"] == [running.key]
    assert [job.key for job in queue.of("bob", ["read"])] == ["c"]
