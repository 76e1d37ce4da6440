"""Another embedding model: its index is made beside the one that answers, proven, and exchanged at once."""

import shutil
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag.errors import Cancelled, EmbeddingError, IndexUnusable
from rag.index.lexical import to_entry
from rag.index.slot import IndexState
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest, Reindexing
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from storage.database import Database
from storage.errors import DiskFull
from storage.records import ChunkSpan
from tests.rag.ingest.test_queue import wait_until
from tests.rag.word_vectors import Blurred, WordVectors

OLD, NEW = WordVectors("old", 96), WordVectors("new", 128)
MODELS: dict[str, Embedder] = {"old": OLD, "new": NEW}
COUNT = 6
Disk = namedtuple("Disk", "total used free")


def castle(number: int) -> str:
    words = " ".join(f"stone{number}x{each}" for each in range(120))
    return f"# Castle {number}\n\nThe moat of castle{number} is {number} metres deep. {words}\n"


class Opened:
    """A library over one ledger, whose settings name one model or another."""

    def __init__(self, database: Database):
        self.database = database
        self.wanted: Embedder = OLD
        self.named: list[str] = []
        self.library = self.again()

    def again(self) -> Library:
        self.library = Library(self.database, "ann", lambda: self.wanted, open_named=self._named)
        return self.library

    def _named(self, spec: str) -> Embedder:
        self.named.append(spec)
        return MODELS[spec]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of six documents, embedded by the old model, which nobody has open."""
    directory = tmp_path_factory.mktemp("embedded") / "data"
    database = Database.open(directory)
    library = Library(database, "ann", lambda: OLD)
    for number in range(COUNT):
        put(library, number)
    library.close()
    database.close()
    return directory


@pytest.fixture
def opened(embedded: Path, tmp_path: Path) -> Iterator[Opened]:
    """A copy of it, where the settings name the new model from now on."""
    shutil.copytree(embedded, tmp_path / "data")
    database = Database.open(tmp_path / "data")
    made = Opened(database)
    _ = made.library.indexes.vectors
    made.wanted = NEW
    yield made
    made.library.close()
    database.close()


def put(library: Library, number: int, text: str | None = None) -> str:
    """Add a file as reading it leaves it, in chunks of half of its text, and embed it."""
    text = text or castle(number)
    record, _ = library.add(f"{number}.md", text.encode())
    half = len(text) // 2
    library.documents.save_chunks(record.id, text, [], [ChunkSpan(0, half), ChunkSpan(half, len(text))])
    library.documents.set_state(record.id, "searchable_by_words")
    library.indexes.words.add(to_entry(chunk) for chunk in library.documents.chunks(record.id))
    list(library.embed(record.id))
    return record.id


def finds(library: Library, number: int) -> bool:
    (found, *_) = library.retriever("similarity", 1).invoke(castle(number)[:400])
    return found.metadata["document"] == f"{number}.md"


def model(library: Library) -> str:
    """The model of the index that answers, as the index itself has it."""
    name: str = library.indexes.vectors.embeddings.name
    return name


def folders(library: Library) -> list[str]:
    directory = next((library.files._folder.parent.parent / "indexes").iterdir())
    return sorted(folder.name for folder in directory.glob("vectors-*") if not folder.name.endswith("-tree"))


def test_the_old_index_answers_until_the_new_one_is_in_its_place(opened: Opened):
    library, seen = opened.library, []
    before = library.indexes.vectors
    for step in library.reindex():
        seen.append(step)
        if step != seen[0] and library.reindexer.begun:
            assert library.indexes.vectors is before and finds(library, step.done % COUNT)
            assert library.indexes.states()["vectors"] is IndexState.REPLACING
    assert library.indexes.states()["vectors"] is IndexState.OPEN
    assert {step.step for step in seen} == {"embedding", "verifying"}
    assert [s.done for s in seen if s.step == "verifying"][-1] == seen[-1].total
    assert (library.reindexer.answering, library.reindexer.begun, model(library)) == (
        "new",
        None,
        "new",
    )
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()
    assert all(finds(library, number) for number in range(COUNT))
    assert {record.state for record in library.documents.list()} == {"ready"}
    assert len(folders(library)) == 1
    assert model(opened.again()) == "new" and finds(opened.library, 3)


def stopped_at(library: Library, done: int) -> None:
    """Begin, and let go in the middle."""
    steps = library.reindex()
    for step in steps:
        if step.done >= done:
            steps.close()


def test_after_a_restart_the_old_model_answers_and_the_new_index_is_gone_on_with(opened: Opened):
    total = len(opened.library.documents.chunk_ids())
    stopped_at(opened.library, total // 2)
    opened.library.close()
    library = opened.again()
    library.recover()
    assert (library.reindexer.answering, library.reindexer.begun, model(library)) == (
        "old",
        "new",
        "old",
    )
    assert opened.named == ["old"] and library.reindexer.due()
    assert finds(library, 5) and finds(library, 0)
    first = next(iter(steps := library.reindex()))
    assert first.done >= total // 2
    list(steps)
    assert model(library) == "new" and len(folders(library)) == 1


def test_documents_that_come_go_and_change_meanwhile_are_in_the_new_index_as_they_are(opened: Opened):
    library = opened.library
    steps = library.reindex()
    going = [record.id for record in library.documents.list()]
    for at, _ in enumerate(steps):
        if at == 3:
            put(library, 20)
            assert finds(library, 20)  # by the old one, at once
            library.remove(going[-1])
            put(library, 5, castle(5).replace("metres", "yards"))
    assert model(library) == "new"
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()
    assert finds(library, 20) and finds(library, 5)
    assert {record.state for record in library.documents.list()} == {"ready"}


def test_a_model_whose_passages_do_not_find_themselves_is_refused(opened: Opened):
    opened.wanted = Blurred("blurred", 64)
    with pytest.raises(IndexUnusable, match="blurred do not find themselves"):
        list(opened.library.reindex())
    library = opened.library
    assert (library.reindexer.answering, library.reindexer.begun, model(library)) == (
        "old",
        None,
        "old",
    )
    assert finds(library, 4) and len(folders(library)) == 1


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_full_disk_ends_the_new_index_and_never_the_old_one(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, when: str
):
    steps = opened.library.reindex()
    if when == "meanwhile":
        next(steps)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(1 << 40, 1 << 40, 1 << 20))
    with pytest.raises(DiskFull, match="free"):
        list(steps)
    monkeypatch.undo()
    library = opened.library
    assert (library.reindexer.answering, library.reindexer.begun, model(library)) == (
        "old",
        None,
        "old",
    )
    assert finds(library, 4) and len(folders(library)) == 1
    list(library.reindex())
    assert model(library) == "new"


def test_a_model_that_fails_in_the_middle_leaves_the_old_one_and_can_be_gone_on_with(opened: Opened):
    class Failing(WordVectors):
        left = 3

        def _vectors(self, texts, role):
            self.left -= 1
            if self.left < 0:
                raise EmbeddingError("The server of new is gone.")
            return super()._vectors(texts, role)

    opened.wanted = Failing("new", 128)
    with pytest.raises(EmbeddingError, match="is gone"):
        list(opened.library.reindex())
    assert (opened.library.reindexer.begun, model(opened.library)) == ("new", "old")
    opened.wanted = NEW
    steps = opened.library.reindex()
    assert next(steps).done > 0
    list(steps)
    assert model(opened.library) == "new"


def test_back_to_the_old_model_gives_the_new_index_up(opened: Opened):
    stopped_at(opened.library, 6)
    opened.wanted = OLD
    assert list(opened.library.reindex()) == []
    library = opened.library
    assert (library.reindexer.answering, library.reindexer.begun, model(library)) == (
        "old",
        None,
        "old",
    )
    assert len(folders(library)) == 1 and not library.reindexer.due()


def test_a_third_model_takes_the_place_of_the_second(opened: Opened):
    stopped_at(opened.library, 6)
    opened.wanted = WordVectors("third", 32)
    list(opened.library.reindex())
    assert model(opened.library) == "third" and len(folders(opened.library)) == 1


def test_the_same_model_makes_its_index_anew_where_that_is_asked_for(opened: Opened):
    opened.wanted = OLD
    before = folders(opened.library)
    assert list(opened.library.reindex(force=True))
    assert model(opened.library) == "old" and folders(opened.library) != before


def test_trees_keep_their_summaries_and_answer_by_the_new_model(opened: Opened):
    library = opened.library
    list(library.forest.build_due())
    nodes = library.forest.trees.node_ids()
    steps = list(library.reindex())
    assert "trees" in {step.step for step in steps}
    assert library.forest.trees.node_ids() == nodes == library.forest.vectors.ids()
    assert library.forest.due() == []
    found = library.retriever("raptor-collapsed", 3).invoke(castle(4)[:400])
    assert found[0].metadata["document"] == "4.md"


def test_what_it_takes_is_said_before_and_is_not_less_than_it_takes(opened: Opened):
    library = opened.library
    (folder,) = (library.files._folder.parent.parent / "indexes").glob("*/vectors-*")
    taken = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert library.reindexer.needs(96) > 0
    assert library.reindexer.needs(192) > library.reindexer.needs(96)
    assert taken < library.reindexer.needs(96)


def test_damage_to_the_old_index_meanwhile_has_the_documents_embedded_by_the_new_model(opened: Opened):
    stopped_at(opened.library, 6)
    opened.library.close()
    for path in (opened.library.files._folder.parent.parent / "indexes").glob("*/vectors-*/chroma.sqlite3"):
        path.write_bytes(b"no database" * 1000)
    library = opened.again()
    for document_id in library.recover():
        list(library.index(document_id))
    assert (library.reindexer.answering, library.reindexer.begun, model(library)) == (
        "new",
        None,
        "new",
    )
    assert all(finds(library, number) for number in range(COUNT))


@pytest.fixture
def server(opened: Opened):
    """The same in the server's threads."""
    jobs = Jobs(LANES)
    ingest = Ingest(opened.library, jobs)
    yield Reindexing(opened.library, ingest, jobs), ingest
    jobs.close()


