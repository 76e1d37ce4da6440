"""Descriptions of figures that a model wrote, how far documents are described, and what models can see."""

from collections.abc import Sequence

from sqlalchemy import delete, select, update

from storage.database import Database, OwnerStore
from storage.records import FIGURE, FigureReading, FigureRecord, FigureSpan, FigureState
from storage.tables import Document, FigureReadingRow, FigureRow, VisionModelRow, new_id, now, to_record


class Figures(OwnerStore):
    """Descriptions of the figures of one owner's documents."""

    def of(self, document_id: str) -> list[FigureRecord]:
        """List the descriptions of a document's figures in order."""
        with self._database.reading() as session:
            mine = FigureRow.document_id == self._own(session, Document, document_id).id
            rows = session.scalars(select(FigureRow).where(mine).order_by(FigureRow.number, FigureRow.id))
            return [to_record(FigureRecord, row) for row in rows]

    def put(
        self, document_id: str, number: int, figure: FigureSpan, text: str, model: str
    ) -> tuple[FigureRecord, list[str]]:
        """Save the description of a figure instead of earlier ones; return it and the ids of those."""
        with self._database.writing(self._owner) as session:
            own = self._own(session, Document, document_id).id
            same = (
                FigureRow.document_id == own,
                FigureRow.label == figure.label,
                FigureRow.occurrence == figure.occurrence,
                FigureRow.page.is_(None) if figure.page is None else FigureRow.page == figure.page,
            )
            earlier = list(session.scalars(select(FigureRow.id).where(*same)))
            session.execute(delete(FigureRow).where(*same))
            row = FigureRow(
                id=f"{own}{FIGURE}{new_id()}",
                document_id=own,
                number=number,
                page=figure.page,
                label=figure.label,
                occurrence=figure.occurrence,
                start=figure.start,
                end=figure.end,
                text=text,
                model=model,
                created=now(),
            )
            session.add(row)
            session.flush()
            return to_record(FigureRecord, row), earlier

    def reading(self, document_id: str) -> FigureReading | None:
        """Return how far a document's figures are described; None where nobody asked for it."""
        with self._database.reading() as session:
            row = session.get(FigureReadingRow, self._own(session, Document, document_id).id)
            return None if row is None else to_record(FigureReading, row)

    def set_reading(
        self, document_id: str, state: FigureState, *, again: bool = False, note: str | None = None
    ) -> None:
        """Set how far a document's figures are described."""
        with self._database.writing(self._owner) as session:
            own = self._own(session, Document, document_id).id
            session.merge(
                FigureReadingRow(document_id=own, state=state, again=again, note=note, updated=now())
            )

    def due(self) -> Sequence[str]:
        """List the ready documents whose figures are to be described, oldest first."""
        rows = (
            select(Document.id)
            .join(FigureReadingRow, FigureReadingRow.document_id == Document.id)
            .where(Document.owner == self._owner, Document.state == "ready", FigureReadingRow.state == "due")
            .order_by(Document.created, Document.id)
        )
        with self._database.reading() as session:
            return session.scalars(rows).all()

    def stop_due(self) -> None:
        """Note for every document whose figures are to be described that this was stopped."""
        mine = select(Document.id).where(Document.owner == self._owner)
        due = FigureReadingRow.document_id.in_(mine), FigureReadingRow.state == "due"
        with self._database.writing(self._owner) as session:
            session.execute(update(FigureReadingRow).where(*due).values(state="stopped", updated=now()))


class VisionModels:
    """Models that were asked about a picture, for all owners of a server."""

    def __init__(self, database: Database):
        self._database = database

    def takes_pictures(self, address: str, model: str) -> bool | None:
        """Return what was found out about a model at an address; None where it was not asked."""
        with self._database.reading() as session:
            row = session.get(VisionModelRow, (address, model))
            return None if row is None else row.takes_pictures

    def remember(self, address: str, model: str, *, takes_pictures: bool) -> None:
        """Save what was found out about a model at an address."""
        with self._database.writing() as session:
            session.merge(
                VisionModelRow(address=address, model=model, takes_pictures=takes_pictures, asked=now())
            )

    def forget(self, address: str, model: str) -> None:
        """Have a model asked once more, as after a change of its server."""
        mine = VisionModelRow.address == address, VisionModelRow.model == model
        with self._database.writing() as session:
            session.execute(delete(VisionModelRow).where(*mine))
