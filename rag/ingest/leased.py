"""Work under a lease: taken from the ledger's jobs, renewed meanwhile, let go at its end."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from rag.errors import Cancelled
from rag.jobs import Cancel
from storage.errors import LeaseLost, StorageError
from storage.jobs import Held, JobQueue, Lease

Stage = Literal["reading", "words", "meaning"]


@dataclass(frozen=True)
class IngestProgress:
    """Progress of a document's ingest: `done` of `total` chunks, or of one file while reading."""

    stage: Stage
    done: int
    total: int


FAILED_SECONDS = (
    86_400.0  # until a failed job is taken without being asked for; see `Backoff` for sooner tries
)
PAUSED_SECONDS = 60.0  # until a job that was stopped is taken without being asked for
CLAIM_SECONDS = 0.5  # between two looks whether another process has ended the same work
_LOOK_SECONDS = 0.1  # between two looks whether to stop waiting
Work = Callable[[Cancel], Iterator[IngestProgress]]
E = TypeVar("E")

log = logging.getLogger(__name__)


class JobName(NamedTuple):
    """A job in the ledger: its owner, kind and key."""

    owner: str
    kind: str
    key: str


def leased(
    queue: JobQueue, name: JobName, work: Work, cancelled: Cancel, *, lease: Lease | None = None
) -> Iterator[IngestProgress]:
    """Do the work of a job with its `lease`, or take it now; nothing where it has ended or another has it.

    Where another worker takes it over, the work ends without a further write to the ledger.
    """
    lease = lease or queue.take_this(*name)
    if lease is None:
        return
    with queue.holding(lease) as held:
        try:
            for progress in work(lambda: cancelled() or held.lost.is_set()):
                held.progress = {"stage": progress.stage, "done": progress.done, "total": progress.total}
                yield progress
        except LeaseLost:
            log.info("Another process goes on with a job: %s", name.kind)
        except (Cancelled, GeneratorExit):
            _let_go(queue, held, PAUSED_SECONDS)
            raise
        except BaseException:
            _let_go(queue, held, FAILED_SECONDS)
            raise
        else:
            _finish(queue, held, stopped=cancelled() or held.lost.is_set())


def exclusive(
    queue: JobQueue,
    name: JobName,
    work: Callable[[Cancel], Iterator[E]],
    cancelled: Cancel,
    *,
    waits: bool = True,
) -> Iterator[E]:
    """Do work that one process does at a time: nothing is left to do where this one has the ledger alone.

    While another process does it, it is waited for, or nothing is done unless this one `waits`. Where
    another takes it over, or asks to stop, the work ends without a further write to the ledger.
    """
    if queue.alone:
        yield from work(cancelled)
        return
    lease = _claimed(queue, name, cancelled, waits=waits)
    if lease is None:
        return
    with queue.holding(lease) as held:
        try:
            yield from work(lambda: cancelled() or held.lost.is_set())
        except LeaseLost:
            log.info("Another process goes on with a job: %s", name.kind)
        finally:
            with suppress(StorageError):  # the lease runs out
                queue.end(lease)


def is_done_elsewhere(queue: JobQueue, name: JobName) -> bool:
    """Return whether another process does exclusive work."""
    return not queue.alone and queue.is_running_elsewhere(*name)


def stop_elsewhere(queue: JobQueue, name: JobName, seconds: float = 0.0) -> None:
    """Ask another process that does exclusive work to stop, and wait so many seconds until it has."""
    if not is_done_elsewhere(queue, name):
        return
    queue.stop(*name)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and is_done_elsewhere(queue, name):
        time.sleep(_LOOK_SECONDS)


def wait_for_stopped(queue: JobQueue, name: JobName, seconds: float) -> None:
    """Wait so many seconds for another process that was asked to stop exclusive work."""
    deadline = time.monotonic() + seconds
    while not queue.alone and time.monotonic() < deadline:
        if not any(job.alive and job.stop for job in queue.of(name.owner, [name.kind], name.key)):
            return
        time.sleep(_LOOK_SECONDS)


def _claimed(queue: JobQueue, name: JobName, cancelled: Cancel, *, waits: bool) -> Lease | None:
    while not cancelled():
        lease = queue.claim(*name)
        if lease is not None or not waits:
            return lease
        until = time.monotonic() + CLAIM_SECONDS
        while not cancelled() and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
    return None


def progress_of(told: Mapping[str, Any] | None) -> IngestProgress | None:
    """Return the progress that another process told of its job; None where it told none."""
    return None if told is None else IngestProgress(told["stage"], told["done"], told["total"])


def _finish(queue: JobQueue, held: Held, *, stopped: bool) -> None:
    """End a job whose work has ended and which no change of its document's state has ended."""
    if stopped:
        _let_go(queue, held, PAUSED_SECONDS)
    elif not held.ended:
        with suppress(LeaseLost), queue.done(held.lease):
            pass


def _let_go(queue: JobQueue, held: Held, wait: float) -> None:
    with suppress(StorageError):  # the lease runs out
        queue.fail(held.lease, wait)
