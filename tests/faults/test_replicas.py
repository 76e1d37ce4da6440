"""Several processes on one ledger that share everything: what one does, the others see, and none undoes."""

import logging
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from rag.errors import SettingsError
from rag.grid.columns import Column
from rag.grid.run import GRID
from rag.ingest.leased import JobName, is_done_elsewhere
from rag.services import Services
from rag.settings import LOCAL_OWNER
from rag.workspace import Workspace
from storage.documents import EMBED, READ
from storage.errors import StorageBusy
from storage.keys import ApiKeys
from storage.sources import SourceStore
from tests.faults.auditing import FOUND_AMONG, audit_ledger
from tests.faults.replicas import SERVE, WORK, Cluster, Member, client, cluster, until
from tests.rag.fake_llm import Reply
from tests.storage import postgres
from tests.storage.conftest import WITHOUT_SERVER

pytestmark = pytest.mark.timeout(600)  # a busy machine takes half a minute to start a process
WORDS = "The moat of the castle is nine metres deep [1]. It is full of cold water, and of carp, and of frogs."
QUESTION = "How deep is the moat?"
KILLED = ("PostgreSQL", "worker", "server")
log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if WITHOUT_SERVER:
        pytest.skip(postgres.MISSING)
    with postgres.running() as server, cluster(tmp_path_factory.mktemp("replicas"), server) as made:
        _add_castle(made)
        yield made


def _add_castle(made: Cluster) -> None:
    with closing(Services(made.settings("first"))) as first:
        library = first.workspace(LOCAL_OWNER).library
        record, _ = library.add("castle.md", b"# Castle\n\nThe moat of the castle is nine metres deep.\n")
        list(library.index(record.id))


@pytest.fixture
def here(shared: Cluster) -> Iterator[Services]:
    """This process as one of them, which reads no document."""
    shared.llm.released.clear()
    shared.embeddings.mend()
    for member in shared.members:  # that a test which failed has left frozen
        member.thaw()
    with closing(Services(shared.settings("here"), documents={})) as services:
        services.warm_up()
        yield services


@pytest.fixture
def key(here: Services) -> Iterator[str]:
    keys = ApiKeys(here.database, LOCAL_OWNER)
    record, secret = keys.create("Test", ["read", "ask", "write"])
    yield secret
    keys.revoke(record.id)


class Asked:
    """A question that a process answers, asked over HTTP."""

    def __init__(self, shared: Cluster, key: str, here: Services) -> None:
        (member,) = shared.members_of(SERVE)
        self.there = here.workspace(LOCAL_OWNER)
        known = {chat.id for chat in self.there.conversations.list()}
        self._ask = threading.Thread(target=self._asking, args=(member, key), daemon=True)
        self._ask.start()
        (chat,) = until(lambda: {chat.id for chat in self.there.conversations.list()} - known)
        self.answer_id = until(lambda: self.there.conversations.pending(chat))

    def _asking(self, member: Member, key: str) -> None:
        with suppress(httpx.HTTPError), client(member, key) as asking:  # its server may be killed
            asking.post("/api/ask", json={"question": QUESTION, "store": True})

    @property
    def text(self) -> str:
        return self.there.conversations.message(self.answer_id).content

    @property
    def state(self) -> str:
        return self.there.conversations.message(self.answer_id).state


def add(there: Workspace, count: int, tag: str) -> list[str]:
    return [
        there.add(f"{tag}-{n}.md", f"# {tag} {n}\n\nThe tower {tag}{n} has {n + 2} floors.\n".encode())[0].id
        for n in range(count)
    ]


def states(there: Workspace, ids: list[str]) -> set[str]:
    return {there.library.documents.get(id_).state for id_ in ids}


def test_an_answer_is_seen_by_another_process_while_it_is_written(shared, here, key):
    shared.llm.reply(Reply(WORDS, pause=0.1, hold_after=18))
    asked = Asked(shared, key, here)
    until(lambda: "nine metres deep" in asked.text)
    asked.there.settle(asked.answer_id)
    assert asked.state == "pending" and asked.there.conversations.answers_elsewhere() == 1
    shared.llm.released.set()
    until(lambda: asked.state == "complete")
    assert asked.text.endswith("frogs.")


