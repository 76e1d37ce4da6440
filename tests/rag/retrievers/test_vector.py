from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from rag.retrievers.vector import VectorRetriever
from rag.stores.chroma import ChromaVectorStore

TEXTS = [f"text {n}" for n in range(6)]
STORES = {
    "chroma": lambda: ChromaVectorStore.from_texts(TEXTS, DeterministicFakeEmbedding(size=8)),
    "another's": lambda: Scored.from_texts(TEXTS, DeterministicFakeEmbedding(size=8)),
}


class Scored(InMemoryVectorStore):
    """LangChain's store in memory, whose scores are cosines."""

    def _select_relevance_score_fn(self):
        return lambda cosine: max(0.0, cosine)


class TestVectorStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> Any:
        return lambda k=4: VectorRetriever(vectorstore=STORES["chroma"](), search_kwargs={"k": k})

    @property
    def retriever_query_example(self) -> str:
        return "text 3"


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> VectorStore:
    return STORES[request.param]()


@pytest.mark.parametrize("search_type", ["similarity", "similarity_score_threshold"])
def test_results_tell_their_relevance(store: VectorStore, search_type: str):
    options = {"k": 6, "score_threshold": 0.1}
    found = VectorRetriever(vectorstore=store, search_type=search_type, search_kwargs=options).invoke(
        "text 3"
    )
    scores = [document.metadata["score"] for document in found]
    assert found[0].page_content == "text 3"
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= 0.1


def test_mmr_tells_no_score(store: VectorStore):
    found = VectorRetriever(vectorstore=store, search_type="mmr", search_kwargs={"k": 2}).invoke("text 3")
    assert found[0].page_content == "text 3"
    assert "score" not in found[0].metadata


async def test_async_gives_the_same(store: VectorStore):
    retriever = VectorRetriever(vectorstore=store)
    assert await retriever.ainvoke("text 3") == retriever.invoke("text 3")


def test_an_unknown_search_type_names_the_three(store: VectorStore):
    with pytest.raises(ValueError, match=r"similarity.*similarity_score_threshold.*mmr"):
        VectorRetriever(vectorstore=store, search_type="magic")
