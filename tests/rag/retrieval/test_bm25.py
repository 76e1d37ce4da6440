import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_community.retrievers import BM25Retriever as LangChainBM25
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests
from rank_bm25 import BM25Okapi

from rag.errors import RetrievalError
from rag.index.bm25 import TantivyIndex
from rag.index.lexical import Entry
from rag.retrieval.bm25 import BM25Retriever, default_preprocessing_func

TEXTS = [
    "The cat sat on the mat.",
    "서울은 대한민국의 수도이다.",
    "東京は日本の首都です。",
    "Dogs run in the park.",
    "A cat and a dog.",
]


class TestBM25Standard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BM25Retriever]:
        return BM25Retriever

    @property
    def retriever_constructor_params(self) -> dict:
        made = BM25Retriever.from_texts([f"text {n}" for n in range(10)])
        return {"index": made.index, "hydrate": made.hydrate}

    @property
    def retriever_query_example(self) -> str:
        return "text"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("cats", {0, 4}),
        ("한국의 수도", {1}),
        ("日本の首都", {2}),
        ("running dogs", {3, 4}),
        ("the of", set()),
        ("", set()),
    ],
)
def test_finds_what_shares_words_in_three_languages(question: str, expected: set[int]):
    found = BM25Retriever.from_texts(TEXTS, ids=map(str, range(5))).invoke(question)
    assert {int(document.id or "") for document in found} == expected


def test_results_keep_their_metadata_and_tell_their_score():
    retriever = BM25Retriever.from_texts(["a cat", "a dog"], [{"page": 1}, {"page": 2}], ["x", "y"])
    [found] = retriever.invoke("cat")
    assert found.id == "x"
    assert found.metadata["page"] == 1
    assert found.metadata["score"] > 0


def test_what_was_given_is_not_written_into():
    document = Document("a cat", metadata={"page": 1})
    BM25Retriever.from_documents([document]).invoke("cat")
    assert document.metadata == {"page": 1}


def test_own_tokens_may_be_given():
    retriever = BM25Retriever.from_texts(["a-b c", "a b-c"], preprocess_func=str.split)
    assert [found.page_content for found in retriever.invoke("a-b")] == ["a-b c"]


def test_lists_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="argument"):
        BM25Retriever.from_texts(["a", "b"], [{}])


def test_equal_texts_keep_their_own_metadata():
    retriever = BM25Retriever.from_texts(["a cat"] * 3, [{"page": page} for page in range(3)])
    assert {found.metadata["page"] for found in retriever.invoke("cat")} == {0, 1, 2}


def test_k_may_be_set_and_asked_for_and_what_is_unknown_is_refused():
    retriever = BM25Retriever.from_texts(["a cat"] * 9, k=3)
    assert len(retriever.invoke("cat")) == 3
    assert len(retriever.invoke("cat", k=5)) == 5
    with pytest.raises(ValueError, match="k1"):
        BM25Retriever.from_texts(["a cat"], k1=2.0)


def test_documents_come_and_go_between_questions():
    retriever = BM25Retriever.from_texts(["a cat"], ids=["1"])
    assert retriever.add_texts(["two cats", "a dog"], [{"page": 2}, {}], ["2", "3"]) == ["2", "3"]
    [added] = retriever.add_documents([Document("cats", metadata={"page": 4})])
    assert {found.id for found in retriever.invoke("cat")} == {"1", "2", added}
    retriever.add_texts(["no longer"], ids=["1"])
    retriever.delete(["2", "never there"])
    assert [found.id for found in retriever.invoke("cat")] == [added]
    retriever.delete()
    assert retriever.invoke("cat dog") == []


def test_documents_that_are_kept_elsewhere_are_not_changed_here():
    retriever = BM25Retriever(index=TantivyIndex(), hydrate=lambda _: {})
    for change in (lambda: retriever.add_texts(["a cat"]), lambda: retriever.delete(["1"])):
        with pytest.raises(RetrievalError, match="elsewhere"):
            change()
    assert retriever.index is not None and retriever.index.ids() == set()


