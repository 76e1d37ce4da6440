from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from rag.errors import RetrievalError
from rag.index.chroma import ChromaVectorStore
from rag.index.vector_index import SEARCH_TYPES, VectorStoreRetriever

TEXTS = [f"text {n}" for n in range(6)]
STORES = {
    "chroma": lambda: ChromaVectorStore.from_texts(
        TEXTS, DeterministicFakeEmbedding(size=8), clamp_relevance=True
    ),
    "another's": lambda: Scored.from_texts(TEXTS, DeterministicFakeEmbedding(size=8)),
}


class Scored(InMemoryVectorStore):
    """LangChain's store in memory, whose scores are cosines."""

    def _select_relevance_score_fn(self):
        return lambda cosine: max(0.0, cosine)


class TestVectorStoreRetrieverStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> Any:
        return lambda k=4: VectorStoreRetriever(vectorstore=STORES["chroma"](), search_kwargs={"k": k})

    @property
    def retriever_query_example(self) -> str:
        return "text 3"


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> VectorStore:
    return STORES[request.param]()


@pytest.mark.parametrize("search_type", ["similarity", "similarity_score_threshold"])
def test_results_tell_their_relevance(store: VectorStore, search_type: str):
    options = {"k": 6, "score_threshold": 0.1}
    found = VectorStoreRetriever(vectorstore=store, search_type=search_type, search_kwargs=options).invoke(
        "text 3"
    )
    scores = [document.metadata["score"] for document in found]
    assert found[0].page_content == "text 3"
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= 0.1


def test_mmr_tells_no_score(store: VectorStore):
    found = VectorStoreRetriever(vectorstore=store, search_type="mmr", search_kwargs={"k": 2}).invoke(
        "text 3"
    )
    assert found[0].page_content == "text 3"
    assert "score" not in found[0].metadata


@pytest.mark.parametrize("search_type", SEARCH_TYPES)
async def test_every_way_of_asking_gives_the_same(store: VectorStore, search_type: str):
    options = {"k": 3, "score_threshold": 0.0} if search_type != "mmr" else {"k": 3}
    retriever = VectorStoreRetriever(vectorstore=store, search_type=search_type, search_kwargs=options)
    found = retriever.invoke("text 3")
    assert found
    assert retriever.batch(["text 3", "text 4"]) == [found, retriever.invoke("text 4")]
    assert list(retriever.stream("text 3")) == [found]
    assert await retriever.ainvoke("text 3") == found
    assert await retriever.abatch(["text 3"]) == [found]
    assert [part async for part in retriever.astream("text 3")] == [found]


def test_what_is_asked_for_comes_before_what_was_set(store: VectorStore):
    retriever = VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 1})
    assert len(retriever.invoke("text 3")) == 1
    assert len(retriever.invoke("text 3", k=4)) == 4
    assert [found.page_content for found in retriever.invoke("text 3", score_threshold=0.999)] == ["text 3"]


def test_an_unknown_search_type_names_the_three(store: VectorStore):
    said = "no search type 'magic'. Choose one of: similarity, similarity_score_threshold, mmr"
    with pytest.raises(ValueError, match=said):
        VectorStoreRetriever(vectorstore=store, search_type="magic")


@pytest.mark.parametrize("threshold", [None, -0.1, 1.1, float("nan"), "0.5"])
def test_a_threshold_that_is_none_is_refused(store: VectorStore, threshold: object):
    with pytest.raises(ValueError, match="Give a number from 0 to 1"):
        VectorStoreRetriever(
            vectorstore=store,
            search_type="similarity_score_threshold",
            search_kwargs={"score_threshold": threshold},
        )


@pytest.mark.parametrize("threshold", [0, 1, 0.5])
def test_a_threshold_may_be_any_number_from_0_to_1(store: VectorStore, threshold: float):
    found = VectorStoreRetriever(
        vectorstore=store,
        search_type="similarity_score_threshold",
        search_kwargs={"score_threshold": threshold, "k": 6},
    ).invoke("text 3")
    assert all(document.metadata["score"] >= threshold for document in found)


class Unscored(InMemoryVectorStore):
    """LangChain's store in memory as it is: it tells no relevance."""


async def test_a_store_that_tells_no_relevance_is_searched_without():
    store = Unscored.from_texts(TEXTS, DeterministicFakeEmbedding(size=8))
    retriever = VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 2})
    found = retriever.invoke("text 3")
    assert found == store.similarity_search("text 3", k=2)
    assert "score" not in found[0].metadata
    assert await retriever.ainvoke("text 3") == found


async def test_a_threshold_on_a_store_that_tells_no_relevance_is_an_error():
    store = Unscored.from_texts(TEXTS, DeterministicFakeEmbedding(size=8))
    retriever = VectorStoreRetriever(vectorstore=store)
    with pytest.raises(RetrievalError, match="Unscored does not tell how relevant"):
        retriever.invoke("text 3", score_threshold=0.5)
    with pytest.raises(RetrievalError, match="Unscored does not tell how relevant"):
        await retriever.ainvoke("text 3", score_threshold=0.5)


def test_scores_of_any_size_are_told_as_they_are_without_a_warning():
    class Large(InMemoryVectorStore):
        def _select_relevance_score_fn(self):
            return lambda cosine: 7 * cosine

    store = Large.from_texts(TEXTS, DeterministicFakeEmbedding(size=8))
    [found] = VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 1}).invoke("text 3")
    assert found.metadata["score"] == pytest.approx(7)


@pytest.mark.parametrize("search_type", SEARCH_TYPES)
def test_our_store_gives_this_retriever_of_itself(search_type: str):
    options = {"k": 2, "score_threshold": 0.0} if search_type != "mmr" else {"k": 2, "fetch_k": 5}
    retriever = STORES["chroma"]().as_retriever(search_type=search_type, search_kwargs=options)
    assert isinstance(retriever, VectorStoreRetriever)
    assert "ChromaVectorStore" in (retriever.tags or [])
    first, _ = retriever.invoke("text 3")
    assert first.page_content == "text 3"
    assert ("score" in first.metadata) is (search_type != "mmr")


def test_added_documents_are_found():
    retriever = STORES["chroma"]().as_retriever(search_kwargs={"k": 1})
    [added] = retriever.add_documents([Document("one more")])
    assert [found.id for found in retriever.invoke("one more")] == [added]
