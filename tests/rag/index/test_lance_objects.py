"""Tables in an object store: other machines, copies that are lost or damaged, a store that is away, kills."""

import os
import random
import shutil
from pathlib import Path

import pytest

from rag.errors import StoreFailed
from rag.index.lance import LanceVectorIndex, LanceWordIndex
from rag.index.lance_objects import TableObjects
from rag.index.lexical import Entry
from rag.index.vector_index import VectorIndex
from tests.faults.forks import Fork
from tests.rag.index.by_angle import ByAngle
from tests.rag.index.entries import entries, found
from tests.rag.index.objects import table_objects
from tests.s3 import Link, new_address


@pytest.fixture
def address(s3_link: Link) -> str:
    return new_address()


def words(root: Path, address: str, folder: str = "indexes/ann/words") -> LanceWordIndex:
    index = LanceWordIndex(root / folder, objects=table_objects(root, address), preprocess_func=str.split)
    assert not index.stale
    return index


def vectors(root: Path, address: str) -> VectorIndex:
    folder, objects = root / "indexes/ann/vectors", table_objects(root, address)
    return LanceVectorIndex(ByAngle(), folder, lambda _: {}, objects=objects)


def put(index: VectorIndex, *angles: str) -> None:
    index.add_vectors(angles, ByAngle().embed_documents(list(angles)), [{"document_id": "d"}] * len(angles))


def test_another_machine_finds_what_was_written_and_not_what_was_deleted(tmp_path: Path, address: str):
    one, angles = words(tmp_path / "one", address), vectors(tmp_path / "one", address)
    one.add(entries("cat", "cat dog", "owl"))
    one.delete(["d-0"])
    put(angles, "0", "80")
    other = words(tmp_path / "other", address)
    assert found(other, "cat") == ["d-1"]
    assert other.scores("dog", ["d-1"]) == one.scores("dog", ["d-1"])
    assert vectors(tmp_path / "other", address).ids() == {"0", "80"}


def test_a_search_asks_the_store_for_nothing_until_something_is_written(
    tmp_path: Path, address: str, s3_link: Link
):
    index = words(tmp_path, address)
    index.add(entries("cat", "dog"))
    assert found(index, "cat") == ["d-0"]
    asked = s3_link.requests
    assert found(index, "dog") == ["d-1"] and index.ids() == {"d-0", "d-1"}
    assert s3_link.requests == asked
    index.add(entries("cat", "dog", "owl"))
    assert found(index, "owl") == ["d-2"]


def test_owners_and_folders_are_apart_and_a_removed_one_is_gone_for_all(tmp_path: Path, address: str):
    ann, bob = words(tmp_path, address), words(tmp_path, address, "indexes/bob/words")
    ann.add(entries("cat"))
    assert bob.ids() == set()
    objects = table_objects(tmp_path, address)
    assert objects.names(tmp_path / "indexes" / "ann") == ["words"]
    objects.remove(tmp_path / "indexes" / "ann")
    assert not (tmp_path / "indexes" / "ann").exists()
    assert words(tmp_path / "other", address).ids() == set()
    assert words(tmp_path / "other", address, "indexes/bob/words").ids() == set()


@pytest.mark.parametrize("while_open", [True, False])
def test_a_damaged_copy_is_fetched_again_and_the_table_stays(tmp_path: Path, address: str, while_open: bool):
    index = words(tmp_path, address)
    index.add(entries(*["cat dog"] * 60))
    index.check()
    if not while_open:
        index.close()
    for path in (tmp_path / "indexes").rglob("*"):
        if path.suffix in (".lance", ".manifest") and path.is_file():
            path.write_bytes(b"\x7f" * path.stat().st_size)
    if not while_open:
        index = words(tmp_path, address)
    index.check()
    assert len(index.ids()) == 60
    assert not index.damaged


def test_a_lost_copy_is_fetched_again(tmp_path: Path, address: str):
    index = vectors(tmp_path, address)
    put(index, "0", "80")
    index.close()
    shutil.rmtree(tmp_path / "indexes")
    assert vectors(tmp_path, address).ids() == {"0", "80"}


def test_copies_beyond_the_bound_go_but_not_those_of_open_tables(tmp_path: Path, address: str):
    objects: TableObjects = table_objects(tmp_path, address, most_bytes=1)
    opened = []
    for owner in ("ann", "bob", "eve"):
        index = LanceWordIndex(tmp_path / "indexes" / owner / "words", objects=objects)
        index.add(entries("cat"))
        assert found(index, "cat") == ["d-0"]
        opened.append(index)
    opened[0].close()
    objects.trim()
    assert [folder.name for folder in sorted((tmp_path / "indexes").glob("*")) if any(folder.iterdir())] == [
        "bob",
        "eve",
    ]
    again = LanceWordIndex(tmp_path / "indexes" / "ann" / "words", objects=objects)
    assert found(again, "cat") == ["d-0"]


def test_while_the_store_is_away_searches_go_on_writes_say_so_and_nothing_is_made_anew(
    tmp_path: Path, address: str, s3_link: Link
):
    index = words(tmp_path, address)
    index.add(entries("cat", "dog"))
    assert found(index, "cat") == ["d-0"]
    s3_link.cut()
    assert found(index, "dog") == ["d-1"]
    for failing in (lambda: index.add(entries("owl")), lambda: index.delete(["d-0"]), index.clear):
        with pytest.raises(StoreFailed, match="does not answer") as raised:
            failing()
        assert "127.0.0.1" not in str(raised.value)
    with pytest.raises(StoreFailed, match="does not answer"):
        words(tmp_path / "other", address)
    s3_link.mend()
    again = words(tmp_path, address)
    assert again.ids() == {"d-0", "d-1"}
    again.add(entries("cat", "dog", "owl"))
    assert found(again, "owl") == ["d-2"]


def test_while_the_store_is_away_an_open_table_answers_also_once_it_is_told_of_writes(
    tmp_path: Path, address: str, s3_link: Link
):
    index, other = words(tmp_path / "one", address), words(tmp_path / "other", address)
    index.add(entries("cat", "dog"))
    other.refresh()
    index.add(entries("cat", "dog", "owl"))
    s3_link.cut()
    with pytest.raises(StoreFailed, match="does not answer"):
        other.refresh()
    asked = s3_link.requests
    assert found(other, "dog") == ["d-1"] and found(other, "owl") == [] and other.ids() == {"d-0", "d-1"}
    assert s3_link.requests == asked
    s3_link.mend()
    other.add(entries("cat", "dog", "owl", "bat"))
    assert found(other, "owl") == ["d-2"] and found(other, "bat") == ["d-3"]


def write(root: Path, address: str, environment: dict[str, str], first: int) -> None:
    """Add to a table, and print the number of each batch that is added."""
    os.environ.update(environment)
    index = words(root, address)
    for number in range(first, 10_000):
        index.add(Entry(f"{number}-{n}", "d", f"word{number} common") for n in range(20))
        print(number, flush=True)


def test_a_killed_writer_leaves_what_it_acknowledged(tmp_path: Path, address: str):
    last, chance = -1, random.Random(3)
    for round_ in range(3):
        writer = Fork(write, tmp_path / "one", address, dict(os.environ), last + 1)
        for line in writer.said:
            last = int(line)
            if chance.random() < 0.3:
                break
        writer.kill()
        index = words(tmp_path / f"other{round_}", address)
        index.check()
        there = index.ids()
        assert len(there) % 20 == 0  # a batch is there, or nothing of it
        assert {f"{number}-{n}" for number in range(last + 1) for n in range(20)} <= there
        assert len(index.search("common", 100_000)) == len(there)
        index.close()
