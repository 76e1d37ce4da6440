"""Google Drive as a source: folders, shared drives and single files, and what changes in them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.jobs import Cancel, never
from rag.sources.credentials import Credentials
from rag.sources.cursors import Reached, digest
from rag.sources.google_api import DriveApi
from rag.sources.google_changes import Known, files, moves_folders
from rag.sources.google_credentials import TOKENS, asker
from rag.sources.google_items import exported, listed
from rag.sources.google_records import FOLDER, Changes, DriveFile
from rag.sources.google_settings import DriveSettings
from rag.sources.google_tree import Tree
from rag.sources.http import MAX_BYTES, Fetcher
from rag.sources.rest import FIRST_WAIT
from rag.sources.source import Gone, Item, Listed, Mark, Source, Unreadable

SERVICE = "https://www.googleapis.com"


class _Reached(Reached):
    """Where each log is to be read on, too, and what was known of folders, if the logs tell all there is."""

    followed: bool
    places: tuple[str, ...]
    logs: dict[str, str]
    folders: tuple[str, ...]
    shortcuts: tuple[tuple[str, str], ...]

    def known(self, *, subfolders: bool) -> Known:
        """Return what tells the meaning of a change."""
        return Known(frozenset(self.folders), frozenset(self.shortcuts), frozenset(self.places), subfolders)


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
        self._of = digest(settings, "credential")
        who = asker(credentials, settings.credential)
        self._api = DriveApi(who, fetcher, service=service, tokens=tokens, now=now, first_wait=first_wait)

    def test(self) -> str:
        """Sign in, find the places that are wanted, and name them."""
        user = self._api.about(never).user
        names = ", ".join(f"“{place.name}”" for place in self._places(never))
        return f"Signed in as {user.name or user.email or self._api.account}. Can be read: {names}."

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield all that is there, or what changed."""
        began = self._now()
        reached = _Reached.read(cursor, self._of)
        told = None
        if reached is not None and reached.followed and not reached.is_old(began):
            told = self._changed(reached, cancelled)
        yield from self._all(began, cancelled) if told is None else told

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file, or a document of Google's own as an Office file."""
        file = self._api.file(item.id, cancelled)
        if file.trashed:
            raise ItemRefused("It was put into the trash.")
        yield from self._api.content(file, exported(file), cancelled)

    def _all(self, began: datetime, cancelled: Cancel) -> Iterator[Listed]:
        tree = Tree(self._api, subfolders=self._settings.subfolders)
        places = tuple(self._places(cancelled))
        for found in tree.files(places, cancelled):
            yield found if isinstance(found, Unreadable) else listed(found, self._max_bytes)
        reached = _Reached(
            of=self._of,
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
        try:
            logs = {drive: self._log(token, drive, cancelled) for drive, token in reached.logs.items()}
        except ItemFailed:  # a place in a log that Drive does not know any more
            return None
        changes = [change for pages in logs.values() for page in pages for change in page.changes]
        known = reached.known(subfolders=self._settings.subfolders)
        if any(moves_folders(change, known) for change in changes):
            return None
        found = (
            Gone(id_) if file is None else listed(file, self._max_bytes)
            for id_, file in files(changes, known).items()
        )
        ends = {drive: pages[-1].start for drive, pages in logs.items()}
        return (*found, Mark(reached.model_copy(update={"logs": ends}).model_dump_json(), whole=False))

    def _log(self, token: str, drive: str, cancelled: Cancel) -> tuple[Changes, ...]:
        return tuple(self._api.changes(token, drive, cancelled))
