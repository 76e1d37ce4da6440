from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from langchain_community.docstore import InMemoryDocstore
from langchain_core.documents import Document
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from rag.errors import IndexUnusable
from rag.index.chroma import ChromaVectorStore
from rag.index.exact import Space
from tests.rag.index.by_angle import ByAngle, texts


class TestChromaStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[ChromaVectorStore]:
        store = ChromaVectorStore(self.get_embeddings(), directory=tmp_path, collection_name="chunks")
        yield store
        store.close()


class TestChromaInMemoryStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> ChromaVectorStore:
        return ChromaVectorStore(self.get_embeddings())


@pytest.fixture
def circle() -> ChromaVectorStore:
    angles = ["0", "10", "12", "80", "170"]
    return ChromaVectorStore.from_texts(
        angles,
        ByAngle(),
        [{"angle": int(a), "half": int(a) // 90} for a in angles],
        ids=angles,
        clamp_relevance=True,
    )


def test_finds_the_closest_first(circle: ChromaVectorStore):
    assert texts(circle.similarity_search("10.5", k=3)) == ["10", "12", "0"]
    assert circle.similarity_search("10.5", k=0) == []
    assert len(circle.similarity_search("10.5", k=99)) == 5


def test_ids_with_their_relevance_are_those_of_the_search(circle: ChromaVectorStore):
    upper = {"half": {"$in": [0]}}
    for question, chosen in (("10.5", None), ("95", None), ("95", upper), ("95", {"half": {"$in": []}})):
        found = circle._similarity_search_with_relevance_scores(question, k=4, filter=chosen)
        ranked = circle.ranked(ByAngle().embed_query(question), 4, chosen)
        assert ranked == [(document.id, score) for document, score in found]


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_ids_are_rated_as_a_search_would_rate_them(space: Space, tmp_path: Path):
    angles = ["0", "10", "12", "80", "170"]
    for place in ({}, {"directory": tmp_path}):
        store = ChromaVectorStore.from_texts(angles, ByAngle(), ids=angles, space=space, **place)
        asked = ByAngle().embed_query("60")
        rated = store.relevances(asked, [*angles[::-1], "never there"])
        assert rated == pytest.approx(dict(store.ranked(asked, 5)), abs=1e-5)
        assert store.relevances(asked, []) == store.relevances(asked, ["never there"]) == {}
        store.close()


def test_scores_are_distances_and_relevance_is_in_0_to_1(circle: ChromaVectorStore):
    [(document, distance)] = circle.similarity_search_with_score("60", k=1)
    assert (document.id, distance) == ("80", pytest.approx(1 - np.cos(np.radians(20)), abs=1e-5))
    relevances = circle.similarity_search_with_relevance_scores("0", k=5)
    assert [score for _, score in relevances] == pytest.approx(
        [max(0, np.cos(np.radians(a))) for a in (0, 10, 12, 80, 170)], abs=1e-5
    )
    assert len(circle.similarity_search_with_relevance_scores("0", k=5, score_threshold=0.5)) == 3


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_relevance_is_the_cosine_in_every_space(space):
    store = ChromaVectorStore.from_texts(["0", "60"], ByAngle(), space=space, clamp_relevance=True)
    [_, (_, score)] = store.similarity_search_with_relevance_scores("0", k=2)
    assert score == pytest.approx(0.5, abs=1e-5)


def test_filters_take_several_keys_and_operators(circle: ChromaVectorStore):
    assert texts(circle.similarity_search("0", filter={"half": 1})) == ["170"]
    assert texts(circle.similarity_search("0", filter={"half": 0, "angle": {"$gt": 10}})) == ["12", "80"]
    assert texts(circle.similarity_search("0", filter={"angle": {"$in": [80, 170]}})) == ["80", "170"]
    assert circle.similarity_search("0", filter={"angle": {"$in": []}}) == []
    assert len(circle.similarity_search("0", filter={})) == 4
    assert texts(circle.similarity_search("0", where_document={"$contains": "7"})) == ["170"]


def test_mmr_prefers_what_differs_and_embeds_only_the_question(circle: ChromaVectorStore):
    assert texts(circle.max_marginal_relevance_search("9", k=2, fetch_k=4, lambda_mult=0.2)) == ["10", "80"]
    vector = ByAngle().embed_query("9")
    assert texts(circle.max_marginal_relevance_search_by_vector(vector, k=2, lambda_mult=1.0)) == ["10", "12"]
    assert texts(circle.max_marginal_relevance_search("9", k=1, filter={"half": 1})) == ["170"]
    assert ChromaVectorStore(ByAngle()).max_marginal_relevance_search("9") == []


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "similarity_score_threshold"])
async def test_search_by_type_and_as_a_retriever(circle: ChromaVectorStore, search_type: str):
    options = {"k": 2, "score_threshold": 0.5} if "threshold" in search_type else {"k": 2}
    retriever = circle.as_retriever(search_type=search_type, search_kwargs=options)
    found = retriever.invoke("10.5")
    assert texts(found)[0] == "10"
    assert retriever.batch(["10.5"]) == [found]
    assert await retriever.ainvoke("10.5") == found
    assert list(retriever.stream("10.5")) == [found]
    assert texts(circle.search("10.5", search_type, **options)) == texts(found)


