"""Tables that several processes use at once, in a folder or in an object store."""

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag.index import lance_table
from rag.index.lance import LanceVectorIndex, LanceWordIndex
from rag.index.lexical import Entry
from tests.faults.forks import FORKS, Fork
from tests.rag.index.by_angle import ByAngle
from tests.rag.index.entries import entries, found
from tests.rag.index.objects import table_objects
from tests.s3 import new_address

Open = Callable[[str], LanceWordIndex]
OpenVectors = Callable[[str], LanceVectorIndex]
FOLDER = "indexes/ann/words"
MORE = pytest.mark.slow(reason="one writer and some batches more")
ROUNDS = 4  # of a writer: the table is put in order in each of them


@pytest.fixture(params=["folder", "objects"])
def address(request: pytest.FixtureRequest) -> str:
    """Return the address of an object store; "" for a folder."""
    if request.param == "folder":
        return ""
    request.getfixturevalue("s3_link")
    return new_address()


@pytest.fixture
def words(tmp_path: Path, address: str) -> Iterator[Open]:
    """Open the words of one person in a process by its name."""
    with ExitStack() as stack:

        def opened(process: str) -> LanceWordIndex:
            root = tmp_path / (process if address else "shared")
            objects = table_objects(root, address) if address else None
            index = LanceWordIndex(root / FOLDER, objects=objects, preprocess_func=str.split)
            stack.callback(index.close)
            return index

        yield opened


@pytest.fixture
def vectors_of(tmp_path: Path, address: str) -> Iterator[OpenVectors]:
    """Open the vectors of one person in a process by its name."""
    with ExitStack() as stack:

        def opened(process: str) -> LanceVectorIndex:
            root = tmp_path / (process if address else "shared")
            objects = table_objects(root, address) if address else None
            index = LanceVectorIndex(ByAngle(), root / "indexes/ann/vectors", lambda _: {}, objects=objects)
            stack.callback(index.close)
            return index

        yield opened


def test_what_one_process_writes_another_finds_once_it_looks_again(words: Open):
    one, other = words("one"), words("other")
    one.add(entries("cat", "dog"))
    other.refresh()
    assert found(other, "cat") == ["d-0"]
    other.delete(["d-0"])
    other.add(entries("owl", document="e"))
    one.refresh()
    assert (found(one, "cat"), found(one, "owl")) == ([], ["e-0"])
    assert one.ids() == other.ids() == {"d-1", "e-0"}


def test_what_another_process_reads_of_a_table_changes_with_it(words: Open):
    one, other = words("one"), words("other")
    one.add(entries("cat", "dog"))
    other.refresh()
    before = other.rarity("cat")
    one.add(entries("cat", "cat", document="e"))
    other.refresh()
    assert other.rarity("cat") < before


@pytest.mark.parametrize(
    "change", [lambda index: index.delete(["none"]), lambda index: index.add(entries("owl", document="c"))]
)
def test_rows_that_another_process_has_added_are_scored_among_all_rows(
    words: Open, change: Callable[[LanceWordIndex], None]
):
    one, other = words("one"), words("other")
    one.add(entries("cat dog", "cat cat", "fish", document="a"))
    one.check()
    other.check()
    one.add(entries("cat among very many other words", "dog", document="b"))
    change(other)
    mixed = dict(other.search("cat dog", 10))
    of_b = {id_: score for id_, score in mixed.items() if id_.startswith("b")}
    assert dict(other.search("cat dog", 10, ["b"])) == pytest.approx(of_b)
    some = {id_: mixed[id_] for id_ in ("a-0", "b-0")}
    assert other.scores("cat dog", list(some)) == pytest.approx(some)


def test_vectors_that_another_process_was_first_to_add_are_found(vectors_of: OpenVectors):
    one, other = vectors_of("one"), vectors_of("other")
    for index, angle in ((one, "0"), (other, "80")):
        index.add_vectors([angle], ByAngle().embed_documents([angle]), [{"document_id": "d"}])
    one.refresh()
    assert one.ids() == {"0", "80"}
    assert [id_ for id_, _ in one.nearest(ByAngle().embed_query("79"), 2)] == ["80", "0"]


class Preempted:
    """Table of LanceDB to which another process commits while this one makes a graph, or puts it in order."""

    def __init__(self, table: Any, commit: Callable[[], object]) -> None:
        self._table, self._commit = table, commit
        self.tries: list[str] = []

    def create_index(self, *args: Any, **options: Any) -> None:
        self._preempt("index")
        self._table.create_index(*args, **options)

    def optimize(self, **options: Any) -> None:
        self._preempt("order")
        self._table.optimize(**options)

    def _preempt(self, what: str) -> None:
        self.tries.append(what)
        self._commit()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


def put_in_order(index: LanceWordIndex | LanceVectorIndex) -> None:
    index.refresh()
    index._table().put_in_order()


def add_vectors(index: LanceVectorIndex, first: int, count: int) -> None:
    numbers = range(first, first + count)
    rows = np.random.default_rng(first).normal(size=(count, 16)).astype(np.float32)
    index.add_vectors([str(n) for n in numbers], rows, [{"document_id": "d"}] * count)


