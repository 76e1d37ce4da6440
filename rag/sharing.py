"""Decision whether several processes may use one ledger: they may where they share everything."""

import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rag.i18n import N_
from rag.index.external import LANCE_OBJECTS
from rag.settings import Settings
from rag.text.tokenize import find
from storage.database import Database
from storage.files import explained
from storage.lock import ALONE, Sharing
from storage.originals import FOLDER

FOLDER_ID = "folder-id"
"""File that names a folder, by which processes on several machines see that theirs is the same one."""


def sharing_of(settings: Settings) -> Sharing:
    """Return how processes with these settings may use their ledger.

    Several may where the ledger is on a database server, and originals and indexes are in the object store or
    the folder that FOOTNOTE_OBJECTS names. Raises StorageError where that folder cannot be written.
    """
    if not settings.database_url:
        return ALONE
    if not settings.objects:
        return Sharing(
            N_("FOOTNOTE_OBJECTS is not set, so the original files are in the data directory of one process.")
        )
    if settings.vector_store != LANCE_OBJECTS:
        return Sharing(
            N_(
                "FOOTNOTE_VECTOR_STORE is {name}, whose index one process has for itself; that of "
                "lance-objects can be shared.",
                name=settings.vector_store,
            )
        )
    common = {
        "FOOTNOTE_OBJECTS": place_of(settings.objects),
        "FOOTNOTE_EMBEDDING_MODEL": settings.embedding_model,
        "FOOTNOTE_KOREAN_JAPANESE_ANALYZERS": ", ".join(_analysers(settings)),
    }
    return Sharing(common=common)


def open_ledger(settings: Settings, *, alone: str = "") -> Database:
    """Open the ledger for this process, `alone` where that sentence says why no other may use it meanwhile.

    Raises DataDirectoryLocked or another StorageError.
    """
    sharing = Sharing(alone) if alone else sharing_of(settings)
    return Database.open(settings.data, url=settings.database_url, sharing=sharing)


def folder_id(folder: Path) -> str:
    """Return the id of a folder, from a file in it that is made where there is none."""
    with explained(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, part = folder / FOLDER_ID, folder / f".{FOLDER_ID}.{secrets.token_hex(8)}"
        if not path.exists():
            part.write_text(secrets.token_hex(16))
            with suppress(FileExistsError):  # another process has just made it
                path.hardlink_to(part)
            part.unlink()
        return path.read_text()


def place_of(address: str) -> str:
    """Return what tells a place of documents from another: the id of a folder, else the address."""
    parts = urlsplit(address)
    return folder_id(Path(unquote(parts.path))) if parts.scheme == FOLDER else address


def _analysers(settings: Settings) -> list[str]:
    return sorted(analyser.name for analyser in find(settings.korean_japanese_analyzers))
