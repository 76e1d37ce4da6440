from pathlib import Path

import pytest

from rag.index.chroma import ExactCopy
from rag.index.exact import Entries, VectorFile


class Shelf:
    """An index: id to document and vector."""

    def __init__(self):
        self.kept = {"a": ("d", [1.0, 0.0]), "b": ("d", [0.0, 1.0]), "c": ("e", [0.6, 0.8])}

    def ids(self):
        return set(self.kept)

    def count(self):
        return len(self.kept)

    def entries(self, ids):
        there = [id_ for id_ in ids if id_ in self.kept]
        return Entries(there, [self.kept[id_][0] for id_ in there], [self.kept[id_][1] for id_ in there])


@pytest.fixture
def shelf():
    return Shelf()


def nearest(copy: ExactCopy, k: int = 9) -> list[str]:
    return [id_ for id_, _ in copy.rows.nearest([1.0, 0.0], k, ["d", "e"], "cosine")]


def opened(folder: Path, shelf: Shelf) -> ExactCopy:
    return ExactCopy(shelf, VectorFile(folder, "chunks"))


def test_an_index_that_was_there_before_is_copied(tmp_path, shelf):
    copy = opened(tmp_path, shelf)
    assert nearest(copy) == ["a", "c", "b"]
    there, vectors = copy.rows.vectors(["c", "x"])
    assert there == ["c"]
    assert vectors[0].tolist() == pytest.approx([0.6, 0.8])
    copy.close()


def test_what_changed_while_nobody_looked_is_mended_at_the_next_opening(tmp_path, shelf):
    copy = opened(tmp_path, shelf)
    nearest(copy)
    copy.close()
    del shelf.kept["a"]
    again = opened(tmp_path, shelf)
    assert nearest(again) == ["c", "b"]
    again.close()


@pytest.mark.parametrize("reopened", [False, True])
def test_a_change_that_ended_between_index_and_copy_is_made_up_for(tmp_path, shelf, reopened):
    copy = opened(tmp_path, shelf)
    nearest(copy)
    with pytest.raises(OSError, match="no space"), copy.changing(["a", "b"]):
        shelf.kept["b"] = ("d", [1.0, 0.1])
        shelf.kept["a"] = ("d", [-1.0, 0.0])
        raise OSError("no space")
    if reopened:
        copy.close()
        copy = opened(tmp_path, shelf)
    assert nearest(copy) == ["b", "c", "a"]
    copy.close()
