"""A graph that is not as it was left is opened in a child process first, whatever becomes of that."""

import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.errors import IndexUnusable
from rag.index.chroma import ChromaVectorStore
from rag.index.chroma_probe import CrashGuard, probe
from rag.ingest.library import Library
from storage.database import Database
from storage.records import ChunkSpan
from tests.rag.word_vectors import WordVectors

MODEL = WordVectors("model", 32)
COUNT = 1200  # the graph is on disk from a thousand entries on
UNTRIED = "opened without a trial"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with a graph, closed as the app closes it."""
    directory = tmp_path_factory.mktemp("whole") / "vectors"
    store = opened(directory)
    add(store, COUNT)
    store.close()
    return directory


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "vectors")


@pytest.fixture
def childless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No child can be started; where one is wanted, that is logged."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")


def opened(directory: Path) -> ChromaVectorStore:
    guard = CrashGuard(directory, "chunks")
    return ChromaVectorStore(
        MODEL, directory=directory, collection_name="chunks", hydrate=lambda _: {}, guard=guard
    )


def add(store: ChromaVectorStore, count: int) -> None:
    vectors = np.random.default_rng(7).normal(size=(count, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store.add_vectors([f"d-{number:05d}" for number in range(count)], vectors, [{"document_id": "d"}] * count)


def of_graph(directory: Path, name: str) -> Path:
    (file,) = directory.glob(f"*/{name}")
    return file


def noise(size: int) -> bytes:
    return hashlib.shake_256(b"noise").digest(size)


def third(path: Path) -> int:
    return path.stat().st_size // 3


HOW: dict[str, Callable[[Path], object]] = {
    "random": lambda path: path.write_bytes(noise(path.stat().st_size)),
    "gone": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "cut at a third": lambda path: path.write_bytes(path.read_bytes()[: third(path)]),
    "cut at two thirds": lambda path: path.write_bytes(path.read_bytes()[: 2 * third(path)]),
    "cut at its last byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "random in its middle": lambda path: path.write_bytes(
        path.read_bytes()[: third(path)] + noise(third(path)) + path.read_bytes()[2 * third(path) :]
    ),
}
FILES = ("length.bin", "data_level0.bin", "header.bin", "index_metadata.pickle", "link_lists.bin")
CASES = [(name, how) for name in FILES for how in HOW]
EVERY_WAY = pytest.mark.slow(reason="damages each file in each way, and starts a process for each")
FEW = [("length.bin", "random"), ("data_level0.bin", "random")]  # a crash, and wrong answers
LONG = [pytest.param(*case, marks=EVERY_WAY) for case in CASES if case not in FEW]


@pytest.mark.parametrize(("name", "how"), [*FEW, *LONG])
def test_damage_of_the_graph_ends_in_a_sentence_or_in_a_sound_index(copied: Path, name: str, how: str):
    HOW[how](of_graph(copied, name))
    try:
        store = opened(copied)
    except IndexUnusable as error:
        assert "is damaged" in str(error)
        return
    store.check()
    assert len(store.ids()) == COUNT and how != "random"
    store.close()


def test_a_whole_graph_is_opened_at_once(copied: Path, childless: None, caplog: pytest.LogCaptureFixture):
    store = opened(copied)
    store.check()
    store.close()
    assert caplog.text == ""


def test_a_graph_that_was_being_changed_when_the_power_went_is_tried(
    copied: Path, childless: None, caplog: pytest.LogCaptureFixture
):
    store = opened(copied)
    store.delete(["d-00007"])
    cut_off = shutil.copytree(copied, copied.parent / "cut off")
    store.close()
    opened(copied).close()
    assert caplog.text == ""
    opened(cut_off).close()
    assert UNTRIED in caplog.text
    caplog.clear()
    opened(cut_off).close()
    assert caplog.text == ""


def test_a_trial_finds_nothing_wrong_with_a_whole_graph(whole: Path):
    probe(whole, "chunks")


def test_few_entries_are_not_tried_however_often_they_were_searched(
    tmp_path: Path, childless: None, caplog: pytest.LogCaptureFixture
):
    store = opened(tmp_path / "vectors")
    add(store, 20)
    store.close()
    for _ in range(3):
        store = opened(tmp_path / "vectors")
        assert len(store.nearest([1.0] * 32, 5)) == 5
        store.close()
    assert caplog.text == ""


def test_a_library_whose_graph_was_damaged_is_told_so_in_one_line_and_embedded_anew(
    database: Database, caplog: pytest.LogCaptureFixture
):
    text = "".join(f"stone{number} wall{number % 7}. " for number in range(COUNT))
    library = Library(database, "ann", lambda: MODEL)
    record, _ = library.add("walls.txt", text.encode())
    ends = [at + 1 for at, letter in enumerate(text) if letter == "."]
    spans = [ChunkSpan(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    library.documents.save_chunks(record.id, text, [], spans)
    library.documents.set_state(record.id, "searchable_by_words")
    list(library.embed(record.id))
    library.close()
    (length,) = database.directory.glob("indexes/*/vectors-*/*/length.bin")
    HOW["random"](length)
    library = Library(database, "ann", lambda: MODEL)
    caplog.clear()
    assert library.recover() == [record.id]
    told = [line for line in caplog.messages if "vector index" in line]
    assert len(told) == 1 and told[0].endswith("It is made anew.")
    assert not any(logged.exc_info for logged in caplog.records)
    list(library.index(record.id))
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()
    library.indexes.vectors.check()
    library.close()


def test_what_could_not_be_opened_can_be_once_it_is_mended(tmp_path: Path):
    (tmp_path / "chroma.sqlite3").write_bytes(b"not a database" * 1000)
    for _ in range(3):
        with pytest.raises(IndexUnusable, match="could not be opened"):
            opened(tmp_path)
    (tmp_path / "chroma.sqlite3").unlink()
    store = opened(tmp_path)
    add(store, 3)
    store.close()
