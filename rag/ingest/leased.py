"""Work on a document under a lease: taken from the ledger's jobs, renewed meanwhile, let go at its end."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rag.errors import Cancelled
from rag.ingest.library import IngestProgress
from rag.jobs import Cancel
from storage.errors import LeaseLost, StorageError
from storage.jobs import Held, JobQueue, Lease

FAILED_SECONDS = (
    86_400.0  # until a failed job is taken without being asked for; see `Backoff` for sooner tries
)
PAUSED_SECONDS = 60.0  # until a job that was stopped is taken without being asked for
Work = Callable[[Cancel], Iterator[IngestProgress]]

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
