"""What storage hands out of sources: frozen records, never rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from storage.records import State

SourceState = Literal["idle", "running", "stopped", "failed", "emptied"]


@dataclass(frozen=True)
class SourceRecord:
    """A source as lists show it. ``every`` is in minutes, None where it is read only when asked to.

    ``began`` and ``ended`` are of the last reading, ``reason`` is why it failed; ``round`` counts readings.
    One that was found "emptied" keeps what it had until a person says that this is meant.
    """

    id: str
    kind: str
    name: str
    settings: Mapping[str, Any]
    every: int | None
    cursor: str | None
    round: int
    state: SourceState
    reason: str | None
    began: datetime | None
    ended: datetime | None
    created: datetime


@dataclass(frozen=True)
class Listing:
    """An item as its source lists it."""

    id: str
    name: str
    version: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class ItemRecord:
    """What became of an item: the version taken and its document, if it has one, and how far that is.

    ``reason`` is why the item, or its document, could not be had. With neither it was deleted here.
    ``wanted`` is the version that could not be had, in ``tries`` in a row; it is tried again when ``due``.
    """

    id: str
    name: str
    url: str | None
    version: str | None
    document_id: str | None
    state: State | None
    reason: str | None
    updated: datetime
    wanted: str | None = None
    tries: int = 0
    due: datetime | None = None


@dataclass(frozen=True)
class Tally:
    """How many items a source has, of how many there are documents, and how many could not be had.

    ``unfinished`` are the documents among them that are not yet ready, by id.
    """

    items: int = 0
    documents: int = 0
    failed: int = 0
    unfinished: frozenset[str] = frozenset()
