"""Documents read and embedded under leases: by one process at a time, and gone on with by another."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import update

from rag.errors import EmbeddingError
from rag.ingest.leased import IngestProgress
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.ingest.taking import JobTaker
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from storage.database import Database
from storage.documents import EMBED, READ
from storage.jobs import JobQueue
from storage.tables import JobRow
from tests.rag.ingest.test_queue import TEXT, wait_until


@pytest.fixture
def library(database: Database, embedder: Embedder) -> Library:
    return Library(database, "ann", lambda: embedder)


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs(LANES)
    yield made
    made.close()


@pytest.fixture
def ingest(library: Library, jobs: Jobs) -> Ingest:
    return Ingest(library, jobs)


@pytest.fixture
def elsewhere(database: Database) -> JobQueue:
    """The queue as another process sees it."""
    return JobQueue(database, lease=60.0)


def kill(database: Database) -> None:
    """End all leases, as if their workers had been killed some time ago."""
    with database.sharing() as session:
        session.execute(update(JobRow).values(leased_until=JobRow.run_at, worker="killed"))


def test_what_another_process_reads_is_shown_as_running_and_not_read_here(library, ingest, jobs, elsewhere):
    record, _ = library.add("castle.md", TEXT.encode())
    lease = elsewhere.take([READ])
    with elsewhere.holding(lease) as held:
        held.progress = {"stage": "reading", "done": 2, "total": 9}
        elsewhere.renew([lease])
        ingest.start(record.id)
        assert wait_until(lambda: jobs.get("ann", f"{READ}:{record.id}") is None)
        assert library.documents.get(record.id).state == "queued"
        assert ingest.running(record.id) and ingest.all_running() == {record.id}
        assert ingest.progress(record.id) == IngestProgress("reading", 2, 9)


def test_a_document_of_a_killed_worker_is_taken_over(database, library, ingest, jobs, elsewhere):
    record, _ = library.add("castle.md", TEXT.encode())
    taker = JobTaker(database.queue, jobs, [READ, EMBED], ingest.run, grace=0.0)
    assert elsewhere.take([READ]) is not None
    library.documents.set_state(record.id, "reading")
    taker.take_due()
    assert jobs.get("ann", f"{READ}:{record.id}") is None
    kill(database)
    taker.take_due()
    assert wait_until(lambda: library.documents.get(record.id).state == "ready")
    assert database.queue.of("ann", [READ, EMBED]) == []


def test_a_worker_that_lost_its_document_leaves_the_ledger_as_it_is(database, library, jobs, elsewhere):
    record, _ = library.add("castle.md", TEXT.encode())
    lost, taken = threading.Event(), threading.Event()
    ingest = Ingest(library, jobs)
    read = library.parse

    def parse(*arguments):
        parsed = yield from read(*arguments)
        lost.set()
        assert taken.wait(30)
        return parsed

    library.parse = parse
    ingest.start(record.id)
    assert lost.wait(30)
    kill(database)
    assert elsewhere.take([READ]).attempt == 2
    job = jobs.get("ann", f"{READ}:{record.id}")
    taken.set()
    assert job is None or job.wait(30)
    assert library.documents.get(record.id).state == "reading"
    assert library.documents.chunk_ids(searchable=False) == set()
    assert [one.attempt for one in elsewhere.of("ann", [READ, EMBED])] == [2]


def test_a_document_that_failed_waits_until_it_is_asked_for(database, jobs, embedder):
    broken = [True]

    def model() -> Embedder:
        if broken[0]:
            raise EmbeddingError("The embedding model is not there.")
        return embedder

    library = Library(database, "ann", model)
    ingest = Ingest(library, jobs)
    record, _ = library.add("castle.md", TEXT.encode())
    ingest.start(record.id)
    assert wait_until(lambda: [job.due for job in database.queue.of("ann", [EMBED])] == [False])
    assert wait_until(lambda: not ingest.running(record.id))
    assert database.queue.take([READ, EMBED]) is None
    broken[0] = False
    ingest.start(record.id)
    assert wait_until(lambda: library.documents.get(record.id).state == "ready")


def test_a_process_without_workers_leaves_documents_to_others(database, library, ingest, jobs):
    alone = Ingest(
        library, waiting := Jobs({name: n for name, n in LANES.items() if name not in (READ, EMBED)})
    )
    record, _ = library.add("castle.md", TEXT.encode())
    alone.start(record.id)
    assert waiting.keys("ann") == frozenset()
    assert alone.running(record.id) and alone.progress(record.id) is None
    JobTaker(database.queue, jobs, [READ, EMBED], ingest.run, grace=0.0).take_due()
    assert wait_until(lambda: library.documents.get(record.id).state == "ready")
    assert wait_until(lambda: not alone.running(record.id))  # looked for again after a moment
    alone.weigh()
    waiting.close()


def test_what_was_put_just_now_is_left_to_the_process_that_put_it(database, library, ingest, jobs):
    record, _ = library.add("castle.md", TEXT.encode())
    JobTaker(database.queue, jobs, [READ], ingest.run, grace=3600.0).take_due()
    assert jobs.get("ann", f"{READ}:{record.id}") is None
    assert [job.attempt for job in database.queue.of("ann", [READ])] == [0]


def test_a_taker_takes_no_more_than_there_is_room_for(database, library, ingest):
    for number in range(4):
        library.add(f"{number}.md", f"{TEXT}\n{number}".encode())
    begun = []
    jobs = Jobs({READ: 2})
    gate = threading.Event()

    def begin(lease):
        begun.append(lease)
        jobs.start("ann", f"{READ}:{lease.key}", lambda _: iter([gate.wait(30)]), lane=READ)

    taker = JobTaker(database.queue, jobs, [READ], begin, grace=0.0)
    taker.take_due()
    assert len(begun) == 2
    gate.set()
    assert wait_until(lambda: jobs.room(READ) == 2)
    taker.take_due()
    assert wait_until(lambda: len(begun) == 4)
    jobs.close()


def test_embedding_that_was_stopped_begins_again_only_when_it_is_asked_for(database, library, ingest, jobs):
    record, _ = library.add("castle.md", TEXT.encode())
    library.documents.set_state(record.id, "searchable_by_words")
    ingest.stop_writing()
    JobTaker(database.queue, jobs, [READ, EMBED], ingest.run, grace=0.0).take_due()
    assert jobs.keys("ann") == frozenset()
    assert [job.kind for job in database.queue.of("ann", [READ, EMBED])] == [EMBED]
