import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from rag.errors import RetrievalError
from rag.retrieval.bm25 import BM25Retriever
from rag.retrieval.ensemble import EnsembleRetriever
from rag.retrieval.fusion import theoretical_min_max


class Fixed(BaseRetriever):
    """Finds what it was given, after a while, or fails."""

    documents: Sequence[Document] = ()
    wait: Callable[[], object] = bool
    error: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
        self.wait()
        if self.error is not None:
            raise self.error
        return list(self.documents)


def fixed(*scores: tuple[str, float], **kwargs: Any) -> Fixed:
    documents = [Document(f"text {id_}", id=id_, metadata={"score": score}) for id_, score in scores]
    return Fixed(documents=documents, **kwargs)


WORDS = fixed(("a", 8.0), ("b", 4.0))
MEANING = fixed(("b", 0.9), ("c", 0.45))
HANGS = fixed(wait=partial(time.sleep, 20))  # longer than any test here waits


class TestEnsembleStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[EnsembleRetriever]:
        return EnsembleRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        texts = [f"text {n}" for n in range(10)]
        ids = [str(n) for n in range(10)]
        return {
            "retrievers": {name: BM25Retriever.from_texts(texts, ids=ids, k=10) for name in ("one", "two")}
        }

    @property
    def retriever_query_example(self) -> str:
        return "text"


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_scores_are_combined_and_each_result_says_who_found_it():
    ensemble = EnsembleRetriever(
        retrievers={"words": WORDS, "meaning": MEANING},
        weights={"words": 0.4, "meaning": 0.6},
        method="cc",
        normalisers=dict.fromkeys(("words", "meaning"), theoretical_min_max(0.0)),
    )
    b, a, c = ensemble.invoke("question")
    assert ids([b, a, c]) == ["b", "a", "c"]
    assert b.metadata["score"] == pytest.approx(0.4 * 0.5 + 0.6)
    assert b.metadata["found_by"] == {
        "words": {"rank": 2, "score": 4.0, "normalised": 0.5},
        "meaning": {"rank": 1, "score": 0.9, "normalised": 1.0},
    }
    assert set(c.metadata["found_by"]) == {"meaning"}


def test_reciprocal_ranks_with_weights():
    ensemble = EnsembleRetriever(retrievers=[WORDS, MEANING], weights=[0.9, 0.1], method="rrf", c=1, k=2)
    a, b = ensemble.invoke("question")
    assert (a.id, a.metadata["score"]) == ("a", pytest.approx(0.9 / 2))
    assert (b.id, b.metadata["score"]) == ("b", pytest.approx(0.9 / 3 + 0.1 / 2))
    assert set(b.metadata["found_by"]) == {"1", "2"}


def test_the_order_of_the_retrievers_does_not_matter():
    weights = {"words": 0.4, "meaning": 0.6}
    one = EnsembleRetriever(retrievers={"words": WORDS, "meaning": MEANING}, weights=weights)
    two = EnsembleRetriever(retrievers={"meaning": MEANING, "words": WORDS}, weights=weights)
    assert one.invoke("q") == two.invoke("q")


def test_equal_texts_keep_their_own_metadata_where_ids_are_shared():
    documents = [Document("same", id=str(page), metadata={"page": page, "score": 1.0}) for page in (1, 2)]
    found = EnsembleRetriever(retrievers={"x": Fixed(documents=documents)}, by_id=True).invoke("q")
    assert [document.metadata["page"] for document in found] == [1, 2]


def test_documents_are_keyed_by_metadata_or_by_text_where_that_is_asked():
    documents = [Document("same", metadata={"key": key}) for key in ("k1", "k2", "k1")]
    retriever = Fixed(documents=documents)
    assert len(EnsembleRetriever(retrievers=[retriever], id_key="key").invoke("q")) == 2
    assert len(EnsembleRetriever(retrievers=[retriever]).invoke("q")) == 1


def test_what_retrievers_return_is_not_written_into():
    EnsembleRetriever(retrievers=[WORDS, MEANING]).invoke("q")
    assert WORDS.documents[0].metadata == {"score": 8.0}


def test_normalisers_may_be_chosen():
    ensemble = EnsembleRetriever(retrievers={"words": WORDS}, method="cc")
    assert ensemble.invoke("q")[-1].metadata["score"] == 0.0, "min-max"
    from_zero = ensemble.model_copy(update={"normalisers": {"words": theoretical_min_max(0.0)}})
    assert from_zero.invoke("q")[-1].metadata["score"] == 0.5


def test_retrievers_run_in_parallel():
    together = threading.Barrier(4, timeout=30)  # passed by all four at once, or by none
    retrievers = [fixed(("a", 1.0), wait=together.wait) for _ in range(4)]
    found = EnsembleRetriever(retrievers=retrievers).invoke("q")
    assert ids(found) == ["a"] and not together.broken


