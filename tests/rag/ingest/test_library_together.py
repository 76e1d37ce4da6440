"""A library on PostgreSQL, which other processes use, too."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from rag.errors import LLMUnreachable
from rag.index.external import StoreSpec
from rag.ingest.library import Library
from rag.ingest.queue import FOLLOWING, LANES, SPLIT, TREES, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from rag.raptor.summarize import Summariser
from storage import postgres
from storage.database import Database
from storage.errors import StorageBusy
from storage.lock import Sharing
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


@pytest.fixture
def begun(libraries: list[Library]) -> Iterator[tuple[list[Ingest], list[str]]]:
    """The ingests of both, which want trees, and the kinds of the jobs that they have ended."""
    kinds: list[str] = []
    with ExitStack() as stack:
        ingests = []
        for library in libraries:
            jobs = stack.enter_context(closing(Jobs(LANES)))
            jobs.at_end = kinds.append
            ingests.append(Ingest(library, jobs, trees=lambda: True))
        yield ingests, kinds


def look_after(ingests: list[Ingest]) -> None:
    """Look after the library twice in each process, and wait for what that begins."""
    for ingest in [*ingests, *ingests]:
        ingest.try_again()
        while ingest.all_running() or any(ingest._job(kind) for kind in FOLLOWING):
            time.sleep(0.01)


def test_trees_that_stand_are_not_begun_again_and_those_that_are_due_once(
    libraries: list[Library], begun: tuple[list[Ingest], list[str]]
):
    ingests, kinds = begun
    add(libraries[0], "fee.md", "The mooring fee is seven euros.")
    look_after(ingests)
    assert kinds == [TREES] and libraries[1].forest.due() == []


def test_trees_that_were_stopped_in_one_process_are_not_begun_by_any(
    libraries: list[Library], begun: tuple[list[Ingest], list[str]]
):
    ingests, kinds = begun
    add(libraries[0], "fee.md", "The mooring fee is seven euros.")
    ingests[0].stop_growing()
    look_after(ingests)
    assert kinds == [] and libraries[1].forest.due() != []


def test_what_has_failed_is_not_begun_again_at_once_by_any(
    libraries: list[Library], begun: tuple[list[Ingest], list[str]], monkeypatch: pytest.MonkeyPatch
):
    ingests, kinds = begun

    def away() -> Summariser:
        raise LLMUnreachable("The server does not answer.")

    for library in libraries:
        monkeypatch.setattr(library.forest, "open_summariser", away)
    add(libraries[0], "fee.md", "The mooring fee is seven euros.")
    look_after(ingests)
    assert kinds == [TREES]


def test_a_splitting_that_is_refused_is_tried_once_and_again_when_it_is_asked_for(
    ledgers: list[Database], libraries: list[Library]
):
    library, kinds = libraries[0], list[str]()
    text = " ".join(f"Room {number} of the castle has a chest of oak." for number in range(40))
    document_id = add(library, "castle.md", text)
    short = library.collections.create("short", {"size": 120, "overlap": 0, "minimum": 0}).id
    library.collections.put([document_id], short)
    library._most_passages = 3
    with closing(Jobs(LANES)) as jobs:
        jobs.at_end = kinds.append
        ingest = Ingest(library, jobs)
        look_after([ingest, ingest])
        assert kinds == [SPLIT] and "could not be split" in library.documents.get(document_id).reason
        ingest.split_if_due()
        look_after([ingest])
        assert kinds == [SPLIT, SPLIT]
