from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from rag.errors import StoreFailed
from rag.index.chroma import ChromaVectorStore
from rag.index.external import WIDEST, ExternalVectorIndex, StoreSpec

FAISS = "langchain_community.vectorstores:FAISS"
HERE = __name__


class ByAngle(Embeddings):
    """A text that is a number of degrees is the unit vector at that angle; it counts what it embeds."""

    def __init__(self) -> None:
        self.embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += len(texts)
        return [unit(float(text)) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return unit(float(text))


class Bare(VectorStore):
    """A store that does no more than LangChain demands: it is made of texts, takes more, and is searched."""

    def __init__(self, embedding: Embeddings, secret: str = ""):
        self._inner = InMemoryVectorStore(embedding)
        self._secret = secret

    @classmethod
    def from_texts(
        cls, texts: list[str], embedding: Embeddings, metadatas: Any = None, **kwargs: Any
    ) -> "Bare":
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas)
        return store

    def add_texts(self, texts: Any, metadatas: Any = None, **_: Any) -> list[str]:
        return self._inner.add_texts(texts, metadatas)

    def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Document]:
        if self._secret:
            raise ConnectionError(f"no answer for {self._secret}")
        return self._inner.similarity_search(query, k)


class Cut(InMemoryVectorStore):
    """A store that gives ten results at most, whatever is asked."""

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return super().similarity_search_by_vector(embedding, min(k, 10), **kwargs)


class Shared(InMemoryVectorStore):
    """A store of one place that everyone who opens it shares."""

    def __init__(self, embedding: Embeddings, place: SimpleNamespace):
        super().__init__(embedding)
        self.store = place.entries


def unit(degrees: float) -> list[float]:
    return [float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))]


class Chunks(dict[str, Document]):
    """One owner's chunks: each at its angle, ten to a document."""

    def __init__(self, angles: Iterable[float], owner: str = "ann"):
        super().__init__()
        for n, angle in enumerate(angles):
            id_ = f"{owner}-{n:05d}"
            metadata = {"document_id": f"{owner}-{n // 10}", "page": n % 3}
            self[id_] = Document(str(angle), id=id_, metadata=metadata)

    def hydrate(self, ids: Any) -> dict[str, Document]:
        return {id_: self[id_] for id_ in ids if id_ in self}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    stores: list[ExternalVectorIndex] = []

    def open_(name: str, chunks: Chunks, owner: str = "ann", **arguments: Any) -> ExternalVectorIndex:
        name = name if ":" in name else f"{HERE}:{name}"
        store = ExternalVectorIndex(
            StoreSpec(name, arguments),
            ByAngle(),
            directory=tmp_path / owner,
            owner=owner,
            hydrate=chunks.hydrate,
        )
        stores.append(store)
        return store

    yield open_
    for store in stores:
        store.close()


def fill(store: ExternalVectorIndex, chunks: Chunks) -> None:
    vectors = [unit(float(chunk.page_content)) for chunk in chunks.values()]
    store.add_vectors(list(chunks), vectors, [chunk.metadata for chunk in chunks.values()])


def angles(found: list[Document]) -> list[int]:
    return [int(document.page_content) for document in found]


STORES = ["Bare", "Cut", FAISS, "langchain_core.vectorstores:InMemoryVectorStore"]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, opened: Any) -> ExternalVectorIndex:
    store: ExternalVectorIndex = opened(request.param, Chunks(range(180)))
    fill(store, Chunks(range(180)))
    return store


def test_the_closest_come_first_with_their_cosine(store):
    assert angles(store.similarity_search("90.2", k=3)) == [90, 91, 89]
    scored = store.similarity_search_with_relevance_scores("90", k=2)
    assert [score for _, score in scored] == pytest.approx([1, np.cos(np.radians(1))], abs=1e-6)
    assert all(0 <= score <= 1 for _, score in store.similarity_search_with_relevance_scores("0", k=180))


def test_a_filter_holds_and_still_fills_the_list(store):
    there = {"document_id": {"$in": ["ann-0", "ann-17"]}}
    assert angles(store.similarity_search("85", k=3, filter=there)) == [9, 8, 7]
    tenth = {"document_id": "ann-3"}
    assert angles(store.similarity_search("90", k=99, filter=tenth)) == list(range(39, 29, -1))
    assert set(angles(store.similarity_search("0", k=99, filter={"page": 2}))) == set(range(2, 180, 3))
    assert store.similarity_search("0", k=3, filter={"document_id": {"$in": []}}) == []
    with pytest.raises(ValueError, match="like"):
        store.similarity_search("0", k=3, filter={"page": {"$like": 1}})


