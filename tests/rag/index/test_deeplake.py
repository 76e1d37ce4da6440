import subprocess
import sys
from pathlib import Path

import pytest

from rag.index.deeplake import DeepLake
from tests.rag.index.by_angle import ByAngle, texts

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="deeplake has no wheel for Python 3.14: run these on 3.11 to 3.13"
)


@pytest.fixture
def store(tmp_path: Path) -> DeepLake:
    store = DeepLake(str(tmp_path / "lake"), ByAngle())
    store.add_texts(
        [str(angle) for angle in range(20)],
        [{"page": angle % 3} for angle in range(20)],
        ids=[f"id{angle}" for angle in range(20)],
    )
    return store


def test_the_nearest_come_first_with_scores_of_the_metric(store: DeepLake):
    assert texts(store.similarity_search("5.1", k=3)) == ["5", "6", "4"]
    vector = ByAngle().embed_query("5")
    (best, cosine), *_ = store.similarity_search_by_vector(vector, k=2, return_score=True)
    assert (best.id, best.metadata, cosine) == ("id5", {"page": 2}, pytest.approx(1))
    scored = store.similarity_search_by_vector(vector, k=2, return_score=True, distance_metric="L2")
    assert scored[0][1] == pytest.approx(0, abs=1e-6) and scored[1][1] > 0.01


def test_a_filter_and_tql_limit_the_search(store: DeepLake):
    found = store.similarity_search("5.1", k=3, filter={"metadata": {"page": 1}})
    assert texts(found) == ["4", "7", "1"]
    vector = ByAngle().embed_query("5.1")
    tql = "SELECT documents, metadata, ids, embeddings, 1.0 AS score WHERE ids = 'id7'"
    assert texts(store.similarity_search_by_vector(vector, tql=tql)) == ["7"]


def test_mmr_prefers_what_differs(store: DeepLake):
    assert texts(store.max_marginal_relevance_search("5", k=2, fetch_k=20, lambda_mult=0.1)) == ["5", "19"]
    assert texts(store.max_marginal_relevance_search("5.1", k=2, lambda_mult=1)) == ["5", "6"]


def test_entries_are_looked_up_removed_and_there_after_reopening(store: DeepLake, tmp_path: Path):
    assert texts(store.get_by_ids(["id1", "gone"])) == ["1"] and store.get_by_ids([]) == []
    assert store.delete(["id5"])
    again = DeepLake(str(tmp_path / "lake"), ByAngle())
    assert len(again) == 19 and texts(again.similarity_search("5.1", k=1)) == ["6"]


def test_nothing_is_found_in_an_empty_one(tmp_path: Path):
    store = DeepLake(str(tmp_path / "lake"), ByAngle())
    assert store.similarity_search_by_vector([1.0, 0.0]) == []
    assert store.max_marginal_relevance_search("5") == []


def test_no_module_stays_behind_under_a_name_of_langchain_before_1():
    code = "import sys, rag.index.deeplake; sys.exit('langchain' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
