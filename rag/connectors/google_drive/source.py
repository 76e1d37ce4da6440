"""Google Drive source: folders, shared drives and single files, with changes from Drive's logs."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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
from rag.connectors.google_drive.client import (
    FOLDER,
    SHORTCUT,
    TOKENS,
    Change,
    DriveApi,
    DriveFile,
    google_credentials,
)
from rag.connectors.http import MAX_BYTES, Fetcher
from rag.connectors.rest import FIRST_WAIT, too_large
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.i18n import N_
from rag.jobs import Cancel, never

_ID = re.compile(r"[A-Za-z0-9_-]{10,200}|root")
_URL = re.compile(
    r"https://(?:drive|docs)\.google\.com/\S*?(?:/folders/|/d/|[?&]id=)([A-Za-z0-9_-]{10,200})(?:[/?#&]\S*)?"
)


def _place(given: str) -> str:
    """Return the id of a folder or file, given as an id or an address."""
    text = given.strip()
    if found := _URL.fullmatch(text):
        return found[1]
    if _ID.fullmatch(text):
        return text
    raise ValueError(N_("{given} is no folder or file. Copy its address from the browser", given=repr(given)))


class DriveSettings(BaseModel):
    """Folders and files to sync; `credential` names a secret and never holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    places: tuple[Annotated[str, AfterValidator(_place)], ...] = Field(
        title=N_("Folders and files"),
        description=N_(
            "Their addresses in the browser, one a line. A shared drive is a folder, too; root is "
            "the account's own drive."
        ),
        min_length=1,
    )
    subfolders: bool = Field(True, title=N_("Folders within them, too"))
    credential: Annotated[str, AfterValidator(str.strip)] = Field(
        title=N_("Name of the secret"),
        description=N_(
            "The whole JSON of a service account's key, or of an authorized user, kept outside "
            "Footnote's database: the secret drive is FOOTNOTE_SECRET_DRIVE in the server's environment, or "
            "drive under [sources] in its secrets file."
        ),
    )


_OFFICE = "application/vnd.openxmlformats-officedocument."
_GOOGLE = "application/vnd.google-apps."
_AUDIO_VIDEO = ("video/", "audio/")
# Word keeps headings, merged cells, footnotes and descriptions of pictures; Markdown would contain every
# picture as text and soon exceed what Google exports.
_EXPORTED: Mapping[str, tuple[str, str]] = {  # media type and suffix of the export
    f"{_GOOGLE}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{_GOOGLE}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{_GOOGLE}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{_GOOGLE}drawing": ("application/pdf", ".pdf"),
}


def to_item(file: DriveFile, max_bytes: int) -> Item | Unreadable:
    """Return a file as an item of a listing, if it has at most `max_bytes`."""
    reason = _reason_unreadable(file, max_bytes)
    if reason:
        return Unreadable(file.id, file.name, reason, lasting=True)
    suffix = _EXPORTED.get(file.mime_type, ("", ""))[1]
    name = file.name if file.name.lower().endswith(suffix) else file.name + suffix
    link = file.link if file.link.startswith("https://") else f"https://drive.google.com/open?id={file.id}"
    version = file.checksum or (file.modified.isoformat() if file.modified else "")
    return Item(file.id, name, version, link)


def _reason_unreadable(file: DriveFile, max_bytes: int) -> str:
    if file.mime_type.startswith(_GOOGLE) and file.mime_type not in _EXPORTED:
        kind = file.mime_type.removeprefix(_GOOGLE)
        return N_("It is a Google {kind}, which Drive does not give out as a document.", kind=kind)
    if file.mime_type.startswith(_AUDIO_VIDEO):
        return N_("It is a film or a sound, and holds no text.")
    if not file.can_download:
        return N_("Its owner does not allow it to be downloaded.")
    if file.size > max_bytes:
        return too_large(file.size, max_bytes)
    return ""


@dataclass(frozen=True)
class KnownFolders:
    """Folders and shortcuts of the last whole listing; `named` files belong to the source in any folder."""

    folders: frozenset[str]
    shortcuts: frozenset[str]
    named: frozenset[str]
    subfolders: bool

    def contains(self, file: DriveFile) -> bool:
        """Return whether a file belongs to the source, by itself or by its folder."""
        within = bool(self.folders & set(file.parents))
        if file.mime_type == FOLDER and not self.subfolders:
            within = False
        return not file.trashed and (within or file.id in self.named)


