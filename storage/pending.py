"""Who has work that goes on by itself after a start: everyone else's library can wait until they come."""

from sqlalchemy import select, union

from storage.database import Database
from storage.documents import UNFINISHED
from storage.source_tables import SourceRow
from storage.tables import Document, IndexState

BEGUN = "-next"  # ends the name of an index that is made beside the one that answers


def owners_with_work(database: Database) -> list[str]:
    """Everyone with a document on its way, an index being made, or a source being read, in order."""
    documents = select(Document.owner).where(Document.state.in_(UNFINISHED))
    indexes = select(IndexState.owner).where(IndexState.name.endswith(BEGUN, autoescape=True))
    sources = select(SourceRow.owner).where(SourceRow.state == "running")
    with database.reading() as session:
        return sorted(session.scalars(union(documents, indexes, sources)))


def owners_with_sources(database: Database) -> list[str]:
    """Everyone whose documents come from somewhere by themselves, in order."""
    with database.reading() as session:
        return sorted(session.scalars(select(SourceRow.owner).distinct()))
