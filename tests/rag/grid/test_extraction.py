"""Cells read from documents of a library, without a model and with one."""

import pytest

from rag.errors import Cancelled
from rag.factory import make_cell_reader
from rag.grid.columns import Column
from rag.ingest.library import Library
from storage.database import Database
from tests.rag.word_vectors import WordVectors

LEASE = "# Lease\n\nThis lease begins on 1 May 2024. The monthly rent is EUR 1,200. No pets are allowed.\n"


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


def put(library: Library, name: str, text: str) -> str:
    record, _ = library.add(name, text.encode())
    list(library.read(record.id))
    return record.id


def test_a_value_comes_with_its_exact_words_of_the_document(library: Library):
    lease = put(library, "lease.md", LEASE)
    result = make_cell_reader(library, None).read(
        lease, Column("begin", "Beginning of the lease", kind="date")
    )
    assert result.value is not None
    assert result.value.label == "2024-05-01"
    (quote,) = result.quotes
    assert library.documents.text(lease)[quote.start : quote.end] == quote.text
    assert quote.chunk_id in library.documents.chunk_ids_of(lease)


def test_a_stopped_row_gives_no_more_cells(library: Library):
    lease = put(library, "lease.md", LEASE)
    with pytest.raises(Cancelled):
        make_cell_reader(library, None).read(lease, Column("pets", "Pets", kind="yes_no"), lambda: True)
