"""Open WebUI: its server over its HTTP interface, the documents in one knowledge base."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.product_steps.model_server import CHAT, EMBEDDING
from benchmarks.product_steps.process import ProductFailed, Running, free_port
from benchmarks.product_steps.product import SOURCES, Place, Product
from benchmarks.product_steps.report import Spent

PATIENCE = 600.0  # seconds of one request
PERSON = {"name": "Ada", "email": "ada@example.org", "password": "correct horse battery"}


class OpenWebUI(Product):
    """`open-webui serve`."""

    name = "Open WebUI"
    packages = ("open-webui==0.12.4",)
    settings = (
        "its defaults (chunks of 1,000 characters, overlap 100; embeddings alone), but for five sources in "
        "place of three and no rewriting of the question by the model; asked by `/api/chat/completions`"
    )

    def __init__(self, place: Place):
        super().__init__(place)
        self._ids: dict[str, str] = {}
        self._knowledge = ""

    def start(self) -> Spent:
        folder, port = self.place.folder, free_port()
        server = {"url": f"{self.place.models}/v1", "key": "none"}
        variables = {
            "DATA_DIR": str(folder / "data"),
            "WEBUI_SECRET_KEY": "benchmark",
            "OFFLINE_MODE": "true",
            "ENABLE_OLLAMA_API": "false",
            "OPENAI_API_BASE_URL": server["url"],
            "OPENAI_API_KEY": server["key"],
            "RAG_EMBEDDING_ENGINE": "openai",
            "RAG_EMBEDDING_MODEL": EMBEDDING,
            "RAG_OPENAI_API_BASE_URL": server["url"],
            "RAG_OPENAI_API_KEY": server["key"],
            "RAG_TOP_K": str(SOURCES),
            "ENABLE_RETRIEVAL_QUERY_GENERATION": "false",
        }
        command = [
            self.place.python.parent / "open-webui",
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        self.running = Running(command, variables, folder)
        base = f"http://127.0.0.1:{port}"
        page = self.running.wait_for(f"{base}/")
        self._client = httpx.Client(base_url=base, timeout=PATIENCE)
        known = bool(self._knowledge)
        given = self._post(f"/api/v1/auths/{'signin' if known else 'signup'}", PERSON)
        self._client.headers["authorization"] = f"Bearer {given['token']}"
        self._client.get("/api/models").raise_for_status()
        if not known:
            made = self._post("/api/v1/knowledge/create", {"name": "Documents", "description": "Documents"})
            self._knowledge = made["id"]
        return page

    def add(self, files: Sequence[Path]) -> None:
        for path in files:
            sent = self._client.post(
                "/api/v1/files/",
                params={"process": "true", "process_in_background": "false"},
                files={"file": (path.name, path.read_bytes(), "text/plain")},
            )
            self._ids[path.name] = _read(sent)["id"]
            self._post(f"/api/v1/knowledge/{self._knowledge}/file/add", {"file_id": self._ids[path.name]})

    def ask(self, question: str) -> list[str]:
        asked = {
            "model": CHAT,
            "stream": False,
            "messages": [{"role": "user", "content": question}],
            "files": [{"type": "collection", "id": self._knowledge}],
        }
        sources = self._post("/api/chat/completions", asked).get("sources", [])
        return [entry["name"] for source in sources for entry in source["metadata"]]

    def delete(self, name: str) -> None:
        self._post(f"/api/v1/knowledge/{self._knowledge}/file/remove", {"file_id": self._ids.pop(name)})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return _read(self._client.post(path, json=body))


def _read(response: httpx.Response) -> dict[str, Any]:
    """Return the object of an answer. Raises ProductFailed with what the server said."""
    if response.is_error:
        raise ProductFailed(f"{response.url.path} answered {response.status_code}: {response.text[:200]}")
    return dict(response.json())
