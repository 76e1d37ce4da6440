"""Backups of a data directory: one tar file with the ledger, the originals and the settings.

With a passphrase the file is encrypted; see storage/encryption.py. A drill restores a backup into a folder
aside, opens it, and checks all that is in it.
"""

import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from sqlalchemy import func, select

from storage import files, migrations, sqlite
from storage.database import UNPACKED, VERIFIED, Database, settle
from storage.documents import Documents, owners
from storage.encryption import MAGIC, DecryptingReader, EncryptingWriter, PassphraseNeeded, is_encrypted
from storage.errors import DatabaseTooNew, DiskFull, NotFound, OriginalDamaged, StorageError
from storage.files import Files, folder_of
from storage.i18n import N_
from storage.lock import DataDirectoryLock
from storage.originals import Folder, OriginalsPlace
from storage.records import DocumentRecord
from storage.sqlite import LEDGER, damage_named
from storage.tables import ConversationRow, MessageRow

MANIFEST = "manifest.json"
FORMAT = 1
ORIGINAL = re.compile(r"files/[0-9a-f]{32}/[0-9a-f]{64}")
BLOCK = 1 << 20
Progress = Callable[[str, int, int], None]
"""Called with the step, its bytes done, and its bytes in all."""


def no_progress(what: str, done: int, total: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Manifest:
    """Manifest of an archive: the SHA-256 of each member by its name, and their total size in bytes.

    `lost` are the originals that the ledger names and that are missing or damaged.
    """

    members: Mapping[str, str]
    revision: str
    size: int
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    lost: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def originals(self) -> int:
        """Return the number of originals."""
        return sum(name.startswith("files/") for name in self.members)

    def to_json(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode("utf-8", "replace")

    @classmethod
    def from_json(cls, text: bytes) -> "Manifest":
        """Parse a manifest; raises ValueError, TypeError or KeyError for any other text or version."""
        manifest = cls(**json.loads(text))
        if manifest.format != FORMAT or LEDGER not in manifest.members:
            raise ValueError(f"its format is {manifest.format}")
        return manifest


def write(
    directory: Path,
    target: Path,
    also: Mapping[str, bytes],
    progress: Progress = no_progress,
    *,
    passphrase: str = "",
    originals: OriginalsPlace | None = None,
) -> Manifest:
    """Write a data directory's ledger, its originals and the members in `also` into a new archive.

    The originals are read from their place, or from the directory. Another process may use the directory
    meanwhile: the archive has one snapshot of its ledger. The file is readable by its owner only, encrypted
    where there is a passphrase, and appears as a whole or not at all, once it was read back and every hash
    was right. Raises DatabaseDamaged, DiskFull or another StorageError.
    """
    if target.exists():
        raise StorageError(N_("{target} exists already. Name a new file for the backup.", target=target))
    if not (directory / LEDGER).is_file():
        raise StorageError(N_("There is nothing in {directory} to back up.", directory=directory))
    part = target.with_name(f".{target.name}.part")
    # A copy of the ledger that is not encrypted stays within the data directory.
    ledger = (directory if passphrase else target.parent) / f".{target.name}.ledger"
    source = _Source(directory, ledger, originals or Folder(directory))
    with files.explained(target.parent):
        try:
            part.unlink(missing_ok=True)
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                manifest = _write_sealed(file, source, also, progress, passphrase)
                file.flush()
                os.fsync(file.fileno())
                _forget_cached(file)
            ledger.unlink()  # before the archive exists, so that nothing is left beside it
            _read_back(part, target, manifest, progress, passphrase)
            part.replace(target)
            files.sync(target.parent)
        finally:
            part.unlink(missing_ok=True)
            ledger.unlink(missing_ok=True)
    return manifest


@dataclass(frozen=True)
class _Source:
    """Parts of a backup: the data directory, the place for a copy of its ledger, the originals."""

    directory: Path
    ledger: Path
    originals: OriginalsPlace


@dataclass(frozen=True)
class _Named:
    """Original that the ledger names, with the name of its document."""

    owner: str
    sha256: str
    name: str


def _write_sealed(
    file: IO[bytes], source: _Source, also: Mapping[str, bytes], progress: Progress, passphrase: str
) -> Manifest:
    if not passphrase:
        return _write_archive(file, source, also, progress)
    sealed = EncryptingWriter(file, passphrase)
    manifest = _write_archive(sealed, source, also, progress)
    sealed.finish()
    return manifest


def _forget_cached(file: IO[bytes]) -> None:
    """Have the system drop its copy of a file in memory, so that it is read again from the disk."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read_back(part: Path, target: Path, manifest: Manifest, progress: Progress, passphrase: str) -> None:
    """Raise StorageError unless each member of a written archive has the hash of its manifest."""
    found: dict[str, str] = {}
    with _unbroken(part):
        for name, content in _members(part, target.name, progress, passphrase, "reading the backup again"):
            hashed = _HashingReader(content)
            while hashed.read(BLOCK):
                pass
            found[name] = hashed.sha256
    if any(found.get(name) != sha256 for name, sha256 in manifest.members.items()):
        raise StorageError(
            N_(
                "The backup was written to {parent}, and is not what was written: the disk is not "
                "reliable. Nothing was kept. Choose another disk.",
                parent=target.parent,
            )
        )


def _write_archive(file: Any, source: _Source, also: Mapping[str, bytes], progress: Progress) -> Manifest:
    ledger = source.ledger
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        members, lost = _originals(tar, source, progress)
        for name, content in also.items():
            members[name] = _add(tar, name, BytesIO(content), len(content))
        with ledger.open("rb") as copied:
            members[LEDGER] = _add(tar, LEDGER, copied, ledger.stat().st_size)
        stored = sqlite.inspect(ledger)
        manifest = Manifest(members, (stored and stored.revision) or "", file.tell(), lost=lost)
        _add(tar, MANIFEST, BytesIO(manifest.to_json()), len(manifest.to_json()))
    return manifest


def _originals(
    tar: tarfile.TarFile, source: _Source, progress: Progress
) -> tuple[dict[str, str], dict[str, str]]:
    """Copy the ledger and the originals it names; return their hashes, and the names of the lost ones.

    An original is deleted after the commit that deletes its document. A missing one was deleted meanwhile,
    and a second copy of the ledger does not name it; or it still does, and the original is lost.
    """
    held: dict[str, str] = {}
    lost: dict[str, str] = {}
    while True:
        named = _named(source.directory, source.ledger, progress)
        wanted = {path: one for path, one in named.items() if path not in held}
        _copy(tar, source.originals, wanted, held, progress)
        missing = {path: one.name for path, one in named.items() if path not in held}
        if missing == lost:
            return {path: held[path] for path in named if path in held}, lost
        lost = missing


def _named(directory: Path, ledger: Path, progress: Progress) -> dict[str, _Named]:
    progress("copying the ledger", 0, 1)
    with sqlite.explained(ledger.parent), damage_named(directory):
        sqlite.copy(directory / LEDGER, ledger)
        stored = sqlite.inspect(ledger, references=True)
        if stored is None or stored.revision is None:
            raise StorageError(
                N_(
                    "{directory} is not a ledger of Footnote. Nothing was written.",
                    directory=directory / LEDGER,
                )
            )
        named = {
            f"{files.folder_of(owner)}/{sha256}": _Named(owner, sha256, name)
            for owner, sha256, name in sqlite.originals(ledger)
        }
    progress("copying the ledger", 1, 1)
    return named


def _copy(
    tar: tarfile.TarFile,
    originals: OriginalsPlace,
    wanted: Mapping[str, _Named],
    held: dict[str, str],
    progress: Progress,
) -> None:
    """Add originals to the archive; `held` gets the hash of each undamaged one."""
    sizes = {
        path: size
        for path, one in wanted.items()
        if (size := originals.of(one.owner).size(one.sha256)) is not None
    }
    done, total = 0, sum(sizes.values())
    for path, size in sizes.items():
        sha256 = wanted[path].sha256
        try:
            with originals.of(wanted[path].owner).opened(sha256) as file:
                added = _add(tar, path, file, size)
        except (NotFound, OriginalDamaged, FileNotFoundError):
            continue
        if added == sha256:
            held[path] = sha256
        done += size
        progress("copying originals", done, total)


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> str:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    hashed = _HashingReader(content)
    tar.addfile(entry, hashed)
    return hashed.sha256


class _HashingReader:
    def __init__(self, file: IO[bytes]):
        self._file = file
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._digest.update(block)
        return block

    @property
    def sha256(self) -> str:
        """Return the hash in hex."""
        return self._digest.hexdigest()


# Restoring an archive: unpacked in a folder aside, verified, then put in place
OTHER_MEMBERS = frozenset({LEDGER, MANIFEST, "settings.json"})  # members beside the originals
_LARGEST = 1 << 28  # bytes of a manifest: a million originals take 150 MB
_UNCHANGED = "Nothing was changed."


def is_archive(file: Path) -> bool:
    """Return True for an archive, False for a ledger by itself or anything else."""
    return file.is_file() and (needs_passphrase(file) or tarfile.is_tarfile(file))


def needs_passphrase(archive: Path) -> bool:
    """Return True for an encrypted archive."""
    try:
        with archive.open("rb") as file:
            return is_encrypted(file.read(len(MAGIC)))
    except OSError:
        return False


def restore_into(
    directory: Path, archive: Path, progress: Progress = no_progress, *, passphrase: str = ""
) -> Manifest:
    """Restore an archive into an empty data directory; return its manifest.

    Each hash is checked before anything is put in place. Raises DataDirectoryLocked, DatabaseTooNew,
    DiskFull, PassphraseNeeded, or StorageError, as where the directory is not empty.
    """
    lock = DataDirectoryLock(directory)
    lock.acquire()
    unpacked = directory / UNPACKED
    try:
        settle(directory, lock)
        _refuse_if_used(directory)
        _refuse_if_too_large(directory, archive)
        try:
            with files.explained(directory):
                manifest = _verified(unpacked, _unpack(archive, unpacked, progress, passphrase), archive)
                unpacked.rename(directory / VERIFIED)
                files.sync(directory)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        settle(directory, lock)
    finally:
        lock.release()
    return manifest


def _refuse_if_used(directory: Path) -> None:
    """Refuse a directory with any entry other than the lock and hidden files."""
    there = sorted(
        entry.name
        for entry in directory.iterdir()
        if not entry.name.startswith(".") and entry.suffix != ".lock" and entry.name != "lost+found"
    )
    if there:
        raise StorageError(
            N_(
                "{directory} holds {there} already, and a backup is restored only where nothing is. "
                "{unchanged} Name another directory with --data, or move that one away.",
                directory=directory,
                there=there[0],
                unchanged=_UNCHANGED,
            )
        )


def _refuse_if_too_large(directory: Path, archive: Path) -> None:
    free, needed = shutil.disk_usage(directory).free, archive.stat().st_size
    if free < needed:
        raise DiskFull(
            N_(
                "{archive} needs {needed} MB in {directory}, and {free} MB are free there. "
                "{unchanged} Free some, then try again.",
                archive=archive,
                needed=f"{needed / 1000000.0:,.0f}",
                directory=directory,
                free=f"{free / 1000000.0:,.0f}",
                unchanged=_UNCHANGED,
            )
        )


def _unpack(archive: Path, into: Path, progress: Progress, passphrase: str) -> dict[str, str]:
    found: dict[str, str] = {}
    with _unbroken(archive):
        for name, content in _members(archive, str(archive), progress, passphrase, "reading the backup"):
            path = into / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            found[name], _ = files.write_hashed(iter(partial(content.read, BLOCK), b""), path)
    return found


def _members(
    archive: Path, named: str, progress: Progress, passphrase: str, what: str
) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the members of an archive in turn, to its last byte; raises StorageError for a strange one."""
    total = archive.stat().st_size
    with (
        archive.open("rb") as file,
        _plain(file, named, passphrase) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        for entry in tar:
            content = tar.extractfile(entry) if _is_known(entry) else None
            if content is None:
                raise StorageError(
                    N_("{named} is not a backup of Footnote. {unchanged}", named=named, unchanged=_UNCHANGED)
                )
            yield entry.name, content
            progress(what, min(total, file.tell()), total)
    progress(what, total, total)


@contextmanager
def _unbroken(archive: Path) -> Iterator[None]:
    """Say in a sentence that an archive ends early, or is no tar file."""
    try:
        yield
    except (tarfile.TarError, EOFError) as error:
        raise _incomplete(archive, str(error)) from error


@contextmanager
def _plain(file: IO[bytes], named: str, passphrase: str) -> Iterator[Any]:
    """Open an archive for reading, decrypted where it is encrypted; at the end all of it was checked."""
    if not is_encrypted(file.read(len(MAGIC))):
        file.seek(0)
        yield file
        return
    file.seek(0)
    if not passphrase:
        raise PassphraseNeeded(f"{named} is encrypted. Give its passphrase to read it.")
    reader = DecryptingReader(file, passphrase, named)
    yield reader
    reader.drain()


def _is_known(entry: tarfile.TarInfo) -> bool:
    """Return True for a plain file with a name that archives have; no other is unpacked."""
    plain = entry.isreg() and not entry.issparse()
    return plain and bool(entry.name in OTHER_MEMBERS or ORIGINAL.fullmatch(entry.name))


def _verified(unpacked: Path, found: dict[str, str], archive: Path) -> Manifest:
    if MANIFEST not in found:
        raise _incomplete(archive, "it ends before its manifest")
    manifest = _manifest(unpacked / MANIFEST, archive)
    for name, sha256 in manifest.members.items():
        if found.get(name) != sha256:
            raise _incomplete(archive, f"{name} is missing, or not what it was")
    _check_ledger(unpacked / LEDGER, manifest, archive)
    for name in found.keys() - manifest.members.keys():
        (unpacked / name).unlink()
    for folder in {folder for name in found for folder in Path(name).parents}:
        files.sync(unpacked / folder)
    return manifest


def _manifest(path: Path, archive: Path) -> Manifest:
    if path.stat().st_size > _LARGEST:
        raise _incomplete(archive, "its manifest is too long")
    try:
        return Manifest.from_json(path.read_bytes())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _incomplete(archive, f"its manifest cannot be read: {error}") from error


def _check_ledger(ledger: Path, manifest: Manifest, archive: Path) -> None:
    with sqlite.explained(ledger.parent):
        stored = sqlite.inspect(ledger, references=True)
        if stored is None or stored.revision is None:
            raise _incomplete(archive, "its ledger is none")
        if stored.revision not in migrations.revisions():
            raise DatabaseTooNew(
                N_(
                    "{archive} was written by a later version of Footnote (its revision is {revision}). "
                    "{unchanged} Restore it with that version, or a newer one.",
                    archive=archive,
                    revision=stored.revision,
                    unchanged=_UNCHANGED,
                )
            )
        named = {f"{files.folder_of(owner)}/{sha256}" for owner, sha256, _ in sqlite.originals(ledger)}
    if absent := named - manifest.members.keys() - manifest.lost.keys():
        raise _incomplete(archive, f"{min(absent)} is missing")


def _incomplete(archive: Path, why: str) -> StorageError:
    return StorageError(
        N_(
            "{archive} is not a whole backup of Footnote: {why}. {unchanged} Take another one.",
            archive=archive,
            why=why,
            unchanged=_UNCHANGED,
        )
    )


MOST_NAMED = 20  # faults given by name


@dataclass(frozen=True)
class Drill:
    """Outcome of a drill: what the backup holds, and a sentence for each fault that was found."""

    made: str
    revision: str
    people: int
    documents: int
    originals: int
    passages: int
    chats: int
    messages: int
    faults: tuple[str, ...] = ()


def drill(
    archive: Path, beside: Path | None = None, progress: Progress = no_progress, *, passphrase: str = ""
) -> Drill:
    """Restore an archive into a new folder in `beside`, open and check it, and remove the folder.

    The folder has the originals and the ledger unencrypted, as a data directory has. Raises what
    `restore_into` and `Database.open` raise, for a backup that cannot be used at all.
    """
    with tempfile.TemporaryDirectory(prefix=".drill-", dir=beside) as folder:
        directory = Path(folder) / "data"
        manifest = restore_into(directory, archive, progress, passphrase=passphrase)
        with closing(Database.open(directory)) as database:
            database.check()
            faults = [f"The original of {name} is not in the backup." for name in manifest.lost.values()]
            documents = passages = 0
            everyone = owners(database)
            for owner in everyone:
                records = Documents(database, owner).list()
                documents += len(records)
                passages += sum(record.chunks for record in records)
                faults += _faults(database, owner, records, frozenset(manifest.lost))
            with database.reading() as session:
                chats, messages = (
                    session.scalar(select(func.count()).select_from(table)) or 0
                    for table in (ConversationRow, MessageRow)
                )
        return Drill(
            made=manifest.made,
            revision=manifest.revision,
            people=len(everyone),
            documents=documents,
            originals=manifest.originals,
            passages=passages,
            chats=chats,
            messages=messages,
            faults=tuple(faults[:MOST_NAMED]),
        )


def _faults(
    database: Database, owner: str, records: list[DocumentRecord], lost: frozenset[str]
) -> Iterator[str]:
    """Yield a sentence for each document whose original or passages are not what the ledger says."""
    documents, originals = Documents(database, owner), Files(database.directory, owner)
    for record in records:
        try:
            is_lost = f"{folder_of(owner)}/{record.sha256}" in lost
            if not is_lost and originals.path(record.sha256).stat().st_size != record.size:
                yield f"The original of {record.name} has another size than the ledger says."
            yield from _passage_faults(documents, record)
        except (NotFound, StorageError) as error:
            yield f"{record.name}: {error}"


def _passage_faults(documents: Documents, record: DocumentRecord) -> Iterator[str]:
    if not record.chunks:
        return
    text, seen = documents.text(record.id), 0
    for chunks in documents.chunk_batches(record.id):
        seen += len(chunks)
        if any(text[chunk.start : chunk.end] != chunk.text for chunk in chunks):
            yield f"A passage of {record.name} is not in its text."
            return
    if seen != record.chunks:
        yield f"{record.name} has {seen:,} passages, and the ledger says {record.chunks:,}."
