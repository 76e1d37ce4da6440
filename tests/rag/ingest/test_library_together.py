"""A library on PostgreSQL, which other processes use, too."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag.index.external import StoreSpec
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage import postgres
from storage.database import Database
from storage.errors import StorageBusy
from storage.fence import Sharing
from tests.rag.index.objects import table_objects
from tests.s3 import Link, new_address
from tests.storage.conftest import server, started_server  # noqa: F401 - fixtures
from tests.storage.postgres import Postgres


@pytest.fixture
def ledgers(server: Postgres, tmp_path: Path) -> Iterator[list[Database]]:  # noqa: F811
    """Two processes' views of one ledger."""
    one, other = (Database.open(tmp_path / n, url=server.url, sharing=Sharing()) for n in ("one", "other"))
    with closing(one), closing(other):
        yield [one, other]


@pytest.fixture
def libraries(
    ledgers: list[Database], embedder: Embedder, tmp_path: Path, s3_link: Link
) -> Iterator[list[Library]]:
    """Ann's library in both, with its index in one object store."""
    address = new_address()
    stores = [
        StoreSpec(name="lance-objects", root=tmp_path / name, tables=table_objects(tmp_path / name, address))
        for name in ("one", "other")
    ]
    made = [
        Library(ledger, "ann", lambda: embedder, store) for ledger, store in zip(ledgers, stores, strict=True)
    ]
    yield made
    for library in made:
        library.close()


def add(library: Library, name: str, text: str) -> str:
    record, _ = library.add(name, text.encode())
    list(library.index(record.id))
    return record.id


def found(library: Library, question: str) -> set[str]:
    hits = library.retriever("ensemble-cc", 3).invoke(question)
    return {hit.metadata["document"] for hit in hits}


def test_while_the_store_is_away_questions_are_answered_from_what_was_last_seen(
    libraries: list[Library], s3_link: Link
):
    one, other = libraries
    add(one, "fee.md", "The mooring fee is seven euros.")
    assert found(other, "What is the mooring fee?") == {"fee.md"}
    add(one, "crane.md", "The crane lifts nine tons.")
    s3_link.cut()
    assert found(other, "What does the crane lift?") == {"fee.md"}
    s3_link.mend()
    deadline = time.monotonic() + 60
    while "crane.md" not in found(other, "What does the crane lift?"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_who_cannot_delete_an_original_has_forgotten_its_passages(
    ledgers: list[Database], embedder: Embedder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(postgres, "_WAIT_LONGER", "SET LOCAL lock_timeout = 100")
    library = Library(ledgers[0], "ann", lambda: embedder)
    record, _ = library.add("fee.md", b"The mooring fee is seven euros.")
    list(library.index(record.id))
    with ledgers[1].excluding("ann"), pytest.raises(StorageBusy):
        library.remove(record.id)
    assert library.indexes.words.ids() == library.indexes.vectors.ids() == set()
