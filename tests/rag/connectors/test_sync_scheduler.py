"""Syncs as jobs of a server: real threads, a real library; the source waits where the test says."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rag.connectors.base import Checkpoint, Item, Source
from rag.connectors.sync import LANES, SYNC, Syncing, is_due
from rag.ingest import queue as ingest
from rag.ingest.library import Library
from rag.ingest.queue import Ingest
from rag.jobs import Jobs

PATIENCE = 60


class MemorySource(Source):
    """Texts by id; after the first item it waits until the test lets it go on."""

    def __init__(self, texts: dict[str, str]):
        self.texts = texts
        self.go_on = threading.Event()
        self.go_on.set()
        self.waiting = threading.Event()
        self.opened = 0

    def test(self) -> str:
        return "A memory source."

    def list(self, cursor=None, cancelled=lambda: False) -> Iterator:
        for number, id_ in enumerate(list(self.texts)):
            if number == 1:
                self.waiting.set()
                self.go_on.wait(PATIENCE)
            yield Item(id_, f"{id_}.md", self.texts[id_])
        yield Checkpoint("", whole=True)

    def fetch(self, item, cancelled=lambda: False) -> Iterator[bytes]:
        yield self.texts[item.id].encode()


class Server:
    """One owner's library with the jobs of a server."""

    def __init__(self, database, embedder, origin):
        self.jobs = Jobs({**ingest.LANES, **LANES})
        self.library = Library(database, "ann", lambda: embedder)
        self.ingest = Ingest(self.library, self.jobs)

        def opened(record):
            assert record.kind == "memory"
            origin.opened += 1
            return origin

        self.syncing = Syncing(
            database, self.library, self.ingest, self.jobs, opened, lambda: 1 << 20, look_every=0.05
        )

    def ready(self):
        for record in self.library.documents.unfinished():
            while self.ingest.running(record.id):
                threading.Event().wait(0.02)
        return sorted(record.name for record in self.library.documents.list() if record.state == "ready")

    def close(self):
        self.jobs.close()
        self.library.close()


@pytest.fixture
def origin():
    return MemorySource({"a": "The castle.", "b": "The lamp.", "c": "The moat."})


@pytest.fixture
def server(database, embedder, origin):
    opened = Server(database, embedder, origin)
    yield opened
    origin.go_on.set()
    opened.close()


def test_a_sync_reads_what_it_takes(server):
    source = server.syncing.sources.create("memory", "Memory", {})
    job = server.syncing.start(source.id)
    assert job.wait(PATIENCE)
    assert job.latest.new == 3
    assert server.ready() == ["a.md", "b.md", "c.md"]
    assert server.syncing.job(source.id) is None


def test_two_syncs_at_once_are_one(server, origin):
    source = server.syncing.sources.create("memory", "Memory", {})
    origin.go_on.clear()
    first = server.syncing.start(source.id)
    assert origin.waiting.wait(PATIENCE)
    assert server.syncing.start(source.id) is first
    assert server.syncing.job(source.id) is first
    origin.go_on.set()
    assert first.wait(PATIENCE)
    assert origin.opened == 1
    assert server.ready() == ["a.md", "b.md", "c.md"]


def test_two_sources_of_the_same_things_hold_them_once(server):
    jobs = [
        server.syncing.start(server.syncing.sources.create("memory", name, {}).id) for name in ("One", "Two")
    ]
    assert all(job.wait(PATIENCE) for job in jobs)
    assert server.ready() == ["a.md", "b.md", "c.md"]


def test_a_stopped_sync_keeps_what_it_took_and_goes_on_when_asked(server, origin):
    source = server.syncing.sources.create("memory", "Memory", {})
    origin.go_on.clear()
    job = server.syncing.start(source.id)
    assert origin.waiting.wait(PATIENCE)
    server.syncing.stop(source.id)
    origin.go_on.set()
    assert job.wait(PATIENCE)
    assert server.syncing.sources.get(source.id).state == "stopped"
    assert server.ready() == ["a.md"]
    assert server.syncing.start(source.id).wait(PATIENCE)
    assert server.ready() == ["a.md", "b.md", "c.md"]


