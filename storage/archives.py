"""A backup of all that cannot be made again, as one tar file: written beside the running app, read once.

The originals come first, then the settings, the ledger, and at the end the manifest with the hash of each. An
archive without its manifest is not whole, and none of it is believed.
"""

import errno
import hashlib
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO

from storage import backup as backups
from storage import files, sqlite
from storage.backup import LEDGER
from storage.errors import DiskFull, StorageError

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
    with sqlite.explained(ledger.parent), backups.damage_named(directory):
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
