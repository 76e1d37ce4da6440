"""Language models being installed on this computer: a job of the server for each, whoever began it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from rag.errors import Cancelled, FootnoteError
from rag.jobs import Cancel, Job, Jobs
from rag.own_model.catalog import Offer
from rag.own_model.installing import Installing, install

SERVER = "server"  # whose jobs these are: they are no one person's


class Installs:
    """Begins and remembers installations; `ready` is told the name of a model that can be used."""

    def __init__(self, jobs: Jobs, cache: Path, ready: Callable[[str], None]):
        self._jobs = jobs
        self._cache = cache
        self._ready = ready
        self._failed: dict[str, str] = {}

    def start(self, offer: Offer) -> None:
        """Install a model; nothing happens where that runs already."""
        self._failed.pop(offer.name, None)
        self._jobs.start(SERVER, _key(offer), lambda cancelled: self._run(offer, cancelled))

    def running(self, offer: Offer) -> Job[Installing] | None:
        """Return the job that installs a model, if one does."""
        return cast(Job[Installing] | None, self._jobs.get(SERVER, _key(offer)))

    def failure(self, offer: Offer) -> str:
        """Return why the last attempt failed; empty where it did not."""
        return self._failed.get(offer.name, "")

    def _run(self, offer: Offer, cancelled: Cancel) -> Iterator[Installing]:
        try:
            yield from install(offer, self._cache, cancelled)
            self._ready(offer.name)
        except Cancelled:
            raise
        except FootnoteError as error:
            self._failed[offer.name] = str(error)
            raise


def _key(offer: Offer) -> str:
    return f"install-{offer.name}"
