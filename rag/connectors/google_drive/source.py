"""Google Drive source: folders, shared drives and single files, with changes from Drive's logs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rag.connectors.base import (
    Checkpoint,
    Credentials,
    Gone,
    Item,
    Listed,
    Source,
    SyncState,
    Unreadable,
    digest,
)
from rag.connectors.google_drive.client import TOKENS, DriveApi, parse_credential
from rag.connectors.google_drive.models import (
    FOLDER,
    SHORTCUT,
    Change,
    DriveFile,
    DriveSettings,
    export_type,
    to_item,
)
from rag.connectors.http import MAX_BYTES, Fetcher
from rag.connectors.rest import FIRST_WAIT
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.jobs import Cancel, never


@dataclass(frozen=True)
class KnownFolders:
    """Folders of the last whole listing, the targets of their shortcuts, and the places of the settings."""

    folders: frozenset[str]
    shortcuts: frozenset[tuple[str, str]]
    places: frozenset[str]
    subfolders: bool

    @property
    def entries(self) -> frozenset[str]:
        """Ids that belong to the source in any folder: its places and the targets of shortcuts."""
        return self.places | {target for _, target in self.shortcuts}

    def contains(self, file: DriveFile) -> bool:
        """Return whether a file belongs to the source, by itself or by its folder."""
        within = bool(self.folders & set(file.parents))
        if file.mime_type == FOLDER and not self.subfolders:
            within = False
        return not file.trashed and (within or file.id in self.entries)


def moves_folders(change: Change, known: KnownFolders) -> bool:
    """Return whether a change may add or remove other files, which have no change of their own.

    Drive reports a moved folder, but not the files in it; a shortcut likewise.
    """
    if change.kind == "drive":
        return change.removed
    file = change.file
    was = change.file_id in known.folders | {shortcut for shortcut, _ in known.shortcuts}
    if was:
        return change.removed or file is None or not known.contains(file)
    return file is not None and file.mime_type in (FOLDER, SHORTCUT) and known.contains(file)


def changed_files(changes: Iterable[Change], known: KnownFolders) -> dict[str, DriveFile | None]:
    """Return each changed file by its id; None where it no longer belongs to the source."""
    became: dict[str, DriveFile | None] = {}
    for change in changes:
        file = change.file
        if file is not None and file.mime_type in (FOLDER, SHORTCUT):
            continue
        if change.kind == "file" and change.file_id:
            wanted = file is not None and not change.removed and known.contains(file)
            became[change.file_id] = file if wanted else None
    return became


_FOLDERS_PER_QUERY = 40  # a query may have a few thousand characters


class FolderTree:
    """Traversal of folders, with the data that later changes are interpreted by.

    `folders` are those that were listed, `shortcuts` their targets, `logs` the position of each drive's
    change log before its listing, the account's own as "". `whole` is True while Drive claims complete
    listings, `followed` while its logs cover all later changes.
    """

    def __init__(self, api: DriveApi, *, subfolders: bool):
        self.folders: set[str] = set()
        self.shortcuts: dict[str, str] = {}
        self.logs: dict[str, str] = {}
        self.whole = self.followed = True
        self._api, self._subfolders = api, subfolders
        self._outside: set[str] = set()  # drives of which only a part is shared with the account
        self._named: set[str] = set()

    def files(self, roots: Sequence[DriveFile], cancelled: Cancel) -> Iterator[DriveFile | Unreadable]:
        """Yield the files among `roots` and below them."""
        self.logs[""] = self._api.start("", cancelled)
        level: list[DriveFile] = []
        for root in roots:
            yield from self._visit(root, level, cancelled)
        while level:
            below: list[DriveFile] = []
            for found in self._within(level, cancelled):
                wanted = self._subfolders or found.mime_type != FOLDER
                yield from self._visit(found, below, cancelled) if wanted else ()
            level = below

    def _visit(
        self, found: DriveFile, folders: list[DriveFile], cancelled: Cancel
    ) -> Iterator[DriveFile | Unreadable]:
        """Yield a file, or add a folder to those to be listed."""
        if found.trashed or found.id in self._named:
            return
        self._named.add(found.id)
        if found.mime_type == SHORTCUT:
            yield from self._visit_target(found, folders, cancelled)
            return
        self._add_log(found.drive_id, cancelled)
        if found.mime_type != FOLDER:
            yield found
            return
        self.folders.add(found.id)
        folders.append(found)

    def _visit_target(
        self, shortcut: DriveFile, folders: list[DriveFile], cancelled: Cancel
    ) -> Iterator[DriveFile | Unreadable]:
        """Visit the target of a shortcut."""
        self.shortcuts[shortcut.id] = shortcut.shortcut_target
        try:
            target = self._api.file(shortcut.shortcut_target, cancelled)
        except ItemFailed as error:
            # No log reports when a temporary failure is over.
            self.followed = self.followed and isinstance(error, ItemRefused)
            yield Unreadable(shortcut.id, shortcut.name, f"It is a shortcut. Where it leads: {error}")
            return
        if target.mime_type != SHORTCUT and (self._subfolders or target.mime_type != FOLDER):
            yield from self._visit(target, folders, cancelled)

    def _add_log(self, drive_id: str, cancelled: Cancel) -> None:
        """Record the position of a shared drive's log, which only its members may read."""
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
            for start in range(0, len(ids), _FOLDERS_PER_QUERY):
                yield from self._children(ids[start : start + _FOLDERS_PER_QUERY], drive_id, cancelled)

    def _children(self, ids: Sequence[str], drive_id: str, cancelled: Cancel) -> list[DriveFile]:
        """Return the files in some folders of one drive; all pages at once, before their tokens expire."""
        parents = " or ".join(f"'{id_}' in parents" for id_ in ids)
        if drive_id in self._outside:
            corpus = {"corpora": "allDrives"}
        else:
            corpus = {"corpora": "drive", "driveId": drive_id} if drive_id else {"corpora": "user"}
        pages = list(self._api.files(f"({parents}) and trashed = false", corpus, cancelled))
        self.whole = self.whole and not any(page.incomplete for page in pages)
        return [file for page in pages for file in page.files]


