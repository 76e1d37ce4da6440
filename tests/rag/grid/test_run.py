"""Runs of a grid: stopped, interrupted, with a busy or failing model's server, and to the end."""

import time
from collections.abc import Iterator, Sequence

import pytest

from rag.errors import GridRefused, LimitReached, LLMError
from rag.grid.cells import CellResult, Words
from rag.grid.columns import Column
from rag.grid.grids import Grids
from rag.grid.run import LANES, MOST_FAILURES, STOPPED, GridRuns
from rag.ingest.library import Library
from rag.jobs import Cancel, Jobs
from rag.models.llm import LLM
from rag.models.protocol import LanguageModel, LLMSettings, ObservedModel, Sent
from rag.quota import Limits, Quota
from storage.accounts import Account
from storage.database import Database
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.grid.test_grids import lease, put
from tests.rag.word_vectors import WordVectors

COLUMNS = [Column("begin", "Beginning"), Column("rent", "Rent")]


class ModelReader:
    """Reads each cell with one request of a model, unchecked."""

    fingerprint = "asked"

    def __init__(self, llm: LanguageModel):
        self._llm = llm

    def read_row(
        self, document_id: str, columns: Sequence[Column], cancelled: Cancel
    ) -> Iterator[tuple[Column, CellResult]]:
        for column in columns:
            chat = [{"role": "user", "content": f"{column.name} of {document_id}?"}]
            said = self._llm.complete(chat, max_tokens=20, cancelled=cancelled)
            yield column, CellResult("unconfirmed", Words(said), read=1, total=1)


@pytest.fixture
def library(database: Database) -> Library:
    opened = Library(database, "ann", lambda: WordVectors("words"))
    for number in range(3):
        put(opened, f"{number}.md", lease(number + 1))
    return opened


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


@pytest.fixture
def llm(fake: FakeLLM) -> Iterator[LLM]:
    client = LLM(LLMSettings(base_url=fake.url, model="fake", timeout=20))
    yield client
    client.close()


@pytest.fixture
def grids(database: Database, library: Library, llm: LLM) -> Grids:
    def opened(sent: list[Sent]) -> ModelReader:
        return ModelReader(ObservedModel(llm, sent=sent))

    return Grids(database, library, opened, with_model=lambda: True)


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    running = Jobs(LANES)
    yield running
    running.close()


@pytest.fixture
def runs(grids: Grids, jobs: Jobs) -> GridRuns:
    return GridRuns(grids, "ann", jobs, busy_seconds=(0.01,))


def states(grids: Grids, grid_id: str) -> list[str | None]:
    return [cell.state for row in grids.rows(grid_id) for cell in row.cells]


