"""Syncs in the background: on request, by schedule, and when a watched folder has changed."""

import hashlib
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from rag.connectors.base import Item, Source
from rag.connectors.sync import Sync, SyncProgress
from rag.errors import FootnoteError
from rag.ingest.leased import JobName, exclusive, is_done_elsewhere, stop_elsewhere
from rag.ingest.library import Library
from rag.ingest.queue import Ingest
from rag.jobs import Cancel, Job, Jobs
from storage.database import Database
from storage.errors import NotFound
from storage.records import SourceRecord
from storage.sources import SourceItems, SourceStore

SYNC, WATCH = "sync", "watch"
LANES = {SYNC: 2}
POLL_SECONDS = 10.0  # between two listings of a watched source
_POLL_FACTOR = 20  # times the duration of a listing, where that is longer
_VARIED = 0.2  # of the time between two looks, so that those of several processes take turns
_CANCEL_SECONDS = 0.2  # between two checks for cancellation
WATCH_RETRY = timedelta(minutes=5)  # after a failure
STOP_SECONDS = 10.0  # a sync stops between two items, or sooner where its source checks

log = logging.getLogger(__name__)
OpenSource = Callable[[SourceRecord], Source]


def changes(source: Source, cancelled: Cancel, *, every: float = POLL_SECONDS) -> Iterator[None]:
    """Yield whenever the listing of `source` has changed and is the same twice in a row."""
    reported = before = None
    while not cancelled():
        began = time.monotonic()
        now = _listing_hash(source, cancelled)
        took = time.monotonic() - began
        reported = now if reported is None else reported
        if now == before and now != reported and not cancelled():
            reported = now
            yield
        before = now
        _sleep(max(every, _POLL_FACTOR * took), cancelled)


def _listing_hash(source: Source, cancelled: Cancel) -> bytes:
    state = hashlib.sha256()
    for listed in source.list(None, cancelled):
        if isinstance(listed, Item):
            state.update(f"{listed.id}\0{listed.version}\0".encode())
    return state.digest()


def _sleep(seconds: float, cancelled: Cancel) -> None:
    until = time.monotonic() + seconds
    while not cancelled() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _CANCEL_SECONDS))


