"""Footnote: its server with the page, over its HTTP interface."""

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.product_steps.model_server import CHAT, EMBEDDING
from benchmarks.product_steps.process import ProductFailed, Running, free_port
from benchmarks.product_steps.product import SOURCES, Place, Product
from benchmarks.product_steps.report import Spent
from rag.api_client import ApiClient
from rag.local_server import find_server

ROOT = Path(__file__).parents[2]


class Footnote(Product):
    """`footnote serve`."""

    name = "Footnote"
    settings = (
        "its defaults (chunks of about 900 letters; words and embeddings fused), but for five "
        "sources in place of six; asked by `/api/ask`"
    )

    def __init__(self, place: Place):
        super().__init__(place)
        self._ids: dict[str, str] = {}

    def start(self) -> Spent:
        data = self.place.folder / "data"
        port = str(free_port())
        variables = {
            "PYTHONPATH": str(ROOT),
            "FOOTNOTE_EMBEDDING_MODEL": f"openai:{EMBEDDING}",
            "FOOTNOTE_EMBEDDING_BASE_URL": f"{self.place.models}/v1",
            "FOOTNOTE_LLM_BASE_URL": f"{self.place.models}/v1",
            "FOOTNOTE_LLM_MODEL": CHAT,
        }
        command: list[str | Path] = [
            self.place.python,
            "-m",
            "rag.cli",
            "--data",
            data,
            "serve",
            "--port",
            port,
        ]
        self.running = Running(command, variables, self.place.folder)
        page = self.running.wait_for(f"http://127.0.0.1:{port}/")
        while (there := find_server(data)) is None or not there.url.endswith(port):
            time.sleep(0.1)
        self._client = ApiClient(there.url, there.token)
        return page

    def add(self, files: Sequence[Path]) -> None:
        for path in files:
            added = self._client.call(
                "POST", "/api/documents", content=path.read_bytes(), params={"name": path.name}
            )
            self._ids[path.name] = added["documents"][0]["id"]
        for id_ in self._ids.values():
            self._wait(id_)

    def ask(self, question: str) -> list[str]:
        answer = self._client.call("POST", "/api/ask", body={"question": question, "k": SOURCES})
        return [source["document"] for source in answer["sources"]]

    def delete(self, name: str) -> None:
        self._client.call("DELETE", f"/api/documents/{self._ids.pop(name)}")

    def _wait(self, document: str) -> None:
        while (record := self._client.call("GET", f"/api/documents/{document}"))["state"] != "ready":
            if record["state"] == "refused":
                raise ProductFailed(record["reason"])
            time.sleep(0.2)
