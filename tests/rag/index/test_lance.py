"""What only LanceDB's tables do: rows that no index has yet, being put in order, damage, a graph."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rag.errors import IndexUnusable
from rag.index.backend import named_only
from rag.index.exact import BATCH
from rag.index.lance import GRAPH_FROM, LanceVectorIndex, LanceWordIndex
from rag.index.lance_table import MOST_UNINDEXED, LanceTable
from rag.index.lexical import Entry
from tests.rag.index.by_angle import ByAngle
from tests.rag.index.entries import entries, found


def test_rows_that_no_index_has_are_scored_among_all_rows(tmp_path: Path):
    index = LanceWordIndex(tmp_path / "words")
    index.add(entries("cat dog", "cat cat", "fish", document="a"))
    index.check()  # takes them into the index
    index.add(entries("cat among very many other words", "dog", document="b"))
    mixed = dict(index.search("cat dog", 10))
    assert dict(index.search("cat dog", 10, ["b"])) == pytest.approx(
        {id_: score for id_, score in mixed.items() if id_.startswith("b")}
    )
    assert index.scores("cat dog", ["a-0", "b-0"]) == pytest.approx(
        {id_: mixed[id_] for id_ in ("a-0", "b-0")}
    )
    index.close()


def test_many_unindexed_rows_are_taken_in_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    index = LanceWordIndex(tmp_path / "words", preprocess_func=str.split)
    ordered = []
    put_in_order = LanceTable.put_in_order
    monkeypatch.setattr(LanceTable, "put_in_order", lambda it: (ordered.append(it.count()), put_in_order(it)))
    index.add(Entry(str(n), "d", f"word{n} common") for n in range(MOST_UNINDEXED - 1))
    assert ordered == []
    index.add([Entry("last", "d", "common")])
    assert ordered == [MOST_UNINDEXED]
    index.close()


def test_a_table_that_cannot_be_put_in_order_has_what_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    index = LanceWordIndex(tmp_path / "words", preprocess_func=str.split)
    monkeypatch.setattr("rag.index.lance_table.MOST_COMMITS", 1)

    class Full:
        def __init__(self, table: object) -> None:
            self._table = table

        def optimize(self, **_: object) -> None:
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> object:
            return getattr(self._table, name)

    index._table()._table = Full(index._table()._table)
    index.add([Entry("a", "d", "cat"), Entry("b", "e", "cat cat")])
    assert "no space left" in caplog.text
    assert found(index, "cat", of=["e"]) == ["b"]
    assert not index.damaged and index.rarity("cat") > 0
    index.close()


def test_a_write_is_seen_by_what_was_read_before(tmp_path: Path):
    index = LanceWordIndex(tmp_path / "words")
    index.add(entries("The elections were annulled."))
    assert found(index, "présidentielle") == []
    before = index.rarity("elect")
    index.add(entries("Les élections présidentielles ont été annulées.", document="f"))
    assert found(index, "présidentielle") == ["f-0"]
    assert index.rarity("elect") != before
    index.close()


@pytest.mark.parametrize("part", ["_indices", "data", "_versions"])
def test_damaged_files_are_found_by_a_check_or_at_the_start(tmp_path: Path, part: str):
    index = LanceWordIndex(tmp_path / "words")
    index.add(entries("cat", "dog"))
    index.check()
    index.close()
    files = [path for path in (tmp_path / "words" / "words.lance" / part).rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(b"\x7f" * path.stat().st_size)
    index = LanceWordIndex(tmp_path / "words")
    if not index.stale:
        with pytest.raises(IndexUnusable):
            index.check()
        assert index.damaged
    index.clear()
    index.add(entries("cat"))
    index.check()
    assert found(index, "cat") == ["d-0"]
    index.close()


def test_an_index_whose_making_was_cut_off_is_finished(tmp_path: Path):
    columns = [(name, pa.string()) for name in ("id", "document_id", "languages", "text")]
    whole = LanceWordIndex(tmp_path / "whole")
    schema = pa.schema(columns, whole._table().schema.metadata)
    LanceTable.make(tmp_path / "words", "words", schema)  # killed before the index of words was made
    index = LanceWordIndex(tmp_path / "words")
    index.add(entries("cat", "dog"))
    assert found(index, "cat") == ["d-0"] and index._table().has_index("text")
    index.close()
    whole.close()


def test_a_graph_finds_the_neighbours_that_a_comparison_with_all_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rag.index.lance.GRAPH_FROM", 3000)
    vectors = np.random.default_rng(7).normal(size=(4000, 32)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    index = LanceVectorIndex(ByAngle(), tmp_path / "vectors", named_only)
    for start in range(0, 4000, 1000):
        ids = [str(n) for n in range(start, start + 1000)]
        index.add_vectors(ids, vectors[start : start + 1000], [{"document_id": "d"}] * 1000)
    assert index._table().has_index("vector")
    hits = 0
    for n in range(0, 4000, 100):
        true = {str(i) for i in np.argsort(-unit @ unit[n])[:10]}
        near = index.nearest(vectors[n].tolist(), 10)
        hits += len(true & {id_ for id_, _ in near})
        assert near[0] == (str(n), pytest.approx(0, abs=1e-4))
    assert hits >= 380
    index.check()
    index.close()
    assert GRAPH_FROM > BATCH


def test_another_number_of_numbers_is_refused_in_a_sentence(tmp_path: Path):
    index = LanceVectorIndex(ByAngle(), tmp_path / "vectors", named_only)
    index.add_vectors(["a"], [[1.0, 0.0]], [{"document_id": "d"}])
    with pytest.raises(IndexUnusable, match="vectors of 2 numbers, not 3") as raised:
        index.nearest([1.0, 2.0, 3.0], 1)
    assert str(raised.value).count("\n") == 0
    index.add_vectors(["zero"], [[0.0, 0.0]], [{"document_id": "d"}])
    index.check()
    view = index.read_by(named_only)
    view.nearest([1.0, 0.0], 1)
    index.close()
    with pytest.raises(IndexUnusable, match="closed"):
        view.ids()
