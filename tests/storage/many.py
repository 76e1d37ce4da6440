"""Many documents in one commit, for tests of what is done to them at once."""

from storage.database import Database
from storage.documents import new_document, queue_document
from storage.tables import ensure_user


def add_many(database: Database, owner: str, count: int) -> list[str]:
    """Queue documents as `Documents.add` does, which commits each of them, and return their ids."""
    with database.writing(owner) as session:
        ensure_user(session, owner)
        rows = [new_document(owner, f"{number:064x}") for number in range(count)]
        for number, row in enumerate(rows):
            queue_document(row, f"{number}.md", 1, None)
        session.add_all(rows)
        session.flush()
        return [row.id for row in rows]