def test_progress_is_told_cell_by_cell(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.say("May")
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    assert job.wait(30)
    told = [(event.done, event.cells) for event in job.since(0)]
    assert told == [(0, 6), (1, 6), (2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    assert states(grids, grid.id) == ["unconfirmed"] * 6


def test_an_estimate_is_made_from_what_the_cells_took(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.say("May")
    grid = grids.create("Leases", COLUMNS)
    assert (grids.estimate(grid.id).cells, grids.estimate(grid.id).requests) == (6, 6)
    assert runs.start(grid.id).wait(30)
    grids.change(grid.id, columns=[*COLUMNS, Column("fee", "Fee")])
    estimate = grids.estimate(grid.id)
    assert (estimate.cells, estimate.requests) == (3, 3)
    assert estimate.seconds > 0


def test_a_busy_server_is_waited_for_and_no_cell_fails(grids: Grids, runs: GridRuns, fake: FakeLLM):
    busy = Reply(status=429, headers={"retry-after": "0.01"})
    fake.reply(*[busy] * 4, Reply("May"))  # more often than the client itself tries again
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    assert job.wait(30)
    assert any(event.waiting for event in job.since(0))
    assert states(grids, grid.id) == ["unconfirmed"] * 6


def test_a_stopped_run_goes_on_where_it_was_left(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.reply(Reply("May"), Reply("June"), Reply("July", hang=True))
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    while len(fake.requests) < 3:
        time.sleep(0.01)
    runs.stop(grid.id)
    assert job.wait(20)
    assert not grids.get(grid.id).running
    assert grids.get(grid.id).note == str(STOPPED)
    assert states(grids, grid.id) == ["unconfirmed"] * 2 + [None] * 4
    fake.say("August")
    job = runs.start(grid.id)
    assert job.wait(30)
    values = [cell.value for row in grids.rows(grid.id) for cell in row.cells]
    assert values == [Words("May"), Words("June"), *[Words("August")] * 4]
    assert grids.get(grid.id).note == ""


def test_a_run_is_begun_anew_while_the_stopped_one_still_ends(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.reply(Reply("May"), Reply("June", hang=True))
    grid = grids.create("Leases", COLUMNS)
    first = runs.start(grid.id)
    while len(fake.requests) < 2:
        time.sleep(0.01)
    fake.say("August")
    runs.stop(grid.id)
    again = runs.start(grid.id)
    assert again is not first
    assert again.wait(30)
    assert states(grids, grid.id) == ["unconfirmed"] * 6
    assert not grids.get(grid.id).running


def test_a_quota_that_is_used_up_ends_the_run_and_fails_no_cell(
    database: Database, library: Library, jobs: Jobs, llm: LLM, fake: FakeLLM
):
    fake.say("May")
    account = Account(database, "ann")
    quota = Quota(account, lambda: Limits(tokens_a_day=25))
    metered = ObservedModel(llm, meter=quota)
    grids = Grids(database, library, lambda sent: ModelReader(ObservedModel(metered, sent=sent)))
    runs = GridRuns(grids, "ann", jobs)
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    assert job.wait(30)
    assert isinstance(job.error, LimitReached)
    assert "tokens today" in grids.get(grid.id).note
    found = states(grids, grid.id)
    assert set(found) == {"unconfirmed", None}
    assert account.used().tokens >= 25


def test_a_run_that_the_server_ended_goes_on_after_its_start(
    grids: Grids, runs: GridRuns, jobs: Jobs, fake: FakeLLM
):
    fake.reply(Reply("May"), Reply("June", hang=True))
    grid = grids.create("Leases", COLUMNS)
    runs.start(grid.id)
    while len(fake.requests) < 2:
        time.sleep(0.01)
    jobs.close()
    assert grids.get(grid.id).running
    fake.say("August")
    later = Jobs(LANES)
    again = GridRuns(grids, "ann", later)
    again.recover()
    if (job := again.job(grid.id)) is not None:
        assert job.wait(30)
    later.close()
    assert states(grids, grid.id) == ["unconfirmed"] * 6
    assert len(fake.requests) == 7  # one was under way


def test_a_model_that_fails_once_leaves_a_cell_to_be_tried_again(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.reply(Reply(status=400, body=b'{"error": {"message": "no"}}'), Reply("May"))
    grid = grids.create("Leases", COLUMNS)
    assert runs.start(grid.id).wait(30)
    assert states(grids, grid.id) == ["failed"] + ["unconfirmed"] * 5
    assert "refused the request" in grids.rows(grid.id)[0].cells[0].found.note
    assert [cell.key for cell in grids.due(grid.id)] == [grids.rows(grid.id)[0].cells[0].key]
    assert runs.start(grid.id).wait(30)
    assert states(grids, grid.id) == ["unconfirmed"] * 6


def test_a_model_that_keeps_failing_ends_the_run_and_is_named(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.reply(Reply(status=401))
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    assert job.wait(30)
    assert isinstance(job.error, LLMError)
    assert states(grids, grid.id) == ["failed"] * MOST_FAILURES + [None]
    assert "refused the API key" in grids.get(grid.id).note


def test_a_document_that_goes_meanwhile_does_not_end_the_run(
    grids: Grids, runs: GridRuns, library: Library, fake: FakeLLM
):
    fake.reply(Reply("May", hold_after=0))
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    while not fake.requests:
        time.sleep(0.01)
    library.documents.delete(grids.rows(grid.id)[0].document.id)
    fake.say("June")
    fake.released.set()
    assert job.wait(30)
    assert job.error is None
    assert states(grids, grid.id) == ["unconfirmed"] * 4
    assert not grids.get(grid.id).running


def test_a_grid_that_is_deleted_meanwhile_ends_its_run(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.reply(Reply("May", hold_after=0))
    grid = grids.create("Leases", COLUMNS)
    job = runs.start(grid.id)
    while not fake.requests:
        time.sleep(0.01)
    runs.remove(grid.id)
    fake.released.set()
    assert job.wait(30)
    assert grids.list() == []


def first_key(grids: Grids, grid_id: str) -> tuple[str, str]:
    return grids.rows(grid_id)[0].cells[0].key


def test_one_cell_is_read_again_and_no_other(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.say("May")
    grid = grids.create("Leases", COLUMNS)
    job = runs.read_again(grid.id, first_key(grids, grid.id))
    assert job is not None and job.wait(30)
    assert states(grids, grid.id) == ["unconfirmed"] + [None] * 5
    fake.say("June")
    job = runs.read_again(grid.id, first_key(grids, grid.id))
    assert job is not None and job.wait(30)
    cell = grids.rows(grid.id)[0].cells[0]
    assert (cell.value, cell.again, cell.due) == (Words("June"), False, False)
    assert len(fake.requests) == 2 and not grids.get(grid.id).running


def test_a_locked_cell_is_not_read_again(grids: Grids, runs: GridRuns, fake: FakeLLM):
    grid = grids.create("Leases", COLUMNS)
    key = first_key(grids, grid.id)
    grids.lock(grid.id, key)
    assert runs.read_again(grid.id, key) is None
    with pytest.raises(GridRefused, match="no column"):
        runs.read_again(grid.id, (key[0], "none"))
    assert fake.requests == []


def test_a_cell_that_is_read_again_can_be_stopped_and_keeps_its_value(
    grids: Grids, runs: GridRuns, fake: FakeLLM
):
    fake.say("May")
    grid = grids.create("Leases", COLUMNS)
    assert runs.start(grid.id).wait(30)
    fake.reply(Reply("June", hang=True))
    asked = len(fake.requests)
    job = runs.read_again(grid.id, first_key(grids, grid.id))
    while len(fake.requests) == asked:
        time.sleep(0.01)
    assert grids.rows(grid.id)[0].cells[0].again
    runs.stop(grid.id)
    assert job is not None and job.wait(20)
    assert grids.due(grid.id) == []
    assert grids.rows(grid.id)[0].cells[0].value == Words("May")


def test_a_cell_is_read_again_after_the_servers_end(grids: Grids, runs: GridRuns, jobs: Jobs, fake: FakeLLM):
    fake.reply(Reply("May", hang=True))
    grid = grids.create("Leases", COLUMNS)
    runs.read_again(grid.id, first_key(grids, grid.id))
    while not fake.requests:
        time.sleep(0.01)
    jobs.close()
    assert grids.store.to_read_again() == [grid.id]
    fake.say("June")
    later = Jobs(LANES)
    again = GridRuns(grids, "ann", later)
    again.recover()
    if (job := again.job(grid.id)) is not None:
        assert job.wait(30)
    later.close()
    assert states(grids, grid.id) == ["unconfirmed"] + [None] * 5
    assert grids.store.to_read_again() == []


def test_a_failing_model_leaves_what_a_cell_had_before(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.say("May")
    grid = grids.create("Leases", COLUMNS)
    assert runs.start(grid.id).wait(30)
    fake.reply(Reply(status=400, body=b'{"error": {"message": "no"}}'))
    job = runs.read_again(grid.id, first_key(grids, grid.id))
    assert job is not None and job.wait(30)
    assert isinstance(job.error, LLMError)
    assert grids.rows(grid.id)[0].cells[0].value == Words("May")
    assert grids.due(grid.id) == [] and "refused the request" in grids.get(grid.id).note


def test_a_run_that_is_begun_meanwhile_reads_all(grids: Grids, runs: GridRuns, fake: FakeLLM):
    fake.reply(Reply("May", hold_after=0))
    grid = grids.create("Leases", COLUMNS)
    runs.read_again(grid.id, first_key(grids, grid.id))
    while not fake.requests:
        time.sleep(0.01)
    job = runs.start(grid.id)
    fake.say("June")
    fake.released.set()
    assert job.wait(30)
    assert states(grids, grid.id) == ["unconfirmed"] * 6
    assert not grids.get(grid.id).running
