"""A damaged ledger is refused, left alone, and restored on request; a lost log is noticed."""

import hashlib
import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from storage import sqlite
from storage.accounts import People
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents, owners
from storage.errors import DatabaseDamaged, DataDirectoryLocked, StorageError
from storage.records import ChunkSpan, PageSpan

KILLED = """
import os, signal, sys
from pathlib import Path
from storage.conversations import Conversations
from storage.database import Database
database = Database.open(Path(sys.argv[1]))
for number in range(5):
    Conversations(database, "ann").create("kept")
os.kill(os.getpid(), signal.SIGKILL)
"""


def contents(directory):
    """Every file below a directory but the lock, by its hash."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def filled(directory):
    """A ledger of some size, with a backup; returns the backup."""
    database = Database.open(directory)
    documents = Documents(database, "ann")
    for number in range(20):
        record, _ = documents.add(f"{number}.txt", f"{number:064x}", 1)
        documents.save_chunks(record.id, "word " * 4000, [PageSpan(1, 0, 20_000)], [ChunkSpan(0, 5000)])
    (directory / "backups").mkdir()
    older = directory / "backups" / "zz-older.db"
    sqlite.copy(directory / sqlite.LEDGER, older)
    time.sleep(0.02)
    newer = directory / "backups" / "aa-newer.db"
    sqlite.copy(directory / sqlite.LEDGER, newer)
    database.close()
    return newer


def noise(length):
    """Bytes that are no ledger, the same every time."""
    return hashlib.shake_256(b"noise").digest(length)


def flip(ledger, start, length):
    with ledger.open("r+b") as file:
        file.seek(start)
        file.write(noise(length))


def truncate(ledger, size):
    with ledger.open("r+b") as file:
        file.truncate(size)


def drop_pages(ledger):
    flip(ledger, 4096, ledger.stat().st_size // 2)


DAMAGE = {
    "header": lambda ledger: flip(ledger, 0, 100),
    "first page": lambda ledger: flip(ledger, 100, 3000),
    "half the pages": drop_pages,
    "cut in half": lambda ledger: truncate(ledger, ledger.stat().st_size // 2),
    "cut within a page": lambda ledger: truncate(ledger, 5000),
    "emptied": lambda ledger: truncate(ledger, 0),
    "deleted": lambda ledger: ledger.unlink(),
    "another file": lambda ledger: ledger.write_text("Dear diary, " * 1000),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_ledger_is_refused_left_alone_and_can_be_restored(directory, damage):
    backup = filled(directory)
    DAMAGE[damage](directory / "footnote.db")
    before = contents(directory)
    for _ in range(2):
        with pytest.raises(DatabaseDamaged) as caught:
            Database.open(directory)
        assert f"footnote --data {directory} restore {backup}" in str(caught.value)
        assert contents(directory).items() >= before.items()
    aside = Database.restore(directory, backup)
    if aside is not None:
        assert before[directory / "footnote.db"] in contents(aside).values()
    database = Database.open(directory)
    database.check()
    assert len(Documents(database, "ann").list()) == 20
    database.close()


def test_without_a_backup_a_damaged_ledger_says_how_to_begin_again(directory):
    Database.open(directory).close()
    flip(directory / "footnote.db", 0, 100)
    with pytest.raises(DatabaseDamaged, match="There is no backup"):
        Database.open(directory)


@pytest.mark.parametrize("loss", ["deleted", "emptied", "garbage"])
def test_a_lost_log_of_a_killed_process_is_noticed(directory, start, loss):
    backup = filled(directory)
    start(KILLED, directory).wait()
    log = directory / "footnote.db-wal"
    if loss == "deleted":
        log.unlink()
    else:
        log.write_bytes(b"" if loss == "emptied" else noise(log.stat().st_size))
    before = contents(directory)
    with pytest.raises(DatabaseDamaged, match="has lost"):
        Database.open(directory)
    ledger = directory / "footnote.db"
    assert contents(directory)[ledger] == before[ledger]
    Database.restore(directory, backup)
    Database.open(directory).close()


def test_a_log_that_another_program_has_merged_is_no_loss(directory, start):
    start(KILLED, directory).wait()
    with closing(sqlite3.connect(directory / "footnote.db")) as other:
        other.execute("SELECT count(*) FROM users").fetchone()
    assert not (directory / "footnote.db-wal").exists()
    database = Database.open(directory)
    assert owners(database) == ["ann"]
    database.close()


def test_an_older_copy_put_in_place_is_noticed(directory, tmp_path):
    filled(directory)
    shutil.copy(directory / "footnote.db", tmp_path / "old.db")
    database = Database.open(directory)
    Conversations(database, "ann").create("newer")
    database.close()
    shutil.copy(tmp_path / "old.db", directory / "footnote.db")
    with pytest.raises(DatabaseDamaged, match="has lost 1 of"):
        Database.open(directory)


def test_damage_while_running_is_named(directory):
    filled(directory)
    database = Database.open(directory)
    drop_pages(directory / "footnote.db")
    with pytest.raises(DatabaseDamaged, match="aa-newer"):
        database.check()
    with pytest.raises(DatabaseDamaged, match="is damaged"):
        Documents(database, "ann").chunk_ids()
    database.close()


@pytest.mark.parametrize(
    "harm",
    [
        "documents SET updated = '2026-99-99 00:00:00.000000'",
        "documents SET created = 'x'",
        "documents SET name = CAST(X'54C3' AS TEXT)",
        "document_texts SET text = CAST(X'FFFE' AS TEXT)",
        "users SET limits = '{'",
    ],
)
def test_a_value_that_no_check_finds_is_damage_told_without_its_words(directory, harm):
    backup = filled(directory)
    with closing(sqlite3.connect(directory / "footnote.db")) as other, other:
        other.execute(f"UPDATE {harm}")
    database = Database.open(directory)
    documents = Documents(database, "ann")
    with pytest.raises(DatabaseDamaged, match=r"\(a value in it cannot be read\)") as told:
        People(database).list()
        for record in documents.list():
            documents.text(record.id)
    assert str(backup) in str(told.value) and "�" not in str(told.value)
    database.close()


def test_rows_without_their_parents_are_damage(database):
    with closing(sqlite3.connect(database.directory / "footnote.db")) as other, other:
        other.execute("INSERT INTO document_texts VALUES ('nowhere', 'text')")
    with pytest.raises(DatabaseDamaged, match="do not exist"):
        database.check()


def test_nothing_is_restored_from_what_is_no_backup(directory, tmp_path):
    filled(directory)
    before = contents(directory)
    (tmp_path / "text.db").write_text("Dear diary, " * 1000)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE notes (word)")
    for name in ("text.db", "other.db", "nowhere.db"):
        with pytest.raises(StorageError, match="Nothing was changed"):
            Database.restore(directory, tmp_path / name)
    assert contents(directory) == before


def test_nothing_is_restored_under_a_running_process(database, tmp_path):
    sqlite.copy(database.directory / sqlite.LEDGER, tmp_path / "copy.db")
    with pytest.raises(DataDirectoryLocked):
        Database.restore(database.directory, tmp_path / "copy.db")


def test_a_backup_restores_into_a_new_directory(database, tmp_path):
    Conversations(database, "ann").create("옮긴 대화")
    sqlite.copy(database.directory / sqlite.LEDGER, tmp_path / "copy.db")
    assert Database.restore(tmp_path / "new", tmp_path / "copy.db") is None
    moved = Database.open(tmp_path / "new")
    assert [chat.title for chat in Conversations(moved, "ann").list()] == ["옮긴 대화"]
    moved.close()
