"""One process, or several that share everything, on a ledger of a database server: a real PostgreSQL."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from storage import lock
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import DataDirectoryLocked
from storage.lock import Sharing
from tests.storage.conftest import Run
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
        assert "DATABASE_URL is not set" in str(refused.value)
        assert chat(first)
    with closing(Database.open(tmp_path / "two", url=server.url)) as second:
        assert len(Conversations(second, "ann").list()) == 1


def test_a_killed_process_holds_the_ledger_no_longer(server: Postgres, tmp_path: Path, start: Run):
    code = (
        "import sys, time; from pathlib import Path; from storage.database import Database\n"
        "Database.open(Path(sys.argv[1]), url=sys.argv[2]); print('open', flush=True); time.sleep(60)"
    )
    other = start(code, tmp_path / "one", server.url)
    assert other.ready == "open"
    with pytest.raises(DataDirectoryLocked):
        Database.open(tmp_path / "two", url=server.url)
    other.kill()
    with closing(opened_soon(tmp_path / "two", server)) as database:
        assert chat(database)


def test_a_ledger_that_another_process_took_while_the_server_was_away_is_not_written(
    server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lock, "CHECK_SECONDS", 0.0)
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


TOGETHER = Sharing(common={"FOOTNOTE_OBJECTS": "s3://here", "FOOTNOTE_VECTOR_STORE": "lance-objects"})


def test_processes_that_share_everything_use_one_ledger_at_the_same_time(server: Postgres, tmp_path: Path):
    with (
        closing(Database.open(tmp_path / "one", url=server.url, sharing=TOGETHER)) as first,
        closing(Database.open(tmp_path / "two", url=server.url, sharing=TOGETHER)) as second,
    ):
        assert chat(first) and chat(second)
        assert len(Conversations(first, "ann").list()) == 2
        lone = Sharing(missing="FOOTNOTE_OBJECTS is not set.")
        with pytest.raises(DataDirectoryLocked, match="FOOTNOTE_OBJECTS is not set"):
            Database.open(tmp_path / "three", url=server.url, sharing=lone)
    with (
        closing(Database.open(tmp_path / "three", url=server.url, sharing=lone)),
        pytest.raises(DataDirectoryLocked, match=r"has it alone \(footnote \S+ \d+, since 20"),
    ):
        Database.open(tmp_path / "one", url=server.url, sharing=TOGETHER)


def test_a_process_with_other_values_is_refused_and_told_which_differ(server: Postgres, tmp_path: Path):
    other = replace(TOGETHER, common={**TOGETHER.common, "FOOTNOTE_OBJECTS": "s3://there"})
    with closing(Database.open(tmp_path / "one", url=server.url, sharing=TOGETHER)):
        with pytest.raises(DataDirectoryLocked, match="other values of: FOOTNOTE_OBJECTS"):
            Database.open(tmp_path / "two", url=server.url, sharing=other)
        with closing(Database.open(tmp_path / "two", url=server.url, sharing=TOGETHER)) as second:
            assert chat(second)
    with closing(Database.open(tmp_path / "two", url=server.url, sharing=other)) as second:
        assert chat(second)


def test_processes_that_start_together_migrate_an_empty_ledger_once(server: Postgres, tmp_path: Path):
    engine = create_engine(server.url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    with ThreadPoolExecutor(3) as pool:
        opening = [
            pool.submit(Database.open, tmp_path / name, url=server.url, sharing=TOGETHER) for name in "abc"
        ]
        opened = [one.result(120) for one in opening]
    for one in opened:
        assert chat(one)
        one.close()


def test_a_start_beside_others_leaves_their_leases_alone(server: Postgres, tmp_path: Path):
    with closing(Database.open(tmp_path / "one", url=server.url, sharing=TOGETHER)) as first:
        first.queue.put("ann", "read", "a")
        lease = first.queue.take(["read"])
        assert lease is not None
        with closing(Database.open(tmp_path / "two", url=server.url, sharing=TOGETHER)) as second:
            assert second.queue.take(["read"]) is None
            assert first.queue.renew([lease]) == set()
