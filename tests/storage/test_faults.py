"""Killed at any moment, or out of room: what was acknowledged is there, and the rest is a sentence."""

import signal
import subprocess
import sys
import time

import pytest
from sqlalchemy import text

from storage.conversations import Conversations, interrupt_pending
from storage.database import Database
from storage.documents import Documents
from storage.errors import DiskFull

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


def test_a_kill_at_any_moment_loses_nothing_acknowledged(directory, start):
    acknowledged = []
    for life in range(4):
        process = start(WRITE, directory, life)
        out = "".join(process.said.readline() for _ in range(2))
        time.sleep((0.0, 0.013, 0.021, 0.037)[life])
        process.send_signal(signal.SIGKILL)
        out += process.said.read()
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
    assert len(acknowledged) >= 8


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
from storage import backup
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
    full(lambda: backup.write(directory, directory / "copy.tar", {}))
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
