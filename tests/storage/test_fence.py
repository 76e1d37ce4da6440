"""One process at a time on a ledger of a database server, with a real PostgreSQL."""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from storage import fence
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import DataDirectoryLocked
from tests.storage.postgres import Postgres


def chat(database: Database) -> str:
    return Conversations(database, "ann").create("Fees").id


def opened_soon(directory: Path, server: Postgres) -> Database:
    """Open a ledger whose holder was killed: the server notices that within a moment."""
    for _ in range(100):
        try:
            return Database.open(directory, url=server.url)
        except DataDirectoryLocked:
            time.sleep(0.1)
    raise AssertionError("the lock of a killed process stands after ten seconds")


def test_a_second_process_on_one_ledger_is_refused_and_told_which_has_it(server: Postgres, tmp_path: Path):
    with closing(Database.open(tmp_path / "one", url=server.url)) as first:
        with pytest.raises(DataDirectoryLocked, match=r"in use \(footnote \S+ \d+, since 20") as refused:
            Database.open(tmp_path / "two", url=server.url)
        assert "lose each other's work" in str(refused.value)
        assert chat(first)
    with closing(Database.open(tmp_path / "two", url=server.url)) as second:
        assert len(Conversations(second, "ann").list()) == 1


def test_a_killed_process_holds_the_ledger_no_longer(server: Postgres, tmp_path: Path):
    code = (
        "import sys, time; from pathlib import Path; from storage.database import Database\n"
        "Database.open(Path(sys.argv[1]), url=sys.argv[2]); print('open', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "one"), server.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        with pytest.raises(DataDirectoryLocked):
            Database.open(tmp_path / "two", url=server.url)
        other.kill()
    with closing(opened_soon(tmp_path / "two", server)) as database:
        assert chat(database)


def test_a_ledger_that_another_process_took_while_the_server_was_away_is_not_written(
    server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fence, "CHECK_SECONDS", 0.0)
    with closing(Database.open(tmp_path / "one", url=server.url)) as first:
        assert chat(first)
        server.stop()
        server.start()
        assert chat(first)  # nobody else has come: the lock is taken anew
        server.stop()
        server.start()
        with closing(Database.open(tmp_path / "two", url=server.url)) as second:
            with pytest.raises(DataDirectoryLocked):
                chat(first)
            assert chat(second)
