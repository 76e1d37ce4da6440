"""One owner's syncs in the server's threads: begun by hand or by the clock, one at a time for each source."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from rag.ingest import Ingest
from rag.jobs import Job, Jobs
from rag.library import Library
from rag.sources.source import Source
from rag.sources.sync import Sync, Synced
from storage.database import Database
from storage.errors import NotFound
from storage.source_items import SourceItems
from storage.source_records import SourceRecord
from storage.sources import Sources

SYNC = "sync"
LANES = {SYNC: 2}
PATIENCE = 10.0  # seconds: a sync stops between two items, or sooner where its source looks itself

Opened = Callable[[SourceRecord], Source]


class Syncing:
    """Runs the syncs of one owner; `opened` opens a source, an item of more than `max_bytes` is not taken."""

    def __init__(
        self,
        database: Database,
        library: Library,
        ingest: Ingest,
        jobs: Jobs,
        opened: Opened,
        max_bytes: Callable[[], int],
    ):
        self.sources = Sources(database, library.owner)
        self.items = SourceItems(database, library.owner)
        self._library, self._ingest, self._jobs = library, ingest, jobs
        self._opened, self._max_bytes = opened, max_bytes

    def start(self, source_id: str) -> Job[Synced]:
        """Sync a source; where that is going on already, it goes on."""
        record = self.sources.get(source_id)
        sync = Sync(
            self._library, self.sources, self.items, self._ingest.start, self._remove, self._max_bytes()
        )
        work = partial(sync.run, source_id, partial(self._opened, record))
        return self._jobs.start(self._library.owner, _key(source_id), work, lane=SYNC)

    def job(self, source_id: str) -> Job[Synced] | None:
        """Return the sync of a source that runs, or waits for its turn; None where there is none."""
        return self._jobs.get(self._library.owner, _key(source_id))  # type: ignore[return-value]

    def stop(self, source_id: str) -> None:
        """Stop a sync; what was taken stays, and the next one goes on from there."""
        job = self.job(source_id)
        if job is not None:
            job.cancel()

    def delete(self, source_id: str, *, keep_documents: bool) -> None:
        """Forget a source, and the documents that only it had where they are not to be kept."""
        job = self.job(source_id)
        if job is not None:
            job.cancel()
            job.wait(PATIENCE)
        self.sources.delete(source_id, keep_documents=keep_documents)
        for document_id in self.items.orphans():
            self._remove(document_id)

    def recover(self) -> None:
        """Go on with the syncs that were running when the server ended."""
        for record in self.sources.list():
            if record.state == "running":
                self.start(record.id)

    def start_due(self, now: datetime | None = None) -> None:
        """Sync the sources whose time has come."""
        for record in self.sources.list():
            if is_due(record, now or datetime.now(UTC)):
                self.start(record.id)

    def _remove(self, document_id: str) -> None:
        try:
            self._ingest.remove(document_id)
        except NotFound:  # deleted by hand a moment ago
            return


def is_due(record: SourceRecord, now: datetime) -> bool:
    """Whether a source is to be read by itself now: never read, or not for as many minutes as it says."""
    if record.every is None or record.state == "running":
        return False
    return record.ended is None or now - record.ended >= timedelta(minutes=record.every)


def _key(source_id: str) -> str:
    return f"{SYNC}:{source_id}"
