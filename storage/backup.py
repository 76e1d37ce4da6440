"""Backups of the ledger: made before a migration, named when it is damaged, put back on request."""

import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO

from storage import files, migrations, sqlite
from storage.errors import DatabaseDamaged, DatabaseTooNew, DiskFull, StorageError
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


# A backup of all that cannot be made again, as one tar file: written beside the running app, read once.
MANIFEST = "manifest.json"
FORMAT = 1
ORIGINAL = re.compile(r"files/[0-9a-f]{32}/[0-9a-f]{64}")
BLOCK = 1 << 20
Told = Callable[[str, int, int], None]
"""Is told of what is done, how many bytes of how many."""


def silently(what: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Manifest:
    """What an archive holds: the SHA-256 of each member by its name, and the sizes of all in bytes.

    `lost` are originals that the ledger names and that were not there any more, or not as they were.
    """

    members: Mapping[str, str]
    revision: str
    size: int
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    lost: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def originals(self) -> int:
        """How many originals there are."""
        return sum(name.startswith("files/") for name in self.members)

    def to_json(self) -> bytes:
        """Return the form in which it is kept."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode("utf-8", "replace")

    @classmethod
    def from_json(cls, text: bytes) -> "Manifest":
        """Read it; raises ValueError, TypeError or KeyError where it is none of this version's."""
        manifest = cls(**json.loads(text))
        if manifest.format != FORMAT or LEDGER not in manifest.members:
            raise ValueError(f"its format is {manifest.format}")
        return manifest


def write(directory: Path, target: Path, also: Mapping[str, bytes], told: Told = silently) -> Manifest:
    """Write a data directory's ledger, its originals and what is named in `also` into a new file.

    Another process may work on the directory meanwhile: what is kept is one moment of its ledger. The
    file is readable by its owner only, and is there whole or not at all. Raises DatabaseDamaged, DiskFull
    or another StorageError.
    """
    if target.exists():
        raise StorageError(f"{target} exists already. Name a new file for the backup.")
    if not (directory / LEDGER).is_file():
        raise StorageError(f"There is nothing in {directory} to back up.")
    part, ledger = (target.with_name(f".{target.name}.{end}") for end in ("part", "ledger"))
    with explained(target.parent):
        try:
            part.unlink(missing_ok=True)
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                manifest = _fill(file, directory, ledger, also, told)
                file.flush()
                os.fsync(file.fileno())
            ledger.unlink()  # nothing is left beside the file from the moment that it is there
            part.replace(target)
            files.sync(target.parent)
        finally:
            part.unlink(missing_ok=True)
            ledger.unlink(missing_ok=True)
    return manifest


def _fill(file: IO[bytes], directory: Path, ledger: Path, also: Mapping[str, bytes], told: Told) -> Manifest:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        members, lost = _originals(tar, directory, ledger, told)
        for name, content in also.items():
            members[name] = _add(tar, name, BytesIO(content), len(content))
        with ledger.open("rb") as copied:
            members[LEDGER] = _add(tar, LEDGER, copied, ledger.stat().st_size)
        stored = sqlite.inspect(ledger)
        manifest = Manifest(members, (stored and stored.revision) or "", file.tell(), lost=lost)
        _add(tar, MANIFEST, BytesIO(manifest.to_json()), len(manifest.to_json()))
    return manifest


def _originals(
    tar: tarfile.TarFile, directory: Path, ledger: Path, told: Told
) -> tuple[dict[str, str], dict[str, str]]:
    """Copy the ledger and the originals it names; return their hashes, and the names of those that are lost.

    An original is deleted after the commit that forgets it. One that is missing was deleted meanwhile, and
    a ledger copied again does not name it; or it still does, and the original is lost.
    """
    held: dict[str, str] = {}
    lost: dict[str, str] = {}
    while True:
        named = _named(directory, ledger, told)
        _copy(tar, directory, [path for path in named if path not in held], held, told)
        missing = {path: name for path, name in named.items() if path not in held}
        if missing == lost:
            return {path: held[path] for path in named if path in held}, lost
        lost = missing


def _named(directory: Path, ledger: Path, told: Told) -> dict[str, str]:
    """Copy and check the ledger; return the path of each original that it names, and its document's name."""
    told("copying the ledger", 0, 1)
    with sqlite.explained(ledger.parent), damage_named(directory):
        sqlite.copy(directory / LEDGER, ledger)
        stored = sqlite.inspect(ledger, references=True)
        if stored is None or stored.revision is None:
            raise StorageError(f"{directory / LEDGER} is not a ledger of Footnote. Nothing was written.")
        named = {
            f"{files.folder_of(owner)}/{sha256}": name for owner, sha256, name in sqlite.originals(ledger)
        }
    told("copying the ledger", 1, 1)
    return named


def _copy(tar: tarfile.TarFile, directory: Path, paths: list[str], held: dict[str, str], told: Told) -> None:
    """Add originals to the archive; `held` gets the hash of each that is as its name says."""
    sizes = {path: size for path in paths if (size := _size(directory / path)) is not None}
    done, total = 0, sum(sizes.values())
    for path, size in sizes.items():
        try:
            with (directory / path).open("rb") as original:
                sha256 = _add(tar, path, original, size)
        except FileNotFoundError:
            continue
        if sha256 == Path(path).name:
            held[path] = sha256
        done += size
        told("copying originals", done, total)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> str:
    """Add a member; return its SHA-256."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    hashed = Hashed(content)
    tar.addfile(entry, hashed)
    return hashed.sha256


class Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        block = self._file.read(size)
        self._digest.update(block)
        return block

    @property
    def sha256(self) -> str:
        """The hash of what was read so far, in hex."""
        return self._digest.hexdigest()

    def blocks(self) -> Iterator[bytes]:
        """Read it to its end."""
        while block := self.read(BLOCK):
            yield block


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Raise what the system reports as an error of ours, a sentence about `folder`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"There is no space left in {folder}. Free some, then try again.") from error
        raise StorageError(f"{folder} cannot be read or written: {error.strerror or error}.") from error


# An archive put into an empty data directory: unpacked aside, proven, then put in place by one rename.
UNPACKED = ".restoring"
PROVEN = ".restored"
KEPT_ASIDE = frozenset({LEDGER, MANIFEST, "settings.json"})  # members beside the originals
_LARGEST = 1 << 28  # bytes of a manifest: a million originals take 150 MB
_UNCHANGED = "Nothing was changed."


def is_archive(file: Path) -> bool:
    """Whether a file is an archive, and not a ledger by itself or anything else."""
    return file.is_file() and tarfile.is_tarfile(file)


def restore_into(directory: Path, archive: Path, told: Told = silently) -> Manifest:
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
