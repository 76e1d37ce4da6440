"""A tiny BERT on disk, as the Hugging Face hub and its cache keep one."""

import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HIDDEN, INNER, LAYERS, HEADS, POSITIONS = 64, 128, 2, 4, 512
LETTERS = "abcdefghijklmnopqrstuvwxyz가나다라마바사あいうえお東京"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]


def write_tiny_bert(folder: Path, seed: int = 0) -> Path:
    """Write config.json, model.safetensors and tokenizer.json; every weight is drawn from the seed."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_weights(np.random.default_rng(seed)), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(_config()), encoding="utf-8")
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_hub_cache(home: Path, hub_id: str) -> Path:
    """Lay a tiny BERT out as the Hugging Face cache under HF_HOME does; return its snapshot."""
    repository = home / "hub" / f"models--{hub_id.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40, encoding="utf-8")
    return write_tiny_bert(repository / "snapshots" / ("0" * 40))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _config() -> dict[str, object]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "vocab_size": len(WORDS),
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }


def _weights(random: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for part, rows, columns in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ):
            shapes[f"encoder.layer.{layer}.{part}.weight"] = (rows, columns)
            shapes[f"encoder.layer.{layer}.{part}.bias"] = (rows,)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{part}.weight"] = (HIDDEN,)
            shapes[f"encoder.layer.{layer}.{part}.bias"] = (HIDDEN,)
    return {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