@pytest.mark.parametrize(
    ("broken", "said"),
    [(fixed(error=OSError("disk gone")), "disk gone"), (HANGS, "no answer within 2 seconds")],
    ids=["fails", "hangs"],
)
def test_a_retriever_that_fails_or_hangs_is_left_out_and_named(broken: Fixed, said: str):
    failures: list[tuple[str, str]] = []
    ensemble = EnsembleRetriever(
        retrievers={"words": WORDS, "meaning": broken},
        timeout=2,
        on_failure=lambda name, error: failures.append((name, str(error))),
    )
    assert ids(ensemble.invoke("q")) == ["a", "b"]
    assert failures == [("meaning", said)]


def test_when_all_fail_the_error_names_each():
    ensemble = EnsembleRetriever(
        retrievers={
            "words": fixed(error=OSError("disk gone")),
            "meaning": fixed(error=ValueError("no model")),
        },
        on_failure=lambda *_: None,
    )
    with pytest.raises(RetrievalError, match="meaning: no model words: disk gone"):
        ensemble.invoke("q")


async def test_a_failure_that_nobody_is_told_of_fails_the_search():
    ensemble = EnsembleRetriever(retrievers=[WORDS, fixed(error=OSError("disk gone"))])
    with pytest.raises(OSError, match="disk gone"):
        ensemble.invoke("q")
    with pytest.raises(OSError, match="disk gone"):
        await ensemble.ainvoke("q")


@pytest.mark.parametrize(
    "options",
    [
        {"retrievers": {}},
        {"retrievers": {"words": WORDS}, "weights": {"word": 1.0}},
        {"retrievers": [WORDS, MEANING], "weights": [1.0]},
        {"retrievers": [WORDS], "method": "sum"},
        {"retrievers": [WORDS, MEANING], "weights": [0.9, 0.3], "method": "cc"},
    ],
)
def test_what_does_not_fit_together_is_refused_at_once(options: dict[str, Any]):
    with pytest.raises(ValueError, match=r"retrievers|method|weights"):
        EnsembleRetriever(**options)


def test_no_thread_is_left_when_all_have_answered():
    EnsembleRetriever(retrievers={"quick": WORDS, "quick too": MEANING}).invoke("q")
    for thread in threading.enumerate():
        if thread.name.startswith("retrieve quick"):
            thread.join(30)
            assert not thread.is_alive()


async def test_async_gives_the_same():
    ensemble = EnsembleRetriever(retrievers=[WORDS, MEANING])
    assert await ensemble.ainvoke("q") == ensemble.invoke("q")


async def test_async_leaves_out_a_retriever_that_hangs_too():
    told: list[str] = []
    ensemble = EnsembleRetriever(
        retrievers=[WORDS, HANGS], timeout=2, on_failure=lambda _, error: told.append(str(error))
    )
    assert ids(await ensemble.ainvoke("q")) == ["a", "b"]
    assert told == ["no answer within 2 seconds"]


def test_an_inner_join_keeps_what_all_found():
    ensemble = EnsembleRetriever(retrievers=[WORDS, MEANING], join="inner")
    assert ids(ensemble.invoke("q")) == ["b"]
    assert ids(ensemble.model_copy(update={"method": "cc"}).invoke("q")) == ["b"]


def test_ids_with_scores_of_the_best():
    options = {"retrievers": [WORDS, MEANING], "weights": [0.5, 0.5], "method": "cc"}
    found = EnsembleRetriever(**options).retrieve_id_with_scores("q", top_k=2)
    assert found == (["a", "b"], [0.5, 0.5])
    by_rank = EnsembleRetriever(retrievers=[WORDS, MEANING]).retrieve_id_with_scores("q")
    assert by_rank == (["b", "a", "c"], [0.5 / 62 + 0.5 / 61, 0.5 / 61, 0.5 / 62])


def test_ranks_are_shared_by_equal_scores_where_that_is_asked():
    tied = fixed(("a", 2.0), ("b", 2.0), ("c", 1.0))
    found = EnsembleRetriever(retrievers=[tied], c=1, ties="share").retrieve_id_with_scores("q")
    assert found == (["a", "b", "c"], [1 / 2, 1 / 2, 1 / 4])


def test_the_pool_is_what_each_retriever_is_asked_for():
    texts = [f"lamp {number}" for number in range(9)]
    members = [BM25Retriever.from_texts(texts, k=2), fixed(*((text, 1.0) for text in texts))]
    assert len(EnsembleRetriever(retrievers=members, p=3).invoke("lamp")) == 6
    assert len(EnsembleRetriever(retrievers=members).invoke("lamp")) == 11