def moves_folders(change: Change, known: KnownFolders) -> bool:
    """Return whether a change of a folder or shortcut affects other files, which Drive does not report."""
    if change.kind == "drive":
        return change.removed
    file = change.file
    if change.file_id in known.folders or change.file_id in known.shortcuts:
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

    `shortcuts` have their targets, `logs` the position of each drive's change log before its listing, the
    account's own as "". `whole` is True while Drive claims complete listings, `followed` while its logs cover
    all later changes.
    """

    def __init__(self, api: DriveApi, *, subfolders: bool):
        self.folders: set[str] = set()
        self.shortcuts: dict[str, str] = {}
        self.logs: dict[str, str] = {}
        self.whole = self.followed = True
        self._api, self._subfolders = api, subfolders
        self._outside: set[str] = set()  # drives of which only a part is shared with the account
        self._named: set[str] = set()

    def files(self, roots: Sequence[DriveFile]) -> Iterator[DriveFile | Unreadable]:
        """Yield the files among `roots` and below them."""
        self.logs[""] = self._api.start("")
        level: list[DriveFile] = []
        for root in roots:
            yield from self._visit(root, level)
        while level:
            below: list[DriveFile] = []
            for found in self._within(level):
                wanted = self._subfolders or found.mime_type != FOLDER
                yield from self._visit(found, below) if wanted else ()
            level = below

    def _visit(self, found: DriveFile, folders: list[DriveFile]) -> Iterator[DriveFile | Unreadable]:
        """Yield a file, or add a folder to those to be listed."""
        if found.trashed or found.id in self._named:
            return
        self._named.add(found.id)
        if found.mime_type == SHORTCUT:
            yield from self._visit_target(found, folders)
            return
        self._add_log(found.drive_id)
        if found.mime_type != FOLDER:
            yield found
            return
        self.folders.add(found.id)
        folders.append(found)

    def _visit_target(
        self, shortcut: DriveFile, folders: list[DriveFile]
    ) -> Iterator[DriveFile | Unreadable]:
        self.shortcuts[shortcut.id] = shortcut.shortcut_target
        try:
            target = self._api.file(shortcut.shortcut_target)
        except ItemFailed as error:
            # No log reports when a temporary failure is over.
            self.followed = self.followed and isinstance(error, ItemRefused)
            yield Unreadable(
                shortcut.id, shortcut.name, N_("It is a shortcut. Where it leads: {error}", error=error)
            )
            return
        if target.mime_type != SHORTCUT and (self._subfolders or target.mime_type != FOLDER):
            yield from self._visit(target, folders)

    def _add_log(self, drive_id: str) -> None:
        """Record the position of a shared drive's log, which only its members may read."""
        if drive_id in self.logs or drive_id in self._outside:
            return
        try:
            self.logs[drive_id] = self._api.start(drive_id)
        except ItemFailed:
            self._outside.add(drive_id)
            self.followed = False

    def _within(self, folders: Sequence[DriveFile]) -> Iterator[DriveFile]:
        for drive_id in dict.fromkeys(folder.drive_id for folder in folders):
            ids = [folder.id for folder in folders if folder.drive_id == drive_id]
            for start in range(0, len(ids), _FOLDERS_PER_QUERY):
                yield from self._children(ids[start : start + _FOLDERS_PER_QUERY], drive_id)

    def _children(self, ids: Sequence[str], drive_id: str) -> list[DriveFile]:
        """Return the files in some folders of one drive; all pages at once, before their tokens expire."""
        parents = " or ".join(f"'{id_}' in parents" for id_ in ids)
        if drive_id in self._outside:
            corpus = {"corpora": "allDrives"}
        else:
            corpus = {"corpora": "drive", "driveId": drive_id} if drive_id else {"corpora": "user"}
        pages = list(self._api.files(f"({parents}) and trashed = false", corpus))
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
        shortcuts = dict(self.shortcuts)
        named = frozenset((*self.places, *shortcuts.values()))
        return KnownFolders(frozenset(self.folders), frozenset(shortcuts), named, subfolders)


class DriveSource(Source):
    """Places of a drive. Changes come from its logs; all is listed once a day, or if a folder moved."""

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
        name = settings.credential
        credential = google_credentials(credentials.get(name), name, tokens)
        self._api = DriveApi(credential, fetcher, service=service, first_wait=first_wait)

    def test(self) -> str:
        """Sign in, find the places of the settings, and return their names."""
        user = self._api.about()
        names = ", ".join(f"“{place.name}”" for place in self._places())
        return N_(
            "Signed in as {account}. Can be read: {names}.",
            account=user.name or user.email or self._api.account,
            names=names,
        )

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield all items, or the changes."""
        self._api.cancelled, began = cancelled, self._now()
        state = _DriveState.parse(cursor, self._of)
        changes = None
        if state is not None and state.followed and not state.is_old(began):
            changes = self._changed(state)
        yield from self._all(began) if changes is None else changes

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file; Google's own documents become Office files."""
        self._api.cancelled = cancelled
        file = self._api.file(item.id)
        if file.trashed:
            raise ItemRefused(N_("It was put into the trash."))
        yield from self._api.content(file, _EXPORTED.get(file.mime_type, ("", ""))[0])

    def _all(self, began: datetime) -> Iterator[Listed]:
        tree = FolderTree(self._api, subfolders=self._settings.subfolders)
        places = tuple(self._places())
        for found in tree.files(places):
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

    def _places(self) -> Iterator[DriveFile]:
        """Yield the places; raise SourceError where one is missing, before its files seem to be gone."""
        for place in self._settings.places:
            try:
                found = self._api.file(place)
            except ItemFailed as error:
                raise SourceError(
                    N_("The folder or file {place} cannot be read. {reason}", place=place, reason=error)
                ) from error
            if found.trashed and found.mime_type == FOLDER:
                raise SourceError(
                    N_(
                        "The folder “{name}” is in the trash. Restore it, or take it out of the source.",
                        name=found.name,
                    )
                )
            yield found

    def _changed(self, state: _DriveState) -> tuple[Listed, ...] | None:
        """Return the changes and a checkpoint; None where a whole listing is necessary."""
        try:
            logs = {drive: tuple(self._api.changes(token, drive)) for drive, token in state.logs.items()}
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
