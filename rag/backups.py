"""Backups by the clock: written into a folder, read back, and the oldest ones removed."""

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rag.errors import Cancelled, FootnoteError, SettingsError
from rag.i18n import N_
from rag.jobs import SERVER, Cancel, Job, Jobs
from rag.settings import SAVED, Settings, shareable
from storage import backup
from storage.audit_log import AuditLog
from storage.errors import DiskFull, StorageError
from storage.originals import open_originals
from storage.sqlite import LEDGER

BACKUP = "backup"
LANES = {BACKUP: 1}
RETRY = timedelta(hours=1)  # after a failure, or less where backups are made more often
SPARE = 50_000_000  # bytes that stay free beside the backup
ARCHIVE = re.compile(r"footnote-(\d{8}T\d{6}Z)\.tar(\.encrypted)?")
LEFT = re.compile(r"\.footnote-\d{8}T\d{6}Z\.tar(\.encrypted)?\.(part|ledger)")
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


def file_name(moment: datetime, *, encrypted: bool) -> str:
    """Return the name of a backup: "footnote-20261124T020000Z.tar"."""
    return f"footnote-{moment.astimezone(UTC):{_STAMP}}.tar" + (".encrypted" if encrypted else "")


def made(folder: Path) -> list[tuple[datetime, Path]]:
    """List the backups in a folder that were made by the clock, the oldest first."""
    found = []
    for path in folder.iterdir():
        if (named := ARCHIVE.fullmatch(path.name)) and path.is_file():
            with suppress(ValueError):  # digits that are no time: not ours
                found.append((datetime.strptime(named[1], _STAMP).replace(tzinfo=UTC), path))
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


def _write(settings: Settings, folder: Path, now: datetime, cancelled: Cancel) -> backup.Manifest:
    if not folder.is_dir():
        raise StorageError(
            N_(
                "No backup was written: the folder {folder} is not there. Make it, or mount its "
                "disk. It is tried again later.",
                folder=folder,
            )
        )
    for left in (*folder.iterdir(), *settings.data.iterdir()):
        if LEFT.fullmatch(left.name):  # of a backup that was cut off
            left.unlink()
    _refuse_if_full(settings.data, folder)
    passphrase = settings.backup_passphrase.get_secret_value()

    def progress(*_: object) -> None:
        if cancelled():
            raise Cancelled(N_("The backup was stopped; it is made after the next start."))

    also = {SAVED: json.dumps(shareable(settings.data), indent=2).encode()}
    target = folder / file_name(now, encrypted=bool(passphrase))
    place = open_originals(settings.data, settings.objects, settings.objects_cache_mb << 20)
    return backup.write(settings.data, target, also, progress, passphrase=passphrase, originals=place)


def _refuse_if_full(data: Path, folder: Path) -> None:
    """Raise DiskFull where the folder has no room for a backup, before one is begun."""
    originals = sum(path.stat().st_size for path in (data / "files").rglob("*") if path.is_file())
    needed = originals + 2 * (data / LEDGER).stat().st_size + SPARE  # a copy of the ledger lies beside it
    free = shutil.disk_usage(folder).free
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
