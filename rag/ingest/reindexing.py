"""Every document embedded by another model, in the server's threads, while the one before answers."""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from rag.errors import Cancelled, EmbeddingError, FootnoteError
from rag.index.staged import ReindexProgress
from rag.ingest.library import Library
from rag.ingest.queue import BATCH_PATIENCE, REINDEX, Ingest
from rag.jobs import Cancel, Job, Jobs

SEARCH_PATIENCE = 2.0  # seconds that questions have to leave an index which another one has followed

log = logging.getLogger(__name__)


class Reindexing:
    """Makes the index beside the one that answers, for one owner: begun, stopped, and gone on with."""

    def __init__(self, library: Library, ingest: Ingest, jobs: Jobs):
        self._library = library
        self._ingest = ingest
        self._jobs = jobs
        self._last: Job[ReindexProgress] | None = None

    @property
    def job(self) -> Job[ReindexProgress] | None:
        """What embeds every document anew; None when nothing does."""
        return self._last if self._last is not None and not self._last.done else None

    @property
    def failed(self) -> str | None:
        """Why that ended without its end the last time; None where it did not, or was stopped."""
        error = self._last.error if self._last is not None else None
        return str(error) if isinstance(error, FootnoteError) and not isinstance(error, Cancelled) else None

    def start(self) -> None:
        """Have every document embedded by the model of the settings; one that is being tried gives way."""
        self.stop()
        if self._library.reindexer.possible:
            self._last = self._jobs.start(self._library.owner, REINDEX, self._work, lane=REINDEX)
        else:
            self._ingest.embed_anew()

    def stop(self) -> None:
        """Stop; what is done is kept, and gone on with."""
        if self._last is not None:
            self._last.cancel()
            _wait([self._last])

    def recover(self) -> None:
        """Go on with an index that was begun; begin one where the settings name another model."""
        try:
            if self._library.reindexer.due():
                self.start()
        except EmbeddingError as error:  # said with every answer, too
            log.warning("%s", error)

    def _work(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        yield from self._library.reindex(
            cancelled, stop_writers=self._stop_writers, drain_seconds=SEARCH_PATIENCE
        )
        self._ingest.go_on()

    def _stop_writers(self) -> None:
        _wait(self._ingest.stop_writing())


def _wait(jobs: Iterable[Job[Any]]) -> None:
    """Wait until cancelled jobs have ended."""
    for job in jobs:
        job.wait(BATCH_PATIENCE)