def test_an_unknown_search_type_names_the_three(circle: ChromaVectorStore):
    with pytest.raises(ValueError, match=r"similarity.*similarity_score_threshold.*mmr"):
        circle.as_retriever(search_type="magic")


def test_texts_may_live_elsewhere(tmp_path: Path):
    kept = {"a": Document("0", id="a", metadata={"page": 7}), "b": Document("90", id="b")}
    store = ChromaVectorStore(
        ByAngle(),
        directory=tmp_path,
        collection_name="chunks",
        hydrate=lambda ids: {id_: kept[id_] for id_ in ids if id_ in kept},
    )
    store.add_vectors(["a", "b", "gone"], np.eye(3, 2, dtype=np.float32) + 0.1, [{"document_id": "d"}] * 3)
    assert store.similarity_search("0", k=3, filter={"document_id": {"$in": ["d"]}}) == [kept["a"], kept["b"]]
    assert store.get_by_ids(["b", "gone"]) == [kept["b"]]
    assert store.max_marginal_relevance_search("0", k=3) == [kept["a"], kept["b"]]
    store.close()
    assert b"page_content" not in (tmp_path / "chroma.sqlite3").read_bytes()


def test_entries_are_replaced_listed_deleted_and_survive_a_restart(tmp_path: Path):
    first = ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks")
    assert first.add_texts(["0", "90", "45"], ids=["a", "b", None])[:2] == ["a", "b"]
    first.add_texts(["10"], ids=["a"])
    first.delete(["b", "never there"])
    first.delete([])
    first.close()
    second = ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks")
    assert texts(second.get_by_ids(["a"])) == ["10"]
    assert second.present(["a", "b"]) == {"a"}
    assert len(second.ids()) == 2
    second.delete()
    assert second.ids() == set()
    second.close()


def test_the_last_of_equal_ids_in_one_call_counts():
    store = ChromaVectorStore.from_texts(["0", "90"], ByAngle(), ids=["a", "a"])
    assert texts(store.get_by_ids(["a"])) == ["90"]


def test_a_collection_keeps_the_space_it_was_made_with(tmp_path: Path):
    ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks", space="l2").close()
    store = ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks", space="cosine")
    assert store.space == "l2"
    store.close()


def test_more_entries_than_one_batch_takes():
    store = ChromaVectorStore(ByAngle())
    ids = [str(n) for n in range(5600)]
    store.add_vectors(ids, np.random.default_rng(0).normal(size=(5600, 2)), [{"document_id": "d"}] * 5600)
    assert store.ids() == store.present([*ids, "x"]) == set(ids)
    store.delete(ids[:5599])
    assert store.ids() == {"5599"}


def test_what_chroma_refuses_is_an_error_of_ours(circle: ChromaVectorStore):
    with pytest.raises(IndexUnusable, match="searched"):
        circle.similarity_search_by_vector([1.0, 2.0, 3.0])
    with pytest.raises(IndexUnusable, match="changed"):
        circle.add_vectors(["x"], [[float("nan"), 0.0]], [{"a": 1}])
    with pytest.raises(IndexUnusable, match="opened"):
        ChromaVectorStore(ByAngle(), directory="/proc/nowhere", collection_name="chunks")


def test_lists_of_other_lengths_are_refused_before_anything_is_embedded(circle: ChromaVectorStore):
    with pytest.raises(ValueError, match="2 texts, 1 metadatas"):
        circle.add_texts(["a", "b"], [{"x": 1}])


def test_a_thousand_random_vectors_find_their_true_neighbours():
    random = np.random.default_rng(7)
    vectors = random.normal(size=(1000, 64)).astype(np.float32)
    store = ChromaVectorStore(ByAngle())
    store.add_vectors([str(n) for n in range(1000)], vectors, [{"document_id": "d"}] * 1000)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    hits = 0
    for n in range(50):
        true = {str(i) for i in np.argsort(-unit @ unit[n])[:10]}
        found = store.nearest(vectors[n].tolist(), 10)
        hits += len(true & {id_ for id_, _ in found})
    assert hits >= 495


def test_documents_are_looked_up_by_id_as_in_langchains_docstores():
    store = ChromaVectorStore.from_texts(["10", "90"], ByAngle(), ids=["a", "b"])
    found = store.docstore.search("a")
    assert isinstance(found, Document) and (found.id, found.page_content) == ("a", "10")
    assert store.docstore.search("gone") == InMemoryDocstore().search("gone")
    assert [each.page_content for each in store.docstore._dict.values()] == ["10", "90"]
    assert len(store.docstore) == 2 and "gone" not in store.docstore
