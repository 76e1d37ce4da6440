"""The sources page over real folders."""

from datetime import UTC, datetime, timedelta

import pytest

from rag.connectors.registry import KINDS
from rag.connectors.sync import SyncProgress
from storage.records import ItemRecord, Listing, SourceRecord, Tally
from tests.ui.conftest import table, words
from ui.sources.page import ago, facts, next_try, state, sync_progress

PATIENCE = 60
NOW = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture
def reports(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "castle.md").write_text("# Castle\n\nThe castle was built in 1432.")
    (folder / "empty.md").write_text("")
    return folder


@pytest.fixture
def source(here, reports):
    return here.syncing.sources.create("folder", "Reports", {"path": str(reports)})


def synced(here, source_id):
    job = here.syncing.start(source_id)
    assert job.wait(PATIENCE)
    for record in here.library.documents.unfinished():
        while here.ingest.running(record.id):
            job.wait(0.05)


def press(at, key):
    return next(button for button in at.button if button.key == key).click().run()


def test_without_sources_the_page_says_what_they_are(page):
    at = page("sources")
    assert "Connect a folder, wiki, drive or site" in words(at)
    assert [button.label for button in at.button] == ["Add a source"]


def test_a_source_tells_what_came_of_it_and_what_did_not(page, here, source):
    synced(here, source.id)
    at = page("sources")
    text = words(at)
    assert "Reports" in text
    assert "Folder · 2 documents · 1 failed · synced just now · manually" in text
    assert "castle.md · Ready" in text
    assert "empty.md · failed" in text


def test_sync_now_takes_what_is_new(page, here, source, reports):
    synced(here, source.id)
    (reports / "moat.md").write_text("The moat is nine metres deep.")
    press(page("sources"), f"source-sync-{source.id}")
    job = here.syncing.job(source.id)
    assert job is None or job.wait(PATIENCE)
    assert "moat.md" in [item.name for item in here.syncing.items.list(source.id)]


def test_a_source_without_anything_says_that_there_is_nothing_yet(page, here, tmp_path):
    (tmp_path / "bare").mkdir()
    bare = here.syncing.sources.create("folder", "Bare", {"path": str(tmp_path / "bare")})
    assert "Not synced yet" in words(page("sources"))
    synced(here, bare.id)
    assert "Empty" in words(page("sources"))


def test_a_source_that_was_emptied_keeps_its_documents_until_that_is_confirmed(page, here, source, reports):
    synced(here, source.id)
    for file in reports.iterdir():
        file.unlink()
    synced(here, source.id)
    at = page("sources")
    assert "empty now" in words(at)
    assert "nothing was removed" in words(at)
    assert len(here.library.documents.list()) == 2
    press(press(at, f"source-emptied-{source.id}"), f"source-emptied-yes-{source.id}")
    job = here.syncing.job(source.id)
    assert job is None or job.wait(PATIENCE)
    assert here.library.documents.list() == []
    assert here.syncing.sources.get(source.id).state == "idle"


def test_items_are_shown_a_page_at_a_time_those_first_that_could_not_be_had(page, here, source):
    for number in range(60):
        here.syncing.items.fail(source.id, Listing(str(number), f"Item {number:02}", "1"), "It broke off.")
    here.syncing.items.keep(source.id, Listing("a", "A good one", "1"), "0" * 64, 10)
    text = words(page("sources"))
    assert "Item 24" in text
    assert "Item 25" not in text
    assert "A good one" not in text


def test_a_document_tells_the_sources_it_came_from(page, here, source, reports):
    here.syncing.sources.change(source.id, "보고서 <b>", {"path": str(reports)}, None)
    synced(here, source.id)
    here.library.add("by-hand.md", b"The moat is deep.")
    origins = {row["name"]: row["origin"] for row in table(page("documents"))}
    assert origins.pop("by-hand.md") == ""
    assert set(origins.values()) == {"From 보고서 <b>"} and len(origins) == 2  # shown as text


@pytest.mark.parametrize(
    ("tries", "due", "told"),
    [
        (6, None, "Retried when it changes, or with Sync now."),
        (1, NOW, "Retried at the next sync."),
        (2, NOW + timedelta(minutes=15), "Retried in 1 hour at the earliest"),
        (3, NOW + timedelta(days=4), "Retried in 4 days at the earliest"),
    ],
)
def test_it_is_said_when_an_item_is_tried_again(tries, due, told):
    assert told in next_try(item(tries=tries, due=due, reason="No."), NOW)


def test_a_source_that_cannot_be_read_says_why(page, here, source, reports):
    reports.rename(reports.parent / "elsewhere")
    synced(here, source.id)
    text = words(page("sources"))
    assert "Could not be read" in text
    assert "reports" in text


def test_a_source_of_a_kind_that_is_not_known_any_more_is_still_shown(page, here):
    here.syncing.sources.create("gopher", "Burrow", {})
    assert "gopher · 0 documents" in words(page("sources"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_tells_what_it_brings_and_names_its_settings(kind):
    assert KINDS[kind].brings.endswith(".")
    assert all(field.title for field in KINDS[kind].settings.model_fields.values())


@pytest.mark.parametrize(
    ("past", "words_"),
    [
        (timedelta(0), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5, minutes=59), "5 hours ago"),
        (timedelta(days=40), "40 days ago"),
    ],
)
def test_how_long_ago_something_was(past, words_):
    assert ago(past) == words_


def record(**more):
    values = {"id": "s", "kind": "folder", "name": "Reports", "settings": {}, "every": None, "cursor": None}
    values |= {"round": 1, "state": "idle", "reason": None, "began": NOW, "ended": NOW, "created": NOW}
    return SourceRecord(**{**values, **more})


def item(**more):
    values = {"id": "a", "name": "a.md", "url": None, "version": "1", "document_id": "d", "state": "ready"}
    return ItemRecord(**{**values, "reason": None, "updated": NOW, **more})


def test_a_source_in_a_line():
    assert facts(record(every=60), Tally(1, 1), NOW) == "Folder · 1 document · synced just now · every hour"
    assert facts(record(every=7, ended=None), Tally(), NOW) == "Folder · 0 documents · every 7 minutes"


@pytest.mark.parametrize(
    ("item_", "words_"),
    [
        (item(), "Ready"),
        (item(reason="The server said 500."), "Ready, an older version"),
        (item(state="refused", reason="It is encrypted."), "failed"),
        (item(document_id=None, state=None, reason="No right."), "failed"),
        (item(document_id=None, state=None), "deleted here; returns when it changes at the source"),
    ],
)
def test_what_became_of_an_item_is_said(item_, words_):
    assert state(item_) == words_


def test_how_far_a_sync_is_never_says_that_it_has_ended():
    assert sync_progress(0, None) == (0.0, "Connecting")
    share, text = sync_progress(10, SyncProgress("a.md", new=2, unchanged=3, failed=1))
    assert (share, text) == (0.6, "a.md · 2 new, 3 unchanged, 1 failed")
    assert sync_progress(2, SyncProgress("a.md", new=7))[0] < 1


def test_names_from_a_source_are_shown_and_never_act(page, here, source):
    here.syncing.items.fail(source.id, Listing("x", "![a](http://evil.test/x)", "1"), "<b>No</b> *right*.")
    at = page("sources")
    shown = [element.value for element in [*at.markdown, *at.caption]]
    assert any("evil" in value and "![a]" not in value for value in shown)
    assert not any("*right*" in value for value in shown)
