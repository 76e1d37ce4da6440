from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.retrievers.reading import ReadLast


class Labelled(BaseRetriever):
    """Finds ids, best first, without a text."""

    ids: Sequence[str]

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
        return [
            Document("", id=id_, metadata={"document": "a.txt", "score": 1 / rank})
            for rank, id_ in enumerate(self.ids, start=1)
        ]


class Shelf:
    """Texts by id; it remembers which were read."""

    def __init__(self, *ids: str):
        self.texts = {id_: Document(f"text {id_}", id=id_, metadata={"page": 3}) for id_ in ids}
        self.read: list[str] = []

    def __call__(self, ids: Sequence[str]) -> dict[str, Document]:
        self.read += ids
        return {id_: self.texts[id_] for id_ in ids if id_ in self.texts}


def test_the_best_are_read_and_keep_their_scores_and_nothing_else_is_read():
    shelf = Shelf("a", "b", "c", "d")
    found = ReadLast(retriever=Labelled(ids=["c", "a", "d"]), hydrate=shelf, k=2).invoke("?")
    assert [document.page_content for document in found] == ["text c", "text a"]
    assert found[0].metadata == {"document": "a.txt", "page": 3, "score": 1.0}
    assert shelf.read == ["c", "a"]


def best(ids: Sequence[str], shelf: Shelf, k: int) -> list[str | None]:
    found = ReadLast(retriever=Labelled(ids=ids), hydrate=shelf, k=k).invoke("?")
    return [document.id for document in found]


def test_what_is_gone_makes_way_for_the_next():
    assert best(["x", "a", "y", "z", "b", "c"], Shelf("a", "b", "c"), 2) == ["a", "b"]


def test_there_may_be_fewer_or_none():
    assert best(["x", "a"], Shelf("a"), 4) == ["a"]
    assert best([], Shelf(), 4) == []
    assert best(["a"], Shelf("a"), 0) == []


def test_a_question_may_want_more_or_fewer():
    retriever = ReadLast(retriever=Labelled(ids=["a", "x", "b"]), hydrate=Shelf("a", "b"), k=1)
    assert [document.id for document in retriever.invoke("?", k=5)] == ["a", "b"]
