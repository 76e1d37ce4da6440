"""haiku.rag: its Python client, in a process of its own environment."""

import json
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.peer_steps.environment import sentence_transformer
from benchmarks.product_steps.model_server import CHAT, EMBEDDING
from benchmarks.product_steps.process import ProductFailed, Running, last_line
from benchmarks.product_steps.product import SOURCES, Product

CLOSING = 60.0  # seconds that it may take to end by itself
CHILD = Path(__file__).with_name("haiku_child.py")


class HaikuRag(Product):
    """`HaikuRAG`, which has no page."""

    name = "haiku.rag"
    packages = ("haiku.rag==0.101.1",)
    python = "python3.12"
    settings = (
        "its defaults: chunks of 256 tokens, words and embeddings fused. Its tokenizer is on a hub only: "
        "the embedding model's counts the tokens. Asked by `search`, as in `ask` the model chooses what to "
        "search for"
    )

    def start(self) -> None:
        folder = self.place.folder
        server = {"provider": "openai", "base_url": f"{self.place.models}/v1", "api_key": "none"}
        config = {
            "embeddings": {"model": {**server, "name": EMBEDDING, "vector_dim": 384}},
            "qa": {"model": {**server, "name": CHAT}},
            "storage": {"data_dir": str(folder / "data")},
            "processing": {"chunking_tokenizer": sentence_transformer(EMBEDDING, folder.parent)},
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "haiku.rag.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        variables = {"HF_HUB_OFFLINE": "1", "HAIKU_RAG_CONFIG_PATH": str(folder / "haiku.rag.yaml")}
        self.running = Running([self.place.python, CHILD], variables, folder, talks=True)
        self._call("ready")

    def add(self, files: Sequence[Path]) -> None:
        self._call("add", files=[str(path) for path in files])

    def ask(self, question: str) -> list[str]:
        return list(self._call("search", question=question, limit=SOURCES))

    def delete(self, name: str) -> None:
        self._call("delete", name=name)

    def stop(self) -> None:
        if self.running is not None and self.running.process.stdin:
            self.running.process.stdin.close()  # it closes its database and ends, unless it is at work
            with suppress(subprocess.TimeoutExpired):
                self.running.process.wait(CLOSING)
        super().stop()

    def _call(self, step: str, **arguments: Any) -> Any:
        assert self.running is not None  # noqa: S101 - `start` comes first
        process = self.running.process
        assert process.stdin and process.stdout  # noqa: S101 - it talks
        process.stdin.write(json.dumps({"step": step, **arguments}).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise ProductFailed(f"{step} failed: {last_line(self.running.log)}")
        return json.loads(line)
