import threading

import pytest

from rag.errors import FootnoteError
from rag.undo import Deletions


@pytest.fixture
def deleted() -> list[str]:
    return []


def test_what_is_deleted_is_hidden_at_once_and_deleted_when_its_time_is_over(deleted):
    over = threading.Event()
    deletions = Deletions(0.05)
    deletions.start("a.md", ["a"], lambda id_: (deleted.append(id_), over.set()))
    assert deletions.hidden == {"a"} and deleted == []
    assert over.wait(10)
    assert deleted == ["a"]


def test_a_deletion_that_is_undone_does_not_happen(deleted):
    deletions = Deletions(60)
    deletions.start("a.md", ["a"], deleted.append)
    deletions.start("2 documents", ["b", "c"], deleted.append)
    assert deletions.latest is not None and deletions.latest.said == "2 documents"
    undone = deletions.undo()
    assert undone is not None and undone.ids == {"b", "c"}
    assert deletions.hidden == {"a"}
    deletions.finish()
    assert deleted == ["a"] and deletions.hidden == frozenset()
    assert deletions.undo() is None


def test_one_that_cannot_be_deleted_does_not_keep_the_others(deleted):
    def act(id_: str) -> None:
        if id_ == "gone":
            raise FootnoteError("It was deleted in another tab.")
        deleted.append(id_)

    deletions = Deletions(60)
    deletions.start("three", ["a", "gone", "b"], act)
    deletions.finish()
    assert sorted(deleted) == ["a", "b"]
