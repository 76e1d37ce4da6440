"""Files of a vector index deleted, emptied, cut or overwritten: that is noticed when it is next opened."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.errors import IndexUnusable
from rag.index.chroma import ChromaVectorStore
from rag.ingest.library import Library
from storage.database import Database
from tests.rag.index.test_staged_vectors import finds, put
from tests.rag.word_vectors import WordVectors

MODEL = WordVectors("model", 32)
COUNT = 1200  # the graph is on disk from a thousand entries on
IDS = {f"d-{number:05d}" for number in range(COUNT)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "vectors"
    store = opened(directory)
    vectors = np.random.default_rng(7).normal(size=(COUNT, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store.add_vectors(sorted(IDS), vectors, [{"document_id": "d"}] * COUNT)
    store.close()
    return directory


def opened(directory: Path) -> ChromaVectorStore:
    return ChromaVectorStore(MODEL, directory=directory, collection_name="chunks", hydrate=lambda _: {})


def overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    third = len(content) // 3
    content[third : 2 * third] = hashlib.shake_256(b"noise").digest(third)
    path.write_bytes(content)


HOW: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "overwritten": overwritten,
}
LOST = [
    ("chroma.sqlite3", "gone"),
    ("chroma.sqlite3", "emptied"),
    ("chroma.sqlite3", "cut"),
    ("data_level0.bin", "overwritten"),
    ("length.bin", "gone"),
    ("chunks-rows.f32", "overwritten"),
    ("chunks-rows.sqlite3", "overwritten"),
]
MENDED = [
    ("chunks-rows.f32", "gone"),
    ("chunks-rows.f32", "cut"),
    ("chunks-rows.sqlite3", "gone"),
]


def damaged(whole: Path, tmp_path: Path, name: str, how: str) -> Path:
    directory = tmp_path / "vectors"
    shutil.copytree(whole, directory)
    (file,) = directory.rglob(name)
    HOW[how](file)
    return directory


def test_a_whole_index_is_sound(whole: Path):
    store = opened(whole)
    store.check()
    assert store.ids() == IDS
    store.close()


@pytest.mark.parametrize(("name", "how"), LOST)
def test_damage_is_noticed(whole: Path, tmp_path: Path, name: str, how: str):
    directory = damaged(whole, tmp_path, name, how)
    try:
        store = opened(directory)
        store.check()
        lost = store.ids() != IDS  # which the ledger tells, chunk by chunk
        store.close()
    except IndexUnusable:
        lost = True
    assert lost


@pytest.mark.parametrize(("name", "how"), MENDED)
def test_a_damaged_copy_of_the_vectors_is_made_anew(whole: Path, tmp_path: Path, name: str, how: str):
    store = opened(damaged(whole, tmp_path, name, how))
    store.check()
    assert store.ids() == IDS == set(store.vectors_of(sorted(IDS)))
    store.close()


def test_equal_passages_are_no_damage(tmp_path: Path):
    store = opened(tmp_path / "vectors")
    store.add_vectors(sorted(IDS)[:40], [MODEL.embed_query("moat")] * 40, [{"document_id": "d"}] * 40)
    store.check()
    store.close()


def test_a_library_whose_vectors_are_damaged_has_them_made_anew_at_its_start(database: Database, caplog):
    library = Library(database, "ann", lambda: MODEL)
    for number in range(3):
        put(library, number)
    library.close()
    (rows,) = database.directory.glob("indexes/*/vectors-*/chunks-rows.f32")
    overwritten(rows)
    library = Library(database, "ann", lambda: MODEL)
    for document_id in library.recover():
        list(library.index(document_id))
    assert "is damaged: it does not find what is in it. It is made anew." in caplog.text
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()
    assert all(finds(library, number) for number in range(3))
    library.close()
