"""Two servers with one ledger, one index and one place of originals."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from rag.services import Services
from rag.settings import Settings
from storage.errors import AccountClosed
from tests.s3 import Link, new_address
from tests.storage.conftest import server, started_server  # noqa: F401 - fixtures
from tests.storage.postgres import Postgres

DOCUMENTS = {"web": {}, "work": {"read": 1, "embed": 1}}


@pytest.fixture
def servers(server: Postgres, tmp_path: Path, s3_link: Link) -> Iterator[tuple[Services, Services]]:  # noqa: F811
    """Return one that reads no documents, and one that does; neither begins anything by itself."""
    same = {"database_url": server.url, "objects": new_address(), "vector_store": "lance-objects"}
    same |= {"embedding_model": "hash:none"}
    with ExitStack() as stack:
        web, work = (
            stack.enter_context(
                closing(Services(Settings(data=tmp_path / name, **same), local=False, documents=documents))
            )
            for name, documents in DOCUMENTS.items()
        )
        yield web, work


def add(services: Services, text: str = "The mooring fee is seven euros.") -> str:
    return services.workspace("ann").library.add("fee.md", text.encode())[0].id


def test_a_job_of_a_person_who_is_being_removed_is_not_begun(servers: tuple[Services, Services]):
    web, work = servers
    work.workspace("ann")
    add(web)
    web.people.mark("ann")
    lease = work.database.queue.take(["read"])
    assert lease is not None
    with pytest.raises(AccountClosed):
        work._begin(lease)
