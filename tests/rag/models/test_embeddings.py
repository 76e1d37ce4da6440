"""What every embedder promises, whatever is behind it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from rag.errors import EmbeddingError
from rag.models.embeddings import Embedder, Floats, Role, UseEmbedder, normalise, open_embedder
from rag.models.packaged import catalog as models
from rag.settings import default_model_cache

TEXTS = st.lists(st.text(max_size=20), max_size=20)


class Lengths(Embedder):
    """Gives [length, 1] for each text, and keeps the batches it was given."""

    name, dimension, fingerprint = "lengths", 2, "0"

    def __init__(self) -> None:
        self.batches: list[tuple[Role, list[str]]] = []

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        self.batches.append((role, list(texts)))
        return np.array([[len(text), 1] for text in texts], np.float32)


@given(TEXTS, st.integers(1, 9))
def test_batches_cover_every_text_once_longest_first(texts: list[str], batch: int) -> None:
    embedder = Lengths()
    positions = [i for group, _ in embedder.embed_batches(texts, batch=batch) for i in group]
    assert sorted(positions) == list(range(len(texts)))
    sizes = [len(texts[i].encode()) for i in positions]
    assert sizes == sorted(sizes, reverse=True)
    assert all(len(group) <= batch for _, group in embedder.batches)


@given(TEXTS)
def test_documents_come_back_in_their_order(texts: list[str]) -> None:
    expected = [[len(text) / np.hypot(len(text), 1), 1 / np.hypot(len(text), 1)] for text in texts]
    found = Lengths().embed_documents(texts)
    assert len(found) == len(expected)
    assert np.allclose(found, expected)


def test_tokens_are_those_of_the_models_tokenizer_or_an_estimate(embedder: Embedder) -> None:
    texts = [
        "The castle was built in 1432.",
        "성은 1432년에 지어졌다.",
        "城は1432年に建てられた。",
        "",
        "\ud83d",
    ]
    counted = embedder.count_tokens(texts)
    tokenizer = Tokenizer.from_file(str(default_model_cache() / embedder.name / "tokenizer.json"))
    assert counted[:4] == [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts[:4]]
    assert counted[4] > 0
    assert Lengths().count_tokens(["seven c", "한국어"]) == [2, 3]


def test_what_no_tokenizer_takes_is_replaced_and_what_none_reads_is_cut() -> None:
    embedder = Lengths()
    embedder.embed_query("\ud83d!")
    embedder.embed_documents(["가" * 1_000_000])
    assert embedder.batches[0] == ("query", ["?!"])
    assert len(embedder.batches[1][1][0]) == 32_768


@given(
    st.lists(st.integers(-1000, 1000), min_size=3, max_size=3).filter(any), st.sampled_from([1e-15, 1, 1e15])
)
def test_unit_vectors_keep_their_direction(vector: tuple[int, ...], scale: float) -> None:
    (found,) = normalise(np.array([vector], np.float32) * np.float32(scale), 1, 3, "model")
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
    assert np.dot(found.astype(float), vector) == pytest.approx(np.linalg.norm(vector), rel=1e-5)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_vector_without_direction_is_never_returned(bad: float) -> None:
    with pytest.raises(EmbeddingError, match="model gave a vector that is zero or not a number"):
        normalise(np.array([[1, 2], [bad, bad]], np.float32), 2, 2, "model")


@pytest.mark.parametrize("shape", [(1, 2), (3, 2), (2, 3), (4,)])
def test_a_wrong_shape_is_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(EmbeddingError, match=f"{' x '.join(map(str, shape))} where 2 x 2 were expected"):
        normalise(np.ones(shape, np.float32), 2, 2, "model")


def test_importing_brings_nothing_heavy() -> None:
    code = "import rag.models.embeddings, rag.models.embeddings, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    heavy = {"torch", "onnx", "onnxruntime", "openai", "sentence_transformers", "huggingface_hub"}
    assert heavy & set(loaded.split()) == set()


@pytest.fixture(scope="module")
def tiny_use(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder of the shapes of use-multilingual: 17 parts of words, 8 wide, branches of 4."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder = tmp_path_factory.mktemp("use")
    random = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"scale": (17,), "lo": (17,), "cnn_W": (20, 8), "cnn_b": (8,)}
    shapes |= {"ln_g": (20,), "ln_b": (20,), "d0": (8, 8), "p1": (8, 6), "d1": (8, 6)}
    shapes |= {"p3": (6, 5), "d2": (6, 6), "d3": (6, 5)}
    for size in (2, 3, 5):
        shapes |= {f"proj{size}": (8, 4)} | {f"{name}{size}": (4,) for name in ("proj_b", "ln_g", "ln_b")}
        for layer in "12":
            shapes |= {f"w{layer}_{size}": (size * 4, 4), f"b{layer}_{size}": (4,)}
    weights = {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    words = {f"q{part}": random.integers(0, 63, (2, 8)).astype(np.uint8) for part in range(1, 18)}
    np.savez(folder / "weights.npz", eps=np.float32(1e-6), **weights, **words)
    tokenizer = Tokenizer(WordLevel({"<unk>": 0} | {f"w{i}": i for i in range(1, 34)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_a_text_of_the_numpy_encoder_does_not_leak_into_the_next(tiny_use: Path) -> None:
    embedder = UseEmbedder(models.Model(models.USE, tiny_use, "0"))
    texts = ["w1 w2 w3", "w4", "w5 w6 w7 w8 w9 w10 " * 90, "w11 w12"]
    together = np.array(embedder.embed_documents(texts))
    assert together.shape == (4, 5)
    assert np.allclose(together, [embedder.embed_query(text) for text in texts], atol=1e-5)


def test_use_multilingual_gives_the_vectors_of_its_package() -> None:
    if not (default_model_cache() / "use-multilingual").exists():
        pytest.skip("needs its files: footnote model fetch use-multilingual")
    embedder = open_embedder("use-multilingual", cache=default_model_cache())
    found = np.array(embedder.embed_query("서울은 대한민국의 수도이다. Seoul, １９８８ ①"))
    of_the_package_itself = [-0.0575, -0.07579, -0.0416, -0.0015, 0.05877, 0.00775]
    assert np.allclose(found[:6], of_the_package_itself, atol=2e-4)
