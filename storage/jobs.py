"""Job queue in the ledger: work that any process may take, under a lease that it renews while it works.

A lease that was not renewed may be taken by another worker. Each taking raises the job's `attempt`, and what
its worker writes is checked by that number in the same transaction: a worker whose job was taken from it
writes nothing more. A lease that is over but was not taken goes on with its next renewal.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from sqlalchemy import (
    JSON,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from storage.errors import LeaseLost, StorageError
from storage.i18n import N_
from storage.tables import JobRow, UserRow, ensure_user, new_id, now, storable, table_of, to_record

LEASE_SECONDS = 6.0  # after which a job that was not renewed may be taken by another worker
RENEWALS = 3  # of a lease while it lasts, so that two may fail
STOP_SECONDS = 0.25  # between two looks whether someone asked to stop
LOST = N_("This work was taken over by another process, which goes on with it.")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lease:
    """Right to work on a job, in its `attempt`."""

    id: str
    owner: str
    kind: str
    key: str
    attempt: int


@dataclass(frozen=True)
class JobRecord:
    """A job as others see it: `alive` while a worker renews its lease, `due` where anyone may take it."""

    owner: str
    kind: str
    key: str
    state: Literal["waiting", "running"]
    attempt: int
    progress: Mapping[str, Any] | None
    stop: bool
    run_at: datetime
    worker: str | None
    alive: bool
    due: bool


@dataclass(eq=False)
class Held:
    """Lease that this process renews; `lost` once it was taken or ended, or someone asked to stop."""

    lease: Lease
    queue: JobQueue
    progress: Mapping[str, Any] | None = None
    ended: bool = False
    lost: threading.Event = field(default_factory=threading.Event)


class Transactions(Protocol):
    """Transactions of a ledger: see `Database`."""

    def reading(self) -> AbstractContextManager[Session]:
        """Open a read transaction."""

    def writing(self, owner: str | None = None) -> AbstractContextManager[Session]:
        """Open a write transaction for the rows of an owner."""

    def sharing(self) -> AbstractContextManager[Session]:
        """Open a write transaction that locks no owner."""


_CURRENT: ContextVar[Held | None] = ContextVar("held", default=None)  # of the work that this thread does


_JOBS = table_of(JobRow)
_THIS = (
    _JOBS.c.owner == bindparam("owner"),
    _JOBS.c.kind == bindparam("kind"),
    _JOBS.c.key == bindparam("key"),
)
# These run for each answer, or for each commit under a lease: without objects they take a third of the time.
_BEGIN, _END = insert(_JOBS), delete(_JOBS).where(*_THIS)
_LEASE = select(*(_JOBS.c[field.name] for field in fields(Lease)), _JOBS.c.worker).where(*_THIS)
_TRUE = select(_JOBS.c.attempt, _JOBS.c.worker).where(_JOBS.c.id == bindparam("id"))
_TRUE = _TRUE.with_for_update(read=True, key_share=True)
_ELSEWHERE = select(func.count()).where(
    _JOBS.c.owner == bindparam("owner"),
    _JOBS.c.kind == bindparam("kind"),
    _JOBS.c.state == "running",
    _JOBS.c.worker != bindparam("worker"),
    _JOBS.c.leased_until >= bindparam("at"),
)


def clock(session: Session) -> datetime:
    """Return the time by which leases end: that of the database server, where there is one."""
    if session.get_bind().dialect.name == "sqlite":
        return now()
    at: datetime = session.scalars(select(func.clock_timestamp(type_=JobRow.run_at.type))).one()
    return at


# Within a transaction of the job's owner


def put(session: Session, owner: str, kind: str, key: str, *, run_at: datetime | None = None) -> JobRow:
    """Put a job of an owner with a row, to be taken from `run_at`, or at once.

    One that is there keeps its attempts and its worker.
    """
    row, at = session.scalar(_named(owner, kind, key)), run_at or clock(session)
    if row is None:
        row = JobRow(id=new_id(), owner=owner, kind=kind, key=key, state="waiting", attempt=0)
        row.worker = row.leased_until = row.progress = None
        session.add(row)
    row.stop = False
    if row.state == "waiting":
        row.run_at = at
    session.flush()
    return row


def end(session: Session, owner: str, kind: str, key: str) -> None:
    """End a job, in the transaction of its effect; one that does not exist is no error.

    The thread that works on it may still write.
    """
    session.connection().execute(_END, {"owner": owner, "kind": kind, "key": key})
    held = _CURRENT.get()
    if held is not None and (held.lease.owner, held.lease.kind, held.lease.key) == (owner, kind, key):
        held.ended = True


def end_all(session: Session, owner: str, keys: Collection[str]) -> None:
    """End all jobs on what is deleted; their workers write nothing more."""
    for key in keys:
        session.execute(
            delete(JobRow)
            .where(JobRow.owner == owner, JobRow.key == key)
            .execution_options(synchronize_session=False)
        )


def left(session: Session, kind: str) -> list[tuple[str, str]]:
    """List owner and key of the jobs of a kind whose leases are over."""
    over = JobRow.kind == kind, JobRow.state == "running", JobRow.leased_until < clock(session)
    return [(owner, key) for owner, key in session.execute(select(JobRow.owner, JobRow.key).where(*over))]


def ask_to_stop(session: Session, owner: str, kind: str, key: str) -> None:
    """Ask the worker of a job to stop, which it learns when it renews its lease."""
    asking = update(JobRow).where(*_is(owner, kind, key)).values(stop=True)
    session.execute(asking.execution_options(synchronize_session=False))


class JobQueue:
    """Jobs of all owners, as one process takes them; thread-safe.

    Leases last `lease` seconds and are renewed every `renewal` seconds, by default a third of that, in one
    statement for all. Whether someone asked to stop is read more often.
    """

    def __init__(
        self,
        database: Transactions,
        *,
        lease: float = LEASE_SECONDS,
        renewal: float | None = None,
        alone: bool = False,
    ) -> None:
        self.worker = f"{socket.gethostname()[:30]} {os.getpid()} {secrets.token_hex(4)}"
        self.alone = alone
        """True where no other process takes from this ledger."""
        self._database = database
        self._lease = timedelta(seconds=lease)
        self._renewal = lease / RENEWALS if renewal is None else renewal
        self._held: dict[str, Held] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._renewing: threading.Thread | None = None

    def put(self, owner: str, kind: str, key: str, *, run_at: datetime | None = None) -> None:
        """Put a job in a commit of its own; see `put`."""
        with self._database.writing(owner) as session:
            ensure_user(session, owner)
            put(session, owner, kind, key, run_at=run_at)

    def put_off(self, owner: str, kind: str, wait: timedelta) -> None:
        """Put a job, or put off one that waits, for so long from now by the ledger's clock."""
        with self._database.writing(owner) as session:
            ensure_user(session, owner)
            put(session, owner, kind, "", run_at=clock(session) + wait)

    def take(self, kinds: Collection[str], *, due_for: float = 0.0) -> Lease | None:
        """Take a job that is due, for so many seconds, or whose lease is over; None where there is none.

        Owners take turns: first comes the one with the fewest jobs running, then the job that waited longest.
        """
        since = timedelta(seconds=due_for)
        with self._database.reading() as session:
            if session.scalar(self._due(kinds, clock(session), since).limit(1)) is None:
                return None
        with self._database.sharing() as session:
            busy = select(JobRow.owner, func.count().label("running"))
            busy = busy.where(JobRow.state == "running", JobRow.kind.in_(kinds)).group_by(JobRow.owner)
            count = busy.subquery()
            at = clock(session)
            turn = self._due(kinds, at, since).outerjoin(count, count.c.owner == JobRow.owner)
            turn = turn.order_by(func.coalesce(count.c.running, 0), JobRow.run_at, JobRow.id).limit(1)
            return self._taken(session.scalar(turn.with_for_update(skip_locked=True, of=JobRow)), at)

    def take_this(self, owner: str, kind: str, key: str) -> Lease | None:
        """Take one job, also before its time; None where it has ended or a worker has it."""
        with self._database.sharing() as session:
            at = clock(session)
            free = _named(owner, kind, key).where(or_(JobRow.state == "waiting", self._over(at)))
            return self._taken(session.scalar(free.with_for_update(skip_locked=True)), at)

    def claim(self, owner: str, kind: str, key: str) -> Lease | None:
        """Take a job, put where there is none; None where another worker has it."""
        if any(job.alive for job in self.of(owner, [kind], key)):
            return None
        with self._database.writing(owner) as session:
            if session.get(UserRow, storable(owner)) is None:
                ensure_user(session, owner)
            at, row = clock(session), session.scalar(_named(owner, kind, key).with_for_update())
            row = row or put(session, owner, kind, key)
            with self._lock:
                busy = row.state == "running" and (_alive(row, at) or row.id in self._held)
            return None if busy else self._taken(row, at)

    def end(self, lease: Lease) -> None:
        """End a job that has no effect in the ledger; nothing happens if it was lost."""
        with self._database.sharing() as session:
            ending = delete(JobRow).where(*self._mine(lease))
            session.execute(ending.execution_options(synchronize_session=False))

    def turn(self, owner: str, kind: str, every: float) -> bool:
        """Return whether to do now what one process does for an owner, once in so many seconds."""
        if self.alone:
            return True
        with self._database.writing(owner) as session:
            ensure_user(session, owner)
            at, row = clock(session), session.scalar(_named(owner, kind, "").with_for_update())
            if row is not None and row.run_at > at:
                return False
            row = row or put(session, owner, kind, "")
            row.run_at = at + timedelta(seconds=every)
            return True

    def begin(self, session: Session, owner: str, kind: str, key: str) -> None:
        """Put a job that this process has taken already, in place of an earlier one."""
        end(session, owner, kind, key)
        at = clock(session)
        values: dict[str, Any] = {"owner": owner, "kind": kind, "key": key, "worker": self.worker}
        values |= {"id": new_id(), "state": "running", "attempt": 1, "run_at": at, "stop": False}
        session.connection().execute(_BEGIN, {**values, "leased_until": at + self._lease, "progress": None})

    def resume(self, owner: str, kind: str, key: str) -> Lease:
        """Return the lease of a job that this process has begun, or take it.

        Raises LeaseLost where it has ended or another process has it.
        """
        with self._database.reading() as session:
            row = session.connection().execute(_LEASE, {"owner": owner, "kind": kind, "key": key}).first()
        if row is not None and row.worker == self.worker:
            return Lease(*row[:-1])
        lease = row and self.take_this(owner, kind, key)
        if lease is None:
            raise LeaseLost(LOST)
        return lease

    def is_worked_on(self, session: Session, owner: str, kind: str, key: str) -> bool:
        """Return whether a process works on a job; until the transaction ends no other takes it.

        One that this process has begun and does not hold is not worked on.
        """
        row = session.scalar(_named(owner, kind, key).with_for_update())
        if row is None:
            return False
        if row.worker != self.worker:
            return _alive(row, clock(session))
        with self._lock:
            return row.id in self._held

    def running_elsewhere(self, owner: str, kind: str) -> int:
        """Count an owner's jobs of a kind that other processes work on."""
        with self._database.reading() as session:
            others = {"owner": owner, "kind": kind, "worker": self.worker, "at": clock(session)}
            return session.connection().execute(_ELSEWHERE, others).scalar_one()

    def is_running_elsewhere(self, owner: str, kind: str, key: str) -> bool:
        """Return whether another process works on a job."""
        return any(job.alive and job.worker != self.worker for job in self.of(owner, [kind], key))

    def renew(self, leases: Sequence[Lease]) -> set[Lease]:
        """Renew leases in one statement; return those that are to be given up: see `given_up`.

        A row that another transaction has locked is left to the next renewal: to wait for it while others are
        locked here would be a deadlock with a transaction that ends several jobs.
        """
        ids = [lease.id for lease in leases]
        with self._database.sharing() as session:
            mine = select(JobRow.id).where(JobRow.id.in_(ids), JobRow.worker == self.worker)
            free = mine.with_for_update(skip_locked=True, key_share=True)
            values: dict[str, Any] = {"leased_until": clock(session) + self._lease}
            if told := self._told(ids):
                values["progress"] = case(*told, else_=JobRow.progress)
            renewing = update(JobRow).where(JobRow.id.in_(free)).values(values)
            session.execute(renewing.execution_options(synchronize_session=False))
        return self.given_up(leases)

    def given_up(self, leases: Sequence[Lease]) -> set[Lease]:
        """Return the leases that are to be given up: lost, or asked to stop. Nothing is written."""
        asked = select(JobRow.id, JobRow.attempt).where(
            JobRow.id.in_([lease.id for lease in leases]),
            JobRow.worker == self.worker,
            JobRow.stop.is_(False),
        )
        with self._database.reading() as session:
            going_on = {(id_, attempt) for id_, attempt in session.execute(asked)}
        return {lease for lease in leases if (lease.id, lease.attempt) not in going_on}

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[Held]:
        """Renew a lease, and check every commit of this thread by it: LeaseLost, and nothing is written."""
        held = Held(lease, self)
        with self._lock:
            self._held[lease.id] = held
            if self._renewing is None and not self._closed.is_set():
                self._renewing = threading.Thread(target=self._renew_held, name="leases", daemon=True)
                self._renewing.start()
        _CURRENT.set(held)
        try:
            yield held
        finally:
            if _CURRENT.get() is held:
                _CURRENT.set(None)
            with self._lock:
                self._held.pop(lease.id, None)

    def check(self, session: Session) -> None:
        """Raise LeaseLost where the work of this thread was taken from it; it stays its own until the end."""
        held = _CURRENT.get()
        if held is None or held.queue is not self:
            return
        found = session.connection().execute(_TRUE, {"id": held.lease.id}).first()
        if found is None and held.ended:
            return
        if found is None or tuple(found) != (held.lease.attempt, self.worker):
            held.lost.set()
            raise LeaseLost(LOST)

    @contextmanager
    def done(self, lease: Lease) -> Iterator[Session]:
        """Open the transaction of a job's effect, which ends the job, too; raises LeaseLost."""
        with self._database.writing(lease.owner) as session:
            self._own(session, lease)
            yield session
            end(session, lease.owner, lease.kind, lease.key)

    def fail(self, lease: Lease, wait: float) -> None:
        """Let go of a job, which may be taken again after `wait` seconds; nothing happens if it was lost."""
        self._let_go(lease, wait)

    def release(self, lease: Lease) -> None:
        """Let go of a job that is to go on elsewhere, or later: it may be taken at once."""
        self._let_go(lease, 0.0)

    def stop(self, owner: str, kind: str, key: str) -> None:
        """Remove a waiting job, and ask the worker of a running one to stop, wherever it runs."""
        with self._database.writing(owner) as session:
            row = session.scalar(_named(owner, kind, key).with_for_update())
            if row is not None and _alive(row, clock(session)):
                row.stop = True
            elif row is not None:
                session.delete(row)

    def of(self, owner: str, kinds: Collection[str], key: str | None = None) -> list[JobRecord]:
        """List an owner's jobs of some kinds, or those on `key`, in the order they were put."""
        mine = select(JobRow).where(JobRow.owner == owner, JobRow.kind.in_(kinds))
        if key is not None:
            mine = mine.where(JobRow.key == key)
        with self._database.reading() as session:
            at, rows = clock(session), session.scalars(mine.order_by(JobRow.run_at, JobRow.id)).all()
            return [_record(row, at) for row in rows]

    def elsewhere(self, owner: str, kinds: Collection[str], *, here: Collection[str]) -> list[JobRecord]:
        """List an owner's jobs that others work on, and those due that are of a kind not done `here`."""
        mine = select(JobRow).where(JobRow.owner == owner, JobRow.kind.in_(kinds))
        with self._database.reading() as session:
            at = clock(session)
            others = and_(JobRow.state == "running", JobRow.leased_until >= at, JobRow.worker != self.worker)
            due = and_(JobRow.state == "waiting", JobRow.run_at <= at)
            theirs = or_(others, and_(JobRow.kind.not_in(here), or_(due, self._over(at))))
            rows = session.scalars(mine.where(theirs).order_by(JobRow.run_at, JobRow.id)).all()
            return [_record(row, at) for row in rows]

    def worked_on_elsewhere(self, owner: str) -> list[JobRecord]:
        """List all of an owner's jobs that other processes work on."""
        with self._database.reading() as session:
            at = clock(session)
            theirs = JobRow.owner == owner, JobRow.leased_until >= at, JobRow.worker != self.worker
            return [_record(row, at) for row in session.scalars(select(JobRow).where(*theirs))]

    def end_waiting(self, owner: str) -> None:
        """End all jobs of an owner that no process works on."""
        with self._database.writing(owner) as session:
            waiting = delete(JobRow).where(JobRow.owner == owner, JobRow.state == "waiting")
            session.execute(waiting.execution_options(synchronize_session=False))

    def postpone(self, owner: str, kinds: Collection[str], wait: float) -> None:
        """Put off an owner's waiting jobs: by name they may be taken before `wait` seconds are over."""
        waits = JobRow.owner == owner, JobRow.kind.in_(kinds), JobRow.state == "waiting"
        with self._database.writing(owner) as session:
            later = clock(session) + timedelta(seconds=wait)
            session.execute(update(JobRow).where(*waits).values(run_at=later))

    def waiting(self, kinds: Collection[str]) -> int:
        """Count the jobs of some kinds, of all owners, that are due or whose lease is over."""
        with self._database.reading() as session:
            due = self._due(kinds, clock(session)).subquery()
            return session.scalar(select(func.count()).select_from(due)) or 0

    def free_all(self) -> None:
        """End every lease: for a process that has the ledger to itself, and so knows that no worker lives."""
        with self._database.reading() as session:
            if session.scalar(select(JobRow.id).where(JobRow.state == "running").limit(1)) is None:
                return
        with self._database.writing() as session:
            session.execute(update(JobRow).values(state="waiting", worker=None, leased_until=None))

    def close(self) -> None:
        """Renew no lease any more."""
        self._closed.set()
        renewing = self._renewing
        if renewing is not None and renewing is not threading.current_thread():
            renewing.join(self._renewal + 1.0)

    def _due(self, kinds: Collection[str], at: datetime, since: timedelta = timedelta()) -> Select[JobRow]:
        waits = and_(JobRow.state == "waiting", JobRow.run_at <= at - since)
        return select(JobRow).where(JobRow.kind.in_(kinds), or_(waits, self._over(at)))

    def _over(self, at: datetime) -> ColumnElement[bool]:
        """Match the jobs whose lease is over; this process does not take from itself what it still does."""
        with self._lock:
            mine = list(self._held)
        return and_(JobRow.state == "running", JobRow.leased_until < at, JobRow.id.not_in(mine))

    def _taken(self, row: JobRow | None, at: datetime) -> Lease | None:
        if row is None:
            return None
        row.state, row.worker, row.leased_until = "running", self.worker, at + self._lease
        row.attempt, row.stop = row.attempt + 1, False
        return to_record(Lease, row)

    def _mine(self, lease: Lease) -> tuple[ColumnElement[bool], ...]:
        return JobRow.id == lease.id, JobRow.attempt == lease.attempt, JobRow.worker == self.worker

    def _own(self, session: Session, lease: Lease) -> JobRow:
        row = session.scalar(select(JobRow).where(*self._mine(lease)).with_for_update())
        if row is None:
            raise LeaseLost(LOST)
        return row

    def _let_go(self, lease: Lease, wait: float) -> None:
        with self._database.sharing() as session:
            session.execute(
                update(JobRow)
                .where(*self._mine(lease))
                .values(
                    state="waiting",
                    worker=None,
                    leased_until=None,
                    run_at=clock(session) + timedelta(seconds=wait),
                )
            )

    def _told(self, ids: Collection[str]) -> list[tuple[ColumnElement[bool], ColumnElement[Any]]]:
        """Return the progress of what is held, as cases of an update."""
        with self._lock:
            told = {id_: held.progress for id_, held in self._held.items() if id_ in ids and held.progress}
        return [(JobRow.id == id_, literal(dict(progress or {}), JSON)) for id_, progress in told.items()]

    def _renew_held(self) -> None:
        """Renew what is held, and look for what is to stop, until nothing is held."""
        renewed = time.monotonic()
        while not self._closed.wait(min(STOP_SECONDS, self._renewal)):
            with self._lock:
                held = list(self._held.values())
                if not held:
                    self._renewing = None
                    return
            due = time.monotonic() - renewed >= self._renewal
            try:
                given_up = (self.renew if due else self.given_up)([one.lease for one in held])
            except StorageError as error:  # tried again; others may take what cannot be renewed
                log.warning("Leases could not be renewed. %s", error)
                continue
            except Exception:  # without this thread every lease would run out
                log.exception("Leases could not be renewed")
                continue
            if due:
                renewed = time.monotonic()
            for one in held:
                if one.lease in given_up and not one.ended:
                    one.lost.set()


def _is(owner: str, kind: str, key: str) -> tuple[ColumnElement[bool], ...]:
    return JobRow.owner == owner, JobRow.kind == kind, JobRow.key == key


def _named(owner: str, kind: str, key: str) -> Select[JobRow]:
    return select(JobRow).where(*_is(owner, kind, key))


def _record(row: JobRow, at: datetime) -> JobRecord:
    alive = _alive(row, at)
    due = row.run_at <= at if row.state == "waiting" else not alive
    return to_record(JobRecord, row, alive=alive, due=due)


def _alive(row: JobRow, at: datetime) -> bool:
    return row.state == "running" and row.leased_until is not None and row.leased_until >= at
