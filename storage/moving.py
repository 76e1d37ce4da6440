"""Move originals from one place to another, such as from the data directory to an object store."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from storage.database import Database
from storage.documents import Documents, owners
from storage.errors import NotFound, OriginalDamaged, StorageError
from storage.i18n import N_
from storage.originals import Originals, OriginalsPlace

BLOCK = 1 << 20  # bytes
Progress = Callable[[int, int], None]
"""Called with the number of originals done, and of all."""


@dataclass(frozen=True)
class Moved:
    """Numbers of originals that were copied and that were there; names of documents without one."""

    copied: int
    there: int
    lost: tuple[str, ...]


def copy_originals(
    database: Database, source: OriginalsPlace, target: OriginalsPlace, progress: Progress = lambda *_: None
) -> Moved:
    """Copy the original of every document, and read it back; what is there with the right bytes stays.

    The source is left as it is. Interrupted, it goes on at the next call. Raises StorageError.
    """
    copied, there, lost = 0, 0, list[str]()
    wanted = [(owner, record) for owner in owners(database) for record in Documents(database, owner).list()]
    for done, (owner, record) in enumerate(wanted):
        progress(done, len(wanted))
        into = target.of(owner)
        if into.verify(record.sha256):
            there += 1
        elif _copy(source.of(owner), into, record.sha256):
            copied += 1
        else:
            lost.append(record.name)
    progress(len(wanted), len(wanted))
    return Moved(copied, there, tuple(lost))


def _copy(source: Originals, target: Originals, sha256: str) -> bool:
    """Copy an original; return False where the source has none with the right bytes."""
    try:
        with source.opened(sha256) as file:
            saved, _ = target.save(iter(partial(file.read, BLOCK), b""))
    except (NotFound, OriginalDamaged):
        return False
    if saved != sha256:
        target.delete(saved)
        return False
    if not target.verify(sha256):
        raise StorageError(
            N_(
                "An original was copied, and is not what was written when it is read back: its new place is "
                "not reliable. The old one is unchanged. Choose another place."
            )
        )
    return True
