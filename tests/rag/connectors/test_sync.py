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


class MemorySource(Source):
    """A source in memory: texts by id. It counts what is fetched from it."""

    def __init__(self, **texts: str):
        self.texts = texts
        self.broken: dict[str, Exception] = {}
        self.fetched: list[str] = []
        self.cursors: list[str | None] = []
        self.changes: list | None = None

    def test(self) -> str:
        return f"A memory source of {len(self.texts)}."

    def list(self, cursor=None, cancelled=lambda: False) -> Iterator:
        self.cursors.append(cursor)
        if cursor is not None and self.changes is not None:
            yield from self.changes
            yield Checkpoint("later", whole=False)
            return
        for id_, text in list(self.texts.items()):
            yield Item(id_, f"{id_}.md", str(hash(text)), f"https://memory.test/{id_}")
        yield Checkpoint("now", whole=True)

    def fetch(self, item, cancelled=lambda: False) -> Iterator[bytes]:
        self.fetched.append(item.id)
        if item.id in self.broken:
            raise self.broken[item.id]
        yield self.texts[item.id].encode()


class Syncer:
    """One owner's library and sources, and a sync that reads documents at once."""

    def __init__(self, database: Database, embedder: Embedder, max_bytes: int = 1 << 20):
        self.library = Library(database, "ann", lambda: embedder)
        self.sources, self.items = SourceStore(database, "ann"), SourceItems(database, "ann")
        self.id = self.sources.create("memory", "Memory", {}).id
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

    def run(self, origin: MemorySource, **more):
        *_, last = self.sync.run(self.id, lambda: origin, **more)
        return last

    def counts(self, origin: MemorySource, **more):
        last = self.run(origin, **more)
        return last.new, last.changed, last.unchanged, last.removed, last.failed

    def found(self, question: str):
        documents = self.library.retriever("bm25", 5).invoke(question)
        return [document.metadata["document"] for document in documents]

    def names(self):
        return sorted(record.name for record in self.library.documents.list())


@pytest.fixture
def syncer(database, embedder):
    opened = Syncer(database, embedder)
    yield opened
    opened.library.close()


def test_new_changed_unchanged_and_gone_are_told_apart(syncer):
    origin = MemorySource(castle="The castle was built in 1432.", lamp="The lamp burned whale oil.")
    assert syncer.counts(origin) == (2, 0, 0, 0, 0)
    origin.texts = {"castle": "The castle was rebuilt in 1500.", "moat": "The moat is deep."}
    assert syncer.counts(origin) == (1, 1, 0, 1, 0)
    assert syncer.names() == ["castle.md", "moat.md"]
    assert syncer.found("castle rebuilt") == ["castle.md"]
    assert syncer.found("whale oil lamp") == []
    assert syncer.sources.get(syncer.id).state == "idle"


def test_what_is_unchanged_is_neither_fetched_nor_read_again(syncer):
    origin = MemorySource(castle="The castle was built in 1432.", lamp="The lamp burned whale oil.")
    syncer.run(origin)
    before = syncer.library.documents.list()
    assert syncer.counts(origin) == (0, 0, 2, 0, 0)
    assert len(origin.fetched) == 2
    assert syncer.library.documents.list() == before


def test_a_changed_document_keeps_the_vectors_of_passages_that_stayed(syncer):
    kept, before, after = "The castle stands on a hill. " * 20, "It was built in 1432.", "It fell in 1600."
    origin = MemorySource(castle=f"# One\n\n{kept}\n\n# Two\n\n{before}")
    syncer.run(origin)
    embedded = []
    inner = syncer.library.indexes.embedder.embed_batches

    def counted(texts, **more):
        embedded.extend(texts)
        return inner(texts, **more)

    syncer.library.indexes.embedder.embed_batches = counted
    try:
        origin.texts["castle"] = f"# One\n\n{kept}\n\n# Two\n\n{after}"
        syncer.run(origin)
    finally:
        del syncer.library.indexes.embedder.embed_batches
    assert len(embedded) == 1
    assert after in embedded[0]
    (record,) = syncer.library.documents.list()
    assert record.state == "ready"
    ids = {chunk.id for chunk in syncer.library.documents.chunks(record.id)}
    assert syncer.library.indexes.vectors.present(sorted(ids)) == ids


