"""Google Drive as a source: folders, shared drives and single files, and what changes in them."""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from rag.errors import ItemFailed, SourceError
from rag.jobs import Cancel, never
from rag.sources.credentials import Credentials
from rag.sources.fetcher import MAX_BYTES, Fetcher
from rag.sources.google_api import DriveApi
from rag.sources.google_changes import Known, files, moves_folders
from rag.sources.google_credentials import TOKENS, asker
from rag.sources.google_items import exported, listed
from rag.sources.google_records import FOLDER, Change, DriveFile
from rag.sources.google_settings import DriveSettings
from rag.sources.google_tree import Tree
from rag.sources.rest import FIRST_WAIT
from rag.sources.source import Gone, Item, Listed, Mark, Source, Unreadable

WHOLE_AFTER = timedelta(days=1)
SERVICE = "https://www.googleapis.com"


class _Reached(BaseModel):
    """A cursor: where each log is to be read on, what was known of folders, and when all was listed."""

    model_config = ConfigDict(frozen=True)

    of: str
    whole: AwareDatetime
    followed: bool
    places: tuple[str, ...]
    logs: dict[str, str]
    folders: tuple[str, ...]
    shortcuts: tuple[tuple[str, str], ...]


class DriveSource(Source):
    """Some places of a drive. What changed is read from Drive's logs; once a day all is listed.

    All is listed, too, where a folder came, went or moved, since Drive does not tell of each file in it.
    `service` and `tokens` are where Google is, `max_bytes` how large a file may be, `now` gives the time.
    """

    def __init__(
        self,
        settings: DriveSettings,
        credentials: Credentials,
        fetcher: Fetcher,
        *,
        service: str = SERVICE,
        tokens: str = TOKENS,
        max_bytes: int = MAX_BYTES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        first_wait: float = FIRST_WAIT,
    ):
        self._settings, self._max_bytes, self._now = settings, max_bytes, now
        self._api = DriveApi(
            asker(credentials, settings.credential),
            fetcher,
            service=service,
            tokens=tokens,
            now=now,
            first_wait=first_wait,
        )

    def test(self) -> str:
        """Sign in, find the places that are wanted, and name them."""
        user = self._api.about(never).user
        names = ", ".join(f"“{place.name}”" for place in self._places(never))
        return f"Signed in as {user.name or user.email or self._api.account}. Can be read: {names}."

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield all that is there, or what changed."""
        began = self._now()
        reached = self._reached(cursor)
        read = None
        if reached is not None and reached.followed and began - reached.whole < WHOLE_AFTER:
            read = self._changed(reached, cancelled)
        if read is None:
            yield from self._all(began, cancelled)
        else:
            yield from read

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file, or a document of Google's own as an Office file."""
        file = self._api.file(item.id, cancelled)
        if file.trashed:
            raise ItemFailed("It was put into the trash.")
        yield from self._api.content(file, exported(file), cancelled)

    def _all(self, began: datetime, cancelled: Cancel) -> Iterator[Listed]:
        tree = Tree(self._api, subfolders=self._settings.subfolders)
        places = tuple(self._places(cancelled))
        for found in tree.files(places, cancelled):
            yield found if isinstance(found, Unreadable) else listed(found, self._max_bytes)
        reached = _Reached(
            of=self._digest(),
            whole=began,
            followed=tree.followed and tree.whole,
            places=tuple(place.id for place in places),
            logs=tree.logs,
            folders=tuple(sorted(tree.folders)),
            shortcuts=tuple(sorted(tree.shortcuts.items())),
        )
        yield Mark(reached.model_dump_json(), tree.whole)

    def _places(self, cancelled: Cancel) -> Iterator[DriveFile]:
        """Yield the places; SourceError where one cannot be seen, before its files seem to be gone."""
        for place in self._settings.places:
            try:
                found = self._api.file(place, cancelled)
            except ItemFailed as error:
                raise SourceError(f"The folder or file {place} cannot be read. {error}") from error
            if found.trashed and found.mime_type == FOLDER:
                raise SourceError(
                    f"The folder “{found.name}” is in the trash. Restore it, or take it out of the source."
                )
            yield found

    def _changed(self, reached: _Reached, cancelled: Cancel) -> tuple[Listed, ...] | None:
        """Return what changed and a mark; nothing where all is to be listed for it."""
        known = Known(
            frozenset(reached.folders),
            frozenset(reached.shortcuts),
            frozenset(reached.places),
            self._settings.subfolders,
        )
        logs, changes = dict(reached.logs), tuple[Change, ...]()
        for drive_id, token in reached.logs.items():
            try:
                pages = list(self._api.changes(token, drive_id, cancelled))
            except ItemFailed:  # a place in a log that Drive does not know any more
                return None
            logs[drive_id] = pages[-1].start
            changes += tuple(change for page in pages for change in page.changes)
        if any(moves_folders(change, known) for change in changes):
            return None
        found = (
            Gone(id_) if file is None else listed(file, self._max_bytes)
            for id_, file in files(changes, known).items()
        )
        return (*found, Mark(reached.model_copy(update={"logs": logs}).model_dump_json(), whole=False))

    def _reached(self, cursor: str | None) -> _Reached | None:
        """Return what a cursor says, or nothing where it is of other settings, or says nothing."""
        try:
            reached = _Reached.model_validate_json(cursor or "")
        except ValidationError:
            return None
        return reached if reached.of == self._digest() else None

    def _digest(self) -> str:
        wanted = self._settings.model_dump_json(exclude={"credential"})
        return hashlib.sha256(wanted.encode()).hexdigest()[:16]
