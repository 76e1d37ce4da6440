"""The graph we build gives what transformers' own BERT gives."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from rag.models.packaged.catalog import read_shape, read_weights
from rag.models.packaged.onnx_bert import Blocks, Floats, quantized, save_model
from tests.rag.models.packaged.tiny_bert import WORDS, write_tiny_bert

LENGTHS = (3, 40, 512)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def batch() -> dict[str, np.ndarray]:
    ids = np.random.default_rng(1).integers(4, len(WORDS), (len(LENGTHS), max(LENGTHS)))
    mask = (np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]).astype(np.int64)
    return {"input_ids": ids * mask, "attention_mask": mask}


@pytest.fixture(scope="module")
def expected(bert: Path, batch: dict[str, np.ndarray]) -> Floats:
    import torch
    from transformers import BertModel

    model = BertModel.from_pretrained(bert, add_pooling_layer=False, attn_implementation="eager").eval()
    with torch.inference_mode():
        hidden = model(**{name: torch.from_numpy(array) for name, array in batch.items()})[0].numpy()
    means = [row[:length].mean(axis=0) for row, length in zip(hidden, LENGTHS, strict=True)]
    return np.array([mean / np.linalg.norm(mean) for mean in means])


def run(bert: Path, path: Path, batch: dict[str, np.ndarray], *, integers: bool) -> Floats:
    weights = read_weights((bert / "model.safetensors").read_bytes())
    shape = read_shape((bert / "config.json").read_bytes())
    save_model(path, quantized(weights) if integers else dict(weights), shape)
    return np.asarray(onnxruntime.InferenceSession(path).run(["embedding"], batch)[0])


def test_in_float32_it_is_the_same_model(
    bert: Path, batch: dict[str, np.ndarray], expected: Floats, tmp_path: Path
) -> None:
    found = run(bert, tmp_path / "model.onnx", batch, integers=False)
    assert (found * expected).sum(axis=1).min() > 0.99999
    assert np.allclose(found, expected, atol=1e-5)
    longest = {name: array[2:] for name, array in batch.items()}
    whole = run(bert, tmp_path / "model.onnx", longest, integers=False)
    assert np.allclose(whole, expected[2:], atol=1e-5)  # where nothing is padded another kernel mixes


def test_in_integers_it_is_nearly_the_same_model(
    bert: Path, batch: dict[str, np.ndarray], expected: Floats, tmp_path: Path
) -> None:
    found = run(bert, tmp_path / "model.onnx", batch, integers=True)
    assert (found * expected).sum(axis=1).min() > 0.995


def test_in_integers_a_text_does_not_depend_on_its_neighbours(
    bert: Path, batch: dict[str, np.ndarray], tmp_path: Path
) -> None:
    together = run(bert, tmp_path / "model.onnx", batch, integers=True)
    alone = {name: array[:1, :3] for name, array in batch.items()}
    assert np.allclose(run(bert, tmp_path / "model.onnx", alone, integers=True), together[:1], atol=2e-3)


def test_in_integers_a_row_of_zeros_stays_one(
    bert: Path, batch: dict[str, np.ndarray], tmp_path: Path
) -> None:
    weights = read_weights((bert / "model.safetensors").read_bytes())
    shape = read_shape((bert / "config.json").read_bytes())
    mute = {n: np.zeros_like(w) for n, w in weights.items() if "self.value" in n}  # nothing is attended to
    found = []
    for matrices in (quantized({**weights, **mute}), {**weights, **mute}):
        save_model(tmp_path / "model.onnx", matrices, shape)
        found.append(onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, batch)[0])
    assert (found[0] * found[1]).sum(axis=1).min() > 0.995


def test_four_bit_words_are_looked_up_as_they_are(
    bert: Path, batch: dict[str, np.ndarray], tmp_path: Path
) -> None:
    name = "embeddings.word_embeddings.weight"
    weights = read_weights((bert / "model.safetensors").read_bytes())
    shape = read_shape((bert / "config.json").read_bytes())
    codes = np.random.default_rng(2).integers(0, 16, weights[name].shape).astype(np.uint8)
    blocks = Blocks(codes, np.full((len(codes), 2), 0.1, np.float32), 4)
    found = []
    for matrix in (blocks, blocks.dense()):
        save_model(tmp_path / "model.onnx", {**weights, name: matrix}, shape)
        found.append(onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, batch)[0])
    assert np.allclose(*found, atol=1e-5)


def test_a_missing_weight_is_named(bert: Path, tmp_path: Path) -> None:
    weights = dict(read_weights((bert / "model.safetensors").read_bytes()))
    del weights["encoder.layer.1.output.dense.bias"]
    shape = read_shape((bert / "config.json").read_bytes())
    with pytest.raises(KeyError, match=r"encoder.layer.1.output.dense.bias"):
        save_model(tmp_path / "model.onnx", weights, shape)
