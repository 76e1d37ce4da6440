"""Totals over everyone, for whoever runs the server: numbers only, and no owner told from another."""

from sqlalchemy import func, select

from storage.database import Database
from storage.tables import Document


def documents_by_state(database: Database) -> dict[str, int]:
    """How many documents are in each state that any is in."""
    counting = select(Document.state, func.count()).group_by(Document.state).order_by(Document.state)
    with database.reading() as session:
        return {state: count for state, count in session.execute(counting)}  # noqa: C416 - rows, not pairs
