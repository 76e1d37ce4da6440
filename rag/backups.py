"""Backups by the clock and on request: written into a folder and read back.

Of those by the clock the oldest ones are removed.
"""

import json
import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rag.errors import BackupRunning, Cancelled, FootnoteError, SettingsError
from rag.i18n import N_
from rag.jobs import SERVER, Cancel, Job, Jobs
from rag.settings import SAVED, Settings, shareable
from storage import backup
from storage.audit_log import AuditLog
from storage.errors import DiskFull, NotFound, StorageError
from storage.originals import open_originals
from storage.sqlite import FOLDER, LEDGER

BACKUP = "backup"
ON_REQUEST = f"{BACKUP}:on request"  # key of the job
LANES = {BACKUP: 1}
RETRY = timedelta(hours=1)  # after a failure, or less where backups are made more often
SPARE = 50_000_000  # bytes that stay free beside the backup
ARCHIVE = re.compile(r"footnote-(\d{8}T\d{6}Z)\.tar(\.encrypted)?")
REQUESTED = re.compile(r"footnote-(\d{8}T\d{6}Z)-requested\.tar(\.encrypted)?")
LEFT = re.compile(r"\.footnote-\d{8}T\d{6}Z(-requested)?\.tar(\.encrypted)?\.(part|ledger)")
_STAMP = "%Y%m%dT%H%M%SZ"

log = logging.getLogger(__name__)


def check(settings: Settings) -> None:
    """Raise SettingsError where the settings ask for backups that cannot be made."""
    if settings.backup_folder is not None and settings.database_url:
        raise SettingsError(
            N_(
                "FOOTNOTE_BACKUP_FOLDER is set, and the ledger lives on a database server: back it "
                "up with the server's own tools, and leave FOOTNOTE_BACKUP_FOLDER out."
            )
        )


def file_name(moment: datetime, *, encrypted: bool, requested: bool = False) -> str:
    """Return the name of a backup: "footnote-20261124T020000Z.tar", or "...Z-requested.tar"."""
    whose = "-requested" if requested else ""
    return f"footnote-{moment.astimezone(UTC):{_STAMP}}{whose}.tar" + (".encrypted" if encrypted else "")


def made(folder: Path, named: re.Pattern[str] = ARCHIVE) -> list[tuple[datetime, Path]]:
    """List the backups in a folder that are named as by the clock, or otherwise, the oldest first."""
    found = []
    for path in folder.iterdir():
        if (match := named.fullmatch(path.name)) and path.is_file():
            with suppress(ValueError):  # digits that are no time: not ours
                found.append((datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC), path))
    return sorted(found)


class BackupSchedule:
    """Backups of one server; `on_newest` is told when the newest one was made."""

    def __init__(
        self,
        jobs: Jobs,
        settings: Callable[[], Settings],
        audit_log: AuditLog,
        on_newest: Callable[[datetime], None] = lambda _: None,
    ):
        self._jobs, self._settings, self._audit_log = jobs, settings, audit_log
        self._on_newest = on_newest
        self._failed: datetime | None = None

    def start_due(self, now: datetime | None = None) -> Job[str] | None:
        """Start a backup in a job where one is due; return the job."""
        settings, now = self._settings(), now or datetime.now(UTC)
        folder, every = settings.backup_folder, timedelta(hours=settings.backup_hours)
        if folder is None or (self._failed is not None and now - self._failed < min(RETRY, every)):
            return None
        newest = made(folder)[-1][0] if folder.is_dir() and made(folder) else None
        if newest is not None:
            self._on_newest(newest)
            if now - newest < every:
                return None
        return self._jobs.start(
            SERVER, BACKUP, lambda cancelled: self._run(folder, now, cancelled), lane=BACKUP
        )

    def _run(self, folder: Path, now: datetime, cancelled: Cancel) -> Iterator[str]:
        settings = self._settings()
        try:
            yield "begun"
            manifest = _write(settings, folder, now, cancelled)
            removed = _remove_oldest(folder, settings.backup_keep)
        except Cancelled:
            raise
        except (FootnoteError, OSError) as error:
            self._failed = now
            self._audit_log.record("backup_failed", error=type(error).__name__)
            raise (
                error
                if isinstance(error, FootnoteError)
                else StorageError(
                    N_(
                        "The backup could not be written: {strerror}. It is tried again later.",
                        strerror=error.strerror,
                    )
                )
            ) from error
        self._failed = None
        self._on_newest(now)
        lost = len(manifest.lost)
        self._audit_log.record("backup_written", originals=manifest.originals, lost=lost, removed=removed)
        log.info(
            "A backup was written: %d originals, %d lost, %d older ones removed",
            manifest.originals,
            lost,
            removed,
        )
        yield "written"


@dataclass(frozen=True)
class BackupProgress:
    """Step of a backup as `storage.backup` names it, its bytes done, and its bytes in all."""

    step: str
    done: int
    total: int


