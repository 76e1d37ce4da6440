"""The library a command works on, open for as long as the command runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from rag.assembly import LOCAL_OWNER, make_library
from rag.config import Settings
from rag.library import Library
from storage.database import Database


@contextmanager
def open_library(settings: Settings) -> Iterator[Library]:
    """Open the local owner's library; raises StorageError, as where the app itself is running."""
    database = Database.open(settings.data, url=settings.database_url)
    library = make_library(settings, database, LOCAL_OWNER)
    try:
        yield library
    finally:
        library.close()
        database.close()
