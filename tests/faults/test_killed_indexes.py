"""A process killed while it writes an index: what it acknowledged is there, whole, and can be searched."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.index.backend import named_only, open_vectors, open_words
from rag.index.lexical import Entry
from tests.faults.forks import Fork
from tests.rag.index.by_angle import ByAngle

BATCH = 20
Write = Callable[[Path, str], None]


def write_words(folder: Path, store: str) -> None:
    """Add batches without end; say the number of each once it is written."""
    index = open_words(store, folder, preprocess_func=str.split)
    if index.stale:
        index.clear()
    for number in range(10_000):
        index.add(Entry(id_, "d", f"word{id_} common") for id_ in ids_of(number))
        print(number, flush=True)


def write_vectors(folder: Path, store: str) -> None:
    """The same of vectors."""
    index = open_vectors(store, ByAngle(), folder, "chunks", named_only)
    for number in range(10_000):
        ids = ids_of(number)
        index.add_vectors(ids, list(map(vector, ids)), [{"document_id": "d"}] * BATCH)
        print(number, flush=True)


def ids_of(number: int) -> list[str]:
    return [str(BATCH * number + n) for n in range(BATCH)]


def vector(id_: str) -> list[float]:
    made = np.random.default_rng(int(id_)).normal(size=16)
    return list(map(float, made / np.linalg.norm(made)))


def acknowledged(write: Write, folder: Path, store: str, chance: random.Random) -> int:
    """Kill a writer at a random moment after its third batch; return the last batch that it acknowledged."""
    writer = Fork(write, folder, store)
    last = -1
    for line in writer.said:
        last = int(line)
        if last >= 2 and chance.random() < 0.3:
            break
    writer.kill()
    return last


@pytest.mark.parametrize("store", ["chroma", "lance"])
@pytest.mark.parametrize("round_", [0, pytest.param(1, marks=pytest.mark.slow(reason="more kills"))])
def test_words_that_were_acknowledged_are_found(tmp_path: Path, store: str, round_: int):
    last = acknowledged(write_words, tmp_path / "words", store, random.Random(round_))
    index = open_words(store, tmp_path / "words", preprocess_func=str.split)
    assert not index.stale
    index.check()
    there = index.ids()
    assert len(there) % BATCH == 0  # a batch is there, or nothing of it
    for number in range(last + 1):
        assert set(ids_of(number)) <= there
        [(found, _)] = index.search(f"word{BATCH * number}", 3)
        assert found == str(BATCH * number)
    assert len(index.search("common", 100_000)) == len(there)
    index.close()


@pytest.mark.parametrize("store", ["chroma", "lance"])
@pytest.mark.parametrize("round_", [0, pytest.param(1, marks=pytest.mark.slow(reason="more kills"))])
def test_vectors_that_were_acknowledged_are_found(tmp_path: Path, store: str, round_: int):
    last = acknowledged(write_vectors, tmp_path / "vectors", store, random.Random(round_))
    index = open_vectors(store, ByAngle(), tmp_path / "vectors", "chunks", named_only)
    index.check()
    for number in range(last + 1):
        assert set(ids_of(number)) <= index.ids()
        [(found, far)] = index.nearest(vector(str(BATCH * number)), 1)
        assert (found, far) == (str(BATCH * number), pytest.approx(0, abs=1e-4))
    index.close()