def test_one_bad_item_does_not_stop_the_rest_and_is_tried_again(syncer):
    origin = MemorySource(bad="unseen", good="The castle was built in 1432.")
    origin.broken["bad"] = ItemFailed("bad.md cannot be had: the server said 500.")
    assert syncer.counts(origin) == (1, 0, 0, 0, 1)
    assert {item.name: item.reason for item in syncer.items.list(syncer.id)} == {
        "bad.md": "bad.md cannot be had: the server said 500.",
        "good.md": None,
    }
    origin.broken.clear()
    assert syncer.counts(origin) == (1, 0, 1, 0, 0)


def test_what_could_not_be_had_is_tried_again_though_it_has_not_changed(syncer):
    origin = MemorySource(bad="The moat is deep.", good="The castle was built in 1432.")
    origin.broken["bad"] = ItemFailed("The server said 500.")
    syncer.run(origin)
    origin.changes = []
    origin.broken.clear()
    assert syncer.counts(origin) == (1, 0, 0, 0, 0)
    assert syncer.found("moat deep") == ["bad.md"]
    assert syncer.counts(origin) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("whole", [True, False])
def test_each_failure_makes_the_wait_for_the_next_try_longer(syncer, whole):
    origin = MemorySource(bad="The moat is deep.")
    origin.broken["bad"] = ItemFailed("The server said 500.")
    syncer.run(origin)
    origin.changes = None if whole else []
    for minutes in range(0, 120, 5):
        syncer.now = NOON + timedelta(minutes=minutes)
        syncer.run(origin)
    # At once, after a quarter of an hour, half of one, one: each counted from the failure before.
    assert len(origin.fetched) == 1 + 4
    origin.broken.clear()
    syncer.items.retry(syncer.id, syncer.now)
    assert syncer.counts(origin) == (1, 0, 0, 0, 0)
    (item,) = syncer.items.list(syncer.id)
    assert (item.reason, item.wanted, item.tries, item.due) == (None, None, 0, None)


def test_what_lasts_is_given_up_until_it_changes_or_a_person_asks(syncer):
    origin = MemorySource(bad="The moat is deep.")
    origin.broken["bad"] = ItemRefused("It is too large.")
    for day in range(100):
        syncer.now = NOON + timedelta(days=day)
        syncer.run(origin)
    assert len(origin.fetched) == 6
    assert syncer.items.list(syncer.id)[0].due is None
    assert syncer.counts(origin) == (0, 0, 0, 0, 1)
    syncer.items.retry(syncer.id, syncer.now)
    syncer.run(origin)
    assert len(origin.fetched) == 7
    origin.broken.clear()
    origin.texts["bad"] = "The moat is not so deep."
    assert syncer.counts(origin) == (1, 0, 0, 0, 0)


def test_what_waits_and_what_came_of_it_meanwhile_concern_each_other(syncer):
    origin = MemorySource(bad="The moat is deep.", worse="The lamp.")
    origin.broken = {"bad": ItemFailed("500."), "worse": ItemFailed("500.")}
    syncer.run(origin)
    origin.changes = [Gone("bad"), Unreadable("worse", "worse.md", "It is too large.", lasting=True)]
    assert syncer.counts(origin) == (0, 0, 0, 1, 1)
    assert len(origin.fetched) == 2
    assert [item.reason for item in syncer.items.list(syncer.id)] == ["It is too large."]


def test_an_item_that_cannot_be_given_is_told_with_its_reason(syncer):
    class Locked(MemorySource):
        def list(self, cursor=None, cancelled=lambda: False):
            yield Unreadable("drawing", "Drawing", "Drawings cannot be exported.")
            yield from super().list(cursor, cancelled)

    assert syncer.counts(Locked(a="A castle.")) == (1, 0, 0, 0, 1)
    assert syncer.items.list(syncer.id)[0].reason == "Drawings cannot be exported."


def test_an_item_too_large_is_not_taken(database, embedder):
    syncer = Syncer(database, embedder, max_bytes=100)
    assert syncer.counts(MemorySource(large="x" * 101, small="The castle.")) == (1, 0, 0, 0, 1)
    assert "FOOTNOTE_MAX_UPLOAD_MB" in syncer.items.list(syncer.id)[0].reason
    syncer.library.close()


def test_a_source_that_fails_keeps_its_reason_and_everything_it_had(syncer):
    syncer.run(MemorySource(castle="The castle was built in 1432."))
    broken = MemorySource(castle="other", lamp="The lamp.")
    broken.broken["castle"] = SourceError("The wiki refused the token. Make a new one.")
    with pytest.raises(SourceError):
        syncer.run(broken)
    record = syncer.sources.get(syncer.id)
    assert (record.state, record.reason) == ("failed", "The wiki refused the token. Make a new one.")
    assert syncer.names() == ["castle.md"]


