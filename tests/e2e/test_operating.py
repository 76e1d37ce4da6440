"""What whoever runs the server relies on: it stops in good order, and its log holds nothing of anyone's."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest

from rag.settings import LOCAL_OWNER
from storage.conversations import Conversations
from storage.database import Database
from storage.records import Message
from tests.e2e.conftest import START, Server, serving
from tests.faults.tab import Tab
from tests.rag.fake_llm import FakeLLM, Reply

PIECES = tuple(f"word{number} " for number in range(20))
KEY, QUESTION, TEXT = "canary-key-83", "Where does the canary-question-84 sing?", "The canary-text-85 sings."


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


def model_at(fake: FakeLLM, folder: Path, **settings: str) -> AbstractContextManager[Server]:
    return serving(folder, FOOTNOTE_LLM_BASE_URL=fake.url, FOOTNOTE_LLM_MODEL="fake", **settings)


@contextmanager
def asked(server: Server) -> Iterator[None]:
    """Add a document and ask a question that the model has begun to answer, and stay on the page."""
    tab = Tab.open(server.url)
    tab.ask(QUESTION, ("canary-name-86.md", TEXT.encode()))
    tab.until(lambda: "word4" in tab.text)
    yield
    tab.close()


def stopped(server: Server) -> Message:
    """Stop the server as a service manager does, and return the answer that it leaves."""
    server.process.terminate()
    return ended(server)


def ended(server: Server) -> Message:
    """Wait until the server has ended, and return the answer that its ledger has then."""
    assert server.process.wait(START) == -signal.SIGTERM  # after its work is done, it ends as it was told to
    database = Database.open(server.data)
    conversations = Conversations(database, LOCAL_OWNER)
    answer = conversations.messages(conversations.list()[0].id)[-1]
    database.close()
    return answer


def test_told_to_stop_it_is_not_ready_yet_serves_the_page_until_it_is_told_again(tmp_path: Path):
    with serving(tmp_path, FOOTNOTE_DRAIN_SECONDS="3600") as server:
        wait_for_status(f"{server.url}/readyz", 200)
        server.process.terminate()
        wait_for_status(f"{server.url}/readyz", 503)
        assert httpx.get(f"{server.url}/").status_code == 200
        assert server.process.poll() is None
        server.process.terminate()
        assert server.process.wait(START) == -signal.SIGTERM


def wait_for_status(url: str, status: int) -> None:
    while httpx.get(url, timeout=START).status_code != status:
        time.sleep(0.1)


def lines(server: Server) -> list[dict[str, object]]:
    log = server.log.read_text("utf-8")
    return [json.loads(line) for line in log.splitlines() if line.startswith("{")]


def test_a_stop_lets_an_answer_end_and_the_log_holds_nothing_of_it(fake: FakeLLM, tmp_path: Path):
    fake.reply(Reply(pieces=PIECES, hold_after=5))
    settings = {"FOOTNOTE_LLM_API_KEY": KEY, "FOOTNOTE_SHUTDOWN_SECONDS": "50"}
    with model_at(fake, tmp_path, **settings) as server, asked(server):
        server.process.terminate()
        while "answers may go on for 50 seconds" not in server.log.read_text("utf-8"):
            time.sleep(0.1)
        fake.released.set()
        answer = ended(server)
    assert (answer.state, answer.content.split()) == ("complete", [piece.strip() for piece in PIECES])
    told = lines(server)
    assert any(line.get("turn") == answer.id and line["outcome"] == "complete" for line in told)
    assert any(line.get("document") and line["kind"] == "embed" for line in told)
    log = server.log.read_text("utf-8")
    assert "canary" not in log and "Traceback" not in log and "word1" not in log
    assert "upload_file" not in log  # its address has the session's id


def test_an_answer_that_does_not_end_in_time_is_marked_as_interrupted_with_what_there_is(
    fake: FakeLLM, tmp_path: Path
):
    fake.reply(Reply(pieces=PIECES, hang_after=5))
    with model_at(fake, tmp_path, FOOTNOTE_SHUTDOWN_SECONDS="0.2") as server, asked(server):
        metrics = httpx.get(f"{server.url}/metrics", timeout=START).text
        assert 'footnote_queue{kind="answer",state="running"} 1.0' in metrics
        answer = stopped(server)
    assert answer.state == "interrupted"
    assert answer.content.split() == [piece.strip() for piece in PIECES[:5]]
    assert "Traceback" not in server.log.read_text("utf-8")
