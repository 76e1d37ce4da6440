import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from rag.errors import SettingsError
from rag.index.external import StoreSpec

EMBEDDINGS = DeterministicFakeEmbedding(size=4)
MEMORY = "langchain_core.vectorstores:InMemoryVectorStore"
FAISS = "langchain_community.vectorstores:FAISS"
QDRANT = "langchain_qdrant:QdrantVectorStore"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("no_such_package.stores:Store", {}, "pip install no-such-package"),
        ("langchain_core.no_such_module:Store", {}, "langchain_core.no_such_module"),
        ("langchain_core.vectorstores:NoSuchStore", {}, "has no NoSuchStore"),
        ("langchain_core.documents:Document", {}, "is not a vector store"),
        ("json:loads", {}, "is not a vector store"),
        (MEMORY, {"nonsense": 1}, "unexpected keyword argument 'nonsense'"),
        (MEMORY, {"embedding": "mine"}, "embedding"),
        ("chroma", {"path": "x"}, "chroma takes none"),
    ],
)
def test_what_cannot_be_a_store_is_one_sentence(name, arguments, said):
    with pytest.raises(SettingsError, match="FOOTNOTE_VECTOR_STORE") as refused:
        StoreSpec(name, arguments).check()
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("chroma", {}),
        (MEMORY, {}),
        (FAISS, {}),
        (FAISS, {"normalize_L2": True}),
        (QDRANT, {"location": ":memory:", "collection_name": "chunks"}),
    ],
)
def test_a_store_is_accepted_with_the_arguments_it_takes(name, arguments):
    StoreSpec(name, arguments).check()


def test_one_whose_constructor_takes_the_model_is_opened_empty():
    assert isinstance(StoreSpec(MEMORY).open(EMBEDDINGS, "5f0c"), InMemoryVectorStore)


def test_one_made_only_of_texts_waits_for_them():
    spec = StoreSpec(FAISS)
    assert spec.open(EMBEDDINGS, "5f0c") is None
    made = spec.make(["a", "b"], [{"n": 1}, {"n": 2}], ["1", "2"], EMBEDDINGS, "5f0c")
    assert [document.metadata for document in made.get_by_ids(["2"])] == [{"n": 2}]


def test_the_owner_stands_where_the_arguments_ask_for_one():
    spec = StoreSpec(QDRANT, {"location": ":memory:", "collection_name": "of-{owner}", "timeout": 3})
    store = spec.open(EMBEDDINGS, "5f0c")
    assert store is not None
    assert store.collection_name == "of-5f0c"
    store.client.close()


def test_its_identity_tells_arguments_apart_without_telling_them():
    one, other = (StoreSpec(QDRANT, {"api_key": key}).identity for key in ("marked-1", "marked-2"))
    assert one != other and one == StoreSpec(QDRANT, {"api_key": "marked-1"}).identity
    assert "marked" not in one and "marked" not in repr(StoreSpec(QDRANT, {"api_key": "marked-1"}))
    assert StoreSpec(MEMORY).identity == MEMORY
