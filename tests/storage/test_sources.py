from datetime import UTC, datetime, timedelta

import pytest

from storage.documents import Documents
from storage.errors import NotFound
from storage.records import Listing, Tally
from storage.sources import SourceItems, SourceStore

DUE = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def sources(database):
    return SourceStore(database, "ann")


@pytest.fixture
def items(database):
    return SourceItems(database, "ann")


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


@pytest.fixture
def wiki(sources):
    return sources.create("confluence", "Wiki", {"url": "https://wiki.test"}, every=60).id


@pytest.fixture
def folder(sources):
    return sources.create("folder", "Reports", {"path": "/reports"}).id


def content(number):
    return f"{number:064d}"


def page(name, version="1", **more):
    return Listing(name.lower(), name, version, **more)


def made_ready(documents, record):
    documents.promote(record.id)
    documents.set_state(record.id, "ready")
    return record.id


def test_a_source_is_listed_as_it_was_made(sources, wiki):
    (record,) = sources.list()
    assert (record.id, record.kind, record.name, record.every) == (wiki, "confluence", "Wiki", 60)
    assert (record.state, record.round, record.cursor, record.ended) == ("idle", 0, None, None)


def test_a_reading_leaves_where_to_go_on_and_how_it_ended(sources, wiki):
    assert sources.begin(wiki).state == "running"
    sources.mark(wiki, "page 3")
    sources.end(wiki, "failed", "The wiki did not answer.")
    record = sources.get(wiki)
    assert (record.state, record.reason, record.cursor) == ("failed", "The wiki did not answer.", "page 3")
    assert record.began <= record.ended
    assert sources.begin(wiki).reason is None


def test_other_settings_are_read_from_the_start_another_name_is_not(sources, wiki):
    sources.mark(wiki, "page 3")
    sources.change(wiki, "Our wiki", {"url": "https://wiki.test"}, None)
    assert (sources.get(wiki).name, sources.get(wiki).cursor) == ("Our wiki", "page 3")
    sources.change(wiki, "Our wiki", {"url": "https://other.test"}, 5)
    assert (sources.get(wiki).cursor, sources.get(wiki).every) == (None, 5)


def test_an_item_becomes_a_document_with_its_address(items, documents, wiki):
    record, outcome = items.keep(wiki, page("Home", url="https://wiki.test/home"), content(1), 10)
    assert (outcome, record.state, record.uploaded) == ("new", "queued", False)
    assert documents.get(record.id).url == "https://wiki.test/home"
    (item,) = items.list(wiki)
    assert (item.document_id, item.version, item.state, item.reason) == (record.id, "1", "queued", None)


def test_new_content_replaces_the_items_document_once_it_can_be_searched(items, documents, wiki):
    first = made_ready(documents, items.keep(wiki, page("Home"), content(1), 10)[0])
    second, outcome = items.keep(wiki, page("Home", "2"), content(2), 10)
    assert (outcome, second.replaces) == ("replaces", first)
    third, _ = items.keep(wiki, page("Home", "3"), content(3), 10)
    assert third.replaces == first
    assert not documents.exists(second.id)
    assert items.orphans() == []
    assert documents.promote(third.id) == first


def test_namesakes_of_two_items_do_not_replace_each_other(items, documents, wiki, folder):
    records = [
        items.keep(wiki, Listing("1", "README.md", "1"), content(1), 10)[0],
        items.keep(wiki, Listing("2", "README.md", "1"), content(2), 10)[0],
        items.keep(folder, Listing("1", "README.md", "1"), content(3), 10)[0],
        documents.add("README.md", content(4), 10)[0],
    ]
    assert [record.replaces for record in records] == [None] * 4
    assert len(documents.list()) == 4


def test_the_same_content_from_two_places_is_one_document_until_both_are_gone(items, documents, wiki, folder):
    first, _ = items.keep(wiki, page("Home"), content(1), 10)
    made_ready(documents, first)
    second, outcome = items.keep(folder, page("Copy"), content(1), 10)
    assert (second.id, outcome) == (first.id, "unchanged")
    items.drop(wiki, ["home"])
    assert items.orphans() == []
    items.drop(folder, ["copy"])
    assert items.orphans() == [first.id]


def test_what_was_added_by_hand_too_is_never_an_orphan_nor_replaced(items, documents, wiki):
    first, _ = items.keep(wiki, page("Home"), content(1), 10)
    documents.add("home.md", content(1), 10)
    changed, outcome = items.keep(wiki, page("Home", "2"), content(2), 10)
    assert (outcome, changed.replaces) == ("new", None)
    assert items.orphans() == []
    assert documents.get(first.id).uploaded


def test_changed_content_that_is_known_leaves_the_one_before_as_an_orphan(items, documents, wiki):
    first, _ = items.keep(wiki, page("Home"), content(1), 10)
    other, _ = documents.add("other.md", content(2), 10)
    assert items.keep(wiki, page("Home", "2"), content(2), 10)[0].id == other.id
    assert items.orphans() == [first.id]


def test_an_item_that_fails_keeps_the_document_it_had_and_is_fetched_again(items, wiki):
    record, _ = items.keep(wiki, page("Home"), content(1), 10)
    items.fail(wiki, page("Home", "2"), "The wiki said 500.")
    (item,) = items.list(wiki)
    assert (item.document_id, item.version, item.reason) == (record.id, None, "The wiki said 500.")
    items.fail(wiki, page("Never"), "No right to read it.")
    assert [item.document_id for item in items.list(wiki)] == [record.id, None]


