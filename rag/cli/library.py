"""The library a command works on, open for as long as the command runs."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from rag.ingest.library import Library
from rag.services import Services
from rag.settings import LOCAL_OWNER, Settings


@contextmanager
def open_library(settings: Settings) -> Iterator[Library]:
    """Open the local owner's library; raises StorageError, as where the app itself is running."""
    with open_services(settings) as (_, library):
        yield library


@contextmanager
def open_services(settings: Settings) -> Iterator[tuple[Services, Library]]:
    """Open the application, and the local owner's library in it."""
    with closing(Services(settings)) as services, closing(services.library(LOCAL_OWNER)) as library:
        yield services, library
