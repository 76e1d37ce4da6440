"""Takes the ledger's jobs on documents into this process, as many as its lanes have room for."""

import logging
from collections.abc import Callable, Collection

from rag.errors import FootnoteError
from rag.ingest.queue import LANES
from rag.jobs import Jobs
from storage.documents import EMBED, READ
from storage.jobs import JobQueue, Lease

TAKE_SECONDS = (
    30.0  # between two looks for jobs: this process has the ledger to itself, and is woken by its own
)
GRACE_SECONDS = 1.0  # for which a new job is left to the process that has put it
REFUSED_SECONDS = 60.0  # until a job is taken again whose owner's library could not be opened

log = logging.getLogger(__name__)


def document_lanes(workers: int | None) -> dict[str, int]:
    """Return how many documents a process reads and embeds at once.

    >>> document_lanes(None), document_lanes(8), document_lanes(0)
    ({'read': 2, 'embed': 1}, {'read': 8, 'embed': 4}, {})
    """
    if workers is None:
        return {kind: LANES[kind] for kind in (READ, EMBED)}
    return {READ: workers, EMBED: max(1, workers // 2)} if workers else {}


class JobTaker:
    """Takes jobs that are due, or that a killed worker left; `begin` starts one in its lane.

    One that waits for less than `grace` seconds is left to the process that has put it.
    """

    def __init__(
        self,
        queue: JobQueue,
        jobs: Jobs,
        kinds: Collection[str],
        begin: Callable[[Lease], None],
        *,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self._queue, self._jobs, self._kinds, self._begin = queue, jobs, kinds, begin
        self._grace = grace

    def take_due(self) -> None:
        """Begin jobs until the lanes are full, or none is due."""
        for kind in self._kinds:
            while not self._jobs.closed and self._jobs.room(kind):
                lease = self._queue.take([kind], due_for=self._grace)
                if lease is None:
                    break
                self._start(lease)

    def _start(self, lease: Lease) -> None:
        try:
            self._begin(lease)
        except FootnoteError as error:
            log.warning("%s", error)
            self._queue.fail(lease, REFUSED_SECONDS)
