import random
from pathlib import Path

import pytest

from rag.errors import Cancelled, ModelUnavailable, RerankError
from rag.jobs import never
from rag.retrieval.rerank.cross_encoder import BATCH, MAX_LENGTH, CrossEncoderModel, CrossEncoderReranker
from tests.rag.retrieval.rerank.retrieved import found, ids
from tests.rag.retrieval.rerank.tiny_cross_encoder import write_tiny_cross_encoder

PATIENT = 100.0
"""Seconds: what the first use loads may take long where much else runs."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderModel:
    return CrossEncoderModel(str(write_tiny_cross_encoder(tmp_path_factory.mktemp("z") / "model")))


def share(text: str) -> float:
    """Return which part of question "a a a", text and three marks is z."""
    return text.count("z") / (len(text.split()) + 6)


def test_the_known_order_is_found_over_batches_of_several_lengths(model: CrossEncoderModel):
    draw = random.Random(3)
    texts = [" ".join(draw.choices("za", k=draw.randint(4, 40))) for _ in range(2 * BATCH + 3)]
    reranker = CrossEncoderReranker(model=model, seconds=PATIENT, k=10)
    best = reranker.compress_documents(found(*texts), "a a a")
    assert [share(one.page_content) for one in best] == sorted(map(share, texts), reverse=True)[:10]
    scores = [one.metadata["score"] for one in best]
    assert scores == sorted(scores, reverse=True) and best[0].metadata["found_by"]["reranker"]["rank"] == 1


def test_question_and_passage_are_cut_to_512_tokens(tmp_path: Path):
    folder = str(write_tiny_cross_encoder(tmp_path / "model"))
    usual, cut = CrossEncoderModel(folder), CrossEncoderModel(folder, max_length=20)
    assert usual.max_length == MAX_LENGTH == usual._load().max_seq_length == 512
    pairs = [("a", "a " * 30 + "z " * 9), ("a", "a " * 30)]
    assert cut.logits(pairs[:1]) == pytest.approx(cut.logits(pairs[1:])), "what differs is cut off"
    assert usual.logits(pairs[:1]) != pytest.approx(usual.logits(pairs[1:]))


def test_a_threshold_on_the_logits_drops_passages(model: CrossEncoderModel):
    strong, weak = model.logits([("a", "z z z z"), ("a", "a a a a")])
    reranker = CrossEncoderReranker(model=model, threshold=(strong + weak) / 2, seconds=PATIENT)
    assert ids(reranker.compress_documents(found("a a a a", "z z z z"), "a")) == ["2"]


def test_between_batches_it_can_be_stopped(model: CrossEncoderModel):
    with pytest.raises(Cancelled):
        CrossEncoderReranker(model=model).score("a", found("z"), lambda: True)


def test_a_model_that_cannot_be_had_leaves_the_order_and_says_so(tmp_path: Path):
    reranker = CrossEncoderReranker(model=CrossEncoderModel(str(tmp_path / "none")), seconds=PATIENT)
    result = reranker.rerank(found("a", "z"), "a")
    assert ids(result.documents) == ["1", "2"] and isinstance(result.failure, ModelUnavailable)
    assert "none' " in result.note and "Give the folder" in result.note  # with and without a hub


def test_weights_that_are_no_safetensors_are_not_loaded(tmp_path: Path):
    folder = write_tiny_cross_encoder(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable):
        CrossEncoderModel(str(folder)).logits([("a", "z")])


def test_a_model_of_several_scores_is_refused(tmp_path: Path):
    three = CrossEncoderModel(str(write_tiny_cross_encoder(tmp_path / "model", scores=3)))
    with pytest.raises(RerankError, match="more than one score"):
        CrossEncoderReranker(model=three).score("a", found("z", "a"), never)
