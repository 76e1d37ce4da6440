"""Backups of the ledger: made before a migration, named when it is damaged, put back on request."""

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from storage import sqlite
from storage.errors import DatabaseDamaged, StorageError
from storage.lock import DataDirectoryLock

LEDGER = "footnote.db"
FOLDER = "backups"


def newest(directory: Path) -> Path | None:
    """Find the last backup made in this data directory, if there is one."""
    return max((directory / FOLDER).glob("*.db"), key=lambda file: file.stat().st_mtime_ns, default=None)


def advice(directory: Path) -> str:
    """Say what to do about a damaged ledger: the restore command, or that there is nothing to restore."""
    backup = newest(directory)
    if backup is None:
        return (
            f"There is no backup in {directory / FOLDER}. To begin again with nothing, move {directory} away."
        )
    command = shlex.join(["footnote", "--data", str(directory), "restore", str(backup)])
    return f"The newest backup is {backup}. Restore it with: {command}"


@contextmanager
def damage_named(directory: Path) -> Iterator[None]:
    """Turn a failed check into DatabaseDamaged with its advice."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise DatabaseDamaged(
            f"The ledger {directory / LEDGER} is damaged ({error}) and was left as it is. {advice(directory)}"
        ) from error


def before_migration(directory: Path, revision: str | None) -> Path:
    """Back the ledger up into its own directory; returns the file."""
    target = _fresh(directory, f"before-upgrade-from-{revision or 'nothing'}.db")
    sqlite.copy(directory / LEDGER, target)
    return target


def restore(directory: Path, backup: Path) -> Path | None:
    """Put a backup in the ledger's place; returns where the old files went, None if there were none.

    Nothing is overwritten. Raises DataDirectoryLocked while in use, and StorageError when the
    backup itself is missing or damaged.
    """
    lock = DataDirectoryLock(directory)
    lock.acquire()
    try:
        stored = _inspected(backup)
        with sqlite.explained(directory):
            part = directory / f".{LEDGER}.part"
            sqlite.copy(backup, part)
            aside = _set_aside(directory)
            part.replace(directory / LEDGER)
        lock.note(stored.commits)
        return aside
    finally:
        lock.release()


def _inspected(backup: Path) -> sqlite.Stored:
    try:
        stored = sqlite.inspect(backup)
    except sqlite3.Error as error:
        raise StorageError(f"{backup} cannot be restored: {error}. Nothing was changed.") from error
    if stored is None or stored.revision is None:
        raise StorageError(f"{backup} is not a backup of Footnote's ledger. Nothing was changed.")
    return stored


def _set_aside(directory: Path) -> Path | None:
    """Move the ledger and its log out of the way."""
    files = [file for file in (directory / f"{LEDGER}{end}" for end in ("", "-wal", "-shm")) if file.exists()]
    if not files:
        return None
    aside = _fresh(directory, "replaced")
    aside.mkdir(mode=0o700)
    for file in files:
        file.rename(aside / file.name)
    return aside


def _fresh(directory: Path, name: str) -> Path:
    """Name a path in the backup folder that nothing has yet; the folder is made."""
    folder = directory / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{name}"
