"""Syncs: one sync of a source, and all of them in the background.

Each item is committed by itself, so that a sync can be continued. Syncs run on request, by schedule, and when
a watched folder has changed.
"""

import hashlib
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from rag.connectors.base import Checkpoint, Deferred, Gone, Item, Listed, Source, Unreadable, retry_delay
from rag.errors import Cancelled, FootnoteError, ItemFailed, ItemRefused, SourceEmptied
from rag.i18n import N_
from rag.ingest.leased import JobName, exclusive, is_done_elsewhere, stop_elsewhere
from rag.ingest.library import Library
from rag.ingest.queue import Ingest
from rag.jobs import Cancel, Job, Jobs, never
from storage.database import Database
from storage.errors import NotFound
from storage.records import Listing, Outcome, SourceRecord, SourceState
from storage.sources import SourceItems, SourceStore

_IN_MEMORY = 1 << 20  # bytes of an item; larger ones wait on disk until they are whole
_PIECE = 1 << 16
_SEEN = 200  # unchanged items noted in one commit


@dataclass(frozen=True)
class SyncProgress:
    """Progress of a sync: counts of items by outcome; `name` is that of the latest one."""

    name: str = ""
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0

    @property
    def items(self) -> int:
        """Number of processed items."""
        return self.new + self.changed + self.unchanged + self.failed


@dataclass
class Sync:
    """Syncs one owner's sources; `start` queues a document for ingest, `remove` deletes one."""

    library: Library
    sources: SourceStore
    items: SourceItems
    start: Callable[[str], None]
    remove: Callable[[str], None]
    max_bytes: int
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def run(
        self,
        source_id: str,
        opened: Callable[[], Source],
        cancelled: Cancel = never,
        *,
        may_be_empty: bool = False,
    ) -> Iterator[SyncProgress]:
        """Sync a source from its last checkpoint; an empty one is an error unless it `may_be_empty`."""
        cursor = self.sources.begin(source_id).cursor
        state: SourceState = "stopped"
        reason = None
        try:
            yield from _SyncRun(self, source_id, opened(), cancelled, may_be_empty).run(cursor)
            state = "stopped" if cancelled() else "idle"
        except FootnoteError as error:
            if not isinstance(error, Cancelled):
                state = "emptied" if isinstance(error, SourceEmptied) else "failed"
                reason = str(error)
            raise
        finally:
            self.sources.end(source_id, state, reason)


