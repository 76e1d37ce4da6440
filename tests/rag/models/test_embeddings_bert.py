"""The default embedder as everyone opens it."""

import threading

import numpy as np
import pytest

from rag.models.embeddings import Embedder

PAIRS = {
    "en": ("Who wrote the report?", "The report was written by Ada.", "Bananas are yellow."),
    "ko": ("한국의 수도는 어디인가?", "서울은 대한민국의 수도이다.", "바나나는 노란 과일이다."),
    "ja": ("日本の首都はどこですか。", "東京は日本の首都である。", "バナナは黄色い果物だ。"),
    "ko asks en": ("한국의 수도는 어디인가?", "Seoul is the capital of South Korea.", "Bananas are yellow."),
}


@pytest.mark.parametrize("language", PAIRS)
def test_the_answering_passage_is_nearer_than_another(embedder: Embedder, language: str) -> None:
    question, answer, other = PAIRS[language]
    near, far = np.array(embedder.embed_documents([answer, other])) @ np.array(embedder.embed_query(question))
    assert near > far + 0.02


def test_vectors_have_length_one(embedder: Embedder) -> None:
    vectors = np.array(
        embedder.embed_documents(["", " ", "one", "둘 " * 2000, "三" * 50_000, "\ud800 \0 🙂"])
    )
    assert vectors.shape == (6, embedder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_passage_has_the_same_vector_alone_and_in_a_batch(embedder: Embedder) -> None:
    texts = ["short", "도쿄는 일본의 수도이다. " * 20, "a text of middle length " * 8]
    together = np.array(embedder.embed_documents(texts))
    alone = np.array([embedder.embed_documents([text])[0] for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.999


def test_batches_name_each_position_once(embedder: Embedder) -> None:
    texts = [f"{'word ' * (i % 7)}{i}" for i in range(21)]
    batches = list(embedder.embed_batches(texts, batch=4))
    assert sorted(i for positions, _ in batches for i in positions) == list(range(21))
    assert [vectors.shape for _, vectors in batches] == [(4, embedder.dimension)] * 5 + [
        (1, embedder.dimension)
    ]
    assert list(embedder.embed_batches([])) == [] == embedder.embed_documents([])


def test_threads_share_one_embedder(embedder: Embedder) -> None:
    expected, found = embedder.embed_query("shared?"), []
    threads = [
        threading.Thread(target=lambda: found.append(embedder.embed_query("shared?"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_passages_have_the_same_vectors_while_someone_asks(embedder: Embedder) -> None:
    texts = [f"Word {number} of a text. " * number for number in range(1, 9)]
    embedder.embed_query("What is asked?")
    together = np.array(embedder.embed_documents(texts))
    alone = np.array([embedder.embed_documents([text])[0] for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.999