def test_stop_by_another_process_ends_an_answer_with_what_was_written(shared, here, key):
    shared.llm.reply(Reply(WORDS, pause=0.1, hold_after=18))
    asked = Asked(shared, key, here)
    until(lambda: "nine metres" in asked.text)
    asked.there.stop(asked.answer_id)
    until(lambda: asked.state == "stopped")
    assert "nine metres" in asked.text and "frogs" not in asked.text


def test_an_answer_of_a_killed_process_ends_once_with_what_was_written(shared, here, key):
    (killed,) = shared.members_of(SERVE)
    shared.llm.reply(Reply(WORDS, pause=0.1, hold_after=18))
    asked = Asked(shared, key, here)
    until(lambda: "nine metres" in asked.text)
    killed.kill()
    until(lambda: asked.state == "interrupted")
    assert "nine metres" in asked.text and "frogs" not in asked.text
    shared.llm.reply(Reply(WORDS))
    turn = asked.there.go_on(asked.answer_id)
    until(lambda: asked.state == "complete")
    found = shared.rows("SELECT count(*) FROM messages WHERE question_id = :id", id=turn.question_id)
    assert found == [(1,)]


def test_what_one_process_queues_others_read_and_the_start_of_one_more_changes_nothing(shared, here, key):
    workers = shared.members_of(WORK, 2)
    there = here.workspace(LOCAL_OWNER)
    shared.embeddings.hold()
    ids = add(there, 4, "start")
    until(lambda: states(there, ids) == {"searchable_by_words"})
    until(lambda: len(here.database.queue.worked_on_elsewhere(LOCAL_OWNER)) == len(workers))
    before = shared.rows("SELECT id, worker, attempt FROM jobs WHERE state = 'running' ORDER BY id")
    (third,) = shared.members_of((*SERVE, "--host", "127.0.0.1"))
    until(lambda: httpx.get(f"{third.url}/readyz").status_code == 200 or time.sleep(0.2))
    third.stop()
    assert shared.rows("SELECT id, worker, attempt FROM jobs WHERE state = 'running' ORDER BY id") == before
    assert states(there, ids) == {"searchable_by_words"}
    shared.embeddings.mend()
    until(lambda: states(there, ids) == {"ready"})
    for number, id_ in enumerate(ids):
        found = there.library.retriever("ensemble-cc", 3).invoke(
            f"How many floors has the tower start{number}?"
        )
        assert id_ in {passage.metadata["document_id"] for passage in found}


def test_a_frozen_worker_writes_nothing_once_another_has_taken_its_work(shared, here):
    there = here.workspace(LOCAL_OWNER)
    workers = shared.members_of(WORK, 2)
    shared.embeddings.hold()
    (document,) = add(there, 1, "frozen")
    frozen = shared.worker_of(EMBED)
    frozen.freeze()
    until(lambda: [job.attempt for job in here.database.queue.of(LOCAL_OWNER, [EMBED])] == [2])
    shared.embeddings.mend()
    until(lambda: states(there, [document]) == {"ready"})
    row = "SELECT state, updated, xmin::text FROM documents WHERE id = :id"
    before = shared.rows(row, id=document)
    (worker,) = (one for one in workers if one is not frozen)
    worker.freeze()
    frozen.thaw()
    (another,) = add(there, 1, "afterwards")  # embedded once it has ended the work that it lost
    until(lambda: states(there, [another]) == {"ready"})
    worker.thaw()
    assert shared.rows(row, id=document) == before
    assert here.database.queue.of(LOCAL_OWNER, [READ, EMBED]) == []


