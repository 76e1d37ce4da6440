"""What became of the documents that old answers quote: here still, changed, or removed. One owner's."""

from collections.abc import Container, Iterable, Iterator, Sequence
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

        A document is here while its content is, added anew or not. It is changed when other content goes
        by its name.
        """
        asked = {passage.document_id: passage for passage in passages}
        here = dict(self.present(asked.values()))
        lost = {storable(passage.document) for passage in asked.values() if passage.sha256 not in here}
        names = set(self._names(sorted(lost)))
        return {id_: _standing(passage, here, names) for id_, passage in asked.items()}

    def present(self, passages: Iterable[PassageRecord]) -> Iterator[tuple[str, str]]:
        """Yield hash and id of each document that still has the content of one of these passages'."""
        hashes = sorted({passage.sha256 for passage in passages})
        mine = select(Document.sha256, Document.id).where(Document.owner == self._owner)
        with self._database.reading() as session:
            for batch in _batches(hashes):
                yield from session.execute(mine.where(Document.sha256.in_(batch)))

    def _names(self, names: Sequence[str]) -> Iterator[str]:
        """Yield those names that are in use."""
        mine = select(Document.name).where(Document.owner == self._owner)
        with self._database.reading() as session:
            for batch in _batches(names):
                yield from session.scalars(mine.where(Document.name.in_(batch)))


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))


def _standing(passage: PassageRecord, here: Container[str], names: Container[str]) -> Standing:
    if passage.sha256 in here:
        return "here"
    return "changed" if storable(passage.document) in names else "removed"