def done(reindexing: Reindexing) -> Callable[[], bool]:
    return lambda: reindexing.job is None


def test_in_the_server_questions_are_answered_all_the_time(opened: Opened, server):
    reindexing, _ = server
    reindexing.start()
    asked = 0
    while reindexing.job is not None:
        assert finds(opened.library, asked % COUNT)
        asked += 1
    assert reindexing.failed is None and asked > 2
    assert model(opened.library) == "new"


def test_in_the_server_it_is_stopped_and_gone_on_with_and_files_come_meanwhile(opened: Opened, server):
    reindexing, ingest = server
    reindexing.start()
    record, _ = opened.library.add("30.md", castle(30).encode())
    ingest.start(record.id)
    assert wait_until(lambda: reindexing.job is None or reindexing.job.latest is not None)
    reindexing.stop()
    assert wait_until(done(reindexing)) and reindexing.failed is None
    reindexing.recover()
    assert wait_until(done(reindexing), 60)
    assert wait_until(lambda: opened.library.documents.get(record.id).state == "ready")
    assert model(opened.library) == "new" and finds(opened.library, 30)


def test_in_the_server_a_changed_setting_begins_it_at_the_start(opened: Opened, server):
    opened.library.close()
    library = opened.again()
    jobs = Jobs(LANES)
    ingest = Ingest(library, jobs)
    reindexing = Reindexing(library, ingest, jobs)
    ingest.recover()
    reindexing.recover()
    assert wait_until(done(reindexing), 60)
    assert model(library) == "new" and reindexing.failed is None
    jobs.close()


def test_in_the_server_a_model_that_cannot_be_had_is_said_and_the_old_one_answers(opened: Opened, server):
    reindexing, _ = server

    def unavailable() -> Embedder:
        raise EmbeddingError("There is no such model.")

    opened.library.reindexer.open_embedder = unavailable
    reindexing.start()
    assert wait_until(done(reindexing))
    assert reindexing.failed == "There is no such model."
    assert finds(opened.library, 2)


def test_a_stop_is_told_from_a_failure(opened: Opened):
    steps = opened.library.reindex(cancelled=lambda: True)
    with pytest.raises(Cancelled, match="kept for the next time"):
        list(steps)
    assert Path(str(opened.database.directory)).is_dir() and opened.library.reindexer.begun == "new"
