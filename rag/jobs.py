"""Background jobs: generators in server threads, which many readers follow and anyone can cancel."""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from rag.errors import Cancelled, FootnoteError
from rag.i18n import N_
from rag.logs import about

E = TypeVar("E")
Cancel = Callable[[], bool]
Work = Callable[[Cancel], Iterator[E]]
Watch = Callable[[str, Work[Any]], Work[Any]]  # returns the work to run under a key instead
SERVER = "server"  # owner of jobs that belong to no person
ANSWERS = "answer"  # kind of the jobs that get time to finish when the server stops

log = logging.getLogger(__name__)


def never() -> bool:
    """Return False: nothing is cancelled."""
    return False


def kind_of(key: str) -> str:
    """Return the kind of a job from its key: "embed:22c1" -> "embed"."""
    return key.partition(":")[0]


@contextmanager
def closing(events: Iterator[E]) -> Iterator[Iterator[E]]:
    """Close an iterator of events at the end, if it can be closed."""
    try:
        yield events
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()


class Job(Generic[E]):
    """Running generator with all its events so far; its `key` is on every line that it logs."""

    def __init__(self, work: Work[E], at_end: Callable[[], None] = lambda: None, *, key: str = "job"):
        self._work = work
        self._key = key
        self._at_end = at_end
        self.started = False
        self.asked_at = time.monotonic()
        """When the work was asked for, by the monotonic clock."""
        self._events: list[E] = []
        self._changed = threading.Condition()
        self._cancel = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._done = False
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        """True once the generator has ended, for any reason."""
        return self._done

    @property
    def latest(self) -> E | None:
        """The last event so far; None before the first."""
        return self._events[-1] if self._events else None

    @property
    def cancelled(self) -> bool:
        """True once the work was asked to stop."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ask the work to stop; it is closed at its next event, or sooner if it checks for that."""
        self._cancel.set()

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` in the job's thread after each event and at the end; it must not wait."""
        with self._changed:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._changed:
                self._listeners.remove(listener)

    def since(self, seen: int, wait: float = 0.0) -> list[E]:
        """Return the events after the first `seen`, waiting up to `wait` seconds for one."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._events) > seen or self._done, wait)
            return self._events[seen:]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended; False when `timeout` seconds were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: self._done, timeout)

    def run(self) -> None:
        """Run the generator to its end in the calling thread; a cancelled job is not begun."""
        self.started = True
        with about(self._key):
            self._run()

    def _run(self) -> None:
        try:
            if not self._cancel.is_set():
                self._drain(self._work(self._cancel.is_set))
        except Cancelled as error:
            self.error = error
        except FootnoteError as error:
            self.error = error
            log.warning("%s", error)
        except Exception as error:
            self.error = error
            log.exception("A job failed")
        finally:
            self._at_end()
            with self._changed:
                self._done = True
                self._tell()

    def _drain(self, events: Iterator[E]) -> None:
        with closing(events):
            for event in events:
                with self._changed:
                    self._events.append(event)
                    self._tell()
                if self._cancel.is_set():
                    return

    def _tell(self) -> None:
        """Tell the waiting readers and the listeners of a change, with the lock held."""
        self._changed.notify_all()
        for listener in self._listeners:
            listener()


class Lane:
    """Threads for jobs of one kind: owners take turns, and an owner's jobs run in the order they came.

    So a person who adds one document waits for the jobs that run, not for the hundreds that another added.
    """

    def __init__(self, name: str, width: int):
        self.width = width
        self._threads = ThreadPoolExecutor(width, thread_name_prefix=name)
        self._waiting: OrderedDict[str, deque[Job[Any]]] = OrderedDict()  # the owner whose turn it is first
        self._lock = threading.Lock()

    def submit(self, owner: str, job: Job[Any]) -> None:
        """Queue a job behind those of its owner."""
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(job)
        self._threads.submit(self._run_next)  # one for each job, whichever it takes

    def close(self) -> None:
        """Run no job that has not begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run_next(self) -> None:
        with self._lock:
            owner, jobs = self._waiting.popitem(last=False)
            job = jobs.popleft()
            if jobs:
                self._waiting[owner] = jobs  # behind the others
        job.run()


class Jobs:
    """Running jobs by owner and key; `lanes` limits how many run at once; without one they start at once.

    In a lane, owners take turns.
    """

    def __init__(self, lanes: dict[str, int] | None = None, watch: Watch = lambda _, work: work):
        self._watch = watch
        self._lanes = {name: Lane(name, width) for name, width in (lanes or {}).items()}
        self._running: dict[tuple[str, str], Job[object]] = {}
        self._leaving: set[str] = set()
        self._lock = threading.Lock()
        self.closed = False
        self.at_end: Callable[[str], None] = lambda _: None
        """Called with the kind of each job that has ended."""

    def start(self, owner: str, key: str, work: Work[E], *, lane: str | None = None) -> Job[E]:
        """Start `work` under `key`; return the running job where the owner has one under that key."""
        with self._lock:
            running = self._running.get((owner, key))
            if running is not None:
                return running  # type: ignore[return-value]
            if self.closed or owner in self._leaving:
                raise Cancelled(N_("Footnote is shutting down. Start it again and retry."))
            job: Job[E] = Job(self._watch(key, work), lambda: self._forget(owner, key), key=key)
            self._running[owner, key] = job  # type: ignore[assignment]
        if lane is None:
            threading.Thread(target=job.run, daemon=True).start()
        else:
            self._lanes[lane].submit(owner, job)
        return job

    def has_lane(self, name: str) -> bool:
        """Return whether jobs run in this lane here, or are left to other processes."""
        return name in self._lanes

    def get(self, owner: str, key: str) -> Job[object] | None:
        """Return the running or waiting job under this owner's key."""
        return self._running.get((owner, key))

    def keys(self, owner: str) -> frozenset[str]:
        """Return the keys of an owner's running and waiting jobs."""
        with self._lock:
            return frozenset(key for whose, key in self._running if whose == owner)

    def room(self, name: str) -> int:
        """Return how many jobs could begin at once in a lane, whose jobs are of the kind of its name."""
        with self._lock:
            busy = sum(kind_of(key) == name for _, key in self._running)
        return max(0, self._lanes[name].width - busy) if name in self._lanes else 0

    def running(self, owner: str, kind: str) -> int:
        """Count an owner's running and waiting jobs of one kind."""
        with self._lock:
            return sum(whose == owner and kind_of(key) == kind for whose, key in self._running)

    def while_idle(self, act: Callable[[Collection[str]], None]) -> None:
        """Call `act` with the owners of all jobs; no job is started meanwhile."""
        with self._lock:
            act({owner for owner, _ in self._running})

    def stop_all(self, owner: str, timeout: float) -> bool:
        """Cancel an owner's jobs and accept no more; False where some run on after `timeout` seconds."""
        with self._lock:
            self._leaving.add(owner)
            jobs = [job for (whose, _), job in self._running.items() if whose == owner]
        for job in jobs:
            job.cancel()
        _wait(jobs, timeout)
        return all(job.done or not job.started for job in jobs)

    def welcome(self, owner: str) -> None:
        """Accept jobs again of an owner whose jobs were all stopped."""
        with self._lock:
            self._leaving.discard(owner)

    def standing(self) -> list[tuple[str, str]]:
        """Return the kind of each job with its state, "running" or "waiting"."""
        with self._lock:
            return [
                (kind_of(key), "running" if job.started else "waiting")
                for (_, key), job in self._running.items()
            ]

    def close(self, timeout: float = 5.0, *, patience: float = 0.0) -> None:
        """Cancel every job, answers after `patience` seconds, and wait up to `timeout` seconds for all."""
        with self._lock:
            self.closed = True
            jobs = dict(self._running)
        answers = [job for (_, key), job in jobs.items() if kind_of(key) == ANSWERS]
        for (_, key), job in jobs.items():
            if kind_of(key) != ANSWERS:
                job.cancel()
        for lane in self._lanes.values():
            lane.close()
        _wait(answers, patience)
        for job in answers:
            job.cancel()
        _wait(jobs.values(), timeout)

    def _forget(self, owner: str, key: str) -> None:
        with self._lock:
            del self._running[owner, key]
        self.at_end(kind_of(key))


def _wait(jobs: Iterable[Job[object]], seconds: float) -> None:
    """Wait for the jobs that were begun, up to `seconds` for all of them."""
    deadline = time.monotonic() + seconds
    for job in jobs:
        if job.started:
            job.wait(max(0.0, deadline - time.monotonic()))
