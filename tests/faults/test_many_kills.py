"""SIGKILL again and again at random moments: nothing that was acknowledged is lost or doubled.

A few each by default, thirty with those of tests/faults/test_kills.py; `make test-all` runs hundreds.
"""

import hashlib
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rag.chat.conversation import CHECKPOINT_SECONDS
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage.conversations import Conversations, interrupt_pending
from storage.database import Database
from tests.faults import victim
from tests.faults.auditing import audit
from tests.faults.forks import FORKS
from tests.rag.fake_llm import FakeLLM, Reply

SHORT = pytest.mark.timeout(600)  # here: a mark on the function would count in place of the long one's own
MANY = pytest.param(250, marks=[pytest.mark.slow(reason="kills 250 processes"), pytest.mark.timeout(7200)])
WORDS = tuple(f"word{number} " for number in range(60))
AUDITED = 20  # kills between two whole audits, which read every index


@contextmanager
def alive(work: Any, *arguments: object) -> Iterator[Any]:
    """A process at work, and the pipe on which it says what it has done; it is killed at the end."""
    ours, theirs = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=work, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()
        ours.close()


def heard(pipe: Any, seconds: float) -> list[tuple[Any, ...]]:
    """Wait for the first word, and then some seconds; return everything that was said."""
    said = [pipe.recv()]
    time.sleep(seconds)
    while pipe.poll():
        said.append(pipe.recv())
    return said


@pytest.mark.parametrize("kills", [pytest.param(8, marks=SHORT), MANY])
def test_files_survive_kills_at_random_moments_of_their_ingest(
    tmp_path: Path, embedder: Embedder, kills: int
):
    chance, acknowledged = random.Random(11), set[str]()
    for kill in range(kills):
        with alive(victim.ingest, tmp_path / "data", len(acknowledged)) as pipe:
            said = heard(pipe, chance.random() * 0.8)
        acknowledged |= {name for what, name in said if what == "added"}
        database = Database.open(tmp_path / "data")
        library = Library(database, victim.OWNER, lambda: embedder)
        records = {record.name: record for record in library.documents.list()}
        assert acknowledged <= records.keys() and len(records) == len(library.documents.list())
        for name in acknowledged:
            sha256 = hashlib.sha256(victim.text(name)).hexdigest()
            assert records[name].sha256 == sha256
            assert hashlib.sha256(library.files.path(sha256).read_bytes()).hexdigest() == sha256
        if kill % AUDITED == AUDITED - 1 or kill == kills - 1:
            for document_id in library.recover():
                list(library.index(document_id))
            assert {record.state for record in library.documents.list()} <= {"ready"}
            audit(library, database)
        library.close()
        database.close()
    assert len(acknowledged) > kills / 4


@pytest.mark.parametrize("kills", [pytest.param(10, marks=SHORT), MANY])
def test_answers_survive_kills_at_random_moments_of_their_writing(tmp_path: Path, kills: int):
    chance, data = random.Random(12), tmp_path / "data"
    database = Database.open(data)
    chat = Conversations(database, victim.OWNER).create("Towers").id
    library = Library(database, victim.OWNER, victim.embedder)
    list(library.read(library.add("tower.md", victim.text("tower.md"))[0].id))
    library.close()
    database.close()
    begun: set[str] = set()
    with FakeLLM() as fake:
        fake.reply(Reply(pieces=WORDS, pause=0.02))
        for _ in range(kills):
            with alive(victim.answer, data, fake.url) as pipe:
                said = heard(pipe, chance.random() * 1.5)
            begun |= {answer_id for _, answer_id, _, _ in said}
            database = Database.open(data)
            interrupt_pending(database)
            conversations = Conversations(database, victim.OWNER)
            messages = conversations.messages(chat, limit=10_000)
            check_answers(messages, begun, said)
            database.check()
            database.close()
    assert len(begun) >= kills


def check_answers(messages: Any, begun: set[str], said: list[tuple[Any, ...]]) -> None:
    """Each question has one answer, in its place; the last one has all that was written a moment before."""
    assert [message.role for message in messages] == ["user", "assistant"] * (len(messages) // 2)
    answers = {message.id: message for message in messages if message.role == "assistant"}
    assert begun <= answers.keys()
    whole = "".join(WORDS).split()
    for answer in answers.values():
        assert answer.state in ("complete", "interrupted")
        assert answer.content.split() == whole[: len(answer.content.split())]
    what, last, at, _ = said[-1]
    before = [words for _, id_, t, words in said if id_ == last and t <= at - CHECKPOINT_SECONDS - 0.2]
    kept = len(answers[last].content.split())
    assert kept >= max(before, default=0)
    assert answers[last].state == "complete" if what == "done" else kept <= len(whole)