class Syncing:
    """Syncs of one owner. A watched source is listed every `look_every` seconds, or less often if slow."""

    def __init__(
        self,
        database: Database,
        library: Library,
        ingest: Ingest,
        jobs: Jobs,
        opened: OpenSource,
        max_bytes: Callable[[], int],
        look_every: float = POLL_SECONDS,
    ):
        self._queue = database.queue
        self.sources = SourceStore(database, library.owner)
        self.items = SourceItems(database, library.owner)
        self._library, self._ingest, self._jobs = library, ingest, jobs
        self._opened, self._max_bytes, self._look_every = opened, max_bytes, look_every
        self._asked: dict[str, bool] = {}  # `may_be_empty` of the sources whose sync was asked for

    def start(
        self, source_id: str, *, by_hand: bool = False, may_be_empty: bool = False
    ) -> Job[SyncProgress]:
        """Start a sync unless it runs; one `by_hand` retries failed items. See `Sync.run`."""
        record = self.sources.get(source_id)
        if by_hand:
            self.items.retry(source_id, datetime.now(UTC))
        self._forget_left_wish(source_id)
        self._asked[source_id] = may_be_empty or self._asked.get(source_id, False)
        return self._start(record)

    def _forget_left_wish(self, source_id: str) -> None:
        """Forget that a sync was asked for whose job was stopped before its turn."""
        if self.job(source_id) is None:
            self._asked.pop(source_id, None)

    def _start(
        self,
        record: SourceRecord,
        wanted: Callable[[SourceRecord], bool] = lambda _: False,
    ) -> Job[SyncProgress]:
        """Start a sync; when its turn comes it does nothing unless it was asked for, or is still `wanted`."""
        sync = Sync(
            self._library, self.sources, self.items, self._ingest.start, self._remove, self._max_bytes()
        )

        def work(cancelled: Cancel) -> Iterator[SyncProgress]:
            asked = self._asked.get(record.id)
            if asked is None and not wanted(self.sources.get(record.id)):
                return
            opened = partial(self._opened, record)
            try:
                yield from sync.run(record.id, opened, cancelled, may_be_empty=bool(asked))
            finally:
                self._asked.pop(record.id, None)

        mine = partial(exclusive, self._queue, self._name(record.id), work)
        return self._jobs.start(self._library.owner, _key(record.id), mine, lane=SYNC)

    def _name(self, source_id: str, kind: str = SYNC) -> JobName:
        return JobName(self._library.owner, kind, source_id)

    def job(self, source_id: str) -> Job[SyncProgress] | None:
        """Return the running or queued sync of a source, if any."""
        return self._jobs.get(self._library.owner, _key(source_id))  # type: ignore[return-value]

    def stop(self, source_id: str) -> None:
        """Stop a sync; items that were taken stay, and the next sync continues from there."""
        self._asked.pop(source_id, None)
        job = self.job(source_id)
        if job is not None:
            job.cancel()
        stop_elsewhere(self._queue, self._name(source_id))

    def change(self, source_id: str, name: str, settings: Mapping[str, Any], every: int | None) -> None:
        """Change the settings of a source, after stopping its sync and its watch."""
        self._end(source_id)
        self.sources.change(source_id, name, settings, every)
        self.items.retry(source_id, datetime.now(UTC))

    def delete(self, source_id: str, *, keep_documents: bool) -> None:
        """Delete a source, and the documents that only it had unless they are to be kept."""
        self._end(source_id)
        self.sources.delete(source_id, keep_documents=keep_documents)
        for document_id in self.items.orphans():
            self._remove(document_id)

    def recover(self) -> None:
        """Continue the syncs that were running when their process ended."""
        for record in self.sources.list():
            if record.state == "running" and not is_done_elsewhere(self._queue, self._name(record.id)):
                self._forget_left_wish(record.id)
                self._start(record, _is_running)

    def start_due(self, now: datetime | None = None) -> None:
        """Start the syncs that are due, and watch the sources whose settings say so."""
        now = now or datetime.now(UTC)
        for record in self.sources.list():
            if is_due(record, now) and not is_done_elsewhere(self._queue, self._name(record.id)):
                self._forget_left_wish(record.id)
                self._start(record, partial(is_due, now=now))
            watched = record.settings.get("watched") and not _failed_recently(record, now)
            if watched and not is_done_elsewhere(self._queue, self._name(record.id, WATCH)):
                work = partial(self._watch, record)
                mine = partial(exclusive, self._queue, self._name(record.id, WATCH), work, waits=False)
                self._jobs.start(self._library.owner, _key(record.id, WATCH), mine)

    def _watch(self, record: SourceRecord, cancelled: Cancel) -> Iterator[None]:
        self.start(record.id)
        for change in changes(self._opened(record), cancelled, every=self._look_every):
            self.start(record.id)
            yield change

    def _end(self, source_id: str) -> None:
        self._asked.pop(source_id, None)
        keys = (_key(source_id, WATCH), _key(source_id))
        for job in filter(None, (self._jobs.get(self._library.owner, key) for key in keys)):
            job.cancel()
            job.wait(STOP_SECONDS)
        for kind in (WATCH, SYNC):
            stop_elsewhere(self._queue, self._name(source_id, kind), STOP_SECONDS)

    def _remove(self, document_id: str) -> None:
        try:
            self._ingest.remove(document_id)
        except NotFound:  # deleted by hand a moment ago
            return


def is_due(record: SourceRecord, now: datetime) -> bool:
    """Return whether a scheduled sync is due: never run, or not for as many minutes as the source says."""
    if record.every is None or record.state == "running":
        return False
    return record.ended is None or now - record.ended >= timedelta(minutes=record.every)


def _is_running(record: SourceRecord) -> bool:
    return record.state == "running"


def _failed_recently(record: SourceRecord, now: datetime) -> bool:
    return record.state == "failed" and record.ended is not None and now - record.ended < WATCH_RETRY


def _key(source_id: str, kind: str = SYNC) -> str:
    return f"{kind}:{source_id}"


class Scheduler:
    """Calls `look` at intervals, and when it is woken, in a separate thread; it continues after a failure."""

    def __init__(self, look: Callable[[], None], seconds: float = 20.0):
        self._look, self._seconds, self._failed = look, seconds, ""
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedule", daemon=True)

    def start(self) -> None:
        """Start the thread; the first call follows at once."""
        self._thread.start()

    def wake(self) -> None:
        """Call `look` now, or once more after the call that runs."""
        self._woken.set()

    def close(self) -> None:
        """Stop the thread; a running call is waited for."""
        self._stopped.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(self._seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._look()
                self._failed = ""
            except FootnoteError as error:
                if str(error) != self._failed:  # the same failure is logged once
                    log.warning("%s", error)
                self._failed = str(error)
            except Exception:
                log.exception("A look at what is due failed")
            varied = random.uniform(1 - _VARIED, 1 + _VARIED)  # noqa: S311 - a moment, not a secret
            self._woken.wait(self._seconds * varied)
            if not self._stopped.is_set():
                self._woken.clear()