class BackupsOnRequest:
    """Backups of one server that an administrator asks for; they stay until one deletes them."""

    def __init__(self, jobs: Jobs, settings: Callable[[], Settings]):
        self._jobs, self._settings, self._starting = jobs, settings, threading.Lock()
        self.progress: BackupProgress | None = None
        self.failure: FootnoteError | None = None
        """Error of the last one; None if it was written or stopped."""

    @property
    def folder(self) -> Path:
        """Return the folder that holds them, in the data directory."""
        return (self._settings().data / FOLDER).resolve()

    @property
    def possible(self) -> bool:
        """True where the ledger is a file: one on a database server is backed up by that server."""
        return not self._settings().database_url

    @property
    def job(self) -> Job[object] | None:
        """Return the job that writes one now."""
        return self._jobs.get(SERVER, ON_REQUEST)

    def list(self) -> list[tuple[datetime, Path]]:
        """List those that are there, the newest first.

        Files that are named as by the clock are among them where the clock has another folder: earlier
        versions named both alike.
        """
        if not self.folder.is_dir():
            return []
        clocks = self._settings().backup_folder
        shared = clocks is not None and clocks.resolve() == self.folder
        earlier = [] if shared else made(self.folder)
        return sorted([*made(self.folder, REQUESTED), *earlier], reverse=True)

    def start(self, passphrase: str, audit_log: AuditLog) -> None:
        """Write one in a job, encrypted with the passphrase of the settings or else this one, if any.

        Raises SettingsError where the ledger is on a database server, and BackupRunning while one is written.
        """
        if not self.possible:
            raise SettingsError(
                N_(
                    "The ledger lives on a database server: back it up with the server's own tools. "
                    "Nothing was written."
                )
            )
        secret = self._settings().backup_passphrase.get_secret_value() or passphrase
        with self._starting:
            if self.job is not None:
                raise BackupRunning(N_("A backup is being made already. Wait until it is done."))
            self.progress = self.failure = None
            self._jobs.start(
                SERVER, ON_REQUEST, lambda cancelled: self._run(secret, audit_log, cancelled), lane=BACKUP
            )

    def delete(self, name: str, audit_log: AuditLog) -> None:
        """Delete the backup of this name; raises NotFound."""
        path = next((path for _, path in self.list() if path.name == name), None)
        if path is None:
            raise NotFound(N_("There is no backup {name}. Reload the page.", name=name))
        path.unlink(missing_ok=True)
        audit_log.record("backup_removed")

    def _run(self, passphrase: str, audit_log: AuditLog, cancelled: Cancel) -> Iterator[str]:
        def progress(*step: Any) -> None:
            if cancelled():
                raise Cancelled(N_("The backup was stopped. Nothing was kept."))
            self.progress = BackupProgress(*step)

        try:
            yield "begun"
            manifest = self._write(passphrase, progress)
        except Cancelled:
            raise
        except (FootnoteError, OSError) as error:
            audit_log.record("backup_failed", error=type(error).__name__)
            self.failure = error if isinstance(error, FootnoteError) else _unwritable(error)
            raise self.failure from error
        audit_log.record("backup_written", originals=manifest.originals, lost=len(manifest.lost))
        yield "written"

    def _write(self, passphrase: str, progress: backup.Progress) -> backup.Manifest:
        settings, folder = self._settings(), self.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        _remove_cut_off(settings.data, folder)
        needed, free = _room(settings.data, folder)
        if free < needed:
            raise DiskFull(
                N_(
                    "No backup was written: it needs about {needed} MB in {folder}, and {free} MB are free "
                    "there. Delete earlier backups or other files there, then try again.",
                    needed=f"{needed / 1000000.0:,.0f}",
                    folder=folder,
                    free=f"{free / 1000000.0:,.0f}",
                )
            )
        name = file_name(datetime.now(UTC), encrypted=bool(passphrase), requested=True)
        return _archive(settings, folder / name, progress, passphrase)


def _unwritable(error: OSError) -> StorageError:
    return StorageError(
        N_("The backup could not be written: {strerror}. Try again.", strerror=error.strerror or str(error))
    )


def _write(settings: Settings, folder: Path, now: datetime, cancelled: Cancel) -> backup.Manifest:
    if not folder.is_dir():
        raise StorageError(
            N_(
                "No backup was written: the folder {folder} is not there. Make it, or mount its "
                "disk. It is tried again later.",
                folder=folder,
            )
        )
    _remove_cut_off(settings.data, folder)
    _refuse_if_full(settings.data, folder)

    def progress(*_: object) -> None:
        if cancelled():
            raise Cancelled(N_("The backup was stopped; it is made after the next start."))

    passphrase = settings.backup_passphrase.get_secret_value()
    target = folder / file_name(now, encrypted=bool(passphrase))
    return _archive(settings, target, progress, passphrase)


def _remove_cut_off(data: Path, folder: Path) -> None:
    """Remove what backups that were cut off have left."""
    for left in (*folder.iterdir(), *data.iterdir()):
        if LEFT.fullmatch(left.name):
            left.unlink()


def _archive(settings: Settings, target: Path, progress: backup.Progress, passphrase: str) -> backup.Manifest:
    also = {SAVED: json.dumps(shareable(settings.data), indent=2).encode()}
    place = open_originals(settings.data, settings.objects, settings.objects_cache_mb << 20)
    return backup.write(settings.data, target, also, progress, passphrase=passphrase, originals=place)


def _room(data: Path, folder: Path) -> tuple[int, int]:
    """Return the bytes that a backup needs in a folder, about, and those that are free there."""
    originals = sum(path.stat().st_size for path in (data / "files").rglob("*") if path.is_file())
    needed = originals + 2 * (data / LEDGER).stat().st_size + SPARE  # a copy of the ledger lies beside it
    return needed, shutil.disk_usage(folder).free


def _refuse_if_full(data: Path, folder: Path) -> None:
    """Raise DiskFull where the folder has no room for a backup, before one is begun."""
    needed, free = _room(data, folder)
    if free < needed:
        raise DiskFull(
            N_(
                "No backup was written: it needs about {needed} MB in {folder}, and {free} MB are "
                "free there. Free some, or keep fewer backups (backup_keep). It is tried again later.",
                needed=f"{needed / 1000000.0:,.0f}",
                folder=folder,
                free=f"{free / 1000000.0:,.0f}",
            )
        )


def _remove_oldest(folder: Path, keep: int) -> int:
    """Remove the oldest backups beyond `keep`; return their number."""
    surplus = made(folder)[:-keep]
    for _, path in surplus:
        path.unlink(missing_ok=True)
    return len(surplus)
