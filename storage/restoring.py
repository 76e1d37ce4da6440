"""An archive put into an empty data directory: unpacked aside, proven, then put in place by one rename.

A process may be killed at any moment of it. Before that rename there is nothing of the archive, after it
all of it: whoever opens the directory next takes back the one, and finishes the other.
"""

import os
import shutil
import tarfile
from pathlib import Path
from typing import IO

from storage import files, migrations, sqlite
from storage.archives import BLOCK, MANIFEST, ORIGINAL, Hashed, Manifest, Told, explained, silently
from storage.backup import LEDGER
from storage.errors import DatabaseTooNew, DiskFull, StorageError
from storage.lock import DataDirectoryLock

UNPACKED = ".restoring"
PROVEN = ".restored"
KEPT_ASIDE = frozenset({LEDGER, MANIFEST, "settings.json"})  # members beside the originals
_LARGEST = 1 << 28  # bytes of a manifest: a million originals take 150 MB
_UNCHANGED = "Nothing was changed."


def is_archive(file: Path) -> bool:
    """Whether a file is an archive, and not a ledger by itself or anything else."""
    return file.is_file() and tarfile.is_tarfile(file)


def restore(directory: Path, archive: Path, told: Told = silently) -> Manifest:
    """Put an archive into a data directory that holds nothing; return what it held.

    Each hash is checked before anything is put in place. Raises DataDirectoryLocked, DatabaseTooNew,
    DiskFull, or StorageError, as where something is there already.
    """
    lock = DataDirectoryLock(directory)
    lock.acquire()
    unpacked = directory / UNPACKED
    try:
        settle(directory, lock)
        _refuse_if_used(directory)
        _refuse_if_too_large(directory, archive)
        try:
            with explained(directory):
                manifest = _proven(unpacked, _unpack(archive, unpacked, told), archive)
                unpacked.rename(directory / PROVEN)
                files.sync(directory)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        settle(directory, lock)
    finally:
        lock.release()
    return manifest


def settle(directory: Path, lock: DataDirectoryLock) -> None:
    """Bring a restore to its end that was cut off: finished where it was proven, else taken back.

    The caller holds `lock`. Without such a restore nothing happens.
    """
    with explained(directory):
        if (directory / UNPACKED).exists():
            shutil.rmtree(directory / UNPACKED)
        proven = directory / PROVEN
        if not proven.exists():
            return
        for entry in sorted(proven.iterdir(), key=lambda entry: entry.name == LEDGER):  # the ledger last
            entry.replace(directory / entry.name)
        files.sync(directory)
        stored = sqlite.inspect(directory / LEDGER)
        lock.note(stored.commits if stored else 0)
        proven.rmdir()


def _refuse_if_used(directory: Path) -> None:
    """Refuse a directory that holds anything; the lock, and what systems hide in directories, is nothing."""
    there = sorted(
        entry.name
        for entry in directory.iterdir()
        if not entry.name.startswith(".") and entry.suffix != ".lock" and entry.name != "lost+found"
    )
    if there:
        raise StorageError(
            f"{directory} holds {there[0]} already, and a backup is restored only where nothing is. "
            f"{_UNCHANGED} Name another directory with --data, or move that one away."
        )


def _refuse_if_too_large(directory: Path, archive: Path) -> None:
    free, needed = shutil.disk_usage(directory).free, archive.stat().st_size
    if free < needed:
        raise DiskFull(
            f"{archive} needs {needed / 1e6:,.0f} MB in {directory}, and {free / 1e6:,.0f} MB are free "
            f"there. {_UNCHANGED} Free some, then try again."
        )


def _unpack(archive: Path, into: Path, told: Told) -> dict[str, str]:
    """Write what is known by its name below `into`; return the SHA-256 of each by its name."""
    found: dict[str, str] = {}
    total = archive.stat().st_size
    try:
        with archive.open("rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
            for entry in tar:
                content = tar.extractfile(entry) if _known(entry) else None
                if content is None:
                    raise StorageError(f"{archive} is not a backup of Footnote. {_UNCHANGED}")
                found[entry.name] = _write(content, into / entry.name)
                told("reading the backup", min(total, file.tell()), total)
    except (tarfile.TarError, EOFError) as error:
        raise _not_whole(archive, str(error)) from error
    told("reading the backup", total, total)
    return found


def _known(entry: tarfile.TarInfo) -> bool:
    """Whether this is a plain file of a name that archives have: no other is written anywhere."""
    plain = entry.isreg() and not entry.issparse()
    return plain and bool(entry.name in KEPT_ASIDE or ORIGINAL.fullmatch(entry.name))


def _write(content: IO[bytes], path: Path) -> str:
    """Write a file that outlives a power cut; return its SHA-256."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    hashed = Hashed(content)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", BLOCK) as file:
        for block in hashed.blocks():
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return hashed.sha256


def _proven(unpacked: Path, found: dict[str, str], archive: Path) -> Manifest:
    """Check what was unpacked against the manifest and the ledger; leave what both name, and no more."""
    if MANIFEST not in found:
        raise _not_whole(archive, "it ends before its manifest")
    manifest = _manifest(unpacked / MANIFEST, archive)
    for name, sha256 in manifest.members.items():
        if found.get(name) != sha256:
            raise _not_whole(archive, f"{name} is missing, or not what it was")
    _check_ledger(unpacked / LEDGER, manifest, archive)
    for name in found.keys() - manifest.members.keys():
        (unpacked / name).unlink()
    for folder in {(unpacked / name).parent for name in found}:
        files.sync(folder)
    return manifest


def _manifest(path: Path, archive: Path) -> Manifest:
    if path.stat().st_size > _LARGEST:
        raise _not_whole(archive, "its manifest is too long")
    try:
        return Manifest.from_json(path.read_bytes())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _not_whole(archive, f"its manifest cannot be read: {error}") from error


def _check_ledger(ledger: Path, manifest: Manifest, archive: Path) -> None:
    """Refuse a ledger that is damaged, of a later version, or that names what is not there."""
    with sqlite.explained(ledger.parent):
        stored = sqlite.inspect(ledger, references=True)
        if stored is None or stored.revision is None:
            raise _not_whole(archive, "its ledger is none")
        if stored.revision not in migrations.revisions():
            raise DatabaseTooNew(
                f"{archive} was written by a later version of Footnote (its revision is {stored.revision}). "
                f"{_UNCHANGED} Restore it with that version, or a newer one."
            )
        named = {f"{files.folder_of(owner)}/{sha256}" for owner, sha256, _ in sqlite.originals(ledger)}
    if absent := named - manifest.members.keys() - manifest.lost.keys():
        raise _not_whole(archive, f"{min(absent)} is missing")


def _not_whole(archive: Path, why: str) -> StorageError:
    return StorageError(f"{archive} is not a whole backup of Footnote: {why}. {_UNCHANGED} Take another one.")
