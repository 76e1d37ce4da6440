"""A model made ready in one go: llama.cpp where it is missing, the model's file, a first word as a trial."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rag.errors import Cancelled, FootnoteError
from rag.jobs import SERVER, Cancel, Job, Jobs, never
from rag.models.local import runtime
from rag.models.local.catalog import Offer
from rag.models.local.fetching import fetch
from rag.models.local.model import OwnModel
from rag.models.local.shelf import Choice

TRIAL_TOKENS = 512


@dataclass(frozen=True)
class Installing:
    """How far it is: what is being fetched, and bytes of it; nothing of 0 while it is tried."""

    what: str
    done: int
    total: int


def install(offer: Offer, cache: Path, cancelled: Callable[[], bool] = never) -> Iterator[Installing]:
    """Yield how far it is until the model has answered; raises ModelUnavailable, LLMError and Cancelled.

    What was begun is kept and goes on at the next time.
    """
    total = runtime.MEGABYTES * 1_000_000
    for done in runtime.install(cancelled):
        yield Installing("llama.cpp", min(done, total), total)
    for step in fetch(offer, cache, cancelled):
        yield Installing(offer.title, step.done, step.total)
    yield Installing("", 0, 0)
    try_out(Choice.of(offer.name, cache), cancelled)


def try_out(choice: Choice, cancelled: Callable[[], bool] = never) -> None:
    """Have a model say one word; raises LLMError, with the reason why it cannot."""
    with OwnModel(choice.path, name=choice.name, context_tokens=TRIAL_TOKENS) as model:
        model.complete([{"role": "user", "content": "Say yes."}], max_tokens=1, cancelled=cancelled)


class Installs:
    """Jobs that install models; `ready` is told the name of a model that can be used."""

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