def test_items_are_read_a_page_at_a_time_those_first_that_could_not_be_had(items, documents, wiki, folder):
    for number in range(7):
        items.keep(wiki, page(f"P{number}"), content(number), 10)
    items.keep(folder, page("Other"), content(9), 10)
    items.fail(wiki, page("P5"), "500.")
    documents.set_state(items.list(wiki)[6].document_id, "refused", "It is encrypted.")
    pages = [[item.name for item in items.page(wiki, start, 3)] for start in (0, 3, 6, 9)]
    assert pages == [["P5", "P6", "P0"], ["P1", "P2", "P3"], ["P4"], []]
    assert [item.reason for item in items.page(wiki, 0, 3, failed_only=True)] == ["500.", "It is encrypted."]
    with pytest.raises(NotFound):
        SourceItems(items._database, "bob").page(wiki, 0, 3)


def test_what_each_source_has_is_counted_in_one_look(items, documents, sources, wiki, folder):
    assert items.tallies() == {}
    first, _ = items.keep(wiki, page("Home"), content(1), 10)
    second, _ = items.keep(wiki, page("Ships"), content(2), 10)
    items.keep(folder, page("Copy"), content(2), 10)
    items.fail(wiki, page("Locked"), "No right.")
    made_ready(documents, first)
    assert items.tallies() == {
        wiki: Tally(3, 2, 1, frozenset({second.id})),
        folder: Tally(1, 1, 0, frozenset({second.id})),
    }
    documents.set_state(second.id, "refused", "It is encrypted.")
    assert items.tallies()[folder] == Tally(1, 1, 1)
    assert SourceItems(items._database, "bob").tallies() == {}


def test_documents_tell_the_sources_they_came_from(items, documents, wiki, folder):
    first, _ = items.keep(wiki, page("Home"), content(1), 10)
    items.keep(wiki, page("Home twice"), content(1), 10)
    items.keep(folder, page("Copy"), content(1), 10)
    second, _ = documents.add("mine.md", content(2), 10)
    assert items.origins([first.id, second.id]) == {first.id: ("Reports", "Wiki")}
    assert SourceItems(items._database, "bob").origins([first.id]) == {}


def test_a_failed_item_tells_what_was_wanted_and_when_it_is_due(items, wiki):
    items.fail(wiki, page("Home", "2"), "500.", tries=3, due=DUE)
    (item,) = items.list(wiki)
    assert (item.wanted, item.tries, item.due) == ("2", 3, DUE)
    items.keep(wiki, page("Ships"), content(1), 10)
    items.retry(wiki, DUE + timedelta(days=1))
    assert [item.due for item in items.list(wiki)] == [DUE + timedelta(days=1), None]
    items.keep(wiki, page("Home", "2"), content(2), 10)
    (item, _) = items.list(wiki)
    assert (item.wanted, item.tries, item.due) == (None, 0, None)


def test_a_document_that_was_refused_tells_its_reason_and_gives_way(items, documents, wiki):
    first, _ = items.keep(wiki, page("Home"), content(1), 10)
    documents.set_state(first.id, "refused", "It is encrypted.")
    assert items.list(wiki)[0].reason == "It is encrypted."
    second, outcome = items.keep(wiki, page("Home", "2"), content(2), 10)
    assert (outcome, documents.exists(first.id), second.replaces) == ("new", False, None)
    again, _ = items.keep(wiki, page("Home", "1"), content(2), 10)
    assert again.id == second.id


def test_items_not_named_by_a_reading_are_told(sources, items, wiki):
    sources.begin(wiki)
    items.keep(wiki, page("Home"), content(1), 10)
    items.keep(wiki, page("Old"), content(2), 10)
    items.fail(wiki, page("Locked"), "No right.")
    assert items.unseen(wiki) == []
    sources.end(wiki, "stopped")
    sources.begin(wiki)
    assert items.unseen(wiki) == []
    sources.end(wiki, "idle")
    sources.begin(wiki)
    items.seen(wiki, [page("Home"), page("Nobody")])
    assert items.unseen(wiki) == ["locked", "old"]


def test_another_name_or_address_is_taken_over_without_reading_again(items, documents, wiki):
    record, _ = items.keep(wiki, page("Home"), content(1), 10)
    items.seen(wiki, [Listing("home", "Start", "1", "https://wiki.test/start")])
    assert (documents.get(record.id).name, documents.get(record.id).url) == (
        "Start",
        "https://wiki.test/start",
    )
    documents.add("mine.md", content(1), 10)
    items.seen(wiki, [Listing("home", "Later", "1", None)])
    assert documents.get(record.id).name == "Start"


def test_deleting_a_document_here_leaves_its_item_without_one(items, documents, wiki):
    record, _ = items.keep(wiki, page("Home"), content(1), 10)
    documents.delete(record.id)
    (item,) = items.list(wiki)
    assert (item.document_id, item.version, item.reason) == (None, "1", None)


@pytest.mark.parametrize("keep", [True, False])
def test_a_source_goes_with_or_without_its_documents(sources, items, documents, wiki, keep):
    record, _ = items.keep(wiki, page("Home"), content(1), 10)
    sources.delete(wiki, keep_documents=keep)
    assert sources.list() == []
    assert documents.get(record.id).uploaded is keep
    assert items.orphans() == ([] if keep else [record.id])
    with pytest.raises(NotFound):
        items.list(wiki)


def test_names_and_ids_that_no_database_holds_are_kept_all_the_same(items, documents, wiki):
    strange = Listing("a\x00b", "q\ud800.md", "1")
    record, _ = items.keep(wiki, strange, content(1), 10)
    items.seen(wiki, [strange])
    assert documents.get(record.id).name == "q\ufffd.md"
    assert len(items.list(wiki)) == 1
