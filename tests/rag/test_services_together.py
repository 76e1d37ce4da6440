"""Two servers with one ledger, one index and one place of originals."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from rag.ingest.queue import Backoff
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


def clock_of(name: str, asked: list[str]) -> float:
    """Return a time, and note who asked for it."""
    asked.append(name)
    return 0.0


def add(services: Services, text: str = "The mooring fee is seven euros.") -> str:
    return services.workspace("ann").library.add("fee.md", text.encode())[0].id


def copies(services: Services) -> set[str]:
    """Return the folders of a data directory that hold anything of a person."""
    data = services.settings.data
    files = [path.relative_to(data) for path in data.rglob("*") if path.is_file()]
    return {path.parts[0] for path in files if len(path.parts) > 2}


def test_a_job_of_a_person_who_is_being_removed_is_not_begun(servers: tuple[Services, Services]):
    web, work = servers
    work.workspace("ann")
    add(web)
    web.people.mark("ann")
    lease = work.database.queue.take(["read"])
    assert lease is not None
    with pytest.raises(AccountClosed):
        work._begin(lease)


def test_each_kind_of_process_has_turns_to_try_again_what_it_does(servers: tuple[Services, Services]):
    web, work = servers
    document_id = add(web)
    asked: list[str] = []
    for services in servers:
        services._recover("ann")
    while work.workspace("ann").ingest.running(document_id):  # there is no model: it is to be tried again
        time.sleep(0.05)
    for services in servers:
        backoff = Backoff(partial(clock_of, services.settings.data.name, asked))
        services.workspace("ann").ingest._backoff = backoff
        services._tick()
    assert asked == ["web", "work"]


def test_a_person_whom_another_process_has_removed_leaves_no_copies_here(servers: tuple[Services, Services]):
    web, work = servers
    document_id = add(web)
    for services in servers:
        services._recover("ann")
        library = services.workspace("ann").library
        library.files.path(library.documents.get(document_id).sha256)
        assert library.indexes.words.ids() is not None
    while work.workspace("ann").ingest.running(document_id):
        time.sleep(0.05)
    assert all(copies(services) == {"cache", "indexes"} for services in servers)
    web.removals.start("ann")
    while "ann" in web.people.marked():
        time.sleep(0.05)
    work._tick()
    assert [copies(services) for services in servers] == [set(), set()]
