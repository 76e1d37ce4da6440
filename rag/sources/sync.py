"""A source read into the library: what is new is fetched, what changed replaced, what is gone removed.

Each item is taken in one commit, so that a sync that ends anywhere goes on where it was: what has the
version that was taken is not fetched again, and content that is known is not read again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from tempfile import SpooledTemporaryFile
from typing import IO

from rag.errors import Cancelled, FootnoteError, ItemFailed, SourceError
from rag.jobs import Cancel, never
from rag.library import Library
from rag.sources.source import Gone, Item, Listed, Mark, Source, Unreadable
from storage.records import Outcome
from storage.source_items import SourceItems
from storage.source_records import Listing
from storage.sources import Sources

_IN_MEMORY = 1 << 20  # bytes of an item; larger ones wait on disk until they are whole
_PIECE = 1 << 16
_SEEN = 200  # unchanged items noted in one commit


@dataclass(frozen=True)
class Synced:
    """How far a sync is, and what came of the items so far; `name` is the latest one's."""

    name: str = ""
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0

    @property
    def items(self) -> int:
        """How many items have been looked at."""
        return self.new + self.changed + self.unchanged + self.failed


class Sync:
    """Reads one owner's sources. Documents to be read are handed to `start`, those that go to `remove`.

    An item of more than `max_bytes` is not taken.
    """

    def __init__(
        self,
        library: Library,
        sources: Sources,
        items: SourceItems,
        start: Callable[[str], None],
        remove: Callable[[str], None],
        max_bytes: int,
    ):
        self.library, self.sources, self.items = library, sources, items
        self.start, self.remove, self.max_bytes = start, remove, max_bytes

    def run(
        self, source_id: str, opened: Callable[[], Source], cancelled: Cancel = never
    ) -> Iterator[Synced]:
        """Read a source from where the last reading ended; how this one ends is kept with the source."""
        cursor = self.sources.begin(source_id).cursor
        try:
            with opened() as source:
                yield from _Reading(self, source_id, source, cancelled).run(cursor)
        except Cancelled:
            self.sources.end(source_id, "stopped")
            raise
        except FootnoteError as error:
            self.sources.end(source_id, "failed", str(error))
            raise
        except BaseException:
            self.sources.end(source_id, "stopped")
            raise
        self.sources.end(source_id, "stopped" if cancelled() else "idle")


class _Reading:
    """One reading of one source, while it goes on."""

    def __init__(self, sync: Sync, source_id: str, source: Source, cancelled: Cancel):
        self._sync, self._id, self._source, self._cancelled = sync, source_id, source, cancelled
        self._known = {item.id: item for item in sync.items.list(source_id)}
        self._seen: list[Listing] = []
        self._so_far = Synced()

    def run(self, cursor: str | None) -> Iterator[Synced]:
        for listed in self._source.list(cursor, self._cancelled):
            if self._cancelled():
                break
            self._take(listed)
            yield self._so_far
        self._note_seen()

    def _take(self, listed: Listed) -> None:
        match listed:
            case Item() if self._is_current(listed):
                self._seen.append(_listing(listed))
                self._tell(listed.name, "unchanged")
                if len(self._seen) >= _SEEN:
                    self._note_seen()
            case Item():
                self._fetch(listed)
            case Unreadable(id_, name, reason):
                self._sync.items.fail(self._id, Listing(id_, name), reason)
                self._tell(name, "failed")
            case Gone(id_):
                self._drop([id_] if id_ in self._known else [])
            case Mark():
                self._settle(listed)

    def _is_current(self, item: Item) -> bool:
        """Whether an item was taken at the version that it has; without a version nobody knows."""
        known = self._known.get(item.id)
        return known is not None and bool(item.version) and known.version == item.version

    def _fetch(self, item: Item) -> None:
        try:
            with SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
                self._download(item, spool)
                outcome = self._keep(item, spool)
        except ItemFailed as error:
            self._sync.items.fail(self._id, _listing(item), str(error))
            self._tell(item.name, "failed")
            return
        before = self._known.get(item.id)
        changed = "new" if before is None or before.document_id is None else "changed"
        self._tell(item.name, "unchanged" if outcome == "unchanged" else changed)

    def _download(self, item: Item, spool: IO[bytes]) -> None:
        for piece in self._source.fetch(item, self._cancelled):
            spool.write(piece)
            if spool.tell() > self._sync.max_bytes:
                raise ItemFailed(
                    f"{item.name} is larger than {self._sync.max_bytes >> 20:,} MB, so it was not taken. "
                    "To take it, raise FOOTNOTE_MAX_UPLOAD_MB."
                )
            if self._cancelled():
                raise Cancelled(f"Fetching {item.name} was stopped. It is fetched again the next time.")

    def _keep(self, item: Item, spool: IO[bytes]) -> Outcome:
        spool.seek(0)
        items, listing = self._sync.items, _listing(item)
        record, outcome = self._sync.library.keep(
            iter(lambda: spool.read(_PIECE), b""),
            lambda sha256, size: items.keep(self._id, listing, sha256, size),
        )
        self._sync.start(record.id)
        return outcome

    def _settle(self, mark: Mark) -> None:
        """Let go of what is no longer at the source, and keep where the next reading begins."""
        self._note_seen()
        gone = self._sync.items.unseen(self._id) if mark.whole else []
        if gone and not self._so_far.items:
            raise SourceError(
                "The source is empty now, though it was not before, so nothing was removed. See whether it "
                "can be reached as a whole; where it is meant to be empty, delete the source here."
            )
        self._drop(gone)
        asked: set[str] = set()
        while orphans := set(self._sync.items.orphans()) - asked:  # with one goes what it was to replace
            for document_id in sorted(orphans):
                self._sync.remove(document_id)
            asked |= orphans
        self._sync.sources.mark(self._id, mark.cursor)

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
