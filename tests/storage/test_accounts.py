from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from storage.accounts import Account, People
from storage.conversations import Conversations
from storage.documents import Documents
from storage.errors import AccountClosed, NotFound
from storage.lab import QuestionSets
from storage.records import ChunkSpan, Holdings, Used
from storage.sources import SourceStore
from storage.tables import AccountRemoval, Base

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def ann(database):
    account = Account(database, "ann")
    account.enter(NOON, "Ann", "ann@example.org", now=NOON)
    return account


@pytest.fixture
def people(database):
    return People(database)


def gone(people, owner="ann", *, at=NOON):
    people.mark(owner)
    people.forget(owner, now=at)


def test_who_comes_is_known_by_name_from_then_on(people, ann):
    record = people.get("ann")
    assert (record.name, record.email, record.seen) == ("Ann", "ann@example.org", NOON)


def test_being_here_is_noted_now_and_then_and_a_new_name_at_once(people, ann):
    ann.enter(NOON, "Ann", "ann@example.org", now=NOON + MINUTE)
    assert people.get("ann").seen == NOON
    ann.enter(NOON, "Ann", "ann@example.org", now=NOON + 6 * MINUTE)
    assert people.get("ann").seen == NOON + 6 * MINUTE
    ann.enter(NOON, "Ann Ode", "ann@example.org", now=NOON + 7 * MINUTE)
    assert people.get("ann").name == "Ann Ode"


def test_one_who_is_marked_while_they_come_in_is_not_let_in(database, people, ann):
    class MarkedMeanwhile:
        """The ledger, where someone is marked for removal between a look and what follows from it."""

        reading = database.reading

        def writing(self, owner):
            people.mark("ann")
            return database.writing(owner)

    account = Account(MarkedMeanwhile(), "ann")
    with pytest.raises(AccountClosed, match="is being removed"):
        account.enter(NOON, "Ann Ode")
    assert people.get("ann").name == "Ann"


def test_signing_out_ends_what_was_signed_in_until_then_in_every_browser(ann):
    ann.leave(NOON)
    for since in (NOON - MINUTE, NOON):
        with pytest.raises(AccountClosed, match="You signed out"):
            ann.enter(since)
    ann.enter(NOON + MINUTE)
    ann.leave(NOON - MINUTE)  # an older browser says so, too
    with pytest.raises(AccountClosed):
        ann.enter(NOON)


def test_one_who_is_being_removed_is_let_in_nowhere_and_keeps_nothing(database, people, ann):
    Documents(database, "ann").add("mine.md", "a" * 64, 1)
    people.mark("ann")
    for keep in (
        lambda: ann.enter(NOON + MINUTE),
        ann.confirm,
        lambda: ann.count(answers=1),
        lambda: Documents(database, "ann").add("other.md", "b" * 64, 1),
        lambda: Conversations(database, "ann").create("title"),
        lambda: QuestionSets(database, "ann").create("title", "typed"),
        lambda: SourceStore(database, "ann").create("folder", "Reports", {}),
    ):
        with pytest.raises(AccountClosed, match="is being removed"):
            keep()
    assert people.marked() == ["ann"]


def test_whom_to_remove_is_marked_before_anything_is_forgotten(people, ann):
    with pytest.raises(NotFound):
        people.forget("ann")
    with pytest.raises(NotFound):
        people.mark("nobody")
    people.mark("ann", now=NOON)
    people.mark("ann", now=NOON + MINUTE)
    assert people.get("ann").removing == NOON


def test_of_one_who_was_removed_no_row_is_left_and_no_name(database, people, ann):
    Account(database, "bob").enter(NOON, "Bob")
    turn = Conversations(database, "ann")
    turn.begin_turn(turn.create("About Ann").id, "why?")
    ann.count(answers=1, tokens=10)
    gone(people)
    with database.reading() as session:
        rows = {table.name: session.execute(select(table)).all() for table in Base.metadata.sorted_tables}
    assert [row.id for row in rows.pop("users")] == ["bob"]
    rows.pop("ledger")
    ((ghost, at),) = rows.pop("departures")
    assert (len(ghost), at) == (64, NOON)
    entries = str(rows.pop("audit_log"))
    assert "person_removed" in entries
    assert "ann" not in entries.casefold()
    assert not any(rows.values())
    assert people.marked() == []


def test_one_who_was_removed_begins_anew_only_by_signing_in_anew(database, people, ann):
    gone(people, at=NOON)
    for since in (NOON - MINUTE, NOON):
        with pytest.raises(AccountClosed, match="was removed"):
            ann.enter(since)
    with pytest.raises(AccountClosed):
        Conversations(database, "ann").create("title")
    with pytest.raises(AccountClosed):
        ann.confirm()
    ann.enter(NOON + MINUTE, "Ann")
    Conversations(database, "ann").create("title")
    with database.reading() as session:
        assert session.scalars(select(AccountRemoval)).all() == []


def test_a_removal_ordered_twice_is_the_same_as_once(people, ann):
    gone(people)
    with pytest.raises(NotFound):
        people.mark("ann")


def test_what_is_used_is_counted_by_day_and_outlives_the_conversations(database, people, ann):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    ann.count(answers=1, tokens=100, now=yesterday)
    ann.count(answers=1, tokens=20)
    ann.count(tokens=3)
    assert (ann.used(), ann.used(yesterday)) == (Used(1, 23), Used(1, 100))
    assert (people.get("ann").used, people.get("ann").today) == (Used(2, 123), Used(1, 23))


def test_what_each_holds_is_told_apart(database, people, ann):
    for owner, size in (("ann", 10), ("ann", 20), ("bob", 3)):
        Documents(database, owner).add(f"{size}.md", f"{size:064d}", size)
    Conversations(database, "bob").create("title")
    assert ann.holds() == Holdings(2, 30)
    assert ann.has(f"{10:064d}") and not ann.has(f"{3:064d}")
    counted = {record.id: (record.holds, record.conversations) for record in people.list()}
    assert counted == {"ann": (Holdings(2, 30), 0), "bob": (Holdings(1, 3), 1)}


def test_passages_are_ones_own_and_those_of_named_documents_left_out(database, ann):
    ids = {}
    for owner, name, count in (("ann", "a.md", 2), ("ann", "b.md", 3), ("bob", "c.md", 5)):
        documents = Documents(database, owner)
        record, _ = documents.add(name, f"{count:064d}", 1)
        documents.save_chunks(record.id, "word " * count, [], [ChunkSpan(n, n + 1) for n in range(count)])
        ids[name] = record.id
    assert (ann.passages(), ann.passages([ids["b.md"], ids["c.md"]])) == (5, 2)
    assert Account(database, "cem").passages() == 0


def test_limits_are_set_for_one_person(database, people, ann):
    Account(database, "bob").enter(NOON)
    people.set_limits("ann", {"documents": 3})
    assert (ann.limits(), Account(database, "bob").limits()) == ({"documents": 3}, {})
    assert {one.id: one.limits for one in people.list()} == {"ann": {"documents": 3}, "bob": {}}
    people.set_limits("ann", {})
    assert ann.limits() == {}