def test_a_graph_that_another_process_prevents_is_made_with_later_vectors(
    vectors_of: OpenVectors, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rag.index.lance.GRAPH_FROM", 500)
    one, other = vectors_of("one"), vectors_of("other")
    add_vectors(one, 0, 400)
    table = one._table()._table
    one._table()._table = Preempted(table, lambda: put_in_order(other))
    add_vectors(one, 400, 200)
    assert not one._table().has_index("vector")
    one._table()._table = table
    add_vectors(one, 600, 10)  # it is not tried with every write: to make a large one takes long
    assert not one._table().has_index("vector")
    add_vectors(one, 610, 60)
    assert one._table().has_index("vector")


def test_a_graph_that_another_process_makes_at_the_same_time_is_not_made_again(
    vectors_of: OpenVectors, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rag.index.lance.GRAPH_FROM", 500)
    one, other = vectors_of("one"), vectors_of("other")
    add_vectors(one, 0, 400)
    other.refresh()
    preempted = Preempted(one._table()._table, lambda: add_vectors(other, 1000, 200))
    one._table()._table = preempted
    add_vectors(one, 400, 200)
    assert one._table().has_index("vector")
    add_vectors(one, 600, 200)
    assert preempted.tries.count("index") == 1


def test_putting_in_order_is_not_tried_with_every_write_where_another_process_prevents_it(
    words: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(lance_table, "MOST_COMMITS", 2)
    monkeypatch.setattr(lance_table, "QUIET_SECONDS", 600.0)
    one, other = words("one"), words("other")
    preempted = Preempted(one._table()._table, lambda: put_in_order(other))
    one._table()._table = preempted
    for number in range(6):
        one.add(entries("cat", document=f"d{number}"))
    assert preempted.tries == ["order"] and "could not be put in order" not in caplog.text
    assert found(one, "cat", k=10) == [f"d{number}-0" for number in range(6)]


def test_a_search_finds_its_rows_where_another_process_has_removed_their_files(
    words: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lance_table, "OLD_VERSIONS", timedelta(milliseconds=1))
    one, other = words("one"), words("other")
    one.add(entries("cat", "dog"))
    other.refresh()
    for number in range(3):
        one.add(entries("cat", document=f"e{number}"))
        one.check()
    assert "d-0" in found(other, "cat")
    assert found(other, "dog") == ["d-1"]
    other.add(entries("owl", document="f"))  # and a write goes on from what is there now
    assert found(other, "owl") == ["f-0"]


def test_two_writers_that_put_the_table_in_order_all_the_time_fail_in_nothing(
    words: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(lance_table, "MOST_COMMITS", 2)

    def write_often(process: str) -> None:
        index = words(process)
        for number in range(ROUNDS):
            index.add(entries("cat dog", "cat", document=f"{process}{number}"))
            index.delete([f"{process}{number}-1"])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write_often, ("one", "other"))) == [None, None]
    assert "could not be put in order" not in caplog.text
    index = words("third")
    assert index.ids() == {f"{process}{n}-0" for process in ("one", "other") for n in range(ROUNDS)}
    assert len(found(index, "cat", k=100)) == 2 * ROUNDS


def write(root: Path, address: str, environment: dict[str, str], name: str, begin: Connection) -> None:
    """Once told to begin, add to a table, and print the number of each batch that is added."""
    os.environ.update(environment)
    begin.recv()
    objects = table_objects(root, address) if address else None
    index = LanceWordIndex(root / FOLDER, objects=objects, preprocess_func=str.split)
    for number in range(10_000):
        index.add(Entry(f"{name}-{number}-{n}", "d", f"{name}{number} common") for n in range(5))
        print(number, flush=True)


@pytest.mark.parametrize("kills", [(2, 5), pytest.param((3, 6, 9), marks=MORE)], ids=["two", "three"])
def test_writers_that_begin_at_once_make_one_table_and_killed_ones_lose_nothing(
    tmp_path: Path, words: Open, address: str, kills: tuple[int, ...]
):
    """Each writer is killed after some batches."""
    names, environment = ["a", "b", "c"][: len(kills)], dict(os.environ)
    pipes = [FORKS.Pipe() for _ in names]
    writers = [
        Fork(write, tmp_path / (name if address else "shared"), address, environment, name, begin)
        for name, (_, begin) in zip(names, pipes, strict=True)
    ]
    for ours, _ in pipes:
        ours.send("now")
    acknowledged = {}
    for name, writer, batches in zip(names, writers, kills, strict=True):
        read = [int(writer.said.readline()) for _ in range(batches)]
        writer.send_signal(signal.SIGKILL)
        acknowledged[name] = read + [int(line) for line in writer.said.read().splitlines()]
        writer.kill()
    for pipe in itertools.chain(*pipes):
        pipe.close()
    index = words("reader")
    index.check()
    there = index.ids()
    for name, numbers in acknowledged.items():
        assert {f"{name}-{number}-{n}" for number in numbers for n in range(5)} <= there
        assert len(found(index, f"{name}{numbers[-1]}", k=10)) == 5
    assert len(there) % 5 == 0
