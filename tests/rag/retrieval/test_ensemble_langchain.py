"""The ensemble beside LangChain's own class: the same retrievers, the same documents in the same order."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers import EnsembleRetriever as LangChainEnsemble
from langchain_community.retrievers import BM25Retriever as LangChainBM25
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from rag.models.embeddings import Embedder
from rag.retrieval.bm25 import BM25Retriever
from rag.retrieval.ensemble import EnsembleRetriever

TEXTS = [
    "The castle of Aldenburg was built in 1432.",
    "The lighthouse keeper lit the lamp at dusk.",
    "The lamp burned whale oil.",
    "등불은 고래기름으로 탔다.",
    "ランプは鯨油で燃えた。",
]
QUESTIONS = [
    "What did the lamp burn?",
    "When was the castle built?",
    "등불은 무엇으로 탔나요?",
    "ランプは何で燃えた?",
]
RANKED = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=2, max_size=2)


class Ranked(BaseRetriever):
    documents: Sequence[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return list(self.documents)


def both(**options: Any) -> list[Any]:
    return [LangChainEnsemble(**options), EnsembleRetriever(**options)]


def contents(documents: Sequence[Document]) -> list[str]:
    return [document.page_content for document in documents]


@pytest.mark.parametrize("words", [LangChainBM25, BM25Retriever])
@pytest.mark.parametrize("weights", [None, [0.5, 0.5], [0.9, 0.2]])
async def test_words_and_vectors_made_apart_are_fused(embedder: Embedder, words: Any, weights: Any):
    lexical = words.from_texts(TEXTS, k=3)
    store = InMemoryVectorStore.from_texts(TEXTS, embedder)
    retrievers = [lexical, store.as_retriever(search_kwargs={"k": 3})]
    theirs, ours = both(retrievers=retrievers, weights=weights)
    for question in QUESTIONS:
        found = contents(ours.invoke(question))
        assert found == contents(theirs.invoke(question))
        assert found == contents(await ours.ainvoke(question)) == contents(await theirs.ainvoke(question))
        assert len(found) == len(set(found)), "each text once"
    assert set(ours.invoke(QUESTIONS[0])[0].metadata["found_by"]) == {"1", "2"}


@given(
    RANKED, st.tuples(st.sampled_from([0, 0.3, 0.5]), st.sampled_from([0.5, 1, 2])), st.sampled_from([1, 60])
)
def test_ranks_are_fused_as_langchain_fuses_them(rankings: Any, weights: Any, c: int):
    lists = [[Document(text, metadata={"list": n}) for text in texts] for n, texts in enumerate(rankings)]
    retrievers = [Ranked(documents=documents) for documents in lists]
    theirs, ours = both(retrievers=retrievers, weights=list(weights), c=c)
    fused = theirs.invoke("q")
    assert ours.weighted_reciprocal_rank(lists) == theirs.weighted_reciprocal_rank(lists) == fused
    found = ours.invoke("q")
    assert contents(found) == contents(fused)
    assert [each.metadata["list"] for each in found] == [each.metadata["list"] for each in fused]


def test_documents_are_keyed_by_metadata_where_that_is_asked():
    lists = [
        [Document("one", metadata={"key": 1}), Document("two", metadata={"key": 2})],
        [Document("zwei", metadata={"key": 2}), Document("one", metadata={"key": 3})],
    ]
    for ensemble in both(retrievers=[Ranked(documents=each) for each in lists], id_key="key"):
        assert contents(ensemble.invoke("q")) == ["two", "one", "one"]


async def test_texts_become_documents_and_any_runnable_is_a_retriever():
    lines = RunnableLambda(lambda query: [f"{query} 1", f"{query} 2"])
    for ensemble in both(retrievers=[lines, Ranked(documents=[Document("q 2")])]):
        assert contents(ensemble.invoke("q")) == contents(await ensemble.ainvoke("q")) == ["q 2", "q 1"]


@pytest.mark.parametrize("options", [{"weights": [0, 0]}, {"weights": [1.0]}])
def test_weights_that_do_not_fit_are_refused(options: dict[str, Any]):
    for kind in (LangChainEnsemble, EnsembleRetriever):
        with pytest.raises(ValueError, match=r"[Ww]eight"):
            kind(retrievers=[Ranked(documents=[]), Ranked(documents=[])], **options)


async def test_the_configuration_reaches_the_retrievers():
    lexical = BM25Retriever.from_texts(TEXTS, k=1).configurable_fields(k=ConfigurableField(id="words"))

    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.tags: list[list[str]] = []

        def on_retriever_start(self, *_: Any, tags: list[str], **__: Any) -> None:
            self.tags.append(sorted(tags))

    for ensemble in both(retrievers=[lexical]):
        assert [spec.id for spec in ensemble.config_specs] == ["words"]
        heard = Heard()
        config = {"configurable": {"words": 2}, "callbacks": [heard], "tags": ["mine"]}
        assert len(ensemble.invoke("lamp", config)) == len(await ensemble.ainvoke("lamp", config)) == 2
        assert heard.tags == [["mine"], ["mine", "retriever_1"]] * 2
