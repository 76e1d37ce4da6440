"""Syncs in the background: by hand, by the clock, and when a watched folder has changed."""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from rag.connectors.base import Item, Source
from rag.connectors.sync import Sync, Synced
from rag.errors import FootnoteError
from rag.ingest.library import Library
from rag.ingest.queue import Ingest
from rag.jobs import Cancel, Job, Jobs
from storage.database import Database
from storage.errors import NotFound
from storage.records import SourceRecord
from storage.sources import SourceItems, SourceStore

EVERY = 10.0
"""Seconds between two looks, where a look is quick."""
_SHARE = 20
_LOOK = 0.2


def changes(source: Source, cancelled: Cancel, *, every: float = EVERY) -> Iterator[None]:
    """Yield whenever what `source` lists has changed and two looks after each other have found the same.

    Ends when it is cancelled. Raises SourceError where the source cannot be listed.
    """
    told = before = None
    while not cancelled():
        began = time.monotonic()
        now = _state(source, cancelled)
        took = time.monotonic() - began
        told = now if told is None else told
        if now == before and now != told and not cancelled():
            told = now
            yield
        before = now
        _rest(max(every, _SHARE * took), cancelled)


def _state(source: Source, cancelled: Cancel) -> bytes:
    """Return a hash of which items there are in which versions."""
    state = hashlib.sha256()
    for listed in source.list(None, cancelled):
        if isinstance(listed, Item):
            state.update(f"{listed.id}\0{listed.version}\0".encode())
    return state.digest()


def _rest(seconds: float, cancelled: Cancel) -> None:
    until = time.monotonic() + seconds
    while not cancelled() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK))


SYNC, WATCH = "sync", "watch"
LANES = {SYNC: 2}
REST = timedelta(minutes=5)  # after a failure, before a folder is watched again
PATIENCE = 10.0  # seconds: a sync stops between two items, or sooner where its source looks itself

Opened = Callable[[SourceRecord], Source]


class Syncing:
    """Runs the syncs of one owner; `opened` opens a source, an item of more than `max_bytes` is not taken.

    Between two looks at a source that is watched lie `look_every` seconds or more.
    """

    def __init__(
        self,
        database: Database,
        library: Library,
        ingest: Ingest,
        jobs: Jobs,
        opened: Opened,
        max_bytes: Callable[[], int],
        look_every: float = EVERY,
    ):
        self.sources = SourceStore(database, library.owner)
        self.items = SourceItems(database, library.owner)
        self._library, self._ingest, self._jobs = library, ingest, jobs
        self._opened, self._max_bytes, self._look_every = opened, max_bytes, look_every

    def start(self, source_id: str, *, by_hand: bool = False, may_be_empty: bool = False) -> Job[Synced]:
        """Sync a source; where that is going on already, it goes on.

        Whoever asks for it `by_hand` has all tried again that could not be had; who says that it
        `may_be_empty` has what came from it removed where it is.
        """
        record = self.sources.get(source_id)
        if by_hand:
            self.items.retry(source_id, datetime.now(UTC))
        sync = Sync(
            self._library, self.sources, self.items, self._ingest.start, self._remove, self._max_bytes()
        )
        work = partial(sync.run, source_id, partial(self._opened, record), may_be_empty=may_be_empty)
        return self._jobs.start(self._library.owner, _key(source_id), work, lane=SYNC)

    def job(self, source_id: str) -> Job[Synced] | None:
        """Return the sync of a source that runs, or waits for its turn; None where there is none."""
        return self._jobs.get(self._library.owner, _key(source_id))  # type: ignore[return-value]

    def stop(self, source_id: str) -> None:
        """Stop a sync; what was taken stays, and the next one goes on from there."""
        job = self.job(source_id)
        if job is not None:
            job.cancel()

    def change(self, source_id: str, name: str, settings: Mapping[str, Any], every: int | None) -> None:
        """Have a source be read otherwise from now on; a sync or a watch that runs ends."""
        self._end(source_id)
        self.sources.change(source_id, name, settings, every)
        self.items.retry(source_id, datetime.now(UTC))

    def delete(self, source_id: str, *, keep_documents: bool) -> None:
        """Forget a source, and the documents that only it had where they are not to be kept."""
        self._end(source_id)
        self.sources.delete(source_id, keep_documents=keep_documents)
        for document_id in self.items.orphans():
            self._remove(document_id)

    def recover(self) -> None:
        """Go on with the syncs that were running when the server ended."""
        for record in self.sources.list():
            if record.state == "running":
                self.start(record.id)

    def start_due(self, now: datetime | None = None) -> None:
        """Sync the sources whose time has come, and watch those that are to be watched."""
        now = now or datetime.now(UTC)
        for record in self.sources.list():
            if is_due(record, now):
                self.start(record.id)
            if record.settings.get("watched") and not _failed_just_now(record, now):
                self._jobs.start(self._library.owner, _key(record.id, WATCH), partial(self._watch, record))

    def _watch(self, record: SourceRecord, cancelled: Cancel) -> Iterator[None]:
        """Sync a source at once, and whenever something in it has changed."""
        self.start(record.id)
        with self._opened(record) as source:
            for change in changes(source, cancelled, every=self._look_every):
                self.start(record.id)
                yield change

    def _end(self, source_id: str) -> None:
        """End what runs for a source, and wait for it."""
        keys = (_key(source_id, WATCH), _key(source_id))
        for job in filter(None, (self._jobs.get(self._library.owner, key) for key in keys)):
            job.cancel()
            job.wait(PATIENCE)

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


def _failed_just_now(record: SourceRecord, now: datetime) -> bool:
    return record.state == "failed" and record.ended is not None and now - record.ended < REST


def _key(source_id: str, kind: str = SYNC) -> str:
    return f"{kind}:{source_id}"


log = logging.getLogger(__name__)


class Schedule:
    """Calls `look` every so many seconds in a thread of its own; a look that fails is not the last."""

    def __init__(self, look: Callable[[], None], seconds: float = 20.0):
        self._look, self._seconds, self._failed = look, seconds, ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedule", daemon=True)

    def start(self) -> None:
        """Begin to look, the first time at once."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; a look that has begun is waited for."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(self._seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._look()
                self._failed = ""
            except FootnoteError as error:
                if str(error) != self._failed:  # what lasts is said once
                    log.warning("%s", error)
                self._failed = str(error)
            except Exception:
                log.exception("A look at what is due failed")
            self._stopped.wait(self._seconds)
