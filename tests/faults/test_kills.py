"""SIGKILL in the middle of an ingest or an answer, then a restart and an audit."""

import random
import time
from pathlib import Path

import pytest

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from storage.conversations import Conversations, interrupt_pending
from storage.database import Database
from tests.faults import worker
from tests.faults.auditing import audit
from tests.faults.forks import Fork
from tests.rag.fake_llm import FakeLLM, Reply

TEXT = "# Castle\n\n" + "\n\n".join(
    f"The castle number {n} of Aldenburg was built in {1400 + n}. Its moat is {n} metres deep." * 8
    for n in range(30)
)


def kill_after(process: Fork, line: str, seconds: float = 0.0) -> list[str]:
    """Read the worker's lines until one starts with `line`, wait, and kill it."""
    said = []
    for said_line in process.said:
        said.append(said_line.strip())
        if said_line.startswith(line):
            break
    time.sleep(seconds)
    process.kill()
    return said


def finish_and_audit(data: Path, embedder: Embedder) -> None:
    database = Database.open(data)
    library = Library(database, "ann", lambda: embedder)
    for document_id in library.recover():
        list(library.index(document_id))
    (record,) = library.documents.list()
    assert record.state == "ready"
    audit(library, database)
    library.close()
    database.close()


EACH = pytest.mark.slow(reason="kills an ingest at each of its steps")
STEPS = ["added", "words 3", "meaning 8"]
OTHERS = ["reading", "words 0", "meaning 0", "meaning 24"]


@pytest.mark.parametrize("step", [*STEPS, *(pytest.param(step, marks=EACH) for step in OTHERS)])
def test_an_ingest_killed_at_a_step_is_finished_after_restart(tmp_path: Path, embedder: Embedder, step: str):
    file = tmp_path / "castle.md"
    file.write_text(TEXT)
    said = kill_after(Fork(worker.ingest, tmp_path / "data", file), step)
    assert "ready" not in said
    finish_and_audit(tmp_path / "data", embedder)


def test_an_ingest_killed_again_and_again_at_random_is_finished_in_the_end(
    tmp_path: Path, embedder: Embedder
):
    file = tmp_path / "castle.md"
    file.write_text(TEXT)
    chance = random.Random(7)
    kill_after(Fork(worker.ingest, tmp_path / "data", file), "added", chance.random() * 0.3)
    for _ in range(4):
        kill_after(Fork(worker.ingest, tmp_path / "data", file), "added", chance.random())
    finish_and_audit(tmp_path / "data", embedder)


@pytest.mark.parametrize(
    "tokens", [0, pytest.param(1, marks=pytest.mark.slow(reason="one word for twelve")), 12]
)
def test_a_killed_answer_keeps_its_question_and_prefix_and_can_be_asked_again(
    tmp_path: Path, embedder: Embedder, tokens: int
):
    data = tmp_path / "data"
    file = tmp_path / "castle.md"
    file.write_text(TEXT)
    Fork(worker.ingest, data, file).finish()
    words = tuple(f"word{n} " for n in range(40))
    with FakeLLM() as fake:
        fake.reply(Reply(pieces=words, pause=0.1))
        process = Fork(worker.answer, data, fake.url, "How deep is the moat of castle 7?")
        seen = 0
        for line in process.said:
            seen += line.strip() == "Token"
            if (tokens == 0 and line.strip() == "begun") or (tokens and seen == tokens):
                break
        process.kill()
    database = Database.open(data)
    assert interrupt_pending(database) == 1
    conversations = Conversations(database, "ann")
    (chat,) = conversations.list()
    question, answer = conversations.messages(chat.id)
    assert question.content == "How deep is the moat of castle 7?"
    assert answer.state == "interrupted"
    whole = "".join(words)
    assert whole.startswith(answer.content)
    kept = len(answer.content.split())
    assert kept >= tokens - 5  # half a second of tokens at ten a second
    library = Library(database, "ann", lambda: embedder)
    again = Conversation(conversations, lambda: RagPipeline(library.retriever("bm25", 3)))
    list(again.run(conversations.begin_retry(answer.id), never))
    _, answer = conversations.messages(chat.id)
    assert answer.state == "complete" and "7 metres" in answer.content
    library.close()
    database.close()
