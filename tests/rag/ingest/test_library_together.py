"""A library on PostgreSQL, which other processes use, too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage import postgres
from storage.database import Database
from storage.errors import StorageBusy
from storage.fence import Sharing
from tests.storage.conftest import server, started_server  # noqa: F401 - fixtures
from tests.storage.postgres import Postgres


@pytest.fixture
def ledgers(server: Postgres, tmp_path: Path) -> Iterator[list[Database]]:  # noqa: F811
    """Two processes' views of one ledger."""
    one, other = (Database.open(tmp_path / n, url=server.url, sharing=Sharing()) for n in ("one", "other"))
    with closing(one), closing(other):
        yield [one, other]


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