def test_a_due_source_is_synced_once_by_three_processes(shared, here, tmp_path: Path):
    shared.members_of(WORK, 2)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.md").write_text(f"The gate number {number} is of oak.")
    sources = SourceStore(here.database, LOCAL_OWNER)
    source = sources.create("folder", "Gates", {"path": str(folder)}, every=600)
    here._tick()
    until(lambda: sources.get(source.id).ended)
    here._tick()
    found = sources.get(source.id)
    assert (found.round, found.state) == (1, "idle")
    until(lambda: not here.workspace(LOCAL_OWNER).library.documents.unfinished())


def test_a_grid_of_a_killed_process_is_gone_on_with_by_another(shared, here):
    there = here.workspace(LOCAL_OWNER)
    here._schedule.close()  # its first look may come late, and find the run before a worker does
    shared.members_of(WORK, 2)
    shared.llm.reply(Reply("held", hold_after=0))
    grid = there.grids.create("Castles", [Column("", "Depth of the moat", kind="number")])
    there.grids.store.begin_run(grid.id)
    name = JobName(LOCAL_OWNER, GRID, grid.id)
    worker = shared.worker_of(GRID)
    here._tick()
    assert there.grid_runs.job(grid.id) is None and there.grids.get(grid.id).running
    worker.kill()
    shared.llm.reply(Reply("9"))
    shared.llm.released.set()
    until(lambda: not is_done_elsewhere(here.database.queue, name))
    here._tick()
    until(lambda: not there.grids.get(grid.id).running)
    assert {cell.column.id for row in there.grids.rows(grid.id) for cell in row.cells if cell.found}


def test_the_settings_of_one_process_are_not_changed_where_others_would_not_learn_of_it(here):
    with pytest.raises(SettingsError, match="would reach only one of them"):
        here.apply({"k": 9})
    assert here.settings.k != 9


def _added(there: Workspace, tag: str) -> list[str]:
    """Add documents; where the ledger is busy for too long they are to be added again, as it says."""
    try:
        return add(there, 3, tag)
    except StorageBusy as error:
        log.warning("%s", error)
        return []


def _ended(there: Workspace, ids: list[str], asked: list[Asked]) -> bool:
    return states(there, ids) == {"ready"} and all(one.state != "pending" for one in asked)


@pytest.mark.parametrize(
    "rounds",
    [
        3,
        pytest.param(
            60, marks=[pytest.mark.slow(reason="kills 60 processes"), pytest.mark.timeout(4 * 3600)]
        ),
    ],
)
def test_kills_lose_nothing_and_do_nothing_twice(shared, here, key, rounds):
    """Kill a worker, the server that answers, and PostgreSQL in turn, while they work."""
    there, rolls = here.workspace(LOCAL_OWNER), random.Random(7)
    ids: list[str] = []
    for number in range(1, rounds + 1):
        killed = KILLED[number % len(KILLED)]
        server, *workers = shared.members_of(SERVE) + shared.members_of(WORK, 2)
        shared.llm.reply(Reply(WORDS, pause=0.05))
        ids += until(partial(_added, there, f"kill{rounds}-{number}"))
        asked = [Asked(shared, key, here) for _ in range(2)]
        time.sleep(rolls.random())
        if killed == "PostgreSQL":
            shared.postgres.stop()
            shared.postgres.start()
        else:
            (server if killed == "server" else rolls.choice(workers)).kill()
        until(partial(_ended, there, ids, asked), f"round {number}, {killed}: it does not end")
        log.info("Round %d: killed and gone on with: %s", number, killed)
    assert here.database.queue.of(LOCAL_OWNER, [READ, EMBED]) == []
    for id_ in ids:
        name = there.library.documents.get(id_).name
        assert len(there.library.documents.chunk_ids_of(id_)) == 1, name
    with closing(Services(shared.settings("fresh"), documents={})) as fresh:
        audit_ledger(fresh.database)
        library = fresh.library(LOCAL_OWNER)
        expected = library.documents.chunk_ids()
        assert library.indexes.words.ids() == expected == library.indexes.vectors.ids()
        for chunk in library.documents.chunks_by_id(sorted(expected)).values():
            found = library.retriever("ensemble-cc", FOUND_AMONG).invoke(chunk.text)
            assert chunk.id in [passage.id for passage in found]
