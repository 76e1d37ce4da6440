"""What every source speaks: what it holds, one item after another, and the bytes of each."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rag.jobs import Cancel, never


@dataclass(frozen=True)
class Item:
    """One thing at a source that can become a document.

    `id` is the source's own name for it and never changes; `version` changes whenever the content does, and
    an item whose version is known is not fetched. `name` is what people see, its suffix telling the format,
    and `url` where they can see the thing itself, if they can.
    """

    id: str
    name: str
    version: str
    url: str | None = None


@dataclass(frozen=True)
class Unreadable:
    """An item that the source lists but cannot give, and why, in a sentence.

    What is `lasting` is not worth asking for again soon.
    """

    id: str
    name: str
    reason: str
    lasting: bool = False


@dataclass(frozen=True)
class Resting:
    """An item that could not be had, and that was not asked for because it waits for its next try."""

    id: str


@dataclass(frozen=True)
class Gone:
    """An item that is no longer at the source."""

    id: str


@dataclass(frozen=True)
class Mark:
    """What came before is all there is up to here; the next listing may begin from `cursor`.

    After a `whole` listing what was not named since its start is no longer at the source.
    """

    cursor: str
    whole: bool


Listed = Item | Unreadable | Resting | Gone | Mark


class Source(ABC):
    """A place that holds documents. Its methods raise SourceError; ItemFailed concerns one item only."""

    @abstractmethod
    def test(self) -> str:
        """Reach the source and say in one sentence what was reached."""

    @abstractmethod
    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield what is there, or what changed since the Mark that gave `cursor`; a Mark comes last."""

    @abstractmethod
    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield the content of an item of the listing, in pieces."""

    def rest(self, ids: Collection[str]) -> None:  # noqa: B027 - most ask for nothing while they list
        """Leave these in peace in the next listing: they could not be had, and wait for their next try."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Give up what the source holds open."""

    def __enter__(self) -> Self:
        """Use the source within a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the source."""
        self.close()
