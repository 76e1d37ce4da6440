"""Rows by id as drivers are asked for them, SQLite's and a server's."""

from collections.abc import Iterable

import pytest
from sqlalchemy import bindparam, column, select
from sqlalchemy.dialects import postgresql, sqlite

from storage.database import MOST, Lookup
from storage.documents import Documents
from storage.errors import StorageError
from storage.tables import Document

NAMES = Lookup(select(Document.name).where(Document.owner == bindparam("owner")), Document.id)
COUNTS = [1, 2, 3, 8, 9, MOST - 1, MOST, MOST + 1, 3 * MOST]


def ids(count: int) -> list[str]:
    return [f"id-{number}" for number in range(count)]


def given(parameters: dict[str, str] | Iterable[str]) -> set[str]:
    return set(parameters.values() if isinstance(parameters, dict) else parameters)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=["sqlite", "postgresql"])
def test_every_id_is_asked_for_with_the_owner_and_few_statements_are_made(dialect, count):
    asked = list(NAMES.over(ids(count), "ann", dialect))
    assert set().union(*(given(parameters) for _, parameters in asked)) == {*ids(count), "ann"}
    assert all("ann" in given(parameters) for _, parameters in asked)
    assert len(asked) == -(-count // MOST)
    assert len({sql for sql, _ in asked}) <= 2


def test_nothing_is_asked_for_no_ids():
    assert list(NAMES.over([], "ann", sqlite.dialect())) == []


def test_what_no_database_holds_is_in_no_database(database):
    Documents(database, "ann").add("a.txt", "1" * 64, 1)
    assert database.look_up(NAMES, ["\ud800", "\x00", "x"], "ann\udfff") == []


def test_a_ledger_that_cannot_be_read_says_so_in_a_sentence(database):
    broken = Lookup(select(Document.name).where(Document.owner == bindparam("owner")), column("absent"))
    with pytest.raises(StorageError, match="could not be used"):
        database.look_up(broken, ["x"], "ann")
    assert database.look_up(NAMES, ["x"], "ann") == []
