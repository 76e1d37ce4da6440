"""Killed, damaged, full: what was acknowledged is there, and what cannot be is said in a sentence."""

import hashlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from sqlalchemy import text

from storage.conversations import Conversations, interrupt_pending
from storage.database import Database
from storage.documents import Documents, owners
from storage.errors import DatabaseDamaged, DataDirectoryLocked, DiskFull, StorageError
from storage.records import ChunkSpan, PageSpan

WRITE = """
import sys
from pathlib import Path
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.records import ChunkSpan, PageSpan
database = Database.open(Path(sys.argv[1]))
chats, documents = Conversations(database, "ann"), Documents(database, "ann")
print("ready", flush=True)
number = 0
while True:
    number += 1
    record, _ = documents.add(f"{sys.argv[2]}-{number}.txt", f"{sys.argv[2]}{number:063x}", 9)
    documents.save_chunks(record.id, "one two", [PageSpan(1, 0, 7)], [ChunkSpan(0, 3), ChunkSpan(4, 7)])
    turn = chats.begin_turn(chats.create("t").id, "why?")
    chats.checkpoint(turn.answer_id, "because")
    print(record.id, turn.question_id, flush=True)
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
    database.backup(older)
    time.sleep(0.02)
    newer = directory / "backups" / "aa-newer.db"
    database.backup(newer)
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


def test_a_kill_at_any_moment_loses_nothing_acknowledged(directory, start):
    acknowledged = []
    for life in range(4):
        process = start(WRITE, directory, life)
        time.sleep((0.05, 0.13, 0.21, 0.37)[life])
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        acknowledged += [
            line.split() for line in out.splitlines() if line.count(" ") == 1 and len(line) == 33
        ]
        database = Database.open(directory)
        database.check()
        documents, chats = Documents(database, "ann"), Conversations(database, "ann")
        for document_id, question_id in acknowledged:
            assert len(documents.chunks(document_id)) == 2
            assert chats.message(question_id).content == "why?"
        assert interrupt_pending(database) > 0
        with database.reading() as session:
            unanswered = text(
                "SELECT count(*) FROM messages q WHERE role = 'user' AND 1 != "
                "(SELECT count(*) FROM messages a WHERE a.question_id = q.id AND a.state != 'pending')"
            )
            assert session.execute(unanswered).scalar() == 0
        database.close()
    assert len(acknowledged) > 4


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
    process = start(WRITE, directory, 5)
    assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
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
    process = start(WRITE, directory, 5)
    assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
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
    database.backup(tmp_path / "copy.db")
    with pytest.raises(DataDirectoryLocked):
        Database.restore(database.directory, tmp_path / "copy.db")


def test_a_backup_restores_into_a_new_directory(database, tmp_path):
    Conversations(database, "ann").create("옮긴 대화")
    database.backup(tmp_path / "copy.db")
    assert Database.restore(tmp_path / "new", tmp_path / "copy.db") is None
    moved = Database.open(tmp_path / "new")
    assert [chat.title for chat in Conversations(moved, "ann").list()] == ["옮긴 대화"]
    moved.close()


def test_a_full_ledger_says_so_and_heals_when_there_is_room(database):
    chats = Conversations(database, "ann")
    kept = chats.create("kept")
    with pytest.raises(DiskFull, match="no space left"), database.writing() as session:
        raw = session.connection()
        (pages,) = raw.exec_driver_sql("PRAGMA page_count").one()
        raw.exec_driver_sql("PRAGMA max_page_count=" + str(pages + 2))
        raw.exec_driver_sql("UPDATE conversations SET title = ?", ("x" * 100_000,))
    assert chats.open(kept.id) == kept
    with database.writing() as session:
        session.connection().exec_driver_sql("PRAGMA max_page_count=1000000")
    chats.create("x" * 100_000)
    database.check()


FULL = """
import sys
from pathlib import Path
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import DiskFull
from storage.files import Files
from storage.records import ChunkSpan

directory = Path(sys.argv[1])
database = Database.open(directory)
chats, documents, files = Conversations(database, "ann"), Documents(database, "ann"), Files(directory, "ann")
kept, _ = files.save(b"kept")
document, _ = documents.add("kept.txt", kept, 4)
turn = chats.begin_turn(chats.create("kept").id, "why?")

def full(action):
    try:
        action()
    except DiskFull as error:
        assert str(directory) in str(error), error
    else:
        raise AssertionError("there was room")

filler = directory / "filler"
for times in range(3):
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"0" * 4096)
        except OSError:
            pass
    full(lambda: files.save(b"1" * 1_000_000))
    full(lambda: documents.save_chunks(document.id, "2" * 1_000_000, [], [ChunkSpan(0, 9)]))
    full(lambda: chats.checkpoint(turn.answer_id, "3" * 1_000_000))
    full(lambda: database.backup(directory / "copy.db"))
    assert [path.name for path in files.path(kept).parent.iterdir()] == [kept]
    assert documents.get(document.id) == document
    assert chats.message(turn.question_id).content == "why?"
    filler.unlink()
    chats.checkpoint(turn.answer_id, str(times))
    documents.save_chunks(document.id, "room again", [], [ChunkSpan(0, 4)])
    document = documents.get(document.id)
    files.save(b"4" * 100_000)
    files.sweep({kept})
    database.check()
database.close()
Database.open(directory).close()
print("healed")
"""


def test_a_full_disk_is_named_at_every_step_and_heals_without_a_restart(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    own_mounts = ["unshare", "--map-root-user", "--mount"]
    script = 'mount -t tmpfs -o size=8m tmpfs "$1" || exit 99; exec "$2" -c "$3" "$1/data"'
    try:
        done = subprocess.run(
            [*own_mounts, "sh", "-c", script, "sh", disk, sys.executable, FULL],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("no unshare here to make a small disk with")
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("this system lets nobody make a small disk: " + done.stderr)
    assert done.stdout == "healed\n", done.stderr
