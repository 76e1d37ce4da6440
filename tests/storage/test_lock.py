import json
import os
import shutil
import signal
import stat
from pathlib import Path

import pytest

from storage.database import Database
from storage.errors import DataDirectoryLocked, StorageError
from storage.lock import DataDirectoryLock

HOLD = """
import sys, time
from pathlib import Path
from storage.database import Database
Database.open(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""

TRY = """
import sys
from pathlib import Path
from storage.database import Database
from storage.errors import DataDirectoryLocked
try:
    Database.open(Path(sys.argv[1]))
    print("opened")
except DataDirectoryLocked as error:
    print(error)
"""


def test_a_second_process_is_refused_by_a_sentence_naming_pid_and_path(database, start):
    said = start(TRY, database.directory).ready
    assert f"process {os.getpid()}" in said
    assert str(database.directory) in said


def test_a_first_process_elsewhere_is_named_here(directory, start):
    process = start(HOLD, directory)
    with pytest.raises(DataDirectoryLocked, match=f"process {process.pid}"):
        Database.open(directory)


def test_a_second_opening_in_the_same_process_is_refused(database):
    with pytest.raises(DataDirectoryLocked, match=str(os.getpid())):
        Database.open(database.directory)


def test_a_refused_opening_leaves_the_first_at_work(database, start):
    start(TRY, database.directory).wait()
    with database.writing() as session:
        assert session.in_transaction()


def test_the_lock_of_a_killed_process_is_taken_over(directory, start):
    process = start(HOLD, directory)
    process.send_signal(signal.SIGKILL)
    process.wait()
    Database.open(directory).close()


def test_a_closed_directory_can_be_opened_again(directory):
    for _ in range(3):
        opened = Database.open(directory)
        opened.close()
        opened.close()


def test_a_torn_note_is_no_obstacle(directory):
    directory.mkdir()
    for torn in (b"", b'{"pid": 12', b"\x00" * 512, b"[1]", b'{"commits": "many"}', b'{"commits": null}'):
        (directory / "footnote.lock").write_bytes(torn)
        lock = DataDirectoryLock(directory)
        lock.acquire()
        assert lock.commits == 0
        lock.release()


def test_the_note_says_who_holds_the_directory(database):
    note = json.loads((database.directory / "footnote.lock").read_text())
    assert note["pid"] == os.getpid()
    assert note["command"]
    assert note["since"].startswith("20")


def test_a_new_directory_is_private(tmp_path):
    directory, umask = tmp_path / "new", os.umask(0)
    try:
        DataDirectoryLock(directory).acquire()
    finally:
        os.umask(umask)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "footnote.lock").stat().st_mode) == 0o600


def test_a_path_that_cannot_be_a_directory_is_told_in_a_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(StorageError, match="is a file, or lies in one"):
            Database.open(path)


def test_nothing_more_is_written_once_the_directory_is_gone(database, tmp_path):
    database.directory.rename(tmp_path / "moved")
    with pytest.raises(StorageError, match="was moved"), database.writing():
        pass


def test_nothing_more_is_written_once_another_directory_stands_there(database, tmp_path):
    """As when a backup is copied over a directory in use."""
    database.directory.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", database.directory)
    with pytest.raises(StorageError, match="was moved"), database.writing():
        pass


def test_nothing_more_is_written_after_close(directory):
    opened = Database.open(directory)
    opened.close()
    with pytest.raises(StorageError, match="closed"), opened.writing():
        pass
