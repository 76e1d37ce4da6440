"""Khoj: its server over its HTTP interface, with the PostgreSQL that its extra `local` brings."""

from collections.abc import Sequence
from pathlib import Path

import httpx

from benchmarks.product_steps.model_server import CHAT, EMBEDDING
from benchmarks.product_steps.process import ProductFailed, Running, free_port, last_line
from benchmarks.product_steps.product import SOURCES, Product
from benchmarks.product_steps.report import Spent

PATIENCE = 1800.0  # seconds of one request
BATCH = 50  # files of one request
SETUP = Path(__file__).with_name("khoj_setup.py")


class Khoj(Product):
    """`khoj --anonymous-mode`."""

    name = "Khoj"
    packages = ("khoj[local]==1.42.10",)
    settings = (
        "its defaults: chunks of 256 tokens, embeddings alone. Its cross-encoder, which its search does not "
        "use unless told to, comes from a hub only: an untrained one of few kB is in its place. Asked by "
        "`/api/search`, as in its chat the model chooses what to search for"
    )

    def start(self) -> Spent:
        folder, port = self.place.folder, free_port()
        data = folder / "data"
        variables = {
            "USE_EMBEDDED_DB": "true",
            "PGSERVER_DATA_DIR": str(data / "postgres"),
            "KHOJ_ADMIN_EMAIL": "ada@example.org",
            "KHOJ_ADMIN_PASSWORD": "correct horse battery",
            "KHOJ_TELEMETRY_DISABLE": "true",
            "KHOJ_DEFAULT_CHAT_MODEL": CHAT,
            "OPENAI_BASE_URL": f"{self.place.models}/v1",
            "OPENAI_API_KEY": "none",
            "HF_HUB_OFFLINE": "1",
        }
        if not data.exists():
            data.mkdir(parents=True)
            self._prepare(data, variables)
        command: list[str | Path] = [
            self.place.python.parent / "khoj",
            "--anonymous-mode",
            "--non-interactive",
        ]
        options: list[str | Path] = ["--port", str(port), "--config-file", data / "khoj.yml"]
        self.running = Running([*command, *options], variables, folder)
        base = f"http://127.0.0.1:{port}"
        self._client = httpx.Client(base_url=base, timeout=PATIENCE)
        return self.running.wait_for(f"{base}/")

    def add(self, files: Sequence[Path]) -> None:
        for at in range(0, len(files), BATCH):
            sent = [
                ("files", (path.name, path.read_bytes(), "text/plain")) for path in files[at : at + BATCH]
            ]
            self._client.patch("/api/content", params={"client": "api"}, files=sent).raise_for_status()

    def ask(self, question: str) -> list[str]:
        asked = self._client.get("/api/search", params={"q": question, "n": SOURCES})
        return [Path(found["additional"]["file"]).name for found in asked.raise_for_status().json()]

    def delete(self, name: str) -> None:
        self._client.delete("/api/content/file", params={"filename": name}).raise_for_status()

    def _prepare(self, data: Path, variables: dict[str, str]) -> None:
        """Name the model server in its database, which it makes for that."""
        arguments: list[str | Path] = [f"{self.place.models}/v1", EMBEDDING, data / "cross-encoder"]
        command = [self.place.python, SETUP, *arguments]
        with Running(command, variables, self.place.folder / "setup") as setup:
            code = setup.process.wait(PATIENCE)
        if code:
            raise ProductFailed(f"its database could not be made: {last_line(setup.log)}")
