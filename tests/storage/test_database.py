import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from storage import sqlite
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import StorageBusy, StorageError
from storage.tables import LabSet
from tests.storage.postgres import ON_SQLITE

HOLD_THE_LEDGER = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
db.execute("ROLLBACK")
"""


def titles(database):
    return [conversation.title for conversation in Conversations(database, "ann").list()]


@ON_SQLITE
def test_every_connection_has_our_pragmas(database):
    with ThreadPoolExecutor(4) as pool:
        barrier = threading.Barrier(4)

        def pragmas(_):
            with database.reading() as session:
                names = ("foreign_keys", "busy_timeout", "journal_mode", "synchronous")
                found = [session.execute(text("PRAGMA " + name)).scalar() for name in names]
                barrier.wait(10)
                return found

        assert list(pool.map(pragmas, range(4))) == [[1, 10_000, "wal", 2]] * 4


def test_an_error_within_a_write_undoes_all_of_it(database):
    with pytest.raises(ZeroDivisionError), database.writing() as session:
        session.execute(text("INSERT INTO users (id, created) VALUES ('ann', '2026-01-01')"))
        raise ZeroDivisionError
    with database.reading() as session:
        assert session.execute(text("SELECT count(*) FROM users")).scalar() == 0


def test_an_interruption_within_a_write_undoes_all_of_it(database):
    with pytest.raises(KeyboardInterrupt), database.writing() as session:
        session.execute(text("INSERT INTO users (id, created) VALUES ('ann', '2026-01-01')"))
        raise KeyboardInterrupt
    Conversations(database, "ann").create("afterwards")
    assert titles(database) == ["afterwards"]


def test_a_read_sees_one_moment(database):
    conversations = Conversations(database, "ann")
    conversations.create("before")
    with database.reading() as session:
        count = text("SELECT count(*) FROM conversations")
        assert session.execute(count).scalar() == 1
        with ThreadPoolExecutor(1) as pool:
            pool.submit(conversations.create, "during").result()
        assert session.execute(count).scalar() == 1
    assert len(titles(database)) == 2


@ON_SQLITE
def test_references_are_enforced(database):
    with pytest.raises(StorageError, match="FOREIGN KEY"), database.writing() as session:
        session.execute(text("INSERT INTO document_texts VALUES ('nowhere', 'text')"))


def test_threads_write_at_once_and_none_is_told_the_ledger_is_locked(database):
    def write(number):
        mine = Conversations(database, f"owner {number}")
        for turn in range(25):
            mine.create(f"{number}/{turn}")
            assert len(mine.list()) == turn + 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(write, range(12)))
    with database.reading() as session:
        assert session.execute(text("SELECT count(*) FROM conversations")).scalar() == 300


@ON_SQLITE
def test_a_short_hold_by_another_program_is_waited_out(database, start):
    start(HOLD_THE_LEDGER, database.directory / "footnote.db", 1)
    began = time.monotonic()
    Conversations(database, "ann").create("waited")
    assert time.monotonic() - began > 0.3
    assert titles(database) == ["waited"]


@ON_SQLITE
def test_a_long_hold_by_another_program_is_told_and_then_all_goes_on(database, start):
    holder = start(HOLD_THE_LEDGER, database.directory / "footnote.db", 60)
    with pytest.raises(StorageBusy, match="more than 10 seconds"):
        Conversations(database, "ann").create("too late")
    assert titles(database) == []
    holder.kill()
    holder.wait()
    Conversations(database, "ann").create("again")
    assert titles(database) == ["again"]


def test_an_open_write_does_not_stop_readers(database):
    Conversations(database, "ann").create("kept")
    with database.writing() as session, ThreadPoolExecutor(1) as pool:
        session.execute(text("DELETE FROM conversations"))
        assert pool.submit(titles, database).result(5) == ["kept"]


@ON_SQLITE
def test_a_copy_of_a_ledger_in_use_holds_everything(database, tmp_path):
    Conversations(database, "ann").create("질문 質問")
    target = tmp_path / "copy.db"
    sqlite.copy(database.directory / sqlite.LEDGER, target)
    with sqlite3.connect(target) as copy:
        assert copy.execute("SELECT title FROM conversations").fetchall() == [("질문 質問",)]
    copy.close()
    assert [path.name for path in tmp_path.glob("*copy.db*")] == ["copy.db"]


def test_everything_is_found_again_after_closing(directory):
    opened = Database.open(directory)
    Conversations(opened, "ann").create("kept")
    opened.close()
    again = Database.open(directory)
    assert titles(again) == ["kept"]
    again.check()
    again.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("not an address", "not a database address"),
        ("mysql://localhost/name", "has to be a PostgreSQL address"),
        ("sqlite:///elsewhere.db", "leave it out"),
        ("postgresql+asyncpg://user:secret@localhost/name", "Python package asyncpg"),
    ],
)
def test_an_unusable_database_url_is_told_in_a_sentence(directory, url, said):
    with pytest.raises(StorageError, match=said) as caught:
        Database.open(directory, url=url)
    assert "secret" not in str(caught.value)
    Database.open(directory).close()


def test_the_tables_can_be_made_on_postgresql():
    dialect = postgresql.dialect()
    for table in LabSet.metadata.sorted_tables:
        assert str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            assert str(CreateIndex(index).compile(dialect=dialect))
