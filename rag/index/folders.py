"""Folders of indexes in an owner's directory: on the disk, or in an object store with copies there."""

import shutil
from pathlib import Path
from typing import Protocol


class IndexFolders(Protocol):
    """Folders by the path that they have on the disk."""

    def names(self, directory: Path) -> list[str]:
        """Return the names of the folders in a directory."""

    def exists(self, folder: Path) -> bool:
        """Return whether there is anything in a folder."""

    def remove(self, folder: Path) -> None:
        """Remove a folder with all that is in it; what cannot be removed is not used again."""


class DiskFolders:
    """Folders on the disk alone."""

    def names(self, directory: Path) -> list[str]:
        """Return the names of the folders in a directory."""
        return [folder.name for folder in directory.iterdir()] if directory.is_dir() else []

    def exists(self, folder: Path) -> bool:
        """Return whether there is a folder."""
        return folder.exists()

    def remove(self, folder: Path) -> None:
        """Remove a folder with all that is in it."""
        shutil.rmtree(folder, ignore_errors=True)


ON_DISK = DiskFolders()
