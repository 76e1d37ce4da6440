"""What two do to one owner's rows at once has the same outcome on SQLite and on PostgreSQL."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Barrier

import pytest
from sqlalchemy import func, select

from storage import postgres
from storage.accounts import Account
from storage.collections import Collections
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import NameRefused, StorageError
from storage.lock import DataDirectoryLock
from storage.tables import UserRow

ROUNDS = 10


@pytest.fixture
def replicas(database, ledger, tmp_path) -> Iterator[list[Database]]:
    """Two processes' views of one ledger: on PostgreSQL, without the fence that would refuse the second."""
    if ledger is None:
        yield [database, database]
        return
    with ExitStack() as stack:
        lock = DataDirectoryLock(tmp_path / "second")
        lock.acquire()
        yield [
            database,
            stack.enter_context(closing(Database(tmp_path / "second", postgres.engine(ledger), lock))),
        ]


@pytest.fixture
def both(replicas) -> Iterator[Callable[..., list[object]]]:
    """Do something at both replicas at the same moment; an error is an outcome."""
    with ThreadPoolExecutor(2) as pool:

        def run(act: Callable[[Database, int], object]) -> list[object]:
            barrier = Barrier(2)

            def one(place: int) -> object:
                barrier.wait(10)
                try:
                    return act(replicas[place], place)
                except StorageError as error:
                    return error

            return list(pool.map(one, range(2)))

        yield run


def test_the_first_two_writes_of_a_new_person_both_stand(both, database):
    for number in range(ROUNDS):
        done = both(lambda db, place, owner=f"new-{number}": Conversations(db, owner).create(f"{place}").id)
        assert len(Conversations(database, f"new-{number}").list()) == 2, done


def test_a_file_that_is_added_twice_is_one_document(both, database):
    for number in range(ROUNDS):
        done = both(lambda db, _, sha=f"{number:064x}": Documents(db, "ann").add("a.txt", sha, 1)[1])
        assert sorted(map(str, done)) in (["new", "unchanged"], ["replaces", "unchanged"])
    assert Documents(database, "ann").count() == 1


def test_of_two_files_with_one_name_the_later_stands(both, database):
    for number in range(ROUNDS):
        name = f"{number}.txt"
        done = both(lambda db, place: Documents(db, "ann").add(name, f"{2 * number + place:064x}", 1)[1])  # noqa: B023
        assert sorted(map(str, done)) == ["new", "replaces"]
        standing = [one for one in Documents(database, "ann").list() if one.name == name and not one.replaces]
        assert len(standing) == 1


def test_of_two_collections_with_one_name_one_is_refused_in_a_sentence(both, database):
    for number in range(ROUNDS):
        done = both(lambda db, _, name=f"c{number}": Collections(db, "ann").create(name))
        assert sum(isinstance(one, NameRefused) for one in done) == 1
    assert len(Collections(database, "ann").list()) == ROUNDS


def test_the_state_of_an_index_is_one_of_those_that_were_written(both, database):
    for number in range(ROUNDS):
        done = both(lambda db, place: Documents(db, "ann").set_index_state(f"i{number}", {"at": place}))  # noqa: B023
        assert done == [None, None]
        assert Documents(database, "ann").index_state(f"i{number}") in ({"at": 0}, {"at": 1})


def test_every_answer_is_counted(both, database):
    for _ in range(ROUNDS):
        assert both(lambda db, _: Account(db, "ann").count(answers=1, tokens=3)) == [None, None]
    used = Account(database, "ann").used()
    assert (used.answers, used.tokens) == (2 * ROUNDS, 6 * ROUNDS)


def test_a_read_sees_one_moment_while_others_write(database, replicas):
    Conversations(database, "ann").create("one")
    people = select(func.count()).select_from(UserRow)
    with database.reading() as session:
        before = session.scalar(people)
        Conversations(replicas[1], "bob").create("two")
        assert session.scalar(people) == before == 1
    with database.reading() as session:
        assert session.scalar(people) == 2
