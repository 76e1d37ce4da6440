from collections.abc import Sequence

from langchain_core.documents import Document

from rag.retrievers.reading import read


class Shelf:
    """Texts by id; it remembers which were read."""

    def __init__(self, *ids: str):
        self.texts = {id_: Document(f"text {id_}", id=id_, metadata={"page": 3}) for id_ in ids}
        self.read: list[str] = []

    def __call__(self, ids: Sequence[str]) -> dict[str, Document]:
        self.read += ids
        return {id_: self.texts[id_] for id_ in ids if id_ in self.texts}


def best(ids: Sequence[str], shelf: Shelf, count: int) -> list[str | None]:
    return [document.id for document in read(ids, count, shelf)]


def test_the_best_are_read_and_nothing_else_is():
    shelf = Shelf("a", "b", "c", "d")
    assert [document.page_content for document in read(["c", "a", "d"], 2, shelf)] == ["text c", "text a"]
    assert shelf.read == ["c", "a"]


def test_what_is_gone_makes_way_for_the_next():
    assert best(["x", "a", "y", "z", "b", "c"], Shelf("a", "b", "c"), 2) == ["a", "b"]


def test_there_may_be_fewer_or_none():
    assert best(["x", "a"], Shelf("a"), 4) == ["a"]
    assert best([], Shelf(), 4) == []
    assert best(["a"], Shelf("a"), 0) == []
