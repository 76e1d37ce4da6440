"""The app's own halves: what one found only, the other rates as it would have scored it."""

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from rag.index.bm25 import TantivyIndex
from rag.index.chroma import ChromaVectorStore
from rag.index.lexical import Entry
from rag.retrieval.registry import SearchOptions, SearchParts, choose_retriever
from rag.retrieval.weights import HybridWeights

VECTORS = {
    "A red boat on red sand": [0.8, 0.6],
    "A quiet harbour": [0.6, 0.8],
    "A red crane over the pier": [1.0, 0.0],
    "red": [0.0, 1.0],
}
BOAT, HARBOUR, CRANE = list(VECTORS)[:3]


class Known(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [VECTORS[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return VECTORS[text]


def parts_of(vectors: ChromaVectorStore, documents: dict[str, Document]) -> SearchParts:
    return SearchParts(
        words=TantivyIndex(),
        vectors=lambda: vectors,
        hydrate=lambda some: {id_: documents[id_] for id_ in some},
        label=lambda some: {id_: documents[id_] for id_ in some},
        names=lambda some: dict.fromkeys(some, ""),
    )


def test_the_options_of_searching_by_meaning_are_followed():
    ids = {BOAT: "boat", HARBOUR: "harbour", CRANE: "crane"}
    vectors = ChromaVectorStore.from_texts(list(ids), Known(), ids=list(ids.values()))
    parts = parts_of(vectors, {id_: Document(text, id=id_) for text, id_ in ids.items()})

    def found(name: str, **options: float) -> list[str]:
        retriever = choose_retriever(name, parts, k=2, options=SearchOptions(**options))  # type: ignore[arg-type]
        return [document.page_content for document in retriever.invoke("red")]

    assert found("similarity_score_threshold", score_threshold=0.7) == [HARBOUR]
    assert found("similarity_score_threshold", score_threshold=0.5) == [HARBOUR, BOAT]
    assert found("mmr", mmr_lambda_mult=1.0) == [HARBOUR, BOAT]
    assert found("mmr", mmr_lambda_mult=0.1) == [HARBOUR, CRANE]
    assert found("mmr", mmr_lambda_mult=0.1, mmr_fetch_k=2) == [HARBOUR, BOAT], "chosen among two"


def test_each_half_rates_what_only_the_other_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rag.retrieval.registry.POOL", 1)
    ids = {BOAT: "boat", HARBOUR: "harbour", CRANE: "crane"}
    documents = {id_: Document(text, id=id_) for text, id_ in ids.items()}
    words = TantivyIndex()
    words.add(Entry(id_, "d", text) for text, id_ in ids.items())
    vectors = ChromaVectorStore.from_texts(list(ids), Known(), ids=list(ids.values()))
    parts = SearchParts(
        words=words,
        vectors=lambda: vectors,
        hydrate=lambda some: {id_: documents[id_] for id_ in some},
        label=lambda some: {id_: documents[id_] for id_ in some},
        names=lambda some: dict.fromkeys(some, ""),
        mixture=lambda: HybridWeights("theoretical", {"alphabet": 0.6}),
    )
    retriever = choose_retriever("ensemble-cc", parts, k=3)
    boat, harbour = retriever.invoke("red")
    assert (boat.page_content, set(boat.metadata["found_by"])) == (BOAT, {"bm25"})
    assert (harbour.page_content, set(harbour.metadata["found_by"])) == (HARBOUR, {"similarity"})
    assert boat.metadata["score"] == pytest.approx(0.4 + 0.6 * 0.6 / 0.8, abs=1e-5)
    assert harbour.metadata["score"] == pytest.approx(0.6, abs=1e-5)
