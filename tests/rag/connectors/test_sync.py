"""Syncs with a real library; the source is a dictionary that the test changes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rag.connectors.base import Checkpoint, Gone, Item, Source, Unreadable
from rag.connectors.sync import Sync
from rag.errors import ItemFailed, ItemRefused, SourceEmptied, SourceError
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage.database import Database
from storage.sources import SourceItems, SourceStore

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Shelf(Source):
    """A source in memory: texts by id. It counts what is fetched from it."""

    def __init__(self, **texts: str):
        self.texts = texts
        self.broken: dict[str, Exception] = {}
        self.fetched: list[str] = []
        self.cursors: list[str | None] = []
        self.changes: list | None = None
        self.closed = 0

    def test(self) -> str:
        return f"A shelf of {len(self.texts)}."

    def list(self, cursor=None, cancelled=lambda: False) -> Iterator:
        self.cursors.append(cursor)
        if cursor is not None and self.changes is not None:
            yield from self.changes
            yield Checkpoint("later", whole=False)
            return
        for id_, text in list(self.texts.items()):
            yield Item(id_, f"{id_}.md", str(hash(text)), f"https://shelf.test/{id_}")
        yield Checkpoint("now", whole=True)

    def fetch(self, item, cancelled=lambda: False) -> Iterator[bytes]:
        self.fetched.append(item.id)
        if item.id in self.broken:
            raise self.broken[item.id]
        yield self.texts[item.id].encode()

    def close(self) -> None:
        self.closed += 1


class Desk:
    """One owner's library and sources, and a sync that reads documents at once."""

    def __init__(self, database: Database, embedder: Embedder, max_bytes: int = 1 << 20):
        self.library = Library(database, "ann", lambda: embedder)
        self.sources, self.items = SourceStore(database, "ann"), SourceItems(database, "ann")
        self.id = self.sources.create("shelf", "Shelf", {}).id
        self.now = NOON
        self.sync = Sync(
            self.library,
            self.sources,
            self.items,
            self.read,
            self.library.remove,
            max_bytes=max_bytes,
            now=lambda: self.now,
        )

    def read(self, document_id: str) -> None:
        for _ in self.library.index(document_id):
            pass

    def run(self, shelf: Shelf, **more):
        *_, last = self.sync.run(self.id, lambda: shelf, **more)
        return last

    def counts(self, shelf: Shelf, **more):
        last = self.run(shelf, **more)
        return last.new, last.changed, last.unchanged, last.removed, last.failed

    def found(self, question: str):
        documents = self.library.retriever("bm25", 5).invoke(question)
        return [document.metadata["document"] for document in documents]

    def names(self):
        return sorted(record.name for record in self.library.documents.list())


@pytest.fixture
def desk(database, embedder):
    opened = Desk(database, embedder)
    yield opened
    opened.library.close()


def test_new_changed_unchanged_and_gone_are_told_apart(desk):
    shelf = Shelf(castle="The castle was built in 1432.", lamp="The lamp burned whale oil.")
    assert desk.counts(shelf) == (2, 0, 0, 0, 0)
    assert shelf.closed == 1
    shelf.texts = {"castle": "The castle was rebuilt in 1500.", "moat": "The moat is deep."}
    assert desk.counts(shelf) == (1, 1, 0, 1, 0)
    assert desk.names() == ["castle.md", "moat.md"]
    assert desk.found("castle rebuilt") == ["castle.md"]
    assert desk.found("whale oil lamp") == []
    assert desk.sources.get(desk.id).state == "idle"


def test_what_is_unchanged_is_neither_fetched_nor_read_again(desk):
    shelf = Shelf(castle="The castle was built in 1432.", lamp="The lamp burned whale oil.")
    desk.run(shelf)
    before = desk.library.documents.list()
    assert desk.counts(shelf) == (0, 0, 2, 0, 0)
    assert len(shelf.fetched) == 2
    assert desk.library.documents.list() == before


def test_a_changed_document_keeps_the_vectors_of_passages_that_stayed(desk):
    kept, before, after = "The castle stands on a hill. " * 20, "It was built in 1432.", "It fell in 1600."
    shelf = Shelf(castle=f"# One\n\n{kept}\n\n# Two\n\n{before}")
    desk.run(shelf)
    embedded = []
    inner = desk.library.indexes.embedder.embed_batches

    def counted(texts, **more):
        embedded.extend(texts)
        return inner(texts, **more)

    desk.library.indexes.embedder.embed_batches = counted
    try:
        shelf.texts["castle"] = f"# One\n\n{kept}\n\n# Two\n\n{after}"
        desk.run(shelf)
    finally:
        del desk.library.indexes.embedder.embed_batches
    assert len(embedded) == 1
    assert after in embedded[0]
    (record,) = desk.library.documents.list()
    assert record.state == "ready"
    ids = {chunk.id for chunk in desk.library.documents.chunks(record.id)}
    assert desk.library.indexes.vectors.present(sorted(ids)) == ids


