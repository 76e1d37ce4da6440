import math
from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st
from langchain_community.vectorstores import Chroma
from langchain_core._api import suppress_langchain_deprecation_warning
from langchain_core.embeddings import Embeddings

from rag.index.chroma import ChromaVectorStore
from rag.index.exact import (
    RELEVANCE,
    Space,
    cosine_relevance,
    euclidean_relevance,
)

ANGLES = st.floats(0, math.pi)


@given(ANGLES)
def test_for_unit_vectors_every_space_gives_the_cosine(angle: float):
    cosine = math.cos(angle)
    expected = pytest.approx(max(0.0, cosine), abs=1e-12)
    assert cosine_relevance(1 - cosine) == expected
    assert cosine_relevance(1 - cosine) == expected
    assert euclidean_relevance((1 - cosine) ** 2 + math.sin(angle) ** 2) == expected


@pytest.mark.parametrize("space", RELEVANCE)
@given(distance=st.floats(allow_nan=True, allow_infinity=True))
def test_no_distance_gives_a_score_outside_0_to_1(space, distance: float):
    assert 0 <= RELEVANCE[space](distance) <= 1


@pytest.mark.parametrize("space", RELEVANCE)
@given(near=st.floats(allow_nan=False), further=st.floats(allow_nan=False))
def test_what_is_closer_is_never_less_relevant(space, near: float, further: float):
    near, further = sorted((near, further))
    assert RELEVANCE[space](near) >= RELEVANCE[space](further)


@pytest.mark.parametrize(
    ("relevance", "distance", "score"),
    [
        (cosine_relevance, 0.2, 0.8),
        (cosine_relevance, 1.3, 0.0),
        (euclidean_relevance, 0.4, 0.8),
        (euclidean_relevance, 2.6, 0.0),
        (cosine_relevance, 0.2, 0.8),
        (cosine_relevance, -3.0, 1.0),
        (cosine_relevance, math.nan, 0.0),
    ],
)
def test_the_worked_examples(relevance, distance: float, score: float):
    assert relevance(distance) == pytest.approx(score)


class AsWritten(Embeddings):
    """A text is its vector: "1 0"."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in text.split()] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ("cosine", {"1 0": 1.0, "0.6 0.8": 0.6, "3 0": 1.0, "0 0": 0.0, "-3 0": 0.0}),
        ("l2", {"1 0": 1.0, "0.6 0.8": 0.6, "3 0": 0.0, "0 0": 0.5, "-3 0": 0.0}),
        ("ip", {"1 0": 1.0, "0.6 0.8": 0.6, "3 0": 1.0, "0 0": 0.0, "-3 0": 0.0}),
    ],
)
def test_a_collection_tells_the_relevance_of_its_own_space(space: Space, expected: dict[str, float]):
    store = ChromaVectorStore.from_texts(list(expected), AsWritten(), space=space, clamp_relevance=True)
    found = store.similarity_search_with_relevance_scores("1 0", k=5)
    assert {document.page_content: score for document, score in found} == pytest.approx(expected, abs=1e-6)
    above = store.similarity_search_with_relevance_scores("1 0", k=5, score_threshold=0.55)
    assert {document.page_content for document, _ in above} == {t for t, s in expected.items() if s > 0.55}


@pytest.mark.filterwarnings("ignore:Relevance scores must be between 0 and 1")
@pytest.mark.parametrize("space", RELEVANCE)
def test_without_clamping_relevance_is_that_of_langchains_chroma(space: Space, tmp_path: Path):
    texts = ["1 0", "0.6 0.8", "3 0", "0 1", "-3 0"]
    ours = ChromaVectorStore.from_texts(texts, AsWritten(), space=space)
    client = chromadb.PersistentClient(str(tmp_path), settings=Settings(anonymized_telemetry=False))
    with suppress_langchain_deprecation_warning():
        theirs = Chroma.from_texts(
            texts, AsWritten(), client=client, collection_metadata={"hnsw:space": space}
        )
    for question in ("1 0", "0 1"):
        expected = theirs.similarity_search_with_relevance_scores(question, k=5)
        found = ours.similarity_search_with_relevance_scores(question, k=5)
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-6)
        assert {d.page_content: s for d, s in found} == pytest.approx(
            {d.page_content: s for d, s in expected}, abs=1e-6
        )
    client.close()
