"""A restore drill finds what is in a backup and what is wrong with it, and leaves nothing behind."""

import sqlite3
from contextlib import closing

import pytest

from storage import backup
from storage.backup import drill
from storage.conversations import Conversations
from storage.errors import StorageError
from storage.files import Files
from tests.storage.test_backup import add, rewritten


@pytest.fixture
def filled(database):
    for owner in ("ann", "bob"):
        add(database, owner, "moat.md", f"moat of {owner}".encode())
        chats = Conversations(database, owner)
        turn = chats.begin_turn(chats.create("title").id, "why?")
        chats.finish(turn.answer_id, "complete", "because")
    return database


def test_a_good_backup_is_opened_checked_and_cleared_away(filled, tmp_path):
    backup.write(filled.directory, tmp_path / "all.enc", {}, passphrase="correct horse")
    found = drill(tmp_path / "all.enc", tmp_path, passphrase="correct horse")
    assert found.faults == ()
    assert (found.people, found.documents, found.originals, found.passages) == (2, 2, 2, 2)
    assert (found.chats, found.messages) == (2, 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.enc", "data"]


def test_what_is_wrong_in_a_backup_is_said(filled, tmp_path):
    with filled.writing() as session:
        connection = session.connection()
        connection.exec_driver_sql(
            "UPDATE chunks SET text = 'mote' WHERE document_id IN (SELECT id FROM"
            " documents WHERE owner = 'ann')"
        )
        connection.exec_driver_sql("UPDATE documents SET size = 1, chunk_count = 9 WHERE owner = 'bob'")
    backup.write(filled.directory, tmp_path / "all.tar", {})
    found = drill(tmp_path / "all.tar", tmp_path)
    assert found.faults == (
        "A passage of moat.md is not in its text.",
        "The original of moat.md has another size than the ledger says.",
        "moat.md has 1 passages, and the ledger says 9.",
    )


def test_an_original_that_the_backup_lacks_is_named_once(filled, tmp_path):
    record = add(filled, "ann", "gone.md", b"gone")
    Files(filled.directory, "ann").path(record.sha256).unlink()
    backup.write(filled.directory, tmp_path / "all.tar", {})
    assert drill(tmp_path / "all.tar", tmp_path).faults == ("The original of gone.md is not in the backup.",)


def test_a_backup_that_cannot_be_restored_is_refused_and_nothing_is_left(filled, tmp_path):
    backup.write(filled.directory, tmp_path / "all.tar", {})
    rewritten(tmp_path / "all.tar", lambda members: members.pop("footnote.db"))
    with pytest.raises(StorageError, match="not a whole backup"):
        drill(tmp_path / "all.tar", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.tar", "data"]


def test_a_drill_leaves_the_data_directory_alone(filled, tmp_path):
    backup.write(filled.directory, tmp_path / "all.tar", {})
    with closing(sqlite3.connect(filled.directory / "footnote.db")) as ledger:
        before = list(ledger.iterdump())
    drill(tmp_path / "all.tar", filled.directory)
    with closing(sqlite3.connect(filled.directory / "footnote.db")) as ledger:
        assert list(ledger.iterdump()) == before
    assert not list(filled.directory.glob(".drill*"))
