from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from storage.accounts import Account, People
from storage.collections import Collections
from storage.errors import NameRefused, NotFound
from storage.keys import ApiKeys, find_key
from storage.tables import ApiKeyRow

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_a_key_is_found_by_its_secret_and_by_nothing_else(database):
    record, secret = ApiKeys(database, "ann").create("  My\nnotebook ", ["ask", "read"])
    found = find_key(database, secret)
    assert (found.id, found.owner, found.name) == (record.id, "ann", "My notebook")
    assert found.scopes == {"read", "ask"}
    assert found.collections is None
    other = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    for wrong in (other, secret.upper(), secret + "x", f" {secret}", record.id, "", "fnk_", "é" * 64):
        assert find_key(database, wrong) is None


def test_the_secret_is_stored_nowhere(database):
    _, secret = ApiKeys(database, "ann").create("Notebook")
    with database.reading() as session:
        (row,) = session.execute(select(ApiKeyRow.__table__)).all()
    assert secret.rpartition("_")[2] not in repr(row)
    assert all(secret.encode()[21:] not in path.read_bytes() for path in database.directory.glob("*.db*"))


def test_secrets_are_never_the_same(database):
    keys = ApiKeys(database, "ann")
    assert len({keys.create("Notebook")[1] for _ in range(50)}) == 50


def test_an_expired_or_revoked_key_is_unknown(database):
    keys = ApiKeys(database, "ann")
    record, secret = keys.create("Notebook", expires=NOON)
    assert find_key(database, secret, now=NOON - timedelta(seconds=1)) is not None
    assert find_key(database, secret, now=NOON) is None
    keys.revoke(record.id)
    assert find_key(database, secret, now=NOON - timedelta(days=1)) is None
    assert keys.list() == []


def test_the_last_use_is_noted_once_a_minute(database):
    _, secret = ApiKeys(database, "ann").create("Notebook")
    for seconds in (0, 30, 61):
        find_key(database, secret, now=NOON + timedelta(seconds=seconds))
        (record,) = ApiKeys(database, "ann").list()
        assert record.used == NOON + timedelta(seconds=61 if seconds == 61 else 0)


def test_a_key_limited_to_collections_names_only_those_of_its_owner(database):
    own = Collections(database, "ann").create("HR").id
    record, secret = ApiKeys(database, "ann").create("Bot", ["read"], collections=[own])
    assert record.collections == {own} == find_key(database, secret).collections
    assert ApiKeys(database, "ann").create("None", collections=[])[0].collections == frozenset()
    with pytest.raises(NotFound):
        ApiKeys(database, "bob").create("Bot", collections=[own])


def test_a_key_needs_a_name(database):
    with pytest.raises(NameRefused, match="needs a name"):
        ApiKeys(database, "ann").create(" \n ")


def test_the_keys_of_a_removed_person_are_gone(database):
    Account(database, "ann").enter(NOON)
    _, secret = ApiKeys(database, "ann").create("Notebook")
    People(database).mark("ann")
    People(database).forget("ann")
    assert find_key(database, secret) is None
