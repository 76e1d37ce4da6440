"""What goes wrong on a database server is told in sentences that name neither its host nor its rows."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from sqlalchemy import text

from storage import postgres
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import StorageBusy, StorageError
from tests.storage.postgres import ON_POSTGRESQL


@ON_POSTGRESQL
def test_the_owner_of_a_lock_is_waited_for_and_other_owners_are_not(database, monkeypatch):
    monkeypatch.setattr(postgres, "_WAIT", "SET LOCAL lock_timeout = 100")
    with database.writing("ann"):
        assert Conversations(database, "bob").create("his")
        with pytest.raises(StorageBusy, match="try again in a moment"):
            Conversations(database, "ann").create("hers")
        with pytest.raises(StorageBusy), database.writing():
            pass


@ON_POSTGRESQL
def test_many_owners_at_once_write_while_they_exclude_others(database):
    people = [f"person{number}" for number in range(30)]  # twice what the pool has
    all_in_there = Barrier(len(people))

    def work(owner):
        with database.excluding(owner):
            all_in_there.wait(60)
            return Conversations(database, owner).create("mine").id

    with ThreadPoolExecutor(len(people)) as threads:
        assert len(set(threads.map(work, people))) == len(people)


def test_a_server_that_is_away_is_named_by_its_setting_and_not_its_address(server, directory):
    with closing(Database.open(directory, url=server.url)) as database:
        server.stop()
        try:
            with pytest.raises(StorageError, match="does not answer") as told:
                Conversations(database, "ann").list()
            assert str(server.folder) not in str(told.value)
        finally:
            server.start()
        assert Conversations(database, "ann").list() is not None


def test_what_only_the_server_understands_is_told_by_its_code_alone(server, directory):
    with (
        closing(Database.open(directory, url=server.url)) as database,
        pytest.raises(StorageError, match="SQLSTATE 22012") as told,
        database.reading() as session,
    ):
        session.execute(text("SELECT 1 / (SELECT 0)"))
    assert "division" not in str(told.value)
