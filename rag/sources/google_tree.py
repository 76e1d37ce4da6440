"""The files below some folders of a drive: level by level, shortcuts followed, nothing named twice."""

from collections.abc import Iterator, Sequence

from rag.errors import ItemFailed, ItemRefused
from rag.jobs import Cancel
from rag.sources.google_api import DriveApi
from rag.sources.google_records import FOLDER, SHORTCUT, DriveFile
from rag.sources.source import Unreadable

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
