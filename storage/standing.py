"""What became of the documents that old answers quote: here still, changed, or removed. One owner's."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from sqlalchemy import select

from storage.database import Database
from storage.records import PassageRecord
from storage.tables import Document, storable

Standing = Literal["here", "changed", "removed"]
_BATCH = 400  # ids or names in one query


class Standings:
    """Compares what answers were given with what this owner has now."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def of(self, passages: Iterable[PassageRecord]) -> dict[str, Standing]:
        """Return what became of each passage's document, by the document's id.

        A document is changed when other content goes by its id or, if that is gone, by its name.
        """
        asked = {passage.document_id: passage for passage in passages}
        known = dict(self._known(list(asked)))
        lost = {storable(passage.document) for id_, passage in asked.items() if id_ not in known}
        names = set(self._names(sorted(lost)))
        return {
            id_: _standing(known.get(id_), passage, storable(passage.document) in names)
            for id_, passage in asked.items()
        }

    def _known(self, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield (id, hash) of those documents that are there."""
        mine = select(Document.id, Document.sha256).where(Document.owner == self._owner)
        with self._database.reading() as session:
            for batch in _batches(ids):
                yield from session.execute(mine.where(Document.id.in_(batch)))

    def _names(self, names: Sequence[str]) -> Iterator[str]:
        """Yield those names that are in use."""
        mine = select(Document.name).where(Document.owner == self._owner)
        with self._database.reading() as session:
            for batch in _batches(names):
                yield from session.scalars(mine.where(Document.name.in_(batch)))


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))


def _standing(sha256: str | None, passage: PassageRecord, named: bool) -> Standing:
    if sha256 is None:
        return "changed" if named else "removed"
    return "here" if sha256 == passage.sha256 else "changed"