class _SyncRun:
    def __init__(self, sync: Sync, source_id: str, source: Source, cancelled: Cancel, may_be_empty: bool):
        self._sync, self._id, self._source, self._cancelled = sync, source_id, source, cancelled
        self._known = {item.id: item for item in sync.items.list(source_id)}
        failed, now = (item for item in self._known.values() if item.tries), sync.now()
        self._deferred = {item.id for item in failed if item.due is None or item.due > now}
        self._may_be_empty = may_be_empty
        self._named: set[str] = set()
        self._seen: list[Listing] = []
        self._so_far = SyncProgress()

    def run(self, cursor: str | None) -> Iterator[SyncProgress]:
        self._source.defer(frozenset(self._deferred))
        for listed in self._with_due(self._source.list(cursor, self._cancelled)):
            if self._cancelled():
                break
            self._take(listed)
            yield self._so_far
        self._note_seen()

    def _with_due(self, listing: Iterator[Listed]) -> Iterator[Listed]:
        """Yield a listing; add failed items whose retry is due where it lists only changes."""
        for listed in listing:
            if not isinstance(listed, Checkpoint):
                self._named.add(listed.id)
            elif not listed.whole:
                yield from self._due()
            yield listed

    def _due(self) -> Iterator[Item]:
        """Yield failed items that this listing did not name and whose retry is due."""
        for known in self._known.values():
            is_named = known.id in self._named or known.id in self._deferred
            if known.tries and known.wanted and not is_named:
                yield Item(known.id, known.name, known.wanted, known.url)

    def _take(self, listed: Listed) -> None:
        match listed:
            case Item():
                self._take_item(listed)
            case Unreadable(id_, name, reason, lasting):
                self._fail(Listing(id_, name), reason, lasting=lasting)
            case Deferred(id_):
                known = self._known[id_]
                self._note(Listing(id_, known.name, known.wanted, known.url), "failed")
            case Gone(id_):
                self._drop([id_] if id_ in self._known else [])
            case Checkpoint():
                self._finish(listed)

    def _take_item(self, item: Item) -> None:
        known = self._known.get(item.id)
        if known is not None and item.version and known.version == item.version:
            self._note(_listing(item), "unchanged")  # without a version a change is unknown
        elif known is not None and item.id in self._deferred and known.wanted == item.version:
            self._note(_listing(item), "failed")
        else:
            self._fetch(item)

    def _note(self, listing: Listing, outcome: str) -> None:
        """Record that an item still exists and needs nothing."""
        self._seen.append(listing)
        self._tell(listing.name, outcome)
        if len(self._seen) >= _SEEN:
            self._note_seen()

    def _fail(self, listing: Listing, reason: str, *, lasting: bool) -> None:
        known = self._known.get(listing.id)
        tries = known.tries + 1 if known is not None and known.wanted == listing.version else 1
        wait = retry_delay(tries, lasting=lasting)
        due = None if wait is None else self._sync.now() + wait
        self._sync.items.fail(self._id, listing, reason, tries, due)
        self._tell(listing.name, "failed")

    def _fetch(self, item: Item) -> None:
        try:
            with SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
                self._download(item, spool)
                outcome = self._keep(item, spool)
        except ItemFailed as error:
            self._fail(_listing(item), str(error), lasting=isinstance(error, ItemRefused))
            return
        before = self._known.get(item.id)
        changed = "new" if before is None or before.document_id is None else "changed"
        self._tell(item.name, "unchanged" if outcome == "unchanged" else changed)

    def _download(self, item: Item, spool: IO[bytes]) -> None:
        for piece in self._source.fetch(item, self._cancelled):
            spool.write(piece)
            if spool.tell() > self._sync.max_bytes:
                raise ItemRefused(
                    N_(
                        "{name} is larger than {max_bytes} MB, so it was not taken. To take it, raise "
                        "FOOTNOTE_MAX_UPLOAD_MB.",
                        name=item.name,
                        max_bytes=f"{self._sync.max_bytes >> 20:,}",
                    )
                )
            if self._cancelled():
                raise Cancelled(
                    N_("Fetching {name} was stopped. It is fetched again the next time.", name=item.name)
                )

    def _keep(self, item: Item, spool: IO[bytes]) -> Outcome:
        spool.seek(0)
        items, listing = self._sync.items, _listing(item)
        record, outcome = self._sync.library.keep(
            iter(lambda: spool.read(_PIECE), b""),
            lambda sha256, size: items.keep(self._id, listing, sha256, size),
        )
        self._sync.start(record.id)
        return outcome

    def _finish(self, checkpoint: Checkpoint) -> None:
        """Remove missing items at a checkpoint, and store its cursor for the next sync."""
        self._note_seen()
        gone = self._sync.items.unseen(self._id) if checkpoint.whole else []
        if gone and not self._so_far.items and not self._may_be_empty:
            raise SourceEmptied(
                N_(
                    "The source is empty now, though it was not before, so nothing was removed. See "
                    "whether it can be reached as a whole. If it is meant to be empty, confirm that in "
                    "the Library under Sources, or by footnote sync --may-be-empty, and what came from "
                    "it goes."
                )
            )
        self._drop(gone)
        removed: set[str] = set()
        while orphans := set(self._sync.items.orphans()) - removed:  # removing one may orphan another
            for document_id in sorted(orphans):
                self._sync.remove(document_id)
            removed |= orphans
        self._sync.sources.mark(self._id, checkpoint.cursor)

    def _drop(self, item_ids: list[str]) -> None:
        self._sync.items.drop(self._id, item_ids)
        self._so_far = replace(self._so_far, removed=self._so_far.removed + len(item_ids))

    def _note_seen(self) -> None:
        self._sync.items.seen(self._id, self._seen)
        self._seen = []

    def _tell(self, name: str, outcome: str) -> None:
        count = getattr(self._so_far, outcome) + 1
        self._so_far = replace(self._so_far, name=name, **{outcome: count})


def _listing(item: Item) -> Listing:
    return Listing(item.id, item.name, item.version, item.url)


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
