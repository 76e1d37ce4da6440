"""What a change in a drive means for the folders that are read: a file came, or went, or all is to be seen.

Pure: decided from what was known after the last listing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rag.sources.google_records import FOLDER, SHORTCUT, Change, DriveFile


@dataclass(frozen=True)
class Known:
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


def moves_folders(change: Change, known: Known) -> bool:
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


def files(changes: Iterable[Change], known: Known) -> dict[str, DriveFile | None]:
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
