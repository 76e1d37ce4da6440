"""Searches in chosen documents: exact, from vectors that are kept beside the index."""

from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from rag.errors import IndexUnusable
from rag.index.chroma import ChromaVectorStore
from tests.rag.index.by_angle import ByAngle, texts


def brute_force(vectors: dict[str, np.ndarray], asked: np.ndarray, k: int, space: str) -> dict[str, float]:
    distances = {
        "l2": lambda v: float(((v - asked) ** 2).sum()),
        "ip": lambda v: float(1 - v @ asked),
        "cosine": lambda v: float(1 - v @ asked / np.linalg.norm(v) / np.linalg.norm(asked)),
    }
    found = {id_: distances[space](vector) for id_, vector in vectors.items()}
    return dict(sorted(found.items(), key=lambda hit: hit[1])[:k])


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_a_search_in_chosen_documents_is_exact_through_changes_and_restarts(tmp_path: Path, space):
    random, kept = np.random.default_rng(3), {}

    def opened() -> ChromaVectorStore:
        return ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks", space=space)

    def add(store: ChromaVectorStore, numbers: range) -> None:
        ids = [f"{number % 20}-{number}" for number in numbers]
        vectors = random.normal(size=(len(ids), 16)).astype(np.float32)
        store.add_vectors(ids, vectors, [{"document_id": id_.split("-")[0]} for id_ in ids])
        kept.update(zip(ids, vectors, strict=True))

    store = opened()
    add(store, range(400))
    add(store, range(100, 160))
    store.delete([id_ for id_ in list(kept)[:50] if kept.pop(id_) is not None])
    store.close()
    store = opened()
    add(store, range(380, 420))
    chosen = {id_: vector for id_, vector in kept.items() if id_.split("-")[0] in ("3", "17")}
    for asked in random.normal(size=(5, 16)).astype(np.float32):
        found = store.nearest(asked.tolist(), 10, filter={"document_id": {"$in": ["3", "17"]}})
        assert dict(found) == pytest.approx(brute_force(chosen, asked, 10, space), abs=1e-4)
        (one,) = store.nearest(asked.tolist(), 1, filter={"document_id": "3"})
        assert one[0].startswith("3-")
    with pytest.raises(IndexUnusable, match="searched"):
        store.similarity_search_by_vector([1.0, 2.0], filter={"document_id": "3"})
    store.close()


def test_documents_and_another_limit_together_are_asked_of_the_index(tmp_path: Path):
    store = ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks")
    metadatas = [{"document_id": "d", "page": page} for page in (1, 2)]
    store.add_texts(["0", "90"], metadatas, ids=["a", "b"])
    assert texts(store.similarity_search("0", filter={"document_id": "d", "page": 2})) == ["90"]
    chosen = {"document_id": {"$in": ["d"]}}
    assert texts(store.similarity_search("0", filter=chosen, where_document={"$contains": "9"})) == ["90"]
    assert texts(store.similarity_search("0", filter={"document_id": {"$ne": "d"}})) == []
    store.close()


def test_searches_go_on_while_documents_come_and_go(tmp_path: Path):
    store = ChromaVectorStore(ByAngle(), directory=tmp_path, collection_name="chunks")
    random, failures = np.random.default_rng(5), []
    store.add_vectors(["stays"], [[1.0] * 8], [{"document_id": "kept"}])

    def come_and_go(document: str) -> None:
        try:
            for _ in range(15):
                ids = [f"{document}-{n}" for n in range(8)]
                store.add_vectors(ids, random.normal(size=(8, 8)), [{"document_id": document}] * 8)
                store.delete(ids[:4])
        except Exception as error:  # noqa: BLE001 - the test's own thread reads it
            failures.append(error)

    threads = [Thread(target=come_and_go, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = store.nearest([1.0] * 8, 20, filter={"document_id": {"$in": ["kept", "x"]}})
        assert found[0][0] == "stays"
        assert all(id_.startswith(("stays", "x-")) for id_, _ in found)
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.nearest([1.0] * 8, 20, filter={"document_id": {"$in": ["x", "y"]}})) == 8
    store.close()


class ByLocalAngle(ByAngle):
    local = True


def test_it_is_at_hand_once_it_was_searched_while_nothing_changes_it(tmp_path: Path):
    store = ChromaVectorStore(ByLocalAngle(), directory=tmp_path, collection_name="chunks")
    store.add_texts(["10", "80"])
    assert not store.at_hand  # its graph may have to be read first
    store.similarity_search("20")
    assert store.at_hand
    assert store._exact
    with store._exact.changing(["new"]):
        assert not store.at_hand
    assert store.at_hand
    with pytest.raises(OSError), store._exact.changing(["new"]):
        raise OSError("The disk is full.")
    assert not store.at_hand, "the copy may have to be mended"
    store.vectors_of(["10"])
    assert store.at_hand
    store.close()


def test_it_is_not_at_hand_where_a_server_may_embed_or_others_keep_the_collection(tmp_path: Path):
    for store in (ChromaVectorStore(ByAngle(), directory=tmp_path), ChromaVectorStore(ByLocalAngle())):
        store.add_texts(["10"])
        store.similarity_search("20")
        assert not store.at_hand
        store.close()