async def test_every_way_of_asking_gives_the_same():
    retriever = BM25Retriever.from_texts(TEXTS, ids=map(str, range(5)))
    found = retriever.invoke("cats")
    assert retriever.batch(["cats", "dogs"]) == [found, retriever.invoke("dogs")]
    assert list(retriever.stream("cats")) == [found]
    assert await retriever.ainvoke("cats") == found
    assert await retriever.abatch(["cats"]) == [found]
    assert [part async for part in retriever.astream("cats")] == [found]


def test_a_persistent_index_takes_and_loses_entries_between_questions(tmp_path: Path):
    index = TantivyIndex(tmp_path / "words")
    store = {"1": Document("a cat"), "2": Document("two cats")}
    retriever = BM25Retriever(index=index, hydrate=lambda ids: {i: store[i] for i in ids if i in store}, k=5)
    assert retriever.invoke("cat") == []
    index.add(
        [Entry("1", "d", "a cat"), Entry("2", "d", "two cats"), Entry("3", "d", "a cat that left the store")]
    )
    assert {found.id for found in retriever.invoke("cat")} == {"1", "2"}
    index.delete(["1"])
    assert [found.id for found in retriever.invoke("cat")] == ["2"]


def test_only_the_chosen_documents_are_searched():
    documents = [Document("cat", metadata={"document_id": name}, id=name) for name in "abc"]
    made = BM25Retriever.from_documents(documents)
    limited = BM25Retriever(index=made.index, hydrate=made.hydrate, k=1, document_ids=["c"])
    assert [found.id for found in limited.invoke("cat")] == ["c"]


LINES = [
    "the castle of Aldenburg was built in 1432",
    "the lamp burned whale oil",
    "the keeper lit the lamp",
    "등불은 고래기름으로 탔다",
]
ASKED = ["the lamp", "castle oil", "등불은 무엇으로 탔나", "nothing of it"]


@pytest.mark.parametrize("params", [{}, {"k1": 0.4, "b": 0.1}, {"epsilon": 0.9}])
@pytest.mark.parametrize("preprocess", [str.split, default_preprocessing_func])
def test_parameters_of_bm25_find_what_langchains_retriever_finds(params: dict, preprocess: Any):
    options: dict[str, Any] = {"bm25_params": params, "preprocess_func": preprocess, "k": 3}
    theirs, ours = LangChainBM25.from_texts(LINES, **options), BM25Retriever.from_texts(LINES, **options)
    for question in ASKED:
        found = ours.invoke(question)
        assert [each.page_content for each in found] == [e.page_content for e in theirs.invoke(question)]
        scores = list(theirs.vectorizer.get_scores(preprocess(question)))
        assert [each.metadata["score"] for each in found] == [
            scores[LINES.index(each.page_content)] for each in found
        ]
    assert ours.docs[0].page_content == LINES[0] and ours.preprocess_func is preprocess
    with pytest.raises(RetrievalError, match="another one"):
        ours.add_texts(["more"])


def test_a_vectorizer_over_documents_is_searched():
    docs = [Document(line, id=str(number)) for number, line in enumerate(LINES)]
    vectorizer = BM25Okapi([line.split() for line in LINES])
    options: dict[str, Any] = {"vectorizer": vectorizer, "docs": docs, "preprocess_func": str.split, "k": 2}
    theirs, ours = LangChainBM25(**options), BM25Retriever(**options)
    for question in ASKED:
        assert [each.id for each in ours.invoke(question)] == [each.id for each in theirs.invoke(question)]


def test_without_an_index_and_a_vectorizer_it_says_how_to_be_made():
    with pytest.raises(ValueError, match="from_texts"):
        BM25Retriever(docs=[Document("a cat")])


def test_parameters_without_their_package_are_refused_with_a_cure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rank_bm25", None)
    with pytest.raises(ValueError, match="pip install rank-bm25"):
        BM25Retriever.from_texts(LINES, bm25_params={"k1": 2.0})


def test_documents_in_memory_can_be_had():
    retriever = BM25Retriever.from_texts(["a cat"], [{"page": 1}], ["x"])
    assert retriever.docs == [Document("a cat", id="x", metadata={"page": 1})]
    with pytest.raises(RetrievalError, match="elsewhere"):
        _ = BM25Retriever(index=TantivyIndex(), hydrate=lambda _: {}).docs
