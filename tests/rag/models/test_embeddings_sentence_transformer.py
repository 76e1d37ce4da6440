"""sentence-transformers models from a folder: loaded as data, never as code."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rag.errors import ModelUnavailable
from rag.models.embeddings import Embedder, open_embedder
from tests.rag.models.packaged.tiny_bert import HIDDEN, write_tiny_bert

TEXTS = ["abc", "가나다 라마바", "東京 ai " * 30]
STEPS = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def write_model(folder: Path, seed: int = 0) -> Path:
    write_tiny_bert(folder, seed)
    (folder / "modules.json").write_text(json.dumps(STEPS))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return folder


def opened(folder: Path) -> Embedder:
    return open_embedder(str(folder), cache=Path("/nowhere"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "mine")


def test_a_folder_gives_what_sentence_transformers_gives(folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    embedder = opened(folder)
    expected = SentenceTransformer(str(folder)).encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(embedder.embed_documents(TEXTS), expected, atol=1e-5)
    assert np.allclose(embedder.embed_query(TEXTS[0]), expected[0], atol=1e-5)
    assert embedder.dimension == HIDDEN
    assert embedder.count_tokens(["abc", "abc abc", ""])[::2] == [embedder.count_tokens(["abc"])[0], 0]


def test_the_fingerprint_is_of_the_weights(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    other = write_model(tmp_path / "other", seed=1)
    assert opened(copy).fingerprint == opened(folder).fingerprint != opened(other).fingerprint


def test_an_e5_without_prompts_gets_its_own(folder: Path, tmp_path: Path) -> None:
    e5 = opened(shutil.copytree(folder, tmp_path / "multilingual-e5-base"))
    plain = opened(folder)
    assert np.allclose(e5.embed_query("abc"), plain.embed_query("query: abc"), atol=1e-5)
    assert np.allclose(e5.embed_documents(["abc"]), plain.embed_documents(["passage: abc"]), atol=1e-5)


def test_code_beside_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    evil = shutil.copytree(folder, tmp_path / "evil")
    (evil / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    (evil / "modules.json").write_text(json.dumps([{**STEPS[0], "type": "evil.Evil"}]))
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        opened(evil)
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    pickled = shutil.copytree(folder, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match="with safetensors"):
        opened(pickled)


def test_a_model_that_is_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no-such-folder"):
        opened(tmp_path / "no-such-folder")
