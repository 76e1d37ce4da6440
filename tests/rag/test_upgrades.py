"""Every ledger that an earlier version wrote, opened by this one: all of it is there, and answers the same.

`ledgers/` has one of each revision, written by the code of its time, as SQL: two documents, and a chat of two
questions answered without a model. Whoever adds a migration writes one of its revision with write_ledger.py.
Those of 0014, 0015 and 0017 were made from the one before by the migration: several came in at once.
"""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage import backup as archives
from storage import backup as restoring
from storage import migrations
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import DatabaseTooNew
from storage.files import folder_of
from tests.faults.auditing import audit

LEDGERS = Path(__file__).with_name("ledgers")
REVISIONS = sorted(path.stem for path in LEDGERS.glob("*.sql"))
ORIGINALS = (
    "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n",
    "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n",
)
QUESTIONS = ("How deep is the moat of the castle?", "등불은 무엇으로 탔나요?")
QUOTES = ("nine metres deep", "고래기름으로")


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Make a data directory as a version of that revision has left it."""

    def write(revision: str) -> Path:
        directory = tmp_path / "data"
        originals = directory / folder_of("ann")
        originals.mkdir(parents=True)
        for text in ORIGINALS:
            (originals / hashlib.sha256(text.encode()).hexdigest()).write_text(text)
        with closing(sqlite3.connect(directory / "footnote.db")) as db:
            db.executescript((LEDGERS / f"{revision}.sql").read_text())
        return directory

    return write


def test_there_is_a_ledger_of_every_revision_before_this_one():
    assert set(REVISIONS) >= set(migrations.revisions()[:-1])


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_ledger_of_an_earlier_version_holds_all_of_it_and_gives_the_same_passages(
    written: Callable[[str], Path], embedder: Embedder, revision: str
):
    directory = written(revision)
    database = Database.open(directory)
    backups = [path.name for path in directory.glob("backups/*")]
    assert len(backups) == (revision != migrations.revisions()[-1])
    assert all(f"before-upgrade-from-{revision}" in name for name in backups)
    library = Library(database, "ann", lambda: embedder)
    for document_id in library.recover():
        list(library.index(document_id))
    assert {record.state for record in library.documents.list()} == {"ready"}
    audit(library, database)
    chats = Conversations(database, "ann")
    (chat,) = chats.list()
    messages = chats.messages(chat.id)
    assert tuple(message.content for message in messages[::2]) == QUESTIONS
    for question, answer, quote in zip(QUESTIONS, messages[1::2], QUOTES, strict=True):
        assert any(quote in citation.quote for citation in answer.citations)
        found = library.retriever("bm25", 3).invoke(answer.standalone_question or question)
        assert [passage.id for passage in found] == [passage.chunk_id for passage in answer.passages]
        assert [passage.page_content for passage in found] == [passage.text for passage in answer.passages]
    assert library.forest.trees.node_ids() <= library.forest.vectors.ids() or library.forest.due()
    library.close()
    database.close()


def test_documents_that_an_earlier_version_left_unfinished_wait_as_jobs(written: Callable[[str], Path]):
    directory = written("0024")
    with closing(sqlite3.connect(directory / "footnote.db")) as db, db:
        db.execute("UPDATE documents SET state = 'queued' WHERE name = 'castle.md'")
        db.execute("UPDATE documents SET state = 'searchable_by_words' WHERE name = '등대.md'")
    with closing(Database.open(directory)) as database:
        names = {record.id: record.name for record in Documents(database, "ann").list()}
        taken = [database.queue.take([kind]) for kind in ("read", "embed")]
        assert [names[lease.key] for lease in taken if lease] == ["castle.md", "등대.md"]


def test_a_backup_of_an_earlier_version_is_restored_and_brought_up_to_date(
    written: Callable[[str], Path], tmp_path: Path
):
    directory = written("0001")
    archives.write(directory, tmp_path / "all.tar", {})
    assert restoring.restore_into(tmp_path / "new", tmp_path / "all.tar").revision == "0001"
    database = Database.open(tmp_path / "new")
    database.check()
    assert len(Conversations(database, "ann").list()) == 1
    database.close()


def test_going_back_is_refused_by_the_version_that_does_not_know_the_ledger(
    written: Callable[[str], Path],
):
    directory = written(REVISIONS[-1])
    later = f"{int(migrations.revisions()[-1]) + 1:04d}"
    with closing(sqlite3.connect(directory / "footnote.db")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = ?", (later,))
    before = (directory / "footnote.db").read_bytes()
    with pytest.raises(DatabaseTooNew, match=f"its revision is {later}"):
        Database.open(directory)
    assert (directory / "footnote.db").read_bytes() == before