def test_one_bad_item_does_not_stop_the_rest_and_is_tried_again(desk):
    shelf = Shelf(bad="unseen", good="The castle was built in 1432.")
    shelf.broken["bad"] = ItemFailed("bad.md cannot be had: the server said 500.")
    assert desk.counts(shelf) == (1, 0, 0, 0, 1)
    assert {item.name: item.reason for item in desk.items.list(desk.id)} == {
        "bad.md": "bad.md cannot be had: the server said 500.",
        "good.md": None,
    }
    shelf.broken.clear()
    assert desk.counts(shelf) == (1, 0, 1, 0, 0)


def test_what_could_not_be_had_is_tried_again_though_it_has_not_changed(desk):
    shelf = Shelf(bad="The moat is deep.", good="The castle was built in 1432.")
    shelf.broken["bad"] = ItemFailed("The server said 500.")
    desk.run(shelf)
    shelf.changes = []
    shelf.broken.clear()
    assert desk.counts(shelf) == (1, 0, 0, 0, 0)
    assert desk.found("moat deep") == ["bad.md"]
    assert desk.counts(shelf) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("whole", [True, False])
def test_each_failure_makes_the_wait_for_the_next_try_longer(desk, whole):
    shelf = Shelf(bad="The moat is deep.")
    shelf.broken["bad"] = ItemFailed("The server said 500.")
    desk.run(shelf)
    shelf.changes = None if whole else []
    for minutes in range(0, 120, 5):
        desk.now = NOON + timedelta(minutes=minutes)
        desk.run(shelf)
    # At once, after a quarter of an hour, half of one, one: each counted from the failure before.
    assert len(shelf.fetched) == 1 + 4
    shelf.broken.clear()
    desk.items.retry(desk.id, desk.now)
    assert desk.counts(shelf) == (1, 0, 0, 0, 0)
    (item,) = desk.items.list(desk.id)
    assert (item.reason, item.wanted, item.tries, item.due) == (None, None, 0, None)


def test_what_lasts_is_given_up_until_it_changes_or_a_person_asks(desk):
    shelf = Shelf(bad="The moat is deep.")
    shelf.broken["bad"] = ItemRefused("It is too large.")
    for day in range(100):
        desk.now = NOON + timedelta(days=day)
        desk.run(shelf)
    assert len(shelf.fetched) == 6
    assert desk.items.list(desk.id)[0].due is None
    assert desk.counts(shelf) == (0, 0, 0, 0, 1)
    desk.items.retry(desk.id, desk.now)
    desk.run(shelf)
    assert len(shelf.fetched) == 7
    shelf.broken.clear()
    shelf.texts["bad"] = "The moat is not so deep."
    assert desk.counts(shelf) == (1, 0, 0, 0, 0)


def test_what_waits_and_what_came_of_it_meanwhile_concern_each_other(desk):
    shelf = Shelf(bad="The moat is deep.", worse="The lamp.")
    shelf.broken = {"bad": ItemFailed("500."), "worse": ItemFailed("500.")}
    desk.run(shelf)
    shelf.changes = [Gone("bad"), Unreadable("worse", "worse.md", "It is too large.", lasting=True)]
    assert desk.counts(shelf) == (0, 0, 0, 1, 1)
    assert len(shelf.fetched) == 2
    assert [item.reason for item in desk.items.list(desk.id)] == ["It is too large."]


def test_an_item_that_cannot_be_given_is_told_with_its_reason(desk):
    class Locked(Shelf):
        def list(self, cursor=None, cancelled=lambda: False):
            yield Unreadable("drawing", "Drawing", "Drawings cannot be exported.")
            yield from super().list(cursor, cancelled)

    assert desk.counts(Locked(a="A castle.")) == (1, 0, 0, 0, 1)
    assert desk.items.list(desk.id)[0].reason == "Drawings cannot be exported."


def test_an_item_too_large_is_not_taken(database, embedder):
    desk = Desk(database, embedder, max_bytes=100)
    assert desk.counts(Shelf(large="x" * 101, small="The castle.")) == (1, 0, 0, 0, 1)
    assert "FOOTNOTE_MAX_UPLOAD_MB" in desk.items.list(desk.id)[0].reason
    desk.library.close()


