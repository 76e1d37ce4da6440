"""The audit after every fault: what must hold of a data directory, whatever happened before."""

import hashlib

from sqlalchemy import text

from rag.ingest.library import Library
from storage.database import Database

ANSWERS_OF_QUESTIONS = text(
    "SELECT count(a.id) FROM messages q LEFT JOIN messages a ON a.question_id = q.id "
    "WHERE q.role = 'user' GROUP BY q.id"
)
FOUND_AMONG = 3


def audit(library: Library, database: Database) -> None:
    """Ledger, word index and vector index agree, each chunk finds itself, and every original is whole.

    Of a library that was recovered, and all of whose documents are ready.
    """
    audit_ledger(database)
    expected = library.documents.chunk_ids()
    assert library.indexes.words.ids() == expected == library.indexes.vectors.ids()
    audit_originals(library, database)
    for record in library.documents.list():
        sample = library.documents.chunks(record.id)[:: max(1, record.chunks // 5)]
        for chunk in sample:
            found = library.retriever("ensemble-cc", FOUND_AMONG).invoke(chunk.text)
            assert chunk.id in [passage.id for passage in found]


def audit_ledger(database: Database) -> None:
    """Its structure and its references are sound, and each question has its one answer."""
    database.check()
    with database.reading() as session:
        assert set(session.scalars(ANSWERS_OF_QUESTIONS)) <= {1}


def audit_originals(library: Library, database: Database) -> None:
    """Every original has the hash that it is named by; there is no other one, and nothing half written."""
    names = {record.sha256 for record in library.documents.list()}
    there = {name: library.files.path(name).read_bytes() for name in names}
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in there.items())
    folder = library.files._folder
    assert {path.name for path in folder.glob("*")} == names
    assert not list(database.directory.rglob("*.part"))
