"""Conformance of the built-in vector stores: each passes the same tests, in a folder that is opened again."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document

from rag.errors import IndexUnusable
from rag.index.chroma import ChromaVectorStore
from rag.index.lance import LanceVectorIndex
from rag.index.vector_index import VectorIndex
from tests.rag.index.by_angle import ByAngle, texts
from tests.rag.index.objects import table_objects

ANGLES = ["0", "10", "12", "80", "170"]
Open = Callable[..., VectorIndex]


def hydrate(ids: Sequence[str]) -> dict[str, Document]:
    """Give the documents of all ids but "gone"."""
    there = [id_ for id_ in ids if id_ != "gone"]
    return {id_: Document(id=id_, page_content=id_, metadata=metadata_of(id_)) for id_ in there}


def metadata_of(angle: str, document: str = "d") -> dict[str, str | int]:
    return {"document_id": document, "half": int(angle) // 90}


def open_chroma(folder: Path) -> VectorIndex:
    return ChromaVectorStore(
        ByAngle(), directory=folder, collection_name="chunks", hydrate=hydrate, clamp_relevance=True
    )


def open_lance(folder: Path) -> VectorIndex:
    return LanceVectorIndex(ByAngle(), folder, hydrate)


STORE = pytest.mark.slow(
    reason="what is marked EVERYWHERE and test_lance_objects.py go through an object store"
)
LOCAL = [pytest.param(open_chroma, id="chroma"), pytest.param(open_lance, id="lance")]
ALL = [*LOCAL, pytest.param("objects", id="lance-objects")]
EVERYWHERE = pytest.mark.parametrize("open_index", ALL, indirect=True)
"""Mark what the usual run tries over an object store, too."""


@pytest.fixture(params=[*LOCAL, pytest.param("objects", marks=STORE, id="lance-objects")])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param != "objects":
        return request.param
    request.getfixturevalue("s3_link")
    objects = table_objects(tmp_path)
    return lambda folder: LanceVectorIndex(ByAngle(), folder, hydrate, objects=objects)


@pytest.fixture
def index(open_index: Open, tmp_path: Path) -> Iterator[VectorIndex]:
    opened = open_index(tmp_path / "vectors")
    yield opened
    opened.close()


@pytest.fixture
def circle(index: VectorIndex) -> VectorIndex:
    put(index, *ANGLES)
    return index


def put(index: VectorIndex, *angles: str, document: str = "d") -> None:
    index.add_vectors(
        angles, ByAngle().embed_documents(list(angles)), [metadata_of(angle, document) for angle in angles]
    )


def test_an_empty_index_holds_and_finds_nothing(index: VectorIndex):
    assert index.ids() == index.present(["0"]) == set()
    assert index.similarity_search("0") == []
    assert index.vectors_of(["0"]) == {}
    assert index.delete() and index.delete(["0"])
    index.add_vectors([], [], [])
    index.check()


def test_the_closest_come_first_with_their_exact_distance(circle: VectorIndex):
    assert texts(circle.similarity_search("10.5", k=3)) == ["10", "12", "0"]
    assert circle.similarity_search("10.5", k=0) == []
    assert len(circle.similarity_search("10.5", k=99)) == 5
    [(id_, far)] = circle.nearest(ByAngle().embed_query("60"), 1)
    assert (id_, far) == ("80", pytest.approx(1 - np.cos(np.radians(20)), abs=1e-5))


@EVERYWHERE
def test_other_ids_are_rated_as_a_search_rates_them(circle: VectorIndex):
    asked = ByAngle().embed_query("60")
    rated = circle.relevances(asked, [*ANGLES[::-1], "never there"])
    assert rated == pytest.approx(dict(circle.ranked(asked, 5)), abs=1e-5)
    assert circle.relevances(asked, []) == circle.relevances(asked, ["never there"]) == {}


@EVERYWHERE
def test_a_filter_chooses_documents_and_metadata(circle: VectorIndex):
    put(circle, "1", "2", document="it's another")
    for chosen, expected in (
        ({"document_id": "it's another"}, ["1", "2"]),
        ({"document_id": {"$in": ["it's another", "never"]}}, ["1", "2"]),
        ({"document_id": {"$in": []}}, []),
        ({"document_id": "never"}, []),
        ({"document_id": {"$in": ["d"]}, "half": 1}, ["170"]),
        ({"half": {"$in": [1, 2]}}, ["170"]),
    ):
        assert texts(circle.similarity_search("0", k=2, filter=chosen)) == expected


def test_a_hit_whose_document_is_gone_is_left_out(index: VectorIndex):
    index.add_vectors(["gone", "5"], ByAngle().embed_documents(["0", "5"]), [{"document_id": "d"}] * 2)
    assert texts(index.similarity_search("0", k=2)) == ["5"]
    assert texts(index.get_by_ids(["gone", "5"])) == ["5"]
    assert index.ids() == {"gone", "5"}


@EVERYWHERE
def test_vectors_are_replaced_deleted_and_given_back_in_the_order_asked(circle: VectorIndex):
    circle.add_vectors(["0", "0"], ByAngle().embed_documents(["45", "90"]), [{"document_id": "d"}] * 2)
    circle.delete(["10", "never there"])
    there, rows = circle.rows_of(["170", "10", "0"])
    assert list(there) == ["170", "0"]
    assert rows == pytest.approx(np.array(ByAngle().embed_documents(["170", "90"])), abs=1e-6)
    assert circle.present([*ANGLES, "x"]) == circle.ids() == {"0", "12", "80", "170"}


@EVERYWHERE
def test_entries_survive_a_restart(open_index: Open, tmp_path: Path):
    first = open_index(tmp_path / "vectors")
    put(first, *ANGLES)
    first.delete(["80"])
    first.close()
    second = open_index(tmp_path / "vectors")
    assert second.ids() == {"0", "10", "12", "170"}
    assert texts(second.similarity_search("80", k=1)) == ["12"]
    second.check()
    second.close()


def test_mmr_prefers_what_differs(circle: VectorIndex):
    vector = ByAngle().embed_query("9")
    found = circle.max_marginal_relevance_search_by_vector(vector, k=2, fetch_k=4, lambda_mult=0.2)
    assert texts(found) == ["10", "80"]


def test_what_cannot_be_searched_or_added_is_an_error_of_ours(circle: VectorIndex, open_index: Open):
    with pytest.raises(IndexUnusable, match="searched"):
        circle.nearest([1.0, 2.0, 3.0], 1)
    with pytest.raises(IndexUnusable):
        put(open_index(Path("/proc/nowhere")), "1")
    with pytest.raises(ValueError, match="2 ids, 2 vectors, 1 metadatas"):
        circle.add_vectors(["a", "b"], [[0.0, 1.0]] * 2, [{}])


def test_true_neighbours_are_found_among_thousands_in_steps(index: VectorIndex):
    vectors = np.random.default_rng(7).normal(size=(3000, 64)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for start in range(0, 3000, 500):
        ids = [str(n) for n in range(start, start + 500)]
        index.add_vectors(ids, vectors[start : start + 500], [{"document_id": str(start)}] * 500)
    hits = 0
    for n in range(50):
        true = {str(i) for i in np.argsort(-unit @ unit[n])[:10]}
        hits += len(true & {id_ for id_, _ in index.nearest(vectors[n].tolist(), 10)})
    assert hits >= 490
    within = index.nearest(vectors[7].tolist(), 10, filter={"document_id": "500"})
    true = np.argsort(-unit[500:1000] @ unit[7])[:10] + 500
    assert [id_ for id_, _ in within] == [str(n) for n in true]
    index.check()


def test_many_threads_add_and_search_at_once(index: VectorIndex):
    def work(number: int) -> list[bool]:
        seen = []
        for round_ in range(3):
            angle = str(10 * number + round_)
            put(index, angle, document=str(number))
            seen.append(texts(index.similarity_search(angle, k=1)) == [angle])
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert all(all(seen) for seen in pool.map(work, range(4)))
    assert len(index.ids()) == 12


@EVERYWHERE
def test_two_owners_folders_know_nothing_of_each_other(open_index: Open, tmp_path: Path):
    ann, bob = open_index(tmp_path / "ann"), open_index(tmp_path / "bob")
    put(ann, "1", "2")
    put(bob, "1", "3")
    assert (ann.ids(), bob.ids()) == ({"1", "2"}, {"1", "3"})
    ann.delete()
    assert texts(bob.similarity_search("1", k=2)) == ["1", "3"]
    ann.close()
    bob.close()