def test_a_source_that_fails_keeps_its_reason_and_everything_it_had(desk):
    desk.run(Shelf(castle="The castle was built in 1432."))
    broken = Shelf(castle="other", lamp="The lamp.")
    broken.broken["castle"] = SourceError("The wiki refused the token. Make a new one.")
    with pytest.raises(SourceError):
        desk.run(broken)
    record = desk.sources.get(desk.id)
    assert (record.state, record.reason) == ("failed", "The wiki refused the token. Make a new one.")
    assert desk.names() == ["castle.md"]


def test_a_source_that_is_suddenly_empty_removes_nothing(desk):
    desk.run(Shelf(castle="The castle was built in 1432."))
    for _ in range(2):
        with pytest.raises(SourceEmptied, match="nothing was removed"):
            desk.run(Shelf())
        assert desk.sources.get(desk.id).state == "emptied"
    assert desk.names() == ["castle.md"]
    assert desk.counts(Shelf(castle="The castle was built in 1432.")) == (0, 0, 1, 0, 0)
    assert desk.sources.get(desk.id).state == "idle"


def test_a_source_that_is_said_to_be_empty_loses_what_it_had(desk):
    desk.run(Shelf(castle="The castle was built in 1432."))
    with pytest.raises(SourceEmptied):
        desk.run(Shelf())
    assert desk.counts(Shelf(), may_be_empty=True) == (0, 0, 0, 1, 0)
    assert desk.names() == []
    assert desk.sources.get(desk.id).state == "idle"
    assert desk.counts(Shelf()) == (0, 0, 0, 0, 0)


def test_a_source_that_never_held_anything_is_no_error(desk):
    assert desk.counts(Shelf()) == (0, 0, 0, 0, 0)
    assert (desk.sources.get(desk.id).state, desk.sources.get(desk.id).reason) == ("idle", None)


def test_a_document_that_cannot_be_removed_now_does_not_hold_the_sync(desk):
    desk.run(Shelf(castle="The castle.", lamp="The lamp."))
    asked = []
    desk.sync.remove = asked.append
    assert desk.counts(Shelf(castle="The castle.")) == (0, 0, 1, 1, 0)
    assert len(asked) == 1
    assert desk.names() == ["castle.md", "lamp.md"]


def test_changes_since_the_last_mark_concern_nothing_else(desk):
    shelf = Shelf(castle="The castle.", lamp="The lamp.", moat="The moat.")
    desk.run(shelf)
    shelf.changes = [Gone("lamp"), Gone("never"), Item("moat", "moat.md", "2")]
    shelf.texts["moat"] = "The moat was filled."
    assert desk.counts(shelf) == (0, 1, 0, 1, 0)
    assert shelf.cursors == [None, "now"]
    assert desk.sources.get(desk.id).cursor == "later"
    assert desk.names() == ["castle.md", "moat.md"]


def test_a_reading_that_is_left_goes_on_and_removes_nothing_it_has_seen(desk):
    shelf = Shelf(a="The castle.", b="The lamp.", c="The moat.")
    reading = desk.sync.run(desk.id, lambda: shelf)
    next(reading)
    reading.close()
    assert desk.sources.get(desk.id).state == "stopped"
    assert desk.counts(shelf) == (2, 0, 1, 0, 0)
    assert sorted(shelf.fetched) == ["a", "b", "c"]
    assert desk.names() == ["a.md", "b.md", "c.md"]


def test_a_stopped_fetch_is_no_failure_of_the_item(desk):
    stopped = False

    class Slow(Shelf):
        def fetch(self, item, cancelled=lambda: False):
            nonlocal stopped
            yield b"The cas"
            stopped = True
            yield b"tle."

    list(_until_cancelled(desk, Slow(a="x"), lambda: stopped))
    assert desk.sources.get(desk.id).state == "stopped"
    assert desk.items.list(desk.id) == []


def _until_cancelled(desk, shelf, cancelled):
    from rag.errors import Cancelled

    try:
        yield from desk.sync.run(desk.id, lambda: shelf, cancelled)
    except Cancelled:
        return


def test_a_document_deleted_here_comes_back_only_when_it_changes(desk):
    shelf = Shelf(a="The castle.", b="The lamp.")
    desk.run(shelf)
    (gone,) = [record for record in desk.library.documents.list() if record.name == "a.md"]
    desk.library.remove(gone.id)
    assert desk.counts(shelf) == (0, 0, 2, 0, 0)
    assert desk.names() == ["b.md"]
    shelf.texts["a"] = "The castle was rebuilt."
    assert desk.counts(shelf) == (1, 0, 1, 0, 0)
    assert desk.names() == ["a.md", "b.md"]