@pytest.mark.parametrize(
    "wanted",
    [
        {"page": {"$gt": 1}},
        {"$and": [{"page": {"$gte": 1}}, {"page": {"$lt": 2}}]},
        {"page": {"$lte": 0}},
        {"page": {"$ne": 1}},
        {"page": {"$nin": [0, 2]}},
        {"$and": [{"page": {"$in": [1, 2]}}, {"page": {"$ne": 2}}]},
        {"$or": [{"page": 0}, {"page": {"$gt": 1}}]},
    ],
    ids=str,
)
def test_comparisons_choose_what_they_choose_in_chroma(store, wanted):
    texts = [str(number) for number in range(180)]
    pages = [{"page": number % 3} for number in range(180)]
    chroma = ChromaVectorStore.from_texts(texts, ByAngle(), pages)
    expected = angles(chroma.similarity_search("10.2", k=20, filter=wanted))
    assert angles(store.similarity_search("10.2", k=20, filter=wanted)) == expected != []


def test_mmr_prefers_what_differs_and_keeps_to_the_filter(store):
    chosen = store.max_marginal_relevance_search("90", k=2, fetch_k=100, lambda_mult=0.1)
    assert angles(chosen)[0] == 90 and abs(angles(chosen)[1] - 90) > 30
    chosen = store.max_marginal_relevance_search("90", k=2, fetch_k=20, filter={"document_id": "ann-3"})
    assert {document.metadata["document_id"] for document in chosen} == {"ann-3"}


def test_what_is_handed_over_is_not_embedded_again(store):
    assert store.embeddings.embedded == 0


def test_more_than_there_is_may_be_asked_for_and_nothing(store):
    assert sorted(angles(store.similarity_search("0", k=500))) == list(range(180))
    assert store.similarity_search("0", k=0) == []


def test_removed_chunks_are_not_found_and_unknown_ones_no_error(store):
    store.delete(["ann-00090", "nobody"])
    store.delete(["ann-00090"])
    assert angles(store.similarity_search("90.2", k=2)) == [91, 89]
    assert store.present(["ann-00089", "ann-00090"]) == {"ann-00089"}
    assert [document.id for document in store.get_by_ids(["nobody", "ann-00005", "ann-00090"])] == [
        "ann-00005"
    ]
    store.delete()
    assert store.ids() == set() and store.similarity_search("0") == []


def test_adding_a_chunk_again_replaces_it(store):
    chunks = Chunks(range(180))
    store.add_vectors(["ann-00000"], [unit(90.4)], [chunks["ann-00000"].metadata])
    assert angles(store.similarity_search("90.4", k=2)) == [0, 90]
    assert len(store.ids()) == 180


@pytest.mark.parametrize("name", STORES)
def test_a_store_that_lost_everything_is_filled_without_embedding(opened, name):
    chunks = Chunks(range(30))
    store = opened(name, chunks)
    fill(store, chunks)
    store.close()
    again = opened(name, chunks)
    again.refill()
    assert angles(again.similarity_search("12", k=1)) == [12]
    assert again.embeddings.embedded == 0
    again.refill()
    assert len(again.ids()) == 30


def test_of_a_shared_store_everyone_finds_their_own(opened):
    place = SimpleNamespace(entries={})
    ann, bob = Chunks(range(0, 180, 9)), Chunks(range(180), "bob")
    anns, bobs = opened("Shared", ann, place=place), opened("Shared", bob, "bob", place=place)
    fill(anns, ann)
    fill(bobs, bob)
    assert len(place.entries) == 200
    assert angles(anns.similarity_search("10", k=3)) == [9, 18, 0]
    assert {document.id[:3] for document in anns.similarity_search("10", k=99)} == {"ann"}
    bobs.delete()
    assert angles(anns.similarity_search("10", k=1)) == [9]
    assert len(place.entries) == 20


def test_far_chunks_are_found_among_more_than_a_store_is_asked_for(opened):
    chunks = Chunks(n / 10 for n in range(WIDEST + 500))
    store = opened(FAISS, chunks)
    fill(store, chunks)
    assert store.similarity_search("0", k=1, filter={"document_id": "ann-149"})[0].page_content == "149.0"
    (found,) = store.similarity_search("0", k=1, filter={"document_id": "ann-149", "page": 0})
    assert found.page_content == "149.1"


def test_its_failures_are_one_sentence_without_its_secrets(opened):
    chunks = Chunks(range(3))
    store = opened("Bare", chunks, secret="marked-secret")
    fill(store, chunks)
    with pytest.raises(
        StoreFailed, match=r"could not be searched \(ConnectionError: no answer for …\)"
    ) as failed:
        store.similarity_search("0")
    assert "marked" not in str(failed.value)
