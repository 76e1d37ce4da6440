import threading

import pytest

from rag.errors import FootnoteError
from rag.undo import GRACE, Deletions


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


def test_one_is_offered_to_be_undone_for_less_long_than_it_can_be(deleted):
    deletions = Deletions(GRACE)
    deletions.start("a.md", ["a"], deleted.append)
    assert deletions.offered() is None  # a press that is still on its way finds it
    assert deletions.undo() is not None and deleted == []
    longer = Deletions(GRACE + 60)
    longer.start("b.md", ["b"], deleted.append)
    offered = longer.offered()
    assert offered is not None and offered[0].said == "b.md" and 0 < offered[1] <= 60
    longer.complete(offered[0])
    longer.complete(offered[0])
    assert longer.offered() is None and deleted == ["b"]


def test_what_is_hidden_elsewhere_is_restored_by_an_undo_and_left_alone_without_one(deleted):
    deletions = Deletions(60)
    deletions.start_discarded("a chat", ["a"], deleted.append)
    deletions.start_discarded("another", ["b"], deleted.append)
    assert deletions.hidden == frozenset()
    undone = deletions.undo()
    assert undone is not None and undone.ids == {"b"} and deleted == ["b"]
    deletions.finish()
    assert deletions.latest is None and deleted == ["b"]


def test_one_that_cannot_be_deleted_does_not_keep_the_others(deleted):
    def act(id_: str) -> None:
        if id_ == "gone":
            raise FootnoteError("It was deleted in another tab.")
        deleted.append(id_)

    deletions = Deletions(60)
    deletions.start("three", ["a", "gone", "b"], act)
    deletions.finish()
    assert sorted(deleted) == ["a", "b"]
