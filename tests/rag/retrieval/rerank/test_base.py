import threading
import time
from collections.abc import Callable, Sequence

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import Cancelled, LLMUnreachable, RerankError
from rag.jobs import Cancel
from rag.passage import Found, Passage
from rag.retrieval.rerank.base import NAME, Reranker, RerankScores
from rag.retrieval.rerank.registry import RerankingRetriever
from tests.rag.retrieval.rerank.retrieved import found, ids


class Given(Reranker):
    """Gives the scores that it was made with, or does what it was made to do."""

    scores: Sequence[float | None] = ()
    act: Callable[[Cancel], object] = lambda _: None

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> RerankScores:
        self.act(cancelled)
        return RerankScores(self.scores, "By hand.")


class Told:
    """Notes what it is told of a failure."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def __call__(self, what: str, error: Exception) -> None:
        self.told.append((what, str(error)))


def failing(error: Exception) -> Callable[[Cancel], object]:
    def act(_: Cancel) -> object:
        raise error

    return act


def until_told(cancelled: Cancel) -> None:
    while not cancelled():
        time.sleep(0.01)


def test_passages_come_in_the_order_of_their_scores_and_keep_all_they_had():
    given = found("one", "two", "three")
    before = [document.model_copy(deep=True) for document in given]
    reranker = Given(scores=[0.5, -2.0, 3.0])
    assert isinstance(reranker, BaseDocumentCompressor)
    best, *others = reranker.compress_documents(given, "?")
    assert ids([best, *others]) == ["3", "1", "2"]
    assert (best.page_content, best.metadata["page"], best.metadata["score"]) == ("three", 3, 3.0)
    by = Passage.from_document(best).found_by
    assert by == {"bm25": Found(3, 1 / 3, 1 / 3), NAME: Found(1, 3.0, 1.0)}
    assert Passage.from_document(others[1]).found_by[NAME] == Found(3, -2.0, 0.0)
    assert given == before


def test_equal_scores_keep_the_order_and_k_cuts():
    assert ids(Given(scores=[1.0, 2.0, 1.0, 2.0], k=3).compress_documents(found(*"abcd"), "?")) == [
        "2",
        "4",
        "1",
    ]


def test_a_threshold_drops_what_is_weak_and_says_so():
    result = Given(scores=[-1.0, 4.0, 0.0], threshold=0.0).rerank(found(*"abc"), "?")
    assert ids(result.documents) == ["2", "3"]
    assert result.note == "By hand. 1 of 3 passages were dropped as too weak."
    assert Given(scores=[-1.0], threshold=0.0).rerank(found("a"), "?").documents == []


def test_who_has_no_score_keeps_its_place():
    result = Given(scores=[0.1, None, 0.9, float("nan"), 0.5]).rerank(found(*"abcde"), "?")
    assert ids(result.documents) == ["3", "2", "5", "4", "1"]
    assert "2 of 5 passages have no score" in result.note
    assert NAME not in result.documents[1].metadata["found_by"]


@pytest.mark.parametrize(
    ("reranker", "why"),
    [
        (Given(act=failing(LLMUnreachable("The model is gone. Start it."))), "The model is gone. Start it."),
        (Given(act=failing(ZeroDivisionError("secret"))), "The reranker failed (ZeroDivisionError)."),
        (Given(scores=[1.0]), "The reranker scored 1 of 3 passages."),
        (Given(scores=[None, None, 2.0]), "The reranker scored 1 of 3 passages."),
        (Given(scores=[float("inf"), float("nan"), 2.0]), "The reranker scored 1 of 3 passages."),
        (Given(act=until_told, seconds=0.2), "The reranker took more than 0.2 seconds."),
    ],
)
def test_where_it_fails_the_order_is_the_incoming_one_and_it_says_why(reranker: Given, why: str):
    told = Told()
    given = found(*"abc")
    result = reranker.model_copy(update={"on_failure": told, "k": 2}).rerank(given, "?")
    assert result.documents == given[:2]
    assert result.note.startswith("The passages are in the order of the search: the ")
    assert why.casefold() in result.note.casefold()
    assert "secret" not in result.note
    ((what, sentence),) = told.told
    assert what == NAME and sentence.startswith(why)
    assert result.failure is not None and "score" not in str(result.documents[0].metadata["found_by"].keys())


def test_work_that_never_looks_up_is_left_behind():
    done = threading.Event()
    result = Given(act=lambda _: done.wait(60), seconds=0.2).rerank(found(*"ab"), "?")
    assert isinstance(result.failure, RerankError) and not done.is_set()
    done.set()


def test_a_reader_who_cancels_ends_it_at_once_and_the_work_is_told():
    stopped, begun = threading.Event(), threading.Event()

    def act(cancelled: Cancel) -> None:
        begun.set()
        until_told(cancelled)
        stopped.set()

    with pytest.raises(Cancelled):
        Given(act=act, seconds=60).rerank(found(*"ab"), "?", cancelled=begun.is_set)
    assert stopped.wait(10)


def test_nothing_is_asked_of_nothing():
    assert Given(act=failing(ValueError())).rerank([], "?").documents == []


class Numbers(BaseRetriever):
    """Finds as many documents as it is asked for."""

    def _get_relevant_documents(self, query: str, *, run_manager, k: int = 4) -> list[Document]:
        return found(*(str(number) for number in range(k)))


class Four(BaseRetriever):
    """Finds four documents, and takes no number."""

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
        return found(*"abcd")


def test_any_retriever_can_be_wrapped():
    more = RerankingRetriever(retriever=Numbers(), reranker=Given(scores=range(6)), fetch_k=6, k=2)
    assert ids(more.invoke("?")) == ["6", "5"] and ids(more.invoke("?", k=1)) == ["6"]
    four = RerankingRetriever(retriever=Four(), reranker=Given(scores=range(4)), k=2)
    assert ids(four.invoke("?")) == ["4", "3"]
