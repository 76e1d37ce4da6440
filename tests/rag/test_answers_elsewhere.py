"""One answer, two processes: the second sees it, cuts nothing off, and may stop it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag.jobs import Jobs
from rag.services import Services
from rag.settings import LOCAL_OWNER, Settings
from rag.workspace import Workspace
from storage.conversations import interrupt_pending
from storage.database import Database
from storage.errors import AnswerPending
from tests.rag.fake_llm import FakeLLM, Reply


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    slow = Reply("The moat is nine metres deep [1]. It is full of water.", pause=0.1, hold_after=8)
    with FakeLLM(default=slow) as server:
        yield server


@pytest.fixture
def services(tmp_path: Path, fake: FakeLLM) -> Iterator[Services]:
    connected = {"llm_base_url": fake.url, "llm_model": "fake", "embedding_model": "hash:none"}
    with closing(Services(Settings(data=tmp_path / "data", **connected))) as opened:
        yield opened


@pytest.fixture
def here(services: Services) -> Workspace:
    there = services.workspace(LOCAL_OWNER)
    record, _ = there.library.add("castle.md", b"# Castle\n\nIts moat is nine metres deep.\n")
    list(there.library.read(record.id))
    return there


@pytest.fixture
def elsewhere(services: Services) -> Iterator[Workspace]:
    """The same person's workspace in another process: jobs and a queue of its own on the same ledger."""
    ours = services.database
    other = Database(ours.directory, ours._engine, ours._lock)
    with closing(Jobs({"read": 1})) as jobs:
        yield Workspace(other, LOCAL_OWNER, jobs, services.current)
    other.queue.close()


def test_an_answer_is_seen_elsewhere_and_neither_cut_off_nor_asked_beside(here, elsewhere, fake):
    turn = here.ask(None, "How deep is the moat?")
    while not elsewhere.conversations.message(turn.answer_id).content:
        pass
    elsewhere.settle(turn.answer_id)
    assert interrupt_pending(elsewhere.conversations._database) == 0
    with pytest.raises(AnswerPending):
        elsewhere.ask(turn.conversation_id, "And the tower?")
    assert elsewhere.conversations.answers_elsewhere() == 1
    job = here.answering(turn.answer_id)
    fake.released.set()
    assert job is None or job.wait(60)
    answer = elsewhere.conversations.message(turn.answer_id)
    assert answer.state == "complete" and "full of water" in answer.content


def test_stop_elsewhere_ends_the_answer_with_what_there_is(here, elsewhere, fake):
    turn = here.ask(None, "How deep is the moat?")
    while not elsewhere.conversations.message(turn.answer_id).content:
        pass
    job = here.answering(turn.answer_id)
    elsewhere.stop(turn.answer_id)
    assert job is not None and job.wait(60)
    answer = elsewhere.conversations.message(turn.answer_id)
    assert answer.state == "stopped" and "moat" in answer.content