def test_a_source_that_is_suddenly_empty_removes_nothing(syncer):
    syncer.run(MemorySource(castle="The castle was built in 1432."))
    for _ in range(2):
        with pytest.raises(SourceEmptied, match="nothing was removed"):
            syncer.run(MemorySource())
        assert syncer.sources.get(syncer.id).state == "emptied"
    assert syncer.names() == ["castle.md"]
    assert syncer.counts(MemorySource(castle="The castle was built in 1432.")) == (0, 0, 1, 0, 0)
    assert syncer.sources.get(syncer.id).state == "idle"


def test_a_source_that_is_said_to_be_empty_loses_what_it_had(syncer):
    syncer.run(MemorySource(castle="The castle was built in 1432."))
    with pytest.raises(SourceEmptied):
        syncer.run(MemorySource())
    assert syncer.counts(MemorySource(), may_be_empty=True) == (0, 0, 0, 1, 0)
    assert syncer.names() == []
    assert syncer.sources.get(syncer.id).state == "idle"
    assert syncer.counts(MemorySource()) == (0, 0, 0, 0, 0)


def test_a_source_that_never_held_anything_is_no_error(syncer):
    assert syncer.counts(MemorySource()) == (0, 0, 0, 0, 0)
    assert (syncer.sources.get(syncer.id).state, syncer.sources.get(syncer.id).reason) == ("idle", None)


def test_a_document_that_cannot_be_removed_now_does_not_hold_the_sync(syncer):
    syncer.run(MemorySource(castle="The castle.", lamp="The lamp."))
    asked = []
    syncer.sync.remove = asked.append
    assert syncer.counts(MemorySource(castle="The castle.")) == (0, 0, 1, 1, 0)
    assert len(asked) == 1
    assert syncer.names() == ["castle.md", "lamp.md"]


def test_changes_since_the_last_mark_concern_nothing_else(syncer):
    origin = MemorySource(castle="The castle.", lamp="The lamp.", moat="The moat.")
    syncer.run(origin)
    origin.changes = [Gone("lamp"), Gone("never"), Item("moat", "moat.md", "2")]
    origin.texts["moat"] = "The moat was filled."
    assert syncer.counts(origin) == (0, 1, 0, 1, 0)
    assert origin.cursors == [None, "now"]
    assert syncer.sources.get(syncer.id).cursor == "later"
    assert syncer.names() == ["castle.md", "moat.md"]


def test_a_reading_that_is_left_goes_on_and_removes_nothing_it_has_seen(syncer):
    origin = MemorySource(a="The castle.", b="The lamp.", c="The moat.")
    reading = syncer.sync.run(syncer.id, lambda: origin)
    next(reading)
    reading.close()
    assert syncer.sources.get(syncer.id).state == "stopped"
    assert syncer.counts(origin) == (2, 0, 1, 0, 0)
    assert sorted(origin.fetched) == ["a", "b", "c"]
    assert syncer.names() == ["a.md", "b.md", "c.md"]


def test_a_stopped_fetch_is_no_failure_of_the_item(syncer):
    stopped = False

    class Slow(MemorySource):
        def fetch(self, item, cancelled=lambda: False):
            nonlocal stopped
            yield b"The cas"
            stopped = True
            yield b"tle."

    list(_until_cancelled(syncer, Slow(a="x"), lambda: stopped))
    assert syncer.sources.get(syncer.id).state == "stopped"
    assert syncer.items.list(syncer.id) == []


def _until_cancelled(syncer, origin, cancelled):
    from rag.errors import Cancelled

    try:
        yield from syncer.sync.run(syncer.id, lambda: origin, cancelled)
    except Cancelled:
        return


def test_a_document_deleted_here_comes_back_only_when_it_changes(syncer):
    origin = MemorySource(a="The castle.", b="The lamp.")
    syncer.run(origin)
    (gone,) = [record for record in syncer.library.documents.list() if record.name == "a.md"]
    syncer.library.remove(gone.id)
    assert syncer.counts(origin) == (0, 0, 2, 0, 0)
    assert syncer.names() == ["b.md"]
    origin.texts["a"] = "The castle was rebuilt."
    assert syncer.counts(origin) == (1, 0, 1, 0, 0)
    assert syncer.names() == ["a.md", "b.md"]
