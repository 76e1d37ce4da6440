"""Sync of a source into the library, each item committed by itself, so that it can be continued."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import IO

from rag.connectors.base import Checkpoint, Deferred, Gone, Item, Listed, Source, Unreadable, retry_delay
from rag.errors import Cancelled, FootnoteError, ItemFailed, ItemRefused, SourceEmptied
from rag.i18n import N_
from rag.ingest.library import Library
from rag.jobs import Cancel, never
from storage.records import Listing, Outcome, SourceState
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
