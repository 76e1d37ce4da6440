from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.index.exact import VectorFile

EDGE = [[1.0, 0.0], [0.6, 0.8], [0.0, 2.0]]


@pytest.fixture
def rows(tmp_path: Path):
    opened = VectorFile(tmp_path, "chunks")
    yield opened
    opened.close()


def size(folder: Path) -> int:
    return (folder / "chunks-rows.f32").stat().st_size


@pytest.mark.parametrize(
    ("space", "distances"), [("cosine", [0.0, 0.4, 1.0]), ("l2", [0.0, 0.8, 5.0]), ("ip", [0.0, 0.4, 1.0])]
)
def test_distances_are_those_of_the_space(rows, space, distances):
    rows.put(["a", "b", "c"], ["d", "d", "e"], EDGE)
    found = rows.nearest([1.0, 0.0], 9, ["d", "e", "unknown"], space)
    assert [id_ for id_, _ in found] == ["a", "b", "c"]
    assert [distance for _, distance in found] == pytest.approx(distances, abs=1e-6)
    assert [id_ for id_, _ in rows.nearest([1.0, 0.0], 1, ["d"], space)] == ["a"]


def test_a_vector_of_length_0_is_at_distance_1(rows):
    rows.put(["a"], ["d"], [[0.0, 0.0]])
    assert rows.nearest([1.0, 0.0], 1, ["d"], "cosine") == [("a", 1.0)]
    assert rows.nearest([0.0, 0.0], 1, ["d"], "cosine") == [("a", 1.0)]


def test_what_it_cannot_tell_is_none_and_what_is_not_there_is_nothing(tmp_path):
    rows = VectorFile(tmp_path, "chunks", most=4)
    assert rows.nearest([1.0, 0.0], 1, ["d"], "cosine") == []
    rows.put(["a", "b", "c"], ["d", "d", "e"], EDGE)
    assert rows.nearest([1.0, 0.0, 0.0], 1, ["d"], "cosine") is None
    assert rows.nearest([1.0, 0.0], 1, ["d", "e"], "cosine") is None
    assert rows.nearest([1.0, 0.0], 1, ["d"], "cosine") == [("a", 0.0)]
    assert rows.nearest([1.0, 0.0], 1, [], "cosine") == []
    rows.close()


def test_an_entry_without_a_document_is_kept_and_found_by_none(rows):
    rows.put(["a"], [None], [[1.0, 0.0]])
    assert rows.nearest([1.0, 0.0], 1, ["None", ""], "cosine") == []
    assert rows.ids() == {"a"}
    assert dict(zip(*rows.vectors(["b", "a"]), strict=True))["a"].tolist() == [1.0, 0.0]


def test_rows_that_were_freed_are_used_again(rows, tmp_path):
    rows.put([str(n) for n in range(100)], ["d"] * 100, np.ones((100, 4)))
    full = size(tmp_path)
    for _ in range(5):
        rows.delete([str(n) for n in range(50)])
        rows.put([str(n) for n in range(50)], ["d"] * 50, np.ones((50, 4)))
    assert (size(tmp_path), rows.count()) == (full, 100)


def test_announced_ids_are_in_doubt_until_they_are_put_or_deleted(tmp_path):
    rows = VectorFile(tmp_path, "chunks")
    rows.announce(["a", "b", "c"])
    rows.put(["a"], ["d"], [[1.0]])
    rows.delete(["b"])
    rows.close()
    again = VectorFile(tmp_path, "chunks")
    assert again.announced() == {"c"}
    again.close()


@pytest.mark.parametrize("damage", ["rows short", "rows gone", "no database", "half a database"])
def test_damaged_files_are_begun_anew(tmp_path, damage):
    rows = VectorFile(tmp_path, "chunks")
    rows.put(["a", "b", "c"], ["d", "d", "e"], EDGE)
    rows.close()
    numbers, database = tmp_path / "chunks-rows.f32", tmp_path / "chunks-rows.sqlite3"
    match damage:
        case "rows short":
            numbers.write_bytes(numbers.read_bytes()[:-1])
        case "rows gone":
            numbers.unlink()
        case "no database":
            database.write_bytes(b"not a database at all, but long enough" * 99)
        case "half a database":
            database.write_bytes(database.read_bytes()[:4096] + bytes(range(256)) * 16)
    again = VectorFile(tmp_path, "chunks")
    assert again.ids() == set()
    again.put(["a"], ["d"], [[1.0, 0.0, 0.0]])
    assert again.nearest([1.0, 0.0, 0.0], 1, ["d"], "cosine") == [("a", 0.0)]
    again.close()


changes = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "reopen"]), st.sets(st.integers(0, 9), min_size=1)),
    max_size=12,
)


@given(changes=changes, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_changes_the_nearest_are_those_of_brute_force(tmp_path_factory, changes, seed):
    folder, random = tmp_path_factory.mktemp("rows"), np.random.default_rng(seed)
    rows, kept = VectorFile(folder, "chunks"), {}
    for change, numbers in changes:
        ids = [str(number) for number in sorted(numbers)]
        if change == "put":
            vectors = random.normal(size=(len(ids), 3)).astype(np.float32)
            documents = [str(random.integers(3)) for _ in ids]
            rows.put(ids, documents, vectors)
            kept |= {id_: (documents[n], vectors[n]) for n, id_ in enumerate(ids)}
        elif change == "delete":
            rows.delete(ids)
            kept = {id_: value for id_, value in kept.items() if id_ not in ids}
        else:
            rows.close()
            rows = VectorFile(folder, "chunks")
        asked = random.normal(size=3).astype(np.float32)
        true = {id_: float(((v - asked) ** 2).sum()) for id_, (doc, v) in kept.items() if doc in "01"}
        found = rows.nearest(asked, 4, ["0", "1"], "l2")
        assert dict(found) == pytest.approx(dict(sorted(true.items(), key=lambda one: one[1])[:4]), abs=1e-5)
    assert rows.ids() == set(kept)
    assert {id_: v.tolist() for id_, v in zip(*rows.vectors(list(kept)), strict=True)} == {
        id_: v.tolist() for id_, (_, v) in kept.items()
    }
    rows.close()
