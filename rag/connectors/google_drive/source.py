"""Google Drive as a source: folders, shared drives and single files, and what changes in them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rag.connectors.base import (
    Credentials,
    Gone,
    Item,
    Listed,
    Mark,
    Reached,
    Source,
    Unreadable,
    digest,
)
from rag.connectors.google_drive.client import TOKENS, DriveApi, asker
from rag.connectors.google_drive.models import (
    FOLDER,
    SHORTCUT,
    Change,
    Changes,
    DriveFile,
    DriveSettings,
    exported,
    listed,
)
from rag.connectors.http import MAX_BYTES, Fetcher
from rag.connectors.rest import FIRST_WAIT
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.jobs import Cancel, never


@dataclass(frozen=True)
class KnownFolders:
    """The folders that were looked into, where shortcuts in them lead, and the places that were named."""

    folders: frozenset[str]
    shortcuts: frozenset[tuple[str, str]]
    places: frozenset[str]
    subfolders: bool

    @property
    def entries(self) -> frozenset[str]:
        """What is wanted wherever it lies: the places that were named, and where shortcuts lead."""
        return self.places | {target for _, target in self.shortcuts}

    def holds(self, file: DriveFile) -> bool:
        """Whether a file is wanted: by itself, or by the folder that it lies in."""
        within = bool(self.folders & set(file.parents))
        if file.mime_type == FOLDER and not self.subfolders:
            within = False
        return not file.trashed and (within or file.id in self.entries)


def moves_folders(change: Change, known: KnownFolders) -> bool:
    """Whether after a change other files may be wanted that have not changed themselves.

    A folder that moves takes all below it along, and Drive does not tell of each; a shortcut likewise.
    """
    if change.kind == "drive":
        return change.removed
    file = change.file
    was = change.file_id in known.folders | {shortcut for shortcut, _ in known.shortcuts}
    if was:
        return change.removed or file is None or not known.holds(file)
    return file is not None and file.mime_type in (FOLDER, SHORTCUT) and known.holds(file)


def files(changes: Iterable[Change], known: KnownFolders) -> dict[str, DriveFile | None]:
    """Return what became of each file that changed: itself, or nothing where it is not wanted any more."""
    became: dict[str, DriveFile | None] = {}
    for change in changes:
        file = change.file
        if file is not None and file.mime_type in (FOLDER, SHORTCUT):
            continue
        if change.kind == "file" and change.file_id:
            wanted = file is not None and not change.removed and known.holds(file)
            became[change.file_id] = file if wanted else None
    return became


_TOGETHER = 40  # folders in one query, which may have a few thousand characters


class Tree:
    """Looks below folders, and remembers what it takes to tell later what a change means.

    `folders` are those that were looked into, `shortcuts` where each leads, `logs` the place that each
    drive's log was at before it was looked at, the account's own as "". `whole` is whether Drive was sure to
    have named all, `followed` whether its logs tell all that comes later.
    """

    def __init__(self, api: DriveApi, *, subfolders: bool):
        self.folders: set[str] = set()
        self.shortcuts: dict[str, str] = {}
        self.logs: dict[str, str] = {}
        self.whole = self.followed = True
        self._api, self._subfolders = api, subfolders
        self._outside: set[str] = set()  # drives of which only a part is shared with us
        self._named: set[str] = set()

    def files(self, roots: Sequence[DriveFile], cancelled: Cancel) -> Iterator[DriveFile | Unreadable]:
        """Yield the files among `roots` and below them."""
        self.logs[""] = self._api.start("", cancelled)
        level: list[DriveFile] = []
        for root in roots:
            yield from self._sorted_in(root, level, cancelled)
        while level:
            below: list[DriveFile] = []
            for found in self._within(level, cancelled):
                wanted = self._subfolders or found.mime_type != FOLDER
                yield from self._sorted_in(found, below, cancelled) if wanted else ()
            level = below

    def _sorted_in(
        self, found: DriveFile, folders: list[DriveFile], cancelled: Cancel
    ) -> Iterator[DriveFile | Unreadable]:
        """Yield a file, or note a folder to be looked into."""
        if found.trashed or found.id in self._named:
            return
        self._named.add(found.id)
        if found.mime_type == SHORTCUT:
            yield from self._followed(found, folders, cancelled)
            return
        self._know(found.drive_id, cancelled)
        if found.mime_type != FOLDER:
            yield found
            return
        self.folders.add(found.id)
        folders.append(found)

    def _followed(
        self, shortcut: DriveFile, folders: list[DriveFile], cancelled: Cancel
    ) -> Iterator[DriveFile | Unreadable]:
        """Sort in what a shortcut leads to."""
        self.shortcuts[shortcut.id] = shortcut.shortcut.target_id
        try:
            target = self._api.file(shortcut.shortcut.target_id, cancelled)
        except ItemFailed as error:
            self.followed = self.followed and isinstance(
                error, ItemRefused
            )  # no log tells when it works again
            yield Unreadable(shortcut.id, shortcut.name, f"It is a shortcut. Where it leads: {error}")
            return
        if target.mime_type != SHORTCUT and (self._subfolders or target.mime_type != FOLDER):
            yield from self._sorted_in(target, folders, cancelled)

    def _know(self, drive_id: str, cancelled: Cancel) -> None:
        """Find out where a shared drive's log is; who is no member of it may not read it."""
        if drive_id in self.logs or drive_id in self._outside:
            return
        try:
            self.logs[drive_id] = self._api.start(drive_id, cancelled)
        except ItemFailed:
            self._outside.add(drive_id)
            self.followed = False

    def _within(self, folders: Sequence[DriveFile], cancelled: Cancel) -> Iterator[DriveFile]:
        for drive_id in dict.fromkeys(folder.drive_id for folder in folders):
            ids = [folder.id for folder in folders if folder.drive_id == drive_id]
            for start in range(0, len(ids), _TOGETHER):
                yield from self._children(ids[start : start + _TOGETHER], drive_id, cancelled)

    def _children(self, ids: Sequence[str], drive_id: str, cancelled: Cancel) -> list[DriveFile]:
        """Return what is in some folders of one drive: all at once, while its pages can be had."""
        parents = " or ".join(f"'{id_}' in parents" for id_ in ids)
        if drive_id in self._outside:
            corpus = {"corpora": "allDrives"}
        else:
            corpus = {"corpora": "drive", "driveId": drive_id} if drive_id else {"corpora": "user"}
        pages = list(self._api.files(f"({parents}) and trashed = false", corpus, cancelled))
        self.whole = self.whole and not any(page.incomplete for page in pages)
        return [file for page in pages for file in page.files]


SERVICE = "https://www.googleapis.com"


class _Reached(Reached):
    """Where each log is to be read on, too, and what was known of folders, if the logs tell all there is."""

    followed: bool
    places: tuple[str, ...]
    logs: dict[str, str]
    folders: tuple[str, ...]
    shortcuts: tuple[tuple[str, str], ...]

    def known(self, *, subfolders: bool) -> KnownFolders:
        """Return what tells the meaning of a change."""
        return KnownFolders(
            frozenset(self.folders), frozenset(self.shortcuts), frozenset(self.places), subfolders
        )


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
