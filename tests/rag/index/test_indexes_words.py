"""Another tokenizer: its index is made beside the one that answers, proven, and exchanged at once."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag.errors import Cancelled, IndexUnusable
from rag.index.bm25 import TantivyIndex
from rag.index.indexes import NEXT_WORDS, WORDS, WORDS_BATCH
from rag.index.lexical import Entry, to_entry
from rag.index.staged import ReindexProgress
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs, never
from rag.text.tokenize import Analyser, find
from storage.database import Database
from storage.records import ChunkSpan
from tests.rag.ingest.test_queue import wait_until
from tests.rag.word_vectors import WordVectors

COUNT = 6


def open_library(database: Database, analysers: tuple[Analyser, ...]) -> Library:
    return Library(database, "ann", lambda: WordVectors("words", 32), analysers=analysers)


def put(library: Library, name: str, parts: int = 2) -> str:
    """Add a file as reading it leaves it."""
    part = f"The moat of {name} is deep, 고양이를 보았다. "
    record, _ = library.add(f"{name}.md", (part * parts).encode())
    spans = [ChunkSpan(at * len(part), (at + 1) * len(part)) for at in range(parts)]
    library.documents.save_chunks(record.id, part * parts, [], spans)
    library.indexes.words.add(to_entry(chunk) for chunk in library.documents.chunks(record.id))
    library.documents.set_state(record.id, "searchable_by_words")
    return record.id


def finds(library: Library, name: str) -> bool:
    hits = library.retriever("bm25", 3).invoke(f"moat of {name}")
    return bool(hits) and hits[0].metadata["document"] == f"{name}.md"


def in_step(library: Library) -> bool:
    return library.indexes.words.ids() == library.documents.chunk_ids()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of six documents, their words indexed without analysers, which nobody has open."""
    directory = tmp_path_factory.mktemp("made") / "data"
    database = Database.open(directory)
    library = open_library(database, ())
    for number in range(COUNT):
        put(library, f"castle{number}")
    library.close()
    database.close()
    return directory


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "data"))


@pytest.fixture
def changed(copy: Path) -> Iterator[Library]:
    """A copy of it, after analysers were installed."""
    with closing(Database.open(copy)) as database, closing(open_library(database, find())) as library:
        yield library


def test_the_old_index_answers_until_the_new_one_is_whole(changed: Library):
    words = changed.indexes.words
    for _ in words.renew(never):
        assert words.outdated and in_step(changed)
        assert all(finds(changed, f"castle{number}") for number in range(COUNT))
    assert not words.outdated and in_step(changed)
    assert all(finds(changed, f"castle{number}") for number in range(COUNT))
    assert words.answering.search("누가 보는가?", 1)  # by the stem alone, which only an analyser finds


def test_what_comes_and_goes_meanwhile_is_in_the_new_one_too(changed: Library):
    gone = changed.documents.list()[0]
    steps = changed.indexes.words.renew(never)
    next(steps)
    changed.remove(gone.id)
    late = put(changed, "lighthouse")
    early = [chunk.id for chunk in changed.documents.chunks(late)]
    list(steps)
    assert in_step(changed) and set(early) <= changed.indexes.words.ids()
    assert finds(changed, "lighthouse") and not finds(changed, gone.name.removesuffix(".md"))


def test_an_entry_that_the_ledger_does_not_know_yet_is_kept(changed: Library):
    words = changed.indexes.words
    entry = to_entry(changed.documents.chunks(changed.documents.list()[0].id)[0])
    words.add([Entry("being-split", entry.document_id, entry.text)])
    list(words.renew(never))
    assert "being-split" in words.ids()


def test_one_that_was_stopped_is_gone_on_with(copy: Path):
    with closing(Database.open(copy)) as database:
        library = open_library(database, find())
        with pytest.raises(Cancelled):
            list(library.indexes.words.renew(lambda: True))
        begun = library.documents.index_state(NEXT_WORDS)
        library.close()
        again = open_library(database, find())
        assert again.indexes.words.outdated and again.documents.index_state(NEXT_WORDS) == begun
        list(again.indexes.words.renew(never))
        assert again.documents.index_state(WORDS) == begun and in_step(again)
        again.close()


def test_after_an_end_at_any_step_the_old_one_answers_or_the_new_one(copy: Path, tmp_path: Path):
    snapshots = list[Path]()

    def keep() -> None:
        snapshots.append(Path(shutil.copytree(copy, tmp_path / f"ended-{len(snapshots)}")))

    with closing(Database.open(copy)) as database:
        before = open_library(database, ())
        put(before, "long", parts=WORDS_BATCH + 1)
        before.close()
        library = open_library(database, find())
        for _ in library.indexes.words.renew(never):
            keep()
        keep()
        keep()
        library.close()
    assert len(snapshots) == 5
    for directory in snapshots:
        with closing(Database.open(directory)) as database, closing(open_library(database, find())) as left:
            left.recover()
            assert in_step(left) and all(finds(left, f"castle{number}") for number in range(COUNT))
            list(left.indexes.words.renew(never))
            assert in_step(left) and not left.indexes.words.outdated
            folders = [path.name for path in directory.glob("indexes/*/words*")]
            assert folders == [left.documents.index_state(WORDS)["folder"]]


def test_an_index_that_does_not_find_its_own_passages_is_given_up(changed: Library, copy: Path):
    words = changed.indexes.words
    steps = words.renew(never)
    assert [next(steps) for _ in range(2)][-1] == ReindexProgress("words", 2 * COUNT, 2 * COUNT)
    words.add(Entry(id_, "", "quillwort") for id_ in sorted(words.ids()))
    with pytest.raises(IndexUnusable, match="the one before goes on answering"):
        list(steps)
    assert not words.outdated and in_step(changed)
    assert [path.name for path in copy.glob("indexes/*/words*")] == ["words"]


def test_a_server_makes_it_in_a_job_and_answers_meanwhile(changed: Library):
    jobs = Jobs(LANES)
    Ingest(changed, jobs).recover()
    assert finds(changed, "castle2")
    wait_until(lambda: not changed.indexes.words.outdated)
    assert in_step(changed) and finds(changed, "castle2")
    jobs.close()


@pytest.mark.parametrize("harm", [lambda folder: (folder / "meta.json").write_bytes(b"{"), shutil.rmtree])
def test_damage_to_the_one_that_answers_is_mended_from_the_ledger(copy: Path, harm: Callable[[Path], object]):
    (folder,) = copy.glob("indexes/*/words")
    harm(folder)
    with closing(Database.open(copy)) as database, closing(open_library(database, find())) as library:
        library.recover()
        assert in_step(library) and not library.indexes.words.outdated
        assert not TantivyIndex(folder, analysers=find()).stale


def test_damage_that_a_search_met_is_mended_without_waiting_for_the_clock(copy: Path):
    with closing(Database.open(copy)) as database, closing(open_library(database, ())) as library:
        words = library.indexes.words
        assert not words.due()
        # Damaged postings may end the process; what is stored is read with care.
        for path in copy.glob("indexes/*/words/*.store"):
            with path.open("r+b") as file:
                file.write(b"\x7f" * 64)
        with pytest.raises(IndexUnusable):
            words.answering.search("moat castle2", 3)
        assert words.due()
        words.recover()
        assert not words.due() and in_step(library) and finds(library, "castle2")
