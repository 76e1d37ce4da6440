"""A model made ready in one go: llama.cpp where it is missing, then the model's file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rag.jobs import never
from rag.own_model import runtime
from rag.own_model.catalog import Offer
from rag.own_model.fetching import fetch


@dataclass(frozen=True)
class Installing:
    """How far it is: what is being fetched, and bytes of it."""

    what: str
    done: int
    total: int


def install(offer: Offer, cache: Path, cancelled: Callable[[], bool] = never) -> Iterator[Installing]:
    """Yield how far it is until the model can be served; raises ModelUnavailable and Cancelled.

    What was begun is kept and goes on at the next time.
    """
    total = runtime.MEGABYTES * 1_000_000
    for done in runtime.install(cancelled):
        yield Installing("llama.cpp", min(done, total), total)
    for step in fetch(offer, cache, cancelled):
        yield Installing(offer.title, step.done, step.total)
