"""txtai: its HTTP service over an embeddings index with content."""

import json
from collections.abc import Sequence
from pathlib import Path

import httpx

from benchmarks.product_steps.model_server import EMBEDDING
from benchmarks.product_steps.process import Running, free_port
from benchmarks.product_steps.product import SOURCES, Product

PATIENCE = 1200.0  # seconds of one request
OFFLINE = {"HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # no requests to hosts elsewhere


class Txtai(Product):
    """`uvicorn txtai.api:app`, which has no page."""

    name = "txtai"
    packages = ("txtai[api]==9.14.0", "litellm==1.110.2")
    settings = (
        "its defaults, with `content` to keep the texts: no chunks, embeddings alone; asked by `/search`"
    )

    def start(self) -> None:
        folder, port = self.place.folder, free_port()
        folder.mkdir(parents=True, exist_ok=True)
        index = {
            "path": f"openai/{EMBEDDING}",
            "method": "litellm",
            "vectors": {"api_base": f"{self.place.models}/v1", "api_key": "none", "encoding_format": "float"},
            "content": True,
        }
        config = {"path": str(folder / "data" / "index"), "writable": True, "embeddings": index}
        (folder / "config.yml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        command: list[str | Path] = [self.place.python, "-m", "uvicorn", "txtai.api:app", "--port", str(port)]
        variables = {"CONFIG": str(folder / "config.yml"), **OFFLINE}
        self.running = Running(command, variables, folder)
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)
        self.running.wait_for(f"http://127.0.0.1:{port}/count")

    def add(self, files: Sequence[Path]) -> None:
        documents = [{"id": path.name, "text": path.read_text("utf-8")} for path in files]
        self._client.post("/add", json=documents).raise_for_status()
        self._client.get("/index").raise_for_status()

    def ask(self, question: str) -> list[str]:
        asked = self._client.get("/search", params={"query": question, "limit": SOURCES})
        return [found["id"] for found in asked.raise_for_status().json()]

    def delete(self, name: str) -> None:
        self._client.post("/delete", json=[name]).raise_for_status()
