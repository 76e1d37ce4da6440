"""The library a command works on, open for as long as the command runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from rag.config import LOCAL_OWNER, Settings
from rag.factory import make_library
from rag.library import Library
from storage.database import Database


@contextmanager
def open_library(settings: Settings) -> Iterator[Library]:
    """Open the local owner's library; raises StorageError, as where the app itself is running."""
    with open_with_ledger(settings) as (_, library):
        yield library


@contextmanager
def open_with_ledger(settings: Settings) -> Iterator[tuple[Database, Library]]:
    """Open the same, and the ledger that it stands on."""
    database = Database.open(settings.data, url=settings.database_url)
    library = make_library(settings, database, LOCAL_OWNER)
    try:
        yield database, library
    finally:
        library.close()
        database.close()
