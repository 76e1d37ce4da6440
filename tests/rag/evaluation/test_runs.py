import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import Cancelled, RetrievalError
from rag.evaluation.datasets import QuestionSet
from rag.evaluation.metrics import METRICS
from rag.evaluation.runs import QuestionResult, ask_all, summarize_results
from rag.retrieval.bm25 import BM25Retriever

CORPUS = (
    Document(id="d1", page_content="고양이는 동물이다."),
    Document(id="d2", page_content="Dogs bark."),
    Document(id="d3", page_content="犬がいる。"),
)
QUESTIONS = QuestionSet(
    name="animals",
    corpus=CORPUS,
    questions={"q1": "고양이", "q2": "dog"},
    judgements={"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d3": 0.0}},
)


class Broken(BaseRetriever):
    error: type[Exception]

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
        raise self.error("The disk is gone.")


def words() -> BM25Retriever:
    return BM25Retriever.from_documents(CORPUS, k=10)


def test_each_answer_says_who_found_what_where_and_how_long_it_took():
    one, two = ask_all(QUESTIONS, {"words": words()})
    assert (one.retriever, one.question_id, one.found, one.error) == ("words", "q1", ("d1",), None)
    assert (two.question_id, two.found) == ("q2", ("d2",))
    assert one.ms > 0


@pytest.mark.parametrize("error", [RetrievalError, KeyError])
def test_a_retriever_that_fails_is_asked_on_and_its_errors_are_told(error):
    answered = list(ask_all(QUESTIONS, {"broken": Broken(error=error), "words": words()}))
    assert [answer.retriever for answer in answered] == ["broken", "broken", "words", "words"]
    assert all("The disk is gone." in (answer.error or "") for answer in answered[:2])
    broken = summarize_results(QUESTIONS, "broken", answered)
    assert (broken.queries, broken.errors) == (2, 2)
    assert set(broken.metrics.values()) == {0.0}


def test_a_summary_has_the_means_over_all_questions():
    result = summarize_results(QUESTIONS, "words", ask_all(QUESTIONS, {"words": words()}))
    assert (result.retriever, result.queries, result.errors) == ("words", 2, 0)
    assert result.metrics == dict.fromkeys(METRICS, 1.0)
    assert 0 < result.p50_ms <= result.p95_ms


def test_a_question_without_an_answer_is_one_that_found_nothing():
    result = summarize_results(QUESTIONS, "words", [QuestionResult("words", "q1", ("x", "d1"), 2.0)])
    assert (result.queries, result.errors, result.p95_ms) == (2, 0, 2.0)
    assert result.metrics["mrr@10"] == 0.25
    assert summarize_results(QUESTIONS, "nobody", []).metrics["mrr@10"] == 0.0


def test_a_run_stops_before_the_next_question():
    asked: list[QuestionResult] = []
    with pytest.raises(Cancelled):
        asked.extend(ask_all(QUESTIONS, {"words": words()}, cancelled=lambda: True))
    run = ask_all(QUESTIONS, {"words": words()}, cancelled=lambda: len(asked) == 1)
    with pytest.raises(Cancelled):
        for answer in run:
            asked.append(answer)  # noqa: PERF402 - what came before the stop is kept
    assert [answer.question_id for answer in asked] == ["q1"]