def test_a_sync_that_the_servers_end_cut_off_goes_on_at_the_next_start(server):
    cut = server.syncing.sources.create("memory", "Cut", {})
    server.syncing.sources.create("memory", "Idle", {})
    server.syncing.sources.begin(cut.id)
    server.syncing.recover()
    job = server.syncing.job(cut.id)
    assert job is None or job.wait(PATIENCE)
    assert server.ready() == ["a.md", "b.md", "c.md"]
    assert [record.round for record in server.syncing.sources.list()] == [1, 0]


@pytest.mark.parametrize("keep", [True, False])
def test_a_deleted_source_stops_and_takes_its_documents_along_unless_they_are_kept(server, origin, keep):
    source = server.syncing.sources.create("memory", "Memory", {})
    origin.go_on.clear()
    server.syncing.start(source.id)
    assert origin.waiting.wait(PATIENCE)
    threading.Timer(0.1, origin.go_on.set).start()
    server.syncing.delete(source.id, keep_documents=keep)
    assert server.ready() == (["a.md"] if keep else [])
    assert server.syncing.sources.list() == []


def test_what_is_due_is_begun_by_the_clock(server):
    never = server.syncing.sources.create("memory", "Never", {})
    hourly = server.syncing.sources.create("memory", "Hourly", {}, every=60)
    server.syncing.start_due()
    job = server.syncing.job(hourly.id)
    assert job is None or job.wait(PATIENCE)
    assert [record.round for record in server.syncing.sources.list()] == [0, 1]
    record, now = server.syncing.sources.get(hourly.id), datetime.now(UTC)
    assert not is_due(record, now)
    assert is_due(record, now + timedelta(minutes=60))
    assert not is_due(server.syncing.sources.get(never.id), now + timedelta(days=9))


def test_a_watched_source_is_synced_when_something_changes(server, origin):
    source = server.syncing.sources.create("memory", "Watched", {"watched": True})
    server.syncing.start_due()
    while len(server.syncing.items.list(source.id)) < 3 or server.syncing.job(source.id):
        threading.Event().wait(0.02)
    origin.texts["d"] = "The gate."
    while len(server.syncing.items.list(source.id)) < 4:
        threading.Event().wait(0.02)
    server.syncing.change(source.id, "Left alone", {}, None)
    origin.texts["e"] = "The tower."
    server.syncing.start_due()
    assert server.syncing.sources.get(source.id).name == "Left alone"
    assert len(server.syncing.items.list(source.id)) == 4


def test_a_watched_source_that_just_failed_is_left_alone_for_a_while(server, origin):
    source = server.syncing.sources.create("memory", "Watched", {"watched": True})
    server.syncing.sources.end(source.id, "failed", "The disk is gone.")
    server.syncing.start_due()
    assert origin.opened == 0


@pytest.mark.parametrize(("by_hand", "rounds"), [(True, 2), (False, 1)])
def test_a_sync_that_is_asked_for_while_another_process_does_what_was_due_is_not_left_out(
    server, by_hand, rounds
):
    source = server.syncing.sources.create("memory", "Memory", {}, every=60)
    go_on = threading.Event()

    def busy(_):
        go_on.wait(PATIENCE)
        yield

    others = [server.jobs.start("bob", f"busy:{number}", busy, lane=SYNC) for number in range(LANES[SYNC])]
    server.syncing.start_due()
    server.syncing.sources.begin(source.id)  # as another process does
    server.syncing.sources.end(source.id, "idle")
    due = server.syncing.job(source.id)
    if by_hand:
        assert server.syncing.start(source.id, by_hand=True) is due
    go_on.set()
    assert all(job.wait(PATIENCE) for job in (*others, due))
    assert server.syncing.sources.get(source.id).round == rounds