SERVICE = "https://www.googleapis.com"


class _DriveState(SyncState):
    """State with the positions of logs and the known folders; `followed` where the logs are complete."""

    followed: bool
    places: tuple[str, ...]
    logs: dict[str, str]
    folders: tuple[str, ...]
    shortcuts: tuple[tuple[str, str], ...]

    def known(self, *, subfolders: bool) -> KnownFolders:
        """Return the folders by which changes are interpreted."""
        return KnownFolders(
            frozenset(self.folders), frozenset(self.shortcuts), frozenset(self.places), subfolders
        )


class DriveSource(Source):
    """Places of a drive. Changes are read from Drive's logs; once a day all files are listed.

    All files are listed, too, where a folder was added, removed or moved, since Drive does not report the
    files in it. `service` and `tokens` are Google's addresses, `max_bytes` limits a file, `now` gives the
    time.
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
        account = parse_credential(credentials, settings.credential)
        self._api = DriveApi(account, fetcher, service=service, tokens=tokens, now=now, first_wait=first_wait)

    def test(self) -> str:
        """Sign in, find the places of the settings, and return their names."""
        user = self._api.about(never)
        names = ", ".join(f"“{place.name}”" for place in self._places(never))
        return f"Signed in as {user.name or user.email or self._api.account}. Can be read: {names}."

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield all items, or the changes."""
        began = self._now()
        state = _DriveState.parse(cursor, self._of)
        changes = None
        if state is not None and state.followed and not state.is_old(began):
            changes = self._changed(state, cancelled)
        yield from self._all(began, cancelled) if changes is None else changes

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file; Google's own documents become Office files."""
        file = self._api.file(item.id, cancelled)
        if file.trashed:
            raise ItemRefused("It was put into the trash.")
        yield from self._api.content(file, export_type(file), cancelled)

    def _all(self, began: datetime, cancelled: Cancel) -> Iterator[Listed]:
        tree = FolderTree(self._api, subfolders=self._settings.subfolders)
        places = tuple(self._places(cancelled))
        for found in tree.files(places, cancelled):
            yield found if isinstance(found, Unreadable) else to_item(found, self._max_bytes)
        state = _DriveState(
            of=self._of,
            whole=began,
            followed=tree.followed and tree.whole,
            places=tuple(place.id for place in places),
            logs=tree.logs,
            folders=tuple(sorted(tree.folders)),
            shortcuts=tuple(sorted(tree.shortcuts.items())),
        )
        yield Checkpoint(state.model_dump_json(), tree.whole)

    def _places(self, cancelled: Cancel) -> Iterator[DriveFile]:
        """Yield the places; raise SourceError where one is missing, before its files seem to be gone."""
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

    def _changed(self, state: _DriveState, cancelled: Cancel) -> tuple[Listed, ...] | None:
        """Return the changes and a checkpoint; None where a whole listing is necessary."""
        try:
            logs = {
                drive: tuple(self._api.changes(token, drive, cancelled))
                for drive, token in state.logs.items()
            }
        except ItemFailed:  # a position that Drive no longer knows
            return None
        changes = [change for pages in logs.values() for page in pages for change in page.changes]
        known = state.known(subfolders=self._settings.subfolders)
        if any(moves_folders(change, known) for change in changes):
            return None
        found = (
            Gone(id_) if file is None else to_item(file, self._max_bytes)
            for id_, file in changed_files(changes, known).items()
        )
        ends = {drive: pages[-1].start for drive, pages in logs.items()}
        return (*found, Checkpoint(state.model_copy(update={"logs": ends}).model_dump_json(), whole=False))
