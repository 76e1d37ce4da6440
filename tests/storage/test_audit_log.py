"""The audit log only grows, names nobody for longer than their account, and shows each their own."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from storage.accounts import Account, People
from storage.audit_log import PAGE, SERVER, AuditLog, AuditTrail, pseudonym
from storage.collections import Collections
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import NotFound, StorageError
from storage.keys import ApiKeys
from storage.lab import QuestionSets
from storage.sources import SourceStore
from storage.tables import AuditRow
from tests.storage.postgres import ON_SQLITE

LATER = datetime.now(UTC) + timedelta(days=1)
CHANGES = (
    "UPDATE audit_log SET owner = 'x'",
    "UPDATE audit_log SET at = '2001-01-01'",
    "DELETE FROM audit_log",
    "INSERT OR REPLACE INTO audit_log SELECT id, at, 'x', kind, detail FROM audit_log",
)


def kinds(entries):
    return [entry.kind for entry in entries]


def aged(database, days, owner="ann"):
    """Add an entry of that age."""
    with database.writing() as session:
        at = datetime.now(UTC) - timedelta(days=days)
        session.add(AuditRow(at=at, owner=owner, kind="signed_in", detail={}))


def test_what_is_removed_is_noted_with_its_id_and_without_its_name(database):
    document, _ = Documents(database, "ann").add("secret plan.md", "a" * 64, 1)
    chat = Conversations(database, "ann").create("secret chat")
    collection = Collections(database, "ann").create("secret group")
    source = SourceStore(database, "ann").create("folder", "secret source", {"path": "/secret"})
    asked = QuestionSets(database, "ann").create("secret set", "typed")
    Documents(database, "ann").delete(document.id)
    Conversations(database, "ann").delete(chat.id)
    Collections(database, "ann").delete(collection.id)
    SourceStore(database, "ann").delete(source.id, keep_documents=True)
    QuestionSets(database, "ann").delete(asked.id)
    entries = AuditLog(database, "ann").list()
    assert [(entry.kind, dict(entry.detail)) for entry in reversed(entries)] == [
        ("document_removed", {"document": document.id}),
        ("chat_removed", {"chat": chat.id}),
        ("collection_removed", {"collection": collection.id}),
        ("source_removed", {"source": source.id}),
        ("question_set_removed", {"question_set": asked.id}),
    ]
    assert "secret" not in str(entries)


def test_what_is_not_done_is_not_noted(database):
    with pytest.raises(NotFound):
        Documents(database, "ann").delete("0" * 16)
    assert AuditTrail(database).list() == []


def test_a_sign_in_is_noted_once_and_each_new_one_again(database):
    ann, begun = Account(database, "ann"), datetime.now(UTC)
    for _ in range(3):
        ann.enter(begun, "Ann", "ann@example.org")
    assert kinds(AuditLog(database, "ann").list()) == ["signed_in"]
    ann.enter(begun + timedelta(minutes=1), "Ann", "ann@example.org")
    ann.enter(begun + timedelta(minutes=1), "Ann", "ann@example.org")
    ann.leave(begun + timedelta(minutes=1))
    assert kinds(AuditLog(database, "ann").list()) == ["signed_out", "signed_in", "signed_in"]


def test_each_sees_their_own_and_administrators_everyones(database):
    for owner in ("ann", "Ann", "bob", SERVER):
        AuditLog(database, owner).record("chat_exported", chat=owner)
    for owner in ("ann", "Ann", "bob", "carl"):
        shown = AuditLog(database, owner).list()
        assert [entry.detail["chat"] for entry in shown] == [owner] * (owner != "carl")
    People(database)
    Account(database, "ann").enter(datetime.now(UTC))
    everyone = AuditTrail(database).list()
    assert [entry.who for entry in everyone] == ["ann", SERVER, None, None, "ann"]
    assert everyone[2].person == pseudonym("bob")


def test_entries_of_a_removed_person_stay_and_name_nobody(database):
    Account(database, "ann@example.org").enter(datetime.now(UTC), "Ann", "ann@example.org")
    People(database).mark("ann@example.org", by="root")
    People(database).mark("ann@example.org", by="root")  # ordered twice
    People(database).forget("ann@example.org")
    entries = AuditTrail(database).list()
    assert [(entry.kind, entry.who) for entry in entries] == [("person_removed", None), ("signed_in", None)]
    assert entries[0].detail == {"person": entries[1].person} == {"person": pseudonym("ann@example.org")}
    with database.reading() as session:
        assert "example" not in str(session.execute(text("SELECT * FROM audit_log")).all())


def test_one_who_comes_again_after_a_removal_sees_nothing_from_before(database):
    Account(database, "ann").enter(datetime.now(UTC))
    People(database).mark("ann")
    People(database).forget("ann")
    Account(database, "ann").enter(LATER)
    assert kinds(AuditLog(database, "ann").list()) == ["signed_in"]
    assert len(AuditTrail(database).list()) == 3


def test_limits_that_are_set_are_noted_for_the_administrator_who_set_them(database):
    Account(database, "bob").enter(datetime.now(UTC))
    People(database).set_limits("bob", {"documents": 3}, by="root")
    (entry,) = AuditLog(database, "root").list()
    assert (entry.kind, entry.detail) == ("limits_changed", {"person": pseudonym("bob"), "documents": 3})


@ON_SQLITE
@pytest.mark.parametrize("change", CHANGES)
def test_the_ledger_itself_refuses_to_change_or_delete_an_entry(database, change):
    AuditLog(database, "ann").record("chat_exported", chat="c")
    before = AuditTrail(database).list()
    connected = closing(sqlite3.connect(database.directory / "footnote.db"))
    with connected as ledger, pytest.raises(sqlite3.IntegrityError, match="the audit log only grows"):
        ledger.execute(change)
    assert AuditTrail(database).list() == before


def test_a_ledger_on_a_server_refuses_it_too(directory, server):
    with closing(Database.open(directory, url=server.url)) as database:
        AuditLog(database, "ann").record("chat_exported", chat="c")
        for change in (*CHANGES[:3], "TRUNCATE audit_log"):
            with pytest.raises(StorageError, match="only grows"), database.writing() as session:
                session.execute(text(change))
        aged(database, 400)
        assert AuditTrail(database).expire(365) == 1


def test_entries_go_after_so_many_days_and_never_before_thirty(database):
    for days in (500, 366, 364, 31, 29, 0):
        aged(database, days)
    trail = AuditTrail(database)
    assert (trail.expire(365), trail.expire(365)) == (2, 0)
    assert len(trail.list()) == 4
    assert trail.expire(1) == 2
    assert len(trail.list()) == 2
    AuditLog(database, "ann").record("signed_out")
    assert trail.list()[0].id == 7  # no number is used again


def test_long_logs_are_read_in_pages(database):
    for number in range(PAGE + 2):
        AuditLog(database, "ann").record("chat_exported", chat=str(number))
        AuditLog(database, "bob").record("chat_exported", chat="his")
    first = AuditLog(database, "ann").list()
    rest = AuditLog(database, "ann").list(before=first[-1].id)
    assert [entry.detail["chat"] for entry in (*first, *rest)] == [str(n) for n in range(PAGE + 1, -1, -1)]
    assert len(AuditTrail(database).list(before=3)) == 2


def test_details_are_short(database):
    AuditLog(database, "ann").record("settings_changed", names=["k" * 5000], note="\x00\ud800" + "x" * 5000)
    (entry,) = AuditLog(database, "ann").list()
    assert len(str(entry.detail)) < 500


def test_a_key_is_noted_when_it_is_made_and_revoked_and_never_its_secret(database):
    record, secret = ApiKeys(database, "ann").create("secret name")
    ApiKeys(database, "ann").revoke(record.id)
    entries = AuditLog(database, "ann").list()
    assert [(entry.kind, entry.detail) for entry in entries] == [
        ("key_revoked", {"key": record.id}),
        ("key_created", {"key": record.id}),
    ]
    assert secret[-20:] not in str(entries) and "secret" not in str(entries)
